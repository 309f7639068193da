//! `drawloom runs list`: the runs of workflows, the newest first.

use clap::Args;
use flow::engine::{RunRow, RunStatus};
use serde_json::{Value, json};

use crate::command::workflow::{Keeping, span};
use crate::exit::{Exit, Trouble};
use crate::live::shown;
use crate::output;
use crate::session::Session;
use crate::table;

/// How many runs are looked through for those that a filter wants.
const LOOKED_MAX: usize = 20_000;

/// List the runs of workflows, the newest first
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom runs list
  drawloom runs list --status paused --since 2h
  drawloom runs list --workflow 'PR Review' --tag nightly
  drawloom runs list --json | jq '.runs[0].id'")]
pub(crate) struct List {
    /// Only those of this status: running, paused, completed, failed or cancelled
    #[arg(long, value_name = "STATUS", value_parser = status)]
    status: Option<RunStatus>,
    /// Only those of workflows with this in their name
    #[arg(long, value_name = "NAME")]
    workflow: Option<String>,
    /// Only those with this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// Only those begun in this time, such as 30m, 2h or 7d
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<u64>,
    /// Not those that other runs have started
    #[arg(long)]
    top: bool,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    #[command(flatten)]
    keeping: Keeping,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl List {
    pub(super) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let loom = self.keeping.look(session)?;
        let now_ms = session.surroundings.now_ms as u64;
        let is_filtered =
            self.workflow.is_some() || self.tag.is_some() || self.since.is_some() || self.top;
        let max = if is_filtered { LOOKED_MAX } else { self.limit };
        let mut found: Vec<(RunRow, String)> = Vec::new();
        for run in loom.runs(self.status, max)? {
            if found.len() >= self.limit {
                break;
            }
            if !self.wants(&run, now_ms) {
                continue;
            }
            let workflow = loom.workflow(&run)?;
            let first = workflow.steps().first().map(|step| step.name.as_str());
            let name = workflow.name().or(first).unwrap_or_default().to_owned();
            let wanted = self.workflow.as_ref().map(|wanted| wanted.to_lowercase());
            if wanted.is_none_or(|wanted| name.to_lowercase().contains(&wanted)) {
                found.push((run, name));
            }
        }
        if self.json {
            let listed: Vec<Value> = found.iter().map(document).collect();
            output::json(&json!({ "runs": listed }))?;
            return Ok(Exit::Done);
        }
        if found.is_empty() {
            output::say("There are no such runs; `drawloom workflow start FILE` begins one.");
        }
        let rows = found.iter().map(|(run, name)| row(run, name, now_ms));
        output::styled(&table::render(&rows.collect::<Vec<_>>()))?;
        Ok(Exit::Done)
    }

    fn wants(&self, run: &RunRow, now_ms: u64) -> bool {
        let is_new = |span: u64| run.created_ms.saturating_add(span) >= now_ms;
        self.tag.as_ref().is_none_or(|tag| run.tags.contains(tag))
            && self.since.is_none_or(is_new)
            && !(self.top && run.parent.is_some())
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

/// A time as people write it.
pub(super) fn when(ms: u64) -> String {
    let ms = i64::try_from(ms).unwrap_or(i64::MAX);
    let Ok(time) = jiff::Timestamp::from_millisecond(ms) else {
        return String::new();
    };
    time.strftime("%Y-%m-%d %H:%M:%SZ").to_string()
}

/// A status as it is typed.
fn status(word: &str) -> Result<RunStatus, String> {
    serde_json::from_value(json!(word))
        .map_err(|_| "there are: running, paused, completed, failed, cancelled".to_owned())
}

/// A length of time as it is typed.
fn time(text: &str) -> Result<u64, String> {
    let read = flow::Duration::read(text).map(|span| span.ms);
    read.ok_or_else(|| "write a time such as 30m, 2h or 7d".to_owned())
}
