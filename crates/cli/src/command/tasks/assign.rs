//! `drawloom tasks assign` and `retry`.

use clap::Args;
use flow::TaskId;
use flow::engine::EngineCommand;
use serde_json::{Map, Value, json};

use super::named;
use crate::command::workflow::{DatabaseArgs, input_value};
use crate::exit::{CliError, CliExit};
use crate::output::{self, OutputFormat};
use crate::session::CliSession;
use crate::use_cases::TerminalUseCases;

/// Assign a task to a person or an agent
#[derive(Args, Debug)]
pub(crate) struct TasksAssignArgs {
    /// The task: `RUN/STEP`, `RUN/STEP~VISIT` or `RUN/FOREACH[INDEX]/STEP`
    task: String,
    /// New assignee; omit to unassign
    assignee: Option<String>,
    #[command(flatten)]
    keeping: DatabaseArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Retry a task that is on hold, with all its attempts
///
/// `--with` overrides settings of its step for this retry only: prompt, handler, config, timeout,
/// retry, budget, outputSchema, confidence, contextFrom, contextTokensMax. The fields of `config`
/// are replaced one by one.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom tasks retry last/B
  drawloom tasks retry last/B --with '{\"timeout\": \"30m\", \"config\": {\"run\": \"make -k\"}}'")]
pub(crate) struct TasksRetryArgs {
    /// The task: `RUN/STEP`, `RUN/STEP~VISIT` or `RUN/FOREACH[INDEX]/STEP`
    task: String,
    /// Settings of the step for this retry only: JSON, @FILE, or - for stdin
    #[arg(long, value_name = "JSON")]
    with: Option<String>,
    #[command(flatten)]
    keeping: DatabaseArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl TasksAssignArgs {
    pub(super) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let use_cases = self.keeping.look(session)?;
        let task = named(&use_cases, &self.task)?.id;
        let assignee = self.assignee.clone();
        done(&use_cases, &task, |task| EngineCommand::Assign {
            task,
            assignee,
        })?;
        said(&task, "assigned", self.json)
    }
}

impl TasksRetryArgs {
    pub(super) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let use_cases = self.keeping.look(session)?;
        let task = named(&use_cases, &self.task)?.id;
        let with = self.settings(session)?;
        done(&use_cases, &task, |task| EngineCommand::Retry {
            task,
            with,
        })?;
        said(&task, "tried again", self.json)
    }
}

impl TasksRetryArgs {
    /// Reads the given settings, which must be an object.
    fn settings(&self, session: &CliSession) -> Result<Option<Map<String, Value>>, CliError> {
        match input_value(session, self.with.as_deref(), &[])? {
            None => Ok(None),
            Some(Value::Object(settings)) => Ok(Some(settings)),
            Some(_) => Err(CliError::usage("`--with` is not an object")
                .hint("write it as in a diagram: --with '{\"timeout\": \"30m\"}'")),
        }
    }
}

/// Does it, or says where to look.
fn done(
    use_cases: &TerminalUseCases,
    task: &TaskId,
    command: impl FnOnce(TaskId) -> EngineCommand,
) -> Result<(), CliError> {
    let refused = |error| {
        CliError::from(error).or_hint(format!("`drawloom tasks show {task}` shows its status"))
    };
    use_cases
        .wait(use_cases.execute(command(task.clone())))
        .map_err(refused)
}

fn said(task: &TaskId, word: &str, json: bool) -> Result<CliExit, CliError> {
    match OutputFormat::from(json) {
        OutputFormat::Json => output::json(&json!({ "task": task, "did": word }))?,
        OutputFormat::Text => output::say(format!("{task} is {word}")),
    }
    Ok(CliExit::Done)
}
