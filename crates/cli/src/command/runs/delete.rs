//! `drawloom runs delete`: runs that have ended, with everything that belongs to them.

use app::workflows::{Deletion, Loom, RunFilter};
use clap::Args;
use dialoguer::Confirm;
use flow::RunId;
use flow::engine::RunStatus;
use serde_json::json;

use super::list::{status, time};
use crate::command::workflow::Keeping;
use crate::exit::{Exit, Trouble};
use crate::output::{self, Form};
use crate::session::Session;

/// How many runs are deleted in one transaction.
const PORTION: usize = 50;

/// Delete runs that have ended, with their tasks, events, logs and notices
///
/// Name the runs, or say which: every filter that is given must fit. The runs that a deleted run has
/// started go with it. A run that has not ended stays; `drawloom runs cancel` ends it.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom runs delete 19a8c
  drawloom runs delete --older-than 30d --status failed --dry-run
  drawloom runs delete --workflow nightly --older-than 7d --yes")]
pub(crate) struct Delete {
    /// The runs: ids, the beginnings of them, or `last`
    #[arg(conflicts_with_all = ["status", "workflow", "tag", "older_than"])]
    runs: Vec<String>,
    /// Only runs of this status: completed, failed or cancelled
    #[arg(long, value_name = "STATUS", value_parser = status)]
    status: Option<RunStatus>,
    /// Only runs of workflows with this in their title or file name
    #[arg(long, value_name = "NAME")]
    workflow: Option<String>,
    /// Only runs with this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// Only runs that began longer ago than this, such as 12h or 30d
    #[arg(long, value_name = "TIME", value_parser = time)]
    older_than: Option<u64>,
    /// Say how many would be deleted, and delete nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    keeping: Keeping,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Delete {
    pub(super) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let loom = self.keeping.look(session)?;
        let form = Form::from(self.json);
        if !self.runs.is_empty() {
            let found = self.runs.iter().map(|run| Ok(loom.find(run)?.id));
            let runs = found.collect::<Result<Vec<RunId>, Trouble>>()?;
            return match self.dry_run {
                true => told(runs.len(), "would be deleted", form),
                false => delete_named(&loom, &runs, form),
            };
        }
        let filters = self.filters(session.surroundings.now_ms as u64)?;
        let mut count = 0;
        for filter in &filters {
            count += loom.count_runs(filter, usize::MAX)?;
        }
        if self.dry_run || count == 0 {
            return told(count, "would be deleted", form);
        }
        if !self.yes && !confirmed(count)? {
            return told(0, "deleted", form);
        }
        let mut deleted = 0;
        for filter in &filters {
            deleted += delete_filtered(&loom, filter)?;
        }
        told(deleted, "deleted", form)
    }

    /// One filter for each status in which runs have ended.
    fn filters(&self, now_ms: u64) -> Result<Vec<RunFilter>, Trouble> {
        let is_said = self.status.is_some()
            || self.workflow.is_some()
            || self.tag.is_some()
            || self.older_than.is_some();
        if !is_said {
            return Err(Trouble::usage("which runs are to be deleted?")
                .hint("name them, or give `--older-than`, `--status`, `--workflow` or `--tag`"));
        }
        let ended = match self.status {
            Some(status) if !status.is_terminal() => {
                let message = format!("runs that are {} have not ended", status.name());
                return Err(Trouble::usage(message).hint("`drawloom runs cancel RUN` ends one"));
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
fn delete_filtered(loom: &Loom, filter: &RunFilter) -> Result<usize, Trouble> {
    let mut deleted = 0;
    let mut after = None;
    loop {
        let page = loom.runs_after(filter, after.as_ref(), PORTION)?;
        let Some(last) = page.last() else {
            return Ok(deleted);
        };
        after = Some(app::workflows::RunCursor::of(last));
        let runs: Vec<RunId> = page.into_iter().map(|run| run.id).collect();
        let gone = loom.delete_runs(&runs)?;
        deleted += gone.iter().filter(|one| **one == Deletion::Done).count();
    }
}

fn delete_named(loom: &Loom, runs: &[RunId], form: Form) -> Result<Exit, Trouble> {
    for (run, deletion) in runs.iter().zip(loom.delete_runs(runs)?) {
        match deletion {
            Deletion::Done | Deletion::NoSuchRun => {}
            Deletion::NotEnded(open) => {
                let message = format!("the run {open} has not ended");
                return Err(Trouble::failed("E_CONFLICT", message)
                    .hint(format!("`drawloom runs cancel {open}` ends it")));
            }
            Deletion::Needed(parent) => {
                let message = format!("the run {run} belongs to {parent}");
                return Err(Trouble::failed("E_CONFLICT", message)
                    .hint(format!("delete the run above it: {}", parent.run)));
            }
        }
    }
    told(runs.len(), "deleted", form)
}

fn confirmed(count: usize) -> Result<bool, Trouble> {
    if !output::has_person() {
        let message = format!("{count} runs would be deleted");
        return Err(Trouble::usage(message).hint("give `--yes` to delete them, or `--dry-run`"));
    }
    let asked = Confirm::new().with_prompt(format!("Delete {count} runs?"));
    let answer = asked.default(false).interact();
    Ok(answer.unwrap_or(false))
}

fn told(count: usize, word: &str, form: Form) -> Result<Exit, Trouble> {
    match (form, count) {
        (Form::Json, _) => output::json(&json!({ "runs": count, "did": word }))?,
        (Form::Text, 1) => output::say(format!("1 run {word}")),
        (Form::Text, _) => output::say(format!("{count} runs {word}")),
    }
    Ok(Exit::Done)
}
