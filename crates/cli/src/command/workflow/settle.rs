//! A run worked on here, until it has ended or nobody here can go on.

use std::time::Duration;

use app::worker::{Ended, Order, Until};
use app::workflows::{Loom, Standing};
use flow::engine::{Event, HoldKind, RunRow, RunStatus, TaskKind, TaskRow, TaskStatus};
use flow::{RunId, Which};
use serde_json::{Value, json};

use super::asking::{answer_all, how_to_answer};
use super::view::View;
use crate::exit::{Exit, Trouble};
use crate::interrupt;
use crate::output::{self, Form};
use crate::session::Session;

/// What has happened to a run and was told before.
#[derive(Debug, Default)]
pub(crate) struct Past(Vec<Event>);

impl Past {
    /// Everything up to now, of a run and of those it has started.
    pub(crate) fn of(loom: &Loom, run: &RunId) -> Result<Self, Trouble> {
        let mut past = Self::default();
        let mut open = vec![run.clone()];
        while let Some(run) = open.pop() {
            past.0.extend(loom.events(&run)?);
            let tasks = loom.tasks(Some(&run), Which::All)?;
            let subflows = tasks.iter().filter(|task| task.kind == TaskKind::Subflow);
            for task in subflows {
                let child = RunId::child_of(&task.id, task.fence);
                if loom.run(&child)?.is_some() {
                    open.push(child);
                }
            }
        }
        Ok(past)
    }
}

/// Works on a run, asks the person who is there, and prints what came out. What is past is not told
/// again.
pub(crate) fn settle(
    session: &Session,
    loom: &Loom,
    (run, past): (&RunId, Past),
    form: Form,
) -> Result<Exit, Trouble> {
    let Some(row) = loom.run(run)? else {
        return Err(Trouble::failed(
            "E_NOT_FOUND",
            format!("there is no run `{run}`"),
        ));
    };
    let workflow = loom.workflow(&row)?;
    let settings = &loom.project().settings.workflows;
    let order = Order {
        name: app::workflows::worker_name(&session.surroundings),
        concurrency: settings.concurrency,
        lease: Duration::from_secs(settings.lease_seconds),
        assignees: Vec::new(),
        until: Until::Settled(run.clone()),
    };
    let has_person = form == Form::Text && output::has_person();
    let now_ms = session.surroundings.now_ms as u64;
    let mut view = View::new(form, (run, workflow), &past.0, now_ms);
    loop {
        let busy = interrupt::Busy::work();
        let ended = loom.work(&order, &mut view, &interrupt::cancel());
        drop(busy);
        view.finish();
        let standing = match ended? {
            Ended::Settled(standing) => *standing,
            Ended::Idle | Ended::StillPending(_) => continue,
            Ended::Stopped { .. } => return Ok(stopped(run)),
        };
        match standing {
            Standing::Going => {}
            Standing::Paused(row) => return Err(paused(loom, (&row, run), form)?),
            Standing::Ended(row) => return report(loom, &row, form),
            Standing::Waiting(tasks) => {
                let is_answered =
                    has_person && tasks.iter().any(is_for_people) && answer_all(loom, &tasks)?;
                if !is_answered {
                    return waits(loom, (&tasks, run), form);
                }
            }
        }
    }
}

/// Says how to go on with a run that was interrupted here.
fn stopped(run: &RunId) -> Exit {
    interrupt::obeyed();
    output::say(format!(
        "interrupted; nothing is lost: `drawloom runs resume {run} --wait` goes on"
    ));
    Exit::Interrupted
}

