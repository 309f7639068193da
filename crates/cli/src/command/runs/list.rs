//! `drawloom runs list`: the runs of workflows, the newest first.

use app::workflows::RunFilter;
use clap::Args;
use flow::engine::{RunRow, RunStatus};
use serde_json::{Value, json};

use crate::agent_progress::shown;
use crate::command::workflow::{DatabaseArgs, span};
use crate::exit::{CliError, CliExit};
use crate::output;
use crate::session::CliSession;
use crate::table;
use crate::use_cases::TerminalUseCases;

/// Number of rows counted besides those that are listed.
pub(crate) const COUNTED_MAX: usize = 1_000;

/// List the runs of workflows, the newest first
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom runs list
  drawloom runs list --status paused --since 2h
  drawloom runs list --workflow 'PR Review' --tag nightly
  drawloom runs list --json | jq '.runs[0].id'")]
pub(crate) struct RunsListArgs {
    /// Only runs with this status: running, paused, completed, failed or cancelled
    #[arg(long, value_name = "STATUS", value_parser = status)]
    status: Option<RunStatus>,
    /// Only runs of workflows with this in their title or file name
    #[arg(long, value_name = "NAME")]
    workflow: Option<String>,
    /// Only runs with this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// Only runs started within this time, such as 30m, 2h or 7d
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<u64>,
    /// Hide runs that other runs have started
    #[arg(long)]
    top: bool,
    /// Maximum number to list
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    #[command(flatten)]
    keeping: DatabaseArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl RunsListArgs {
    pub(super) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let use_cases = self.keeping.look(session)?;
        let now_ms = session.surroundings.now_ms as u64;
        let filter = RunFilter {
            status: self.status,
            workflow: self.workflow.clone(),
            tag: self.tag.clone(),
            since_ms: self.since.map(|span| now_ms.saturating_sub(span)),
            before_ms: None,
            is_top: self.top,
        };
        let mut found: Vec<(RunRow, String)> = Vec::new();
        for run in use_cases.wait(use_cases.runs(&filter, self.limit))? {
            let name = name_of(&use_cases, &run)?;
            found.push((run, name));
        }
        let more = match found.len() < self.limit {
            true => 0,
            false => {
                use_cases.wait(use_cases.count_runs(&filter, self.limit + COUNTED_MAX))?
                    - found.len()
            }
        };
        if self.json {
            let listed: Vec<Value> = found.iter().map(document).collect();
            output::json(&json!({ "runs": listed, "more": more }))?;
            return Ok(CliExit::Done);
        }
        if found.is_empty() {
            output::say(
                "No run of a workflow matches; `drawloom workflow start FILE` starts one. \
                 Files that recipes wrote are listed in .drawloom/generated.",
            );
        }
        let rows = found.iter().map(|(run, name)| row(run, name, now_ms));
        output::styled(&table::render(&rows.collect::<Vec<_>>()))?;
        if more > 0 {
            output::say(and_more(more));
        }
        Ok(CliExit::Done)
    }
}

/// Returns the name of a run: its workflow's title or file name. Runs of older versions go by the
/// title, or by their first step.
pub(crate) fn name_of(use_cases: &TerminalUseCases, run: &RunRow) -> Result<String, CliError> {
    if let Some(name) = &run.name {
        return Ok(name.clone());
    }
    let workflow = use_cases.wait(use_cases.workflow(run))?;
    let first = workflow.steps().first().map(|step| step.name.as_str());
    Ok(workflow.name().or(first).unwrap_or_default().to_owned())
}

/// Says how many rows a list leaves out, as far as they were counted.
pub(crate) fn and_more(more: usize) -> String {
    match more >= COUNTED_MAX {
        true => format!("and {COUNTED_MAX} or more; `--limit` shows them"),
        false => format!("and {more} more; `--limit` shows them"),
    }
}

fn document((run, name): &(RunRow, String)) -> Value {
    let mut fields = json!(run);
    if let Some(fields) = fields.as_object_mut() {
        fields.insert("name".to_owned(), json!(name));
    }
    fields
}

fn row(run: &RunRow, name: &str, now_ms: u64) -> Vec<String> {
    let until = run.ended_ms.unwrap_or(now_ms);
    vec![
        run.id.to_string(),
        run.status.name().to_owned(),
        when(run.created_ms),
        span(until.saturating_sub(run.created_ms)),
        shown(name),
        run.reason.as_deref().map(shown).unwrap_or_default(),
    ]
}

/// Formats a time for people.
pub(crate) fn when(ms: u64) -> String {
    let ms = i64::try_from(ms).unwrap_or(i64::MAX);
    let Ok(time) = jiff::Timestamp::from_millisecond(ms) else {
        return String::new();
    };
    time.strftime("%Y-%m-%d %H:%M:%SZ").to_string()
}

/// Parses a status as it is typed.
pub(super) fn status(word: &str) -> Result<RunStatus, String> {
    serde_json::from_value(json!(word))
        .map_err(|_| "there are: running, paused, completed, failed, cancelled".to_owned())
}

/// Parses a length of time as it is typed.
pub(super) fn time(text: &str) -> Result<u64, String> {
    let read = flow::TimeSpan::read(text).map(|span| span.ms);
    read.ok_or_else(|| "write a time such as 30m, 2h or 7d".to_owned())
}
