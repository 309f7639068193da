//! `drawloom runs rerun`: a part of a run once more.

use clap::Args;
use flow::engine::Command;
use serde_json::json;

use crate::answering::Answering;
use crate::command::tasks::named;
use crate::command::workflow::{Keeping, Past, settle};
use crate::exit::{Exit, Trouble};
use crate::output::{self, Form};
use crate::session::Session;

/// Run a step of a run once more, and everything after it; what it gave before is kept
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom runs rerun last/B
  drawloom runs rerun '19a8c/C[2]/C' --wait")]
pub(crate) struct Rerun {
    /// The task: `RUN/STEP`, `RUN/STEP~VISIT` or `RUN/FOREACH[INDEX]/STEP`
    task: String,
    /// Work on the run here, until it has ended or waits for somebody
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    answering: Answering,
    #[command(flatten)]
    keeping: Keeping,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Rerun {
    pub(super) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let loom = self.keeping.open(session, self.answering.wish())?;
        let task = named(&loom, &self.task)?;
        let run = task.id.run.clone();
        let past = Past::of(&loom, &run)?;
        let rerun = Command::Rerun {
            task: task.id.clone(),
        };
        let refused = |error| {
            Trouble::from(error).or_hint(format!("`drawloom runs show {run}` shows how it stands"))
        };
        loom.execute(rerun).map_err(refused)?;
        let form = Form::from(self.json);
        if self.wait {
            return settle(session, &loom, (&run, past), form);
        }
        match form {
            Form::Json => output::json(&json!({ "run": run, "did": "rerun", "task": task.id }))?,
            Form::Text => output::say(format!("{} runs again", task.id)),
        }
        Ok(Exit::Done)
    }
}
