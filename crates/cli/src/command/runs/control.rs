//! `drawloom runs cancel`, `pause` and `resume`.

use clap::Args;
use flow::RunId;
use flow::engine::{EngineCommand, RunStatus};
use serde_json::json;

use crate::ai_args::AiArgs;
use crate::command::workflow::{DatabaseArgs, SeenEvents, settle};
use crate::exit::{CliError, CliExit};
use crate::output::{self, OutputFormat};
use crate::session::CliSession;
use crate::use_cases::TerminalUseCases;

/// Cancel a run and stop its running tasks and their processes
#[derive(Args, Debug)]
pub(crate) struct RunsCancelArgs {
    /// Run id, unique prefix, or `last`
    run: String,
    /// The reason, shown with the run
    #[arg(long, default_value = "Cancelled on the command line.")]
    reason: String,
    #[command(flatten)]
    keeping: DatabaseArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Pause a run: no task is started any more, running tasks may end
#[derive(Args, Debug)]
pub(crate) struct RunsPauseArgs {
    /// Run id, unique prefix, or `last`
    run: String,
    /// The reason, shown with the run
    #[arg(long, default_value = "Paused on the command line.")]
    reason: String,
    #[command(flatten)]
    keeping: DatabaseArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Resume a run, and retry its tasks that are on hold after a failure
///
/// With `--wait` this command works on the run, also if it is not paused: after a crash, or after a
/// task was answered.
#[derive(Args, Debug)]
pub(crate) struct RunsResumeArgs {
    /// Run id, unique prefix, or `last`
    run: String,
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

impl RunsCancelArgs {
    pub(super) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let command = |run| EngineCommand::Cancel {
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

impl RunsPauseArgs {
    pub(super) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let command = |run| EngineCommand::Pause {
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

impl RunsResumeArgs {
    pub(super) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let use_cases = self.keeping.open(session, self.answering.wish())?;
        let run = use_cases.wait(use_cases.find(&self.run))?;
        let past = SeenEvents::of(&use_cases, &run.id)?;
        if run.status == RunStatus::Paused || !self.wait {
            let command = EngineCommand::Resume {
                run: run.id.clone(),
            };
            done(&use_cases, &run.id, command)?;
        }
        if self.wait {
            return settle(
                session,
                &use_cases,
                (&run.id, past),
                OutputFormat::from(self.json),
            );
        }
        said(run.id.as_str(), "resumed", self.json)
    }
}

fn steer(
    session: &CliSession,
    keeping: &DatabaseArgs,
    (given, word, json): (&str, &str, bool),
    command: impl FnOnce(RunId) -> EngineCommand,
) -> Result<CliExit, CliError> {
    let use_cases = keeping.look(session)?;
    let run = use_cases.wait(use_cases.find(given))?;
    done(&use_cases, &run.id, command(run.id.clone()))?;
    said(run.id.as_str(), word, json)
}

/// Does it, or says what can be done instead.
fn done(use_cases: &TerminalUseCases, run: &RunId, command: EngineCommand) -> Result<(), CliError> {
    let refused = |error| {
        CliError::from(error).or_hint(format!(
            "`drawloom runs show {run}` shows its status, `drawloom runs rerun {run}/STEP` runs a part again"
        ))
    };
    use_cases.wait(use_cases.execute(command)).map_err(refused)
}

fn said(run: &str, word: &str, json: bool) -> Result<CliExit, CliError> {
    match OutputFormat::from(json) {
        OutputFormat::Json => output::json(&json!({ "run": run, "did": word }))?,
        OutputFormat::Text => output::say(format!("run {run} {word}")),
    }
    Ok(CliExit::Done)
}
