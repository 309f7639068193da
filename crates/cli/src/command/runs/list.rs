//! `drawloom runs list`: runs of every kind, the newest first.

use app::workflows::RunFilter;
use app::{ListedKind, ListedRun, RUNS_COUNTED_MAX, RunListRequest};
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
pub(crate) const COUNTED_MAX: usize = RUNS_COUNTED_MAX;

/// List runs of every kind, the newest first: workflows, tasks, plans, builds, and the last run of each
/// recipe that wrote something
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom runs list
  drawloom runs list --kind plan
  drawloom runs list --status paused --since 2h
  drawloom runs list --workflow 'PR Review' --tag nightly
  drawloom runs list --json | jq '.runs[0].id'")]
pub(crate) struct RunsListArgs {
    /// Only runs of this kind: recipe, workflow, task, plan or build
    #[arg(long, value_name = "KIND", value_parser = kind)]
    kind: Option<ListedKind>,
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
        let request = RunListRequest {
            kind: self.kind,
            filter,
            max: self.limit,
        };
        let page = use_cases.wait(use_cases.all_runs(&request))?;
        if self.json {
            let listed: Vec<Value> = page.runs.iter().map(document).collect();
            output::json(&json!({ "runs": listed, "more": page.more }))?;
            return Ok(CliExit::Done);
        }
        if page.runs.is_empty() {
            output::say(
                "No run matches; `drawloom run THING` runs a recipe, a workflow, a task or a plan.",
            );
        }
        let rows = page.runs.iter().map(|run| row(run, now_ms));
        output::styled(&table::render(&rows.collect::<Vec<_>>()))?;
        if page.more > 0 {
            output::say(and_more(page.more));
        }
        Ok(CliExit::Done)
    }
}

/// Returns the name of a run of the engine.
pub(crate) fn name_of(use_cases: &TerminalUseCases, run: &RunRow) -> Result<String, CliError> {
    Ok(use_cases.wait(use_cases.run_name(run))?)
}

/// Says how many rows a list leaves out, as far as they were counted.
pub(crate) fn and_more(more: usize) -> String {
    match more >= COUNTED_MAX {
        true => format!("and {COUNTED_MAX} or more; `--limit` shows them"),
        false => format!("and {more} more; `--limit` shows them"),
    }
}

/// Returns a run as programs see it; one of the engine has all fields of its row.
fn document(run: &ListedRun) -> Value {
    let mut fields = match &run.row {
        Some(row) => json!(row),
        None => json!({
            "id": run.id, "status": run.status, "reason": run.reason,
            "created_ms": run.created_ms, "ended_ms": run.ended_ms,
        }),
    };
    fields["name"] = json!(run.name);
    fields["kind"] = json!(run.kind.as_str());
    fields
}

fn row(run: &ListedRun, now_ms: u64) -> Vec<String> {
    let is_open = run.row.is_some() && run.ended_ms.is_none();
    let until = run.ended_ms.or(is_open.then_some(now_ms));
    let took = until.map(|until| span(until.saturating_sub(run.created_ms)));
    vec![
        run.id.clone().unwrap_or_else(|| "-".to_owned()),
        run.kind.as_str().to_owned(),
        run.status.clone(),
        when(run.created_ms),
        took.filter(|_| run.row.is_some())
            .unwrap_or_else(|| "-".to_owned()),
        shown(&run.name),
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

/// Parses a kind as it is typed.
fn kind(word: &str) -> Result<ListedKind, String> {
    let found = ListedKind::ALL
        .into_iter()
        .find(|kind| kind.as_str() == word);
    found.ok_or_else(|| {
        let names = ListedKind::ALL.map(ListedKind::as_str);
        format!("there are: {}", names.join(", "))
    })
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
