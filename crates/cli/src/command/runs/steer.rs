//! `drawloom runs cancel`, `pause` and `resume`.

use app::workflows::Loom;
use clap::Args;
use flow::RunId;
use flow::engine::{Command, RunStatus};
use serde_json::json;

use crate::answering::Answering;
use crate::command::workflow::{Keeping, Past, settle};
use crate::exit::{Exit, Trouble};
use crate::output::{self, Form};
use crate::session::Session;

/// End a run: what is under way is stopped, processes and all
#[derive(Args, Debug)]
pub(crate) struct Cancel {
    /// The run: its id, the begin of it, or `last`
    run: String,
    /// Why, for whoever looks at it later
    #[arg(long, default_value = "Somebody cancelled it.")]
    reason: String,
    #[command(flatten)]
    keeping: Keeping,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Pause a run: nothing of it is begun any more; what is under way may end
#[derive(Args, Debug)]
pub(crate) struct Pause {
    /// The run: its id, the begin of it, or `last`
    run: String,
    /// Why, for whoever looks at it later
    #[arg(long, default_value = "Somebody paused it.")]
    reason: String,
    #[command(flatten)]
    keeping: Keeping,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Let a run go on, and try again what is on hold because it failed
///
/// With `--wait` it is worked on here, also when it is not paused: after a crash, or after a task was
/// answered.
#[derive(Args, Debug)]
pub(crate) struct Resume {
    /// The run: its id, the begin of it, or `last`
    run: String,
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

impl Cancel {
    pub(super) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let command = |run| Command::Cancel {
            run,
            reason: self.reason.clone(),
        };
        steer(
            session,
            &self.keeping,
            (&self.run, "cancelled", self.json),
            command,
        )
    }
}

impl Pause {
    pub(super) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let command = |run| Command::Pause {
            run,
            reason: self.reason.clone(),
        };
        steer(
            session,
            &self.keeping,
            (&self.run, "paused", self.json),
            command,
        )
    }
}

impl Resume {
    pub(super) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let loom = self.keeping.open(session, self.answering.wish())?;
        let run = loom.find(&self.run)?;
        let past = Past::of(&loom, &run.id)?;
        if run.status == RunStatus::Paused || !self.wait {
            let command = Command::Resume {
                run: run.id.clone(),
            };
            done(&loom, &run.id, command)?;
        }
        if self.wait {
            return settle(session, &loom, (&run.id, past), Form::from(self.json));
        }
        said(run.id.as_str(), "resumed", self.json)
    }
}

fn steer(
    session: &Session,
    keeping: &Keeping,
    (given, word, json): (&str, &str, bool),
    command: impl FnOnce(RunId) -> Command,
) -> Result<Exit, Trouble> {
    let loom = keeping.look(session)?;
    let run = loom.find(given)?;
    done(&loom, &run.id, command(run.id.clone()))?;
    said(run.id.as_str(), word, json)
}

/// Does it, or says what can be done instead.
fn done(loom: &Loom, run: &RunId, command: Command) -> Result<(), Trouble> {
    let refused = |error| {
        Trouble::from(error).or_hint(format!(
            "`drawloom runs show {run}` shows how it stands, `drawloom runs rerun {run}/STEP` runs a part again"
        ))
    };
    loom.execute(command).map_err(refused)
}

fn said(run: &str, word: &str, json: bool) -> Result<Exit, Trouble> {
    match Form::from(json) {
        Form::Json => output::json(&json!({ "run": run, "did": word }))?,
        Form::Text => output::say(format!("run {run} {word}")),
    }
    Ok(Exit::Done)
}
