//! `drawloom tasks`: the tasks of runs: who waits for what, and the answers.

mod add;
mod answer;
mod assign;
mod list;
mod show;

use clap::Subcommand;
use flow::engine::TaskRow;
use flow::{TaskId, TaskSelection};

use crate::command::workflow::place;
use crate::exit::{CliError, CliExit};
use crate::session::CliSession;
use crate::use_cases::TerminalUseCases;

/// List the tasks of runs, and answer those that wait for a person
#[derive(Debug, Subcommand)]
pub(crate) enum TasksCommand {
    List(list::TasksListArgs),
    Show(show::TasksShowArgs),
    Answer(answer::TasksAnswerArgs),
    Add(Box<add::AddTask>),
    Edit(Box<add::EditTask>),
    Comment(add::CommentTask),
    Assign(assign::TasksAssignArgs),
    Retry(assign::TasksRetryArgs),
}

impl TasksCommand {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        match self {
            Self::List(list) => list.run(session),
            Self::Show(show) => show.run(session),
            Self::Answer(answer) => answer.run(session),
            Self::Add(add) => add.run(session),
            Self::Edit(edit) => edit.run(session),
            Self::Comment(comment) => comment.run(session),
            Self::Assign(assign) => assign.run(session),
            Self::Retry(retry) => retry.run(session),
        }
    }
}

/// Number of tasks listed to a person who named no task.
const NAMED_MAX: usize = 12;

/// Finds the task of this name. If no task matches, the error lists the run's tasks, or says that the
/// step was not reached yet.
pub(crate) fn named(use_cases: &TerminalUseCases, name: &str) -> Result<TaskRow, CliError> {
    let error = match use_cases.wait(use_cases.task(name)) {
        Ok(task) => return Ok(task),
        Err(error) => error,
    };
    let Ok(wanted) = name.parse::<TaskId>() else {
        let run = if name.is_empty() { "RUN" } else { name };
        let hint = format!("`drawloom tasks list --run {run} --all` lists the tasks of a run");
        return Err(CliError::from(error).or_hint(hint));
    };
    let Ok(run) = use_cases.wait(use_cases.find(wanted.run.as_str())) else {
        return Err(error.into());
    };
    let tasks = use_cases.wait(use_cases.tasks(Some(&run.id), TaskSelection::All))?;
    let known: Vec<String> = tasks.iter().map(|task| place(&task.id)).collect();
    let wanted_place = place(&wanted);
    let workflow = use_cases.wait(use_cases.workflow(&run))?;
    let step = workflow.step(&wanted.step);
    if step.is_some_and(|step| step.step_type == flow::StepType::Decision) {
        let before = workflow
            .edges()
            .iter()
            .filter(|edge| edge.to == wanted.step);
        let before: Vec<String> = before
            .map(|edge| format!("`{}/{}`", run.id, edge.from))
            .collect();
        let message = format!(
            "`{}` is a decision, which is taken when the step before it ends and has no task of its own",
            wanted.step
        );
        let hint = format!("name the step before it: {}", before.join(", "));
        return Err(CliError::failed("E_NOT_FOUND", message).hint(hint));
    }
    let is_step = step.is_some();
    let hint = match app::nearest(&wanted_place, known.iter().map(String::as_str)) {
        _ if is_step && !tasks.iter().any(|task| task.id.step == wanted.step) => {
            format!("the run has not reached `{}`", wanted.step)
        }
        Some(near) => format!("did you mean `{}/{near}`?", run.id),
        None if known.len() <= NAMED_MAX => format!("its tasks: {}", known.join(", ")),
        None => format!("`drawloom tasks list --run {} --all` lists them", run.id),
    };
    Err(CliError::from(error).hint(hint))
}
