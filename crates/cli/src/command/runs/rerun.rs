//! `drawloom runs rerun`: a part of a run once more.

use clap::Args;
use flow::engine::EngineCommand;
use serde_json::json;

use crate::ai_args::AiArgs;
use crate::command::tasks::named;
use crate::command::workflow::{DatabaseArgs, SeenEvents, settle};
use crate::exit::{CliError, CliExit};
use crate::output::{self, OutputFormat};
use crate::session::CliSession;

/// Run a step of a run again, and everything after it; its earlier outputs are kept
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom runs rerun last/B
  drawloom runs rerun '19a8c/C[2]/C' --wait")]
pub(crate) struct RunsRerunArgs {
    /// The task: `RUN/STEP`, `RUN/STEP~VISIT` or `RUN/FOREACH[INDEX]/STEP`
    task: String,
    /// Work on the run here, until it has ended or waits for a person
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    answering: AiArgs,
    #[command(flatten)]
    keeping: DatabaseArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl RunsRerunArgs {
    pub(super) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let use_cases = self.keeping.open(session, self.answering.wish())?;
        let task = named(&use_cases, &self.task)?;
        let run = task.id.run.clone();
        let past = SeenEvents::of(&use_cases, &run)?;
        let rerun = EngineCommand::Rerun {
            task: task.id.clone(),
        };
        let refused = |error| {
            CliError::from(error).or_hint(format!("`drawloom runs show {run}` shows its status"))
        };
        use_cases.wait(use_cases.execute(rerun)).map_err(refused)?;
        let form = OutputFormat::from(self.json);
        if self.wait {
            return settle(session, &use_cases, (&run, past), form);
        }
        match form {
            OutputFormat::Json => {
                output::json(&json!({ "run": run, "did": "rerun", "task": task.id }))?
            }
            OutputFormat::Text => output::say(format!("{} runs again", task.id)),
        }
        Ok(CliExit::Done)
    }
}
