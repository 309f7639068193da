//! `drawloom runs delete`: runs that have ended, with everything that belongs to them.

use app::workflows::{RunDeletion, RunFilter};
use clap::Args;
use dialoguer::Confirm;
use flow::RunId;
use flow::engine::RunStatus;
use serde_json::json;

use super::list::{status, time};
use crate::command::workflow::DatabaseArgs;
use crate::exit::{CliError, CliExit};
use crate::output::{self, OutputFormat};
use crate::session::CliSession;
use crate::use_cases::TerminalUseCases;

/// Number of runs deleted in one transaction.
const PORTION: usize = 50;

/// Delete runs that have ended, with their tasks, events, logs and notices
///
/// Name the runs, or give filters: a run must match all of them. The runs that a deleted run has
/// started are deleted too. A run that has not ended stays; `drawloom runs cancel` ends it.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom runs delete 19a8c
  drawloom runs delete --older-than 30d --status failed --dry-run
  drawloom runs delete --workflow nightly --older-than 7d --yes")]
pub(crate) struct RunsDeleteArgs {
    /// Run ids, unique prefixes, or `last`
    #[arg(conflicts_with_all = ["status", "workflow", "tag", "older_than"])]
    runs: Vec<String>,
    /// Only runs with this status: completed, failed or cancelled
    #[arg(long, value_name = "STATUS", value_parser = status)]
    status: Option<RunStatus>,
    /// Only runs of workflows with this in their title or file name
    #[arg(long, value_name = "NAME")]
    workflow: Option<String>,
    /// Only runs with this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// Only runs that started longer ago than this, such as 12h or 30d
    #[arg(long, value_name = "TIME", value_parser = time)]
    older_than: Option<u64>,
    /// Print how many runs would be deleted, and delete nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    keeping: DatabaseArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl RunsDeleteArgs {
    pub(super) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let use_cases = self.keeping.look(session)?;
        let form = OutputFormat::from(self.json);
        if !self.runs.is_empty() {
            let found = self
                .runs
                .iter()
                .map(|run| Ok(use_cases.wait(use_cases.find(run))?.id));
            let runs = found.collect::<Result<Vec<RunId>, CliError>>()?;
            return match self.dry_run {
                true => told(runs.len(), "would be deleted", form),
                false => delete_named(&use_cases, &runs, form),
            };
        }
        let filters = self.filters(session.surroundings.now_ms as u64)?;
        let mut count = 0;
        for filter in &filters {
            count += use_cases.wait(use_cases.count_runs(filter, usize::MAX))?;
        }
        if self.dry_run || count == 0 {
            return told(count, "would be deleted", form);
        }
        if !self.yes && !confirmed(count)? {
            return told(0, "deleted", form);
        }
        let mut deleted = 0;
        for filter in &filters {
            deleted += delete_filtered(&use_cases, filter)?;
        }
        told(deleted, "deleted", form)
    }

    /// Makes one filter for each status in which runs have ended.
    fn filters(&self, now_ms: u64) -> Result<Vec<RunFilter>, CliError> {
        let is_said = self.status.is_some()
            || self.workflow.is_some()
            || self.tag.is_some()
            || self.older_than.is_some();
        if !is_said {
            return Err(CliError::usage("which runs are to be deleted?")
                .hint("name them, or give `--older-than`, `--status`, `--workflow` or `--tag`"));
        }
        let ended = match self.status {
            Some(status) if !status.is_terminal() => {
                let message = format!("runs that are {} have not ended", status.name());
                return Err(CliError::usage(message).hint("`drawloom runs cancel RUN` ends one"));
            }
            Some(status) => vec![status],
            None => vec![
                RunStatus::Completed,
                RunStatus::Failed,
                RunStatus::Cancelled,
            ],
        };
        let filter = |status: RunStatus| RunFilter {
            status: Some(status),
            workflow: self.workflow.clone(),
            tag: self.tag.clone(),
            since_ms: None,
            before_ms: self.older_than.map(|age| now_ms.saturating_sub(age)),
            is_top: true,
        };
        Ok(ended.into_iter().map(filter).collect())
    }
}

/// Deletes all runs of a filter; how many they were. One that stays is passed over.
fn delete_filtered(use_cases: &TerminalUseCases, filter: &RunFilter) -> Result<usize, CliError> {
    let mut deleted = 0;
    let mut after = None;
    loop {
        let page = use_cases.wait(use_cases.runs_after(filter, after.as_ref(), PORTION))?;
        let Some(last) = page.last() else {
            return Ok(deleted);
        };
        after = Some(app::workflows::RunCursor::of(last));
        let runs: Vec<RunId> = page.into_iter().map(|run| run.id).collect();
        let gone = use_cases.wait(use_cases.delete_runs(&runs))?;
        deleted += gone.iter().filter(|one| **one == RunDeletion::Done).count();
    }
}

fn delete_named(
    use_cases: &TerminalUseCases,
    runs: &[RunId],
    form: OutputFormat,
) -> Result<CliExit, CliError> {
    for (run, deletion) in runs
        .iter()
        .zip(use_cases.wait(use_cases.delete_runs(runs))?)
    {
        match deletion {
            RunDeletion::Done | RunDeletion::NoSuchRun => {}
            RunDeletion::NotEnded(open) => {
                let message = format!("the run {open} has not ended");
                return Err(CliError::failed("E_CONFLICT", message)
                    .hint(format!("`drawloom runs cancel {open}` ends it")));
            }
            RunDeletion::Needed(parent) => {
                let message = format!("the run {run} belongs to {parent}");
                return Err(CliError::failed("E_CONFLICT", message)
                    .hint(format!("delete the run above it: {}", parent.run)));
            }
        }
    }
    told(runs.len(), "deleted", form)
}

fn confirmed(count: usize) -> Result<bool, CliError> {
    if !output::has_person() {
        let message = format!("{count} runs would be deleted");
        return Err(CliError::usage(message).hint("give `--yes` to delete them, or `--dry-run`"));
    }
    let asked = Confirm::new().with_prompt(format!("Delete {count} runs?"));
    let answer = asked.default(false).interact();
    Ok(answer.unwrap_or(false))
}

fn told(count: usize, word: &str, form: OutputFormat) -> Result<CliExit, CliError> {
    match (form, count) {
        (OutputFormat::Json, _) => output::json(&json!({ "runs": count, "did": word }))?,
        (OutputFormat::Text, 1) => output::say(format!("1 run {word}")),
        (OutputFormat::Text, _) => output::say(format!("{count} runs {word}")),
    }
    Ok(CliExit::Done)
}