/// Prints what a run came to.
fn report(loom: &Loom, row: &RunRow, form: Form) -> Result<Exit, Trouble> {
    let output = match &row.result {
        Some(task) => loom.task(&task.to_string())?.output.unwrap_or_default(),
        None => Value::Null,
    };
    match form {
        Form::Json => {
            let line = json!({
                "event": "result", "run": row.id, "status": row.status, "reason": row.reason,
                "output": output, "spent": row.spent,
            });
            output::json_line(&line)?;
        }
        Form::Text if row.status == RunStatus::Completed => match &output {
            Value::String(text) => output::styled(&format!("{}\n", output::harmless(text)))?,
            value => output::json(value)?,
        },
        Form::Text => {}
    }
    let run = &row.id;
    let reason = row.reason.as_deref().unwrap_or("no reason was given");
    match row.status {
        RunStatus::Completed => Ok(Exit::Done),
        RunStatus::Cancelled => Err(Trouble::failed(
            "E_RUN_CANCELLED",
            format!("the run {run} was cancelled: {reason}"),
        )),
        _ => Err(
            Trouble::failed("E_RUN_FAILED", format!("the run {run} failed: {reason}"))
                .hint(format!("`drawloom runs show {run}` shows it; `drawloom runs rerun {run}/STEP` runs a part again")),
        ),
    }
}

/// Says why a run is paused and what lets it go on; the run may be a child of the one asked about.
fn paused(loom: &Loom, (row, root): (&RunRow, &RunId), form: Form) -> Result<Trouble, Trouble> {
    let run = &row.id;
    let reason = row.reason.as_deref().unwrap_or("a person paused it");
    let tasks = loom.tasks(Some(run), Which::Active)?;
    let held: Vec<&TaskRow> = tasks
        .iter()
        .filter(|task| task.status == TaskStatus::OnHold)
        .collect();
    if form == Form::Json {
        let listed: Vec<Value> = held.iter().map(|task| listed(loom, task)).collect();
        let line = json!({
            "event": "result", "run": root, "status": "paused", "reason": reason, "tasks": listed,
        });
        output::data(format!("{line}\n").as_bytes())?;
    }
    let hint = match held.first() {
        // A run keeps the input it was begun with.
        Some(_) if reason.contains("`input.") => {
            format!("start it again with the value, and `drawloom runs cancel {root}`")
        }
        Some(task) => format!(
            "`drawloom tasks show {}` shows it; when the cause is gone, `drawloom runs resume {root} --wait` tries again",
            task.id
        ),
        None => format!("`drawloom runs resume {root} --wait` goes on"),
    };
    let what = match held.first() {
        Some(task) => format!("{} is on hold: {reason}", task.id),
        None => format!("the run {run} is paused: {reason}"),
    };
    Ok(Trouble::failed("E_RUN_PAUSED", what).hint(hint))
}

/// What a wait waits for, and the command that tells it.
fn how_to_signal(loom: &Loom, task: &TaskRow) -> String {
    let run = loom.run(&task.id.run).ok().flatten();
    let workflow = run.and_then(|run| loom.workflow(&run).ok());
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

/// A task as machines read it.
fn listed(loom: &Loom, task: &TaskRow) -> Value {
    json!({
        "id": task.id, "status": task.status, "hold": task.hold,
        "assignee": task.assignee, "prompt": loom.prompt(task).unwrap_or_default(),
    })
}

/// Whether a person is wanted for their answer, and not for mending something.
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
fn waits(loom: &Loom, (tasks, run): (&[TaskRow], &RunId), form: Form) -> Result<Exit, Trouble> {
    if form == Form::Json {
        let listed: Vec<Value> = tasks.iter().map(|task| listed(loom, task)).collect();
        let line = json!({ "event": "result", "run": run, "status": "waiting", "tasks": listed });
        output::json_line(&line)?;
    }
    if form == Form::Text {
        for task in tasks.iter().filter(|task| task.kind == TaskKind::Wait) {
            output::say(output::harmless(&how_to_signal(loom, task)));
        }
        for task in tasks.iter().filter(|task| is_for_people(task)) {
            output::say(how_to_answer(loom, task));
        }
        output::say(format!("then: drawloom runs resume {run} --wait"));
    }
    Ok(Exit::AnswersNeeded)
}
