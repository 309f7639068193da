//! Works on a run in this process, until it has ended or needs something from outside.

use std::time::Duration;

use app::worker::{StopCondition, WorkerEnd, WorkerOptions};
use app::workflows::RunActivity;
use flow::engine::{
    AttemptFailure, FailureClass, HoldKind, RunEvent, RunRow, RunStatus, TaskRow, TaskStatus,
    WorkflowTaskKind,
};
use flow::{RunId, TaskSelection};
use serde_json::{Value, json};

use super::ask_person::{answer_all, how_to_answer};
use super::view::WorkflowRunView;
use crate::exit::{CliError, CliExit};
use crate::interrupt;
use crate::output::{self, OutputFormat};
use crate::session::CliSession;
use crate::use_cases::TerminalUseCases;

/// Events of a run that were already shown.
#[derive(Debug, Default)]
pub(crate) struct SeenEvents(Vec<RunEvent>);

impl SeenEvents {
    /// Collects all events so far, of a run and of those it has started.
    pub(crate) fn of(use_cases: &TerminalUseCases, run: &RunId) -> Result<Self, CliError> {
        let mut past = Self::default();
        let mut open = vec![run.clone()];
        while let Some(run) = open.pop() {
            past.0.extend(use_cases.wait(use_cases.events(&run))?);
            let tasks = use_cases.wait(use_cases.tasks(Some(&run), TaskSelection::All))?;
            let subflows = tasks
                .iter()
                .filter(|task| task.kind == WorkflowTaskKind::Subflow);
            for task in subflows {
                let child = RunId::child_of(&task.id, task.fence);
                if use_cases.wait(use_cases.run(&child))?.is_some() {
                    open.push(child);
                }
            }
        }
        Ok(past)
    }
}

/// Works on a run, asks the person who is there, and prints what came out. Past events are not printed
/// again.
pub(crate) fn settle(
    session: &CliSession,
    use_cases: &TerminalUseCases,
    (run, past): (&RunId, SeenEvents),
    form: OutputFormat,
) -> Result<CliExit, CliError> {
    let Some(row) = use_cases.wait(use_cases.run(run))? else {
        return Err(CliError::failed(
            "E_NOT_FOUND",
            format!("there is no run `{run}`"),
        ));
    };
    let workflow = use_cases.wait(use_cases.workflow(&row))?;
    let settings = &use_cases.project().settings.workflows;
    let order = WorkerOptions {
        name: app::workflows::worker_name(&session.surroundings),
        concurrency: settings.concurrency,
        lease: Duration::from_secs(settings.lease_seconds),
        assignees: Vec::new(),
        until: StopCondition::Settled(run.clone()),
    };
    let has_person = form == OutputFormat::Text && output::has_person();
    let now_ms = session.surroundings.now_ms as u64;
    let mut view = WorkflowRunView::new(form, (run, workflow), &past.0, now_ms);
    loop {
        let busy = interrupt::InterruptGuard::work();
        let ended = use_cases.wait(use_cases.work(&order, &mut view, &interrupt::cancel()));
        drop(busy);
        view.finish();
        let standing = match ended? {
            WorkerEnd::Settled(standing) => *standing,
            WorkerEnd::Idle | WorkerEnd::StillPending(_) => continue,
            WorkerEnd::Stopped { .. } => return Ok(stopped(run)),
        };
        match standing {
            RunActivity::Going => {}
            RunActivity::Paused(row) => return Err(paused(use_cases, (&row, run), form)?),
            RunActivity::Ended(row) => return report(use_cases, &row, form),
            RunActivity::Waiting(tasks) => {
                let is_answered =
                    has_person && tasks.iter().any(is_for_people) && answer_all(use_cases, &tasks)?;
                if !is_answered {
                    return waits(use_cases, (&tasks, run), form);
                }
            }
        }
    }
}

/// Says how to go on with a run that was interrupted here.
fn stopped(run: &RunId) -> CliExit {
    interrupt::obeyed();
    output::say(format!(
        "interrupted; nothing is lost: `drawloom runs resume {run} --wait` continues the run"
    ));
    CliExit::Interrupted
}

/// Prints what a run came to.
fn report(
    use_cases: &TerminalUseCases,
    row: &RunRow,
    form: OutputFormat,
) -> Result<CliExit, CliError> {
    let output = match &row.result {
        Some(task) => use_cases
            .wait(use_cases.task(&task.to_string()))?
            .output
            .unwrap_or_default(),
        None => Value::Null,
    };
    match form {
        OutputFormat::Json => {
            let line = json!({
                "event": "result", "run": row.id, "status": row.status, "reason": row.reason,
                "output": output, "spent": row.spent,
            });
            output::json_line(&line)?;
        }
        OutputFormat::Text if row.status == RunStatus::Completed => match &output {
            Value::String(text) => output::styled(&format!("{}\n", output::harmless(text)))?,
            value => output::json(value)?,
        },
        OutputFormat::Text => {}
    }
    let run = &row.id;
    let reason = row.reason.as_deref().unwrap_or("no reason was given");
    match row.status {
        RunStatus::Completed => Ok(CliExit::Done),
        RunStatus::Cancelled => Err(CliError::failed(
            "E_RUN_CANCELLED",
            format!("the run {run} was cancelled: {reason}"),
        )),
        _ => Err(
            CliError::failed("E_RUN_FAILED", format!("the run {run} failed: {reason}"))
                .hint(format!("`drawloom runs show {run}` shows it; `drawloom runs rerun {run}/STEP` runs a part again")),
        ),
    }
}

