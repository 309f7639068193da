//! `drawloom tasks answer`: a person does a manual task, or decides about one on hold.

use clap::Args;
use flow::TaskSelection;
use flow::engine::{EngineCommand, RunStatus, TaskAnswer as Given, TaskRow};
use serde_json::json;

use super::list::waits_for_a_person;
use super::named;
use crate::command::workflow::{DatabaseArgs, answer_value, ask};
use crate::exit::{CliError, CliExit};
use crate::output::{self, OutputFormat};
use crate::session::CliSession;
use crate::use_cases::TerminalUseCases;

/// Answer a task that waits for a person
///
/// The answer is the task's output: a text, JSON, @FILE or - for stdin, or NAME=VALUE words.
/// Without one, you are asked at the terminal. A step with an `outputSchema` refuses an answer that
/// does not fit. A callback proves with `--token` that it may answer.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom tasks answer last                    (asks, if one task of the last run waits)
  drawloom tasks answer last/G approved=true note='looks good'
  drawloom tasks answer last/G '{\"approved\": true}'
  drawloom tasks answer last/G @review.md
  drawloom tasks answer last/G --accept
  drawloom tasks answer last/G --fail 'no source found'")]
pub(crate) struct TasksAnswerArgs {
    /// The task: `RUN/STEP`, `RUN/STEP~VISIT` or `RUN/FOREACH[INDEX]/STEP`; or a run with one
    /// waiting task
    task: String,
    /// The output: a text, JSON, @FILE, -, or NAME=VALUE words
    output: Vec<String>,
    /// Accept the output that the task already has
    #[arg(long, conflicts_with_all = ["output", "fail"])]
    accept: bool,
    /// Fail the task with this reason
    #[arg(long, value_name = "WHY", conflicts_with = "output")]
    fail: Option<String>,
    /// The person who answers; you by default
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// The token that was sent along with a call
    #[arg(long)]
    token: Option<String>,
    #[command(flatten)]
    keeping: DatabaseArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl TasksAnswerArgs {
    pub(super) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let answer = self.answer(session)?;
        let use_cases = self.keeping.look(session)?;
        let task = self.task(&use_cases)?;
        if let Some(token) = &self.token {
            use_cases.wait(use_cases.check_token(&task.id, token))?;
        }
        let form = OutputFormat::from(self.json);
        let Some(answer) = answer else {
            let is_person =
                form == OutputFormat::Text && self.token.is_none() && output::has_person();
            return match is_person && ask(&use_cases, &task)? {
                true => told(&use_cases, &task, form),
                false => Err(CliError::usage("there is no answer")
                    .hint("give one, or `--accept`, or `--fail WHY`")),
            };
        };
        let by = match (&self.by, &self.token) {
            (Some(by), _) => by.clone(),
            (None, Some(_)) => "callback".to_owned(),
            (None, None) => use_cases.person(),
        };
        let command = EngineCommand::Answer {
            task: task.id.clone(),
            by,
            answer,
        };
        let refused = |error| {
            let id = &task.id;
            CliError::from(error).or_hint(format!("`drawloom tasks show {id}` shows its status"))
        };
        use_cases
            .wait(use_cases.execute(command))
            .map_err(refused)?;
        told(&use_cases, &task, form)
    }

    /// Returns the named task, or the only waiting one of the named run.
    fn task(&self, use_cases: &TerminalUseCases) -> Result<TaskRow, CliError> {
        if self.task.contains('/') {
            return named(use_cases, &self.task);
        }
        let run = use_cases.wait(use_cases.find(&self.task))?;
        let mut waiting = use_cases.wait(use_cases.tasks(Some(&run.id), TaskSelection::Active))?;
        waiting.retain(waits_for_a_person);
        if waiting.len() > 1 {
            let names: Vec<String> = waiting.iter().map(|task| task.id.to_string()).collect();
            let message = format!("{} tasks of this run wait", waiting.len());
            return Err(CliError::usage(message).hint(format!("name one: {}", names.join(", "))));
        }
        waiting.pop().ok_or_else(|| {
            let id = &run.id;
            CliError::failed(
                "E_NOT_FOUND",
                format!("no task of the run {id} waits for a person"),
            )
            .hint(format!("`drawloom runs show {id}` shows its status"))
        })
    }

    fn answer(&self, session: &CliSession) -> Result<Option<Given>, CliError> {
        if self.accept {
            return Ok(Some(Given::Accept));
        }
        if let Some(message) = &self.fail {
            let message = message.clone();
            return Ok(Some(Given::Failed { message }));
        }
        if self.output.is_empty() {
            return Ok(None);
        }
        let output = answer_value(session, &self.output)?;
        Ok(Some(Given::Done { output }))
    }
}

/// Says what the answer came to: the run goes on, or it has ended with it.
fn told(
    use_cases: &TerminalUseCases,
    task: &TaskRow,
    form: OutputFormat,
) -> Result<CliExit, CliError> {
    let id = &task.id;
    if form == OutputFormat::Json {
        output::json(&json!({ "task": id, "did": "answered" }))?;
        return Ok(CliExit::Done);
    }
    output::say(format!("{id} is answered"));
    let run = use_cases.wait(use_cases.run(&id.run))?;
    output::say(match run.map(|run| run.status) {
        Some(status) if status.is_terminal() => format!("the run is {}", status.name()),
        Some(RunStatus::Paused) => format!(
            "the run is paused; `drawloom runs show {}` shows why",
            id.run
        ),
        _ => format!(
            "a worker goes on with the run, or `drawloom runs resume {} --wait`",
            id.run
        ),
    });
    Ok(CliExit::Done)
}
