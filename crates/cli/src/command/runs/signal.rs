//! `drawloom runs signal`: tells a run something that one of its steps waits for.

use clap::Args;
use flow::engine::Command;
use serde_json::{Value, json};

use crate::command::workflow::{Keeping, answer_value};
use crate::exit::{Exit, Trouble};
use crate::output::{self, Form};
use crate::session::Session;

/// Send a signal to a run: a step that waits for it goes on, with the payload as its output
///
/// A signal that comes before its step is kept for it.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom runs signal last deployed
  drawloom runs signal last deployed url=https://example.org
  drawloom runs signal 19a8c deployed '{\"url\": \"https://example.org\"}'")]
pub(crate) struct Signal {
    /// The run: its id, the begin of it, or `last`
    run: String,
    /// The signal, as the step's `signal` names it
    name: String,
    /// The payload: JSON, a text, @FILE, -, or NAME=VALUE words; null if left out
    payload: Vec<String>,
    #[command(flatten)]
    keeping: Keeping,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Signal {
    pub(super) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let payload = match self.payload.is_empty() {
            true => Value::Null,
            false => answer_value(session, &self.payload)?,
        };
        let loom = self.keeping.look(session)?;
        let run = loom.find(&self.run)?.id;
        let signal = Command::Signal {
            run: run.clone(),
            name: self.name.clone(),
            payload,
        };
        let refused = |error| {
            Trouble::from(error).or_hint(format!("`drawloom runs show {run}` shows how it stands"))
        };
        loom.execute(signal).map_err(refused)?;
        match Form::from(self.json) {
            Form::Json => {
                output::json(&json!({ "run": run, "did": "signalled", "signal": self.name }))?
            }
            Form::Text => output::say(format!("{run} was sent the signal {}", self.name)),
        }
        Ok(Exit::Done)
    }
}
