//! `drawloom tasks show`: one task: what is asked, how it stands, what it gave.

use clap::Args;
use serde_json::json;

use crate::command::workflow::{Keeping, how_to_answer};
use crate::exit::{Exit, Trouble};
use crate::output;
use crate::session::Session;

/// Show a task: what is asked, how it stands, what it gave
#[derive(Args, Debug)]
pub(crate) struct Show {
    /// The task: `RUN/STEP`, `RUN/STEP~VISIT` or `RUN/FOREACH[INDEX]/STEP`
    task: String,
    #[command(flatten)]
    keeping: Keeping,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Show {
    pub(super) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let loom = self.keeping.look(session)?;
        let task = loom.task(&self.task)?;
        if self.json {
            output::json(&json!({ "task": task, "prompt": loom.prompt(&task)? }))?;
            return Ok(Exit::Done);
        }
        let mut text = match task.status.is_terminal() {
            true => format!("{} is {}", task.id, task.status.name()),
            false => format!(
                "{}\nstatus {}",
                how_to_answer(&loom, &task),
                task.status.name()
            ),
        };
        text.push_str(&format!(", attempt {}", task.attempt));
        if let Some(failure) = &task.failure {
            text.push_str(&format!(
                "\nlast failure ({}): {}",
                failure.class.name(),
                failure.message
            ));
        }
        if let Some(output) = &task.output {
            text.push_str(&format!("\noutput {output:#}"));
        }
        if !task.tags.is_empty() {
            text.push_str(&format!("\ntags {}", task.tags.join(", ")));
        }
        output::styled(&output::harmless(&format!("{text}\n")))?;
        Ok(Exit::Done)
    }
}
