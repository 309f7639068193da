//! `drawloom tasks`: the tasks of runs: who waits for what, and the answers.

mod act;
mod answer;
mod list;
mod show;

use app::workflows::Loom;
use clap::Subcommand;
use flow::engine::TaskRow;
use flow::{TaskId, Which};

use crate::command::workflow::place;
use crate::exit::{Exit, Trouble};
use crate::session::Session;

/// Look at the tasks of runs, and answer those that wait for a person
#[derive(Debug, Subcommand)]
pub(crate) enum Tasks {
    List(list::List),
    Show(show::Show),
    Answer(answer::Answer),
    Assign(act::Assign),
    Retry(act::Retry),
}

impl Tasks {
    pub(crate) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        match self {
            Self::List(list) => list.run(session),
            Self::Show(show) => show.run(session),
            Self::Answer(answer) => answer.run(session),
            Self::Assign(assign) => assign.run(session),
            Self::Retry(retry) => retry.run(session),
        }
    }
}

/// How many tasks are named to somebody who named none of them.
const NAMED_MAX: usize = 12;

/// The task of this name; where there is none, those there are, or that its step was not come to.
pub(crate) fn named(loom: &Loom, name: &str) -> Result<TaskRow, Trouble> {
    let error = match loom.task(name) {
        Ok(task) => return Ok(task),
        Err(error) => error,
    };
    let Ok(wanted) = name.parse::<TaskId>() else {
        let run = if name.is_empty() { "RUN" } else { name };
        let hint = format!("`drawloom tasks list --run {run} --all` lists the tasks of a run");
        return Err(Trouble::from(error).or_hint(hint));
    };
    let Ok(run) = loom.find(wanted.run.as_str()) else {
        return Err(error.into());
    };
    let tasks = loom.tasks(Some(&run.id), Which::All)?;
    let known: Vec<String> = tasks.iter().map(|task| place(&task.id)).collect();
    let wanted_place = place(&wanted);
    let workflow = loom.workflow(&run)?;
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
        return Err(Trouble::failed("E_NOT_FOUND", message).hint(hint));
    }
    let is_step = step.is_some();
    let hint = match app::nearest(&wanted_place, known.iter().map(String::as_str)) {
        _ if is_step && !tasks.iter().any(|task| task.id.step == wanted.step) => {
            format!("the run has not come to `{}`", wanted.step)
        }
        Some(near) => format!("did you mean `{}/{near}`?", run.id),
        None if known.len() <= NAMED_MAX => format!("its tasks: {}", known.join(", ")),
        None => format!("`drawloom tasks list --run {} --all` lists them", run.id),
    };
    Err(Trouble::from(error).hint(hint))
}