/// Says why a run is paused and what lets it go on; the run may be a child of the one asked about.
fn paused(
    use_cases: &TerminalUseCases,
    (row, root): (&RunRow, &RunId),
    form: OutputFormat,
) -> Result<CliError, CliError> {
    let run = &row.id;
    let reason = row.reason.as_deref().unwrap_or("a person paused it");
    let tasks = use_cases.wait(use_cases.tasks(Some(run), TaskSelection::Active))?;
    let held: Vec<&TaskRow> = tasks
        .iter()
        .filter(|task| task.status == TaskStatus::OnHold)
        .collect();
    if form == OutputFormat::Json {
        let listed: Vec<Value> = held.iter().map(|task| listed(use_cases, task)).collect();
        let line = json!({
            "event": "result", "run": root, "status": "paused", "reason": reason, "tasks": listed,
        });
        output::data(format!("{line}\n").as_bytes())?;
    }
    let hint = match held.first() {
        // A run keeps the input it was begun with.
        Some(task) if misses_input(use_cases, task) => {
            format!("start it again with the value, and `drawloom runs cancel {root}`")
        }
        Some(task) => format!(
            "`drawloom tasks show {}` shows it; when the cause is gone, `drawloom runs resume {root} --wait` tries again",
            task.id
        ),
        None => format!("`drawloom runs resume {root} --wait` continues it"),
    };
    let what = match held.first() {
        Some(task) => format!("{} is on hold: {reason}", task.id),
        None => format!("the run {run} is paused: {reason}"),
    };
    Ok(CliError::failed("E_RUN_PAUSED", what).hint(hint))
}

/// Tells whether a task cannot work because its step reads a value that the run's input lacks.
fn misses_input(use_cases: &TerminalUseCases, task: &TaskRow) -> bool {
    let is_invalid = |failure: &AttemptFailure| failure.class == FailureClass::Invalid;
    let run = use_cases.wait(use_cases.run(&task.id.run)).ok().flatten();
    let (Some(run), true) = (run, task.failure.as_ref().is_some_and(is_invalid)) else {
        return false;
    };
    let workflow = use_cases.wait(use_cases.workflow(&run)).ok();
    let input = use_cases.wait(use_cases.input(&run.id)).unwrap_or_default();
    let step = workflow
        .as_ref()
        .and_then(|workflow| workflow.step_of(task));
    step.is_some_and(|step| {
        let reads = step.reads.iter().map(|read| read.path.as_slice());
        let mut inputs = reads.filter(|path| path.first().is_some_and(|name| name == "input"));
        inputs.any(|path| path.get(1).is_some_and(|key| input.get(key).is_none()))
    })
}

/// Names the signal a task waits for, and the command that sends it.
fn how_to_signal(use_cases: &TerminalUseCases, task: &TaskRow) -> String {
    let run = use_cases.wait(use_cases.run(&task.id.run)).ok().flatten();
    let workflow = run.and_then(|run| use_cases.wait(use_cases.workflow(&run)).ok());
    let step = workflow
        .as_ref()
        .and_then(|workflow| workflow.step(&task.id.step));
    let signal = step
        .and_then(|step| step.config.signal.as_deref())
        .unwrap_or("NAME");
    let run = &task.id.run;
    format!(
        "{} waits for the signal {signal}\n  send it: drawloom runs signal {run} {signal}",
        task.id
    )
}

/// Returns a task as JSON.
fn listed(use_cases: &TerminalUseCases, task: &TaskRow) -> Value {
    json!({
        "id": task.id, "status": task.status, "hold": task.hold,
        "assignee": task.assignee, "prompt": use_cases.wait(use_cases.prompt(task)).unwrap_or_default(),
    })
}

/// True if the task waits for a person's answer, and not for a repair.
pub(crate) fn is_for_people(task: &TaskRow) -> bool {
    match (&task.status, &task.hold) {
        (TaskStatus::OnHold, Some(hold)) => {
            matches!(hold.kind, HoldKind::Asked | HoldKind::Review)
        }
        // A wait is ended by a signal, and not by an answer.
        (TaskStatus::OnHold, None) | (TaskStatus::Waiting, _) => false,
        _ => true,
    }
}

/// Says who has to do what, and how.
fn waits(
    use_cases: &TerminalUseCases,
    (tasks, run): (&[TaskRow], &RunId),
    form: OutputFormat,
) -> Result<CliExit, CliError> {
    if form == OutputFormat::Json {
        let listed: Vec<Value> = tasks.iter().map(|task| listed(use_cases, task)).collect();
        let line = json!({ "event": "result", "run": run, "status": "waiting", "tasks": listed });
        output::json_line(&line)?;
    }
    if form == OutputFormat::Text {
        for task in tasks
            .iter()
            .filter(|task| task.kind == WorkflowTaskKind::Wait)
        {
            output::say(output::harmless(&how_to_signal(use_cases, task)));
        }
        for task in tasks.iter().filter(|task| is_for_people(task)) {
            output::say(how_to_answer(use_cases, task));
        }
        output::say(format!("then: drawloom runs resume {run} --wait"));
    }
    Ok(CliExit::AnswersNeeded)
}
