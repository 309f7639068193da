//! `drawloom runs show`: one run: its graph, its tasks, and why each branch was taken.

use clap::Args;
use flow::Which;
use flow::engine::{TaskRow, What};
use serde_json::{Value, json};

use super::list::when;
use crate::command::workflow::{Keeping, event_json, statuses, told};
use crate::exit::{Exit, Trouble};
use crate::live::shown;
use crate::output;
use crate::session::Session;
use crate::table;

/// How wide the graph is drawn.
const WIDTH: usize = 100;

/// Show a run: its graph, its tasks, and why each branch was taken
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom runs show last
  drawloom runs show last --events
  drawloom runs show 19a8c --json | jq '.tasks[] | {id, status}'")]
pub(crate) struct Show {
    /// The run: its id, the begin of it, or `last`
    run: String,
    /// Everything that happened, in order
    #[arg(long)]
    events: bool,
    #[command(flatten)]
    keeping: Keeping,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Show {
    pub(super) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let loom = self.keeping.look(session)?;
        let run = loom.find(&self.run)?;
        let workflow = loom.workflow(&run)?;
        let tasks = loom.tasks(Some(&run.id), Which::All)?;
        let events = loom.events(&run.id)?;
        if self.json {
            let told: Vec<Value> = events.iter().map(event_json).collect();
            output::json(&json!({
                "run": run, "input": loom.input(&run.id)?, "tasks": tasks, "events": told,
            }))?;
            return Ok(Exit::Done);
        }
        let reached = statuses(&events);
        let mut text = format!("run {} is {}", run.id, run.status.name());
        if let Some(reason) = &run.reason {
            text.push_str(&format!(": {reason}"));
        }
        text.push_str(&format!("\nbegun {}", when(run.created_ms)));
        if let Some(ended) = run.ended_ms {
            text.push_str(&format!(", ended {}", when(ended)));
        }
        if run.spent.tokens > 0 {
            text.push_str(&format!(", {} tokens", run.spent.tokens));
        }
        text.push_str("\n\n");
        text.push_str(&workflow.document().diagram().to_text(WIDTH, &reached));
        text.push('\n');
        let rows: Vec<Vec<String>> = tasks.iter().map(row).collect();
        text.push_str(&table::render(&rows));
        let decided = events.iter().filter(|event| {
            self.events || matches!(event.what, What::Decided { .. } | What::Warned { .. })
        });
        let lines: Vec<String> = decided
            .filter_map(|event| told(&workflow, event, false))
            .collect();
        if !lines.is_empty() {
            text.push_str(&format!("\n{}\n", lines.join("\n")));
        }
        output::styled(&output::harmless(&text))?;
        Ok(Exit::Done)
    }
}

fn row(task: &TaskRow) -> Vec<String> {
    let why = match (&task.hold, &task.failure, &task.output) {
        (Some(hold), ..) => shown(&hold.reason),
        (None, Some(failure), None) => shown(&failure.message),
        (None, _, Some(output)) => shown(&output.to_string()),
        (None, None, None) => String::new(),
    };
    vec![
        task.id.to_string(),
        task.status.name().to_owned(),
        format!("attempt {}", task.attempt),
        why,
    ]
}
