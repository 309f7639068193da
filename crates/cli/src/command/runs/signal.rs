//! `drawloom runs signal`: tells a run something that one of its steps waits for.

use clap::Args;
use flow::engine::EngineCommand;
use serde_json::{Value, json};

use crate::command::workflow::{DatabaseArgs, answer_value};
use crate::exit::{CliError, CliExit};
use crate::output::{self, OutputFormat};
use crate::session::CliSession;

/// Send a signal to a run: the step that waits for it continues, with the payload as its output
///
/// A signal that arrives before its step is stored for it.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom runs signal last deployed
  drawloom runs signal last deployed url=https://example.org
  drawloom runs signal 19a8c deployed '{\"url\": \"https://example.org\"}'")]
pub(crate) struct RunsSignalArgs {
    /// Run id, unique prefix, or `last`
    run: String,
    /// The signal, as the step's `signal` names it
    name: String,
    /// The payload: JSON, a text, @FILE, -, or NAME=VALUE words; null by default
    payload: Vec<String>,
    #[command(flatten)]
    keeping: DatabaseArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl RunsSignalArgs {
    pub(super) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let payload = match self.payload.is_empty() {
            true => Value::Null,
            false => answer_value(session, &self.payload)?,
        };
        let use_cases = self.keeping.look(session)?;
        let run = use_cases.wait(use_cases.find(&self.run))?.id;
        let signal = EngineCommand::Signal {
            run: run.clone(),
            name: self.name.clone(),
            payload,
        };
        let refused = |error| {
            CliError::from(error).or_hint(format!("`drawloom runs show {run}` shows its status"))
        };
        use_cases.wait(use_cases.execute(signal)).map_err(refused)?;
        match OutputFormat::from(self.json) {
            OutputFormat::Json => {
                output::json(&json!({ "run": run, "did": "signalled", "signal": self.name }))?
            }
            OutputFormat::Text => output::say(format!("{run} was sent the signal {}", self.name)),
        }
        Ok(CliExit::Done)
    }
}
