//! A run worked on here, until it has ended or nobody here can go on.

use std::time::Duration;

use app::worker::{Ended, Order, Until};
use app::workflows::{Loom, Standing};
use dialoguer::Input;
use dialoguer::theme::ColorfulTheme;
use flow::RunId;
use flow::engine::{Answer, Command, HoldKind, RunRow, RunStatus, TaskRow, TaskStatus};
use serde_json::{Value, json};

use super::value_of;
use super::view::View;
use crate::exit::{Exit, Trouble};
use crate::interrupt;
use crate::output::{self, Form};

/// Works on a run, asks the person who is there, and prints what came out.
pub(crate) fn settle(loom: &Loom, run: &RunId, form: Form) -> Result<Exit, Trouble> {
    let Some(row) = loom.run(run)? else {
        return Err(Trouble::failed(
            "E_NOT_FOUND",
            format!("there is no run `{run}`"),
        ));
    };
    let workflow = loom.workflow(&row)?;
    let settings = &loom.project().settings.workflows;
    let order = Order {
        name: worker_name(),
        concurrency: settings.concurrency,
        lease: Duration::from_secs(settings.lease_seconds),
        assignees: Vec::new(),
        until: Until::Settled(run.clone()),
    };
    let has_person = form == Form::Text && output::has_person();
    let mut view = View::new(form, workflow);
    loop {
        let busy = interrupt::Busy::start();
        let ended = loom.work(&order, &mut view, &interrupt::cancel());
        drop(busy);
        view.finish();
        let standing = match ended? {
            Ended::Settled(standing) => *standing,
            Ended::Idle => continue,
            Ended::Stopped { .. } => {
                output::say(format!(
                    "nothing is lost: `drawloom runs resume {run} --wait` goes on"
                ));
                return Ok(Exit::Interrupted);
            }
        };
        match standing {
            Standing::Going => {}
            Standing::Paused(row) => return Err(paused(&row)),
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

/// The name this process claims under.
pub(crate) fn worker_name() -> String {
    format!("{}", std::process::id())
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
            output::data(format!("{line}\n").as_bytes())?;
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

fn paused(row: &RunRow) -> Trouble {
    let run = &row.id;
    let reason = row.reason.as_deref().unwrap_or("somebody paused it");
    Trouble::failed("E_RUN_PAUSED", format!("the run {run} is paused: {reason}"))
        .hint(format!("`drawloom runs resume {run} --wait` goes on"))
}

/// Whether a person is wanted for their answer, and not for mending something.
fn is_for_people(task: &TaskRow) -> bool {
    match (&task.status, &task.hold) {
        (TaskStatus::OnHold, Some(hold)) => {
            matches!(hold.kind, HoldKind::Asked | HoldKind::Review)
        }
        (TaskStatus::OnHold, None) => false,
        _ => true,
    }
}

/// Says who has to do what, and how.
fn waits(loom: &Loom, (tasks, run): (&[TaskRow], &RunId), form: Form) -> Result<Exit, Trouble> {
    if form == Form::Json {
        let listed: Vec<Value> = tasks
            .iter()
            .map(|task| {
                json!({
                    "id": task.id, "status": task.status, "hold": task.hold,
                    "assignee": task.assignee, "prompt": loom.prompt(task).unwrap_or_default(),
                })
            })
            .collect();
        let line = json!({ "event": "result", "run": run, "status": "waiting", "tasks": listed });
        output::data(format!("{line}\n").as_bytes())?;
    }
    if !tasks.iter().any(is_for_people) {
        let first = tasks.first();
        let reason = first.and_then(|task| task.hold.as_ref());
        let reason = reason.map_or("a task is on hold", |hold| hold.reason.as_str());
        let id = first.map(|task| task.id.to_string()).unwrap_or_default();
        return Err(
            Trouble::failed("E_RUN_PAUSED", format!("{id} is on hold: {reason}")).hint(format!(
                "mend it, then `drawloom tasks retry {id}` and `drawloom runs resume {run} --wait`"
            )),
        );
    }
    if form == Form::Text {
        for task in tasks.iter().filter(|task| is_for_people(task)) {
            output::say(how_to_answer(loom, task));
        }
        output::say(format!("then: drawloom runs resume {run} --wait"));
    }
    Ok(Exit::AnswersNeeded)
}

/// What a person is asked, and the command that answers.
pub(crate) fn how_to_answer(loom: &Loom, task: &TaskRow) -> String {
    let mut text = format!(
        "{} waits for {}",
        task.id,
        task.assignee.as_deref().unwrap_or("a person")
    );
    if let Some(hold) = &task.hold {
        text.push_str(&format!(" ({})", hold.reason));
    }
    let prompt = loom.prompt(task).unwrap_or_default();
    for line in prompt.lines() {
        text.push_str(&format!("\n    {line}"));
    }
    let id = task.id.to_string();
    let id = shlex::try_quote(&id).map_or_else(|_| id.clone(), |quoted| quoted.into_owned());
    text.push_str(&format!("\n  answer: drawloom tasks answer {id} '{{…}}'"));
    output::harmless(&text)
}

/// Asks for every task; says whether all were answered.
fn answer_all(loom: &Loom, tasks: &[TaskRow]) -> Result<bool, Trouble> {
    for task in tasks.iter().filter(|task| is_for_people(task)) {
        output::say(
            how_to_answer(loom, task)
                .lines()
                .filter(|line| !line.starts_with("  answer:"))
                .collect::<Vec<_>>()
                .join("\n"),
        );
        loop {
            let asked = Input::<String>::with_theme(&ColorfulTheme::default())
                .with_prompt("Your answer (JSON or a text; nothing leaves it open)")
                .allow_empty(true)
                .interact_text();
            let Ok(text) = asked else { return Ok(false) };
            if text.trim().is_empty() {
                return Ok(false);
            }
            let answer = Command::Answer {
                task: task.id.clone(),
                by: loom.person(),
                answer: Answer::Done {
                    output: value_of(&text),
                },
            };
            match loom.execute(answer) {
                Ok(()) => break,
                Err(error) => output::say(format!("{error}")),
            }
        }
    }
    Ok(true)
}
