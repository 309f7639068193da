//! `drawloom runs list`: the runs of workflows, the newest first.

use clap::Args;
use flow::engine::{RunRow, RunStatus};
use serde_json::{Value, json};

use crate::command::workflow::Keeping;
use crate::exit::{Exit, Trouble};
use crate::live::shown;
use crate::output;
use crate::session::Session;
use crate::table;

/// List the runs of workflows, the newest first
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom runs list
  drawloom runs list --status paused
  drawloom runs list --json | jq '.runs[0].id'")]
pub(crate) struct List {
    /// Only those of this status: running, paused, completed, failed or cancelled
    #[arg(long, value_name = "STATUS", value_parser = status)]
    status: Option<RunStatus>,
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
        let runs = loom.runs(self.status, self.limit)?;
        let mut names = Vec::new();
        for run in &runs {
            let workflow = loom.workflow(run)?;
            let first = workflow.steps().first().map(|step| step.name.clone());
            names.push(
                workflow
                    .name()
                    .map(str::to_owned)
                    .or(first)
                    .unwrap_or_default(),
            );
        }
        if self.json {
            let listed: Vec<Value> = runs
                .iter()
                .zip(&names)
                .map(|(run, name)| {
                    let mut fields = json!(run);
                    if let Some(fields) = fields.as_object_mut() {
                        fields.insert("name".to_owned(), json!(name));
                    }
                    fields
                })
                .collect();
            output::json(&json!({ "runs": listed }))?;
            return Ok(Exit::Done);
        }
        if runs.is_empty() {
            output::say("There are no such runs; `drawloom workflow start FILE` begins one.");
        }
        let rows: Vec<Vec<String>> = runs
            .iter()
            .zip(&names)
            .map(|(run, name)| row(run, name))
            .collect();
        output::styled(&table::render(&rows))?;
        Ok(Exit::Done)
    }
}

fn row(run: &RunRow, name: &str) -> Vec<String> {
    vec![
        run.id.to_string(),
        run.status.name().to_owned(),
        when(run.created_ms),
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
