//! Describes events of a run, as sentences for people and as lines for programs.

use flow::engine::{
    EvaluatedCondition, EventKind, InitialStatus, ItemStatus, RunEvent, RunStatus, StatusMove,
    TaskStatus,
};
use flow::{ExecutionMode, TaskId, Workflow};
use serde_json::{Value, json};

/// The amount of detail in a description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventDetail {
    /// Only what a picture of the run does not show.
    BesidePicture,
    /// Everything a person wants to follow.
    Lines,
    /// Every item as well.
    Everything,
}

/// Returns an event as one line of JSON.
pub(crate) fn event_json(event: &RunEvent) -> Value {
    let mut line = json!({
        "event": null, "run": event.run, "seq": event.seq,
        // The second name is that of earlier versions.
        "at_ms": event.at_ms, "atMs": event.at_ms,
    });
    if let (Some(line), Ok(Value::Object(mut fields))) =
        (line.as_object_mut(), serde_json::to_value(&event.what))
    {
        line.insert(
            "event".to_owned(),
            fields.remove("what").unwrap_or_default(),
        );
        line.extend(fields);
    }
    line
}

/// Describes an event in a sentence, if it is worth one. Without the workflow, steps are called by
/// their ids.
pub(crate) fn told(
    workflow: Option<&Workflow>,
    event: &RunEvent,
    detail: EventDetail,
) -> Option<String> {
    Some(match &event.what {
        EventKind::RunStarted { .. } => format!("run {} started", event.run),
        EventKind::RunPaused { reason } => format!("‖ paused: {reason}"),
        EventKind::RunResumed => "run resumed".to_owned(),
        EventKind::RunEnded { status, reason } => ended(*status, reason.as_deref()),
        EventKind::RunReopened { task } => format!("run continues from {task}"),
        EventKind::Decided {
            decision,
            to,
            evaluated,
            ..
        } => {
            let step = workflow.and_then(|workflow| workflow.step(decision));
            let words = step.map_or("", |step| step.name.as_str());
            format!("◇ {decision} {words} → {to}: {}", why(evaluated))
        }
        EventKind::TaskCreated {
            task,
            begin: InitialStatus::Pending,
            ..
        } if is_manual(workflow, task) => {
            let step = workflow.and_then(|workflow| workflow.step(&task.step));
            let who = step.and_then(|step| step.config.default_assignee_id.as_deref());
            let who = who.unwrap_or("a person");
            format!("◷ {} waits for {who}", name(workflow, task))
        }
        EventKind::TaskMoved { task, by, why, .. } => {
            let why = why.as_deref().map(reason).unwrap_or_default();
            let is_item = task.path.last().is_some();
            // Items are many: their foreach says how far they are.
            let detail = match detail {
                EventDetail::Lines if is_item => EventDetail::BesidePicture,
                detail => detail,
            };
            moved(&name(workflow, task), (*by, &why), detail)?
        }
        EventKind::Assigned { task, assignee } => match assignee {
            Some(assignee) => format!("{} is assigned to {assignee}", name(workflow, task)),
            None => format!("{} is unassigned", name(workflow, task)),
        },
        EventKind::GroupOpened { group, total } => {
            let items = if *total == 1 { "item" } else { "items" };
            format!("⧉ {}: {total} {items}", name(workflow, group))
        }
        // The step that failed has been told of.
        EventKind::ItemEnded {
            group,
            index,
            status: ItemStatus::Failed,
        } if detail == EventDetail::Everything => {
            format!("✗ item {index} of {} failed", name(workflow, group))
        }
        EventKind::CameLate { join, from } => {
            let (join, from) = (name(workflow, join), name(workflow, from));
            format!("{from} arrived after {join} had continued: recorded, but not used")
        }
        EventKind::Signalled { name: signal, task } => match task {
            Some(task) => format!("the signal {signal} arrived for {}", name(workflow, task)),
            None => {
                format!("the signal {signal} arrived, and is stored for the step that waits for it")
            }
        },
        EventKind::RunQueued { key } => format!("the run waits for room: `{key}`"),
        EventKind::RunAdmitted => "there is room: the run begins".to_owned(),
        EventKind::RunMoved { .. } => "the run uses another version of its workflow".to_owned(),
        EventKind::Warned { message, .. } => format!("warning: {message}"),
        _ => return None,
    })
}

/// Why an edge was taken: what held, with its values, and what before it did not.
pub(crate) fn why(evaluated: &[EvaluatedCondition]) -> String {
    let told = evaluated.iter().map(|one| {
        let values: Vec<String> = one
            .values
            .iter()
            .map(|(path, value)| format!("{path} = {value}"))
            .collect();
        let values = match values.is_empty() {
            true => String::new(),
            false => format!(" ({})", values.join(", ")),
        };
        match one.result {
            true => format!("{}{values}", one.condition),
            false => format!("not {}{values}", one.condition),
        }
    });
    let told: Vec<String> = told.collect();
    match (told.is_empty(), evaluated.iter().any(|one| one.result)) {
        (true, _) => "the only way".to_owned(),
        (false, true) => told.join(", "),
        (false, false) => format!("{}, so the default", told.join(", ")),
    }
}

/// Formats a length of time for people.
pub(crate) fn span(ms: u64) -> String {
    let seconds = ms / 1_000;
    match seconds {
        0..10 => format!("{}.{} s", seconds, ms % 1_000 / 100),
        10..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

fn moved(name: &str, (by, why): (StatusMove, &str), detail: EventDetail) -> Option<String> {
    let has_picture = detail == EventDetail::BesidePicture;
    Some(match by.to() {
        TaskStatus::OnHold => format!("✗ {name} is on hold{why}"),
        TaskStatus::Failed => format!("✗ {name} failed{why}"),
        TaskStatus::Pending if by == StatusMove::Release => return None,
        TaskStatus::Pending => format!("↻ {name} again{why}"),
        TaskStatus::InProgress if !has_picture => format!("▶ {name}"),
        TaskStatus::Completed if !has_picture => format!("✓ {name}"),
        TaskStatus::Cancelled if !has_picture => format!("– {name} cancelled"),
        _ => return None,
    })
}

/// Returns a colon and the reason, without trailing colons and spaces.
fn reason(why: &str) -> String {
    let why = why.trim_end_matches([' ', ':', '\n']);
    format!(": {why}")
}

/// Returns the place of a task in its run, and the step's name.
fn name(workflow: Option<&Workflow>, task: &TaskId) -> String {
    let step = workflow.and_then(|workflow| workflow.step(&task.step));
    let place = place(task);
    match step {
        Some(step) => format!("{place} {}", step.name),
        None => place,
    }
}

/// Returns the name of a task without its run.
pub(crate) fn place(task: &TaskId) -> String {
    let name = task.to_string();
    match name.split_once('/') {
        Some((_, place)) => place.to_owned(),
        None => name,
    }
}

fn is_manual(workflow: Option<&Workflow>, task: &TaskId) -> bool {
    let step = workflow.and_then(|workflow| workflow.step(&task.step));
    step.is_some_and(|step| step.execution == ExecutionMode::Manual)
}

fn ended(status: RunStatus, reason: Option<&str>) -> String {
    match reason {
        Some(reason) => format!("run {}: {reason}", status.name()),
        None => format!("run {}", status.name()),
    }
}

#[cfg(test)]
mod tests {
    use super::span;

    #[test]
    fn time_is_as_exact_as_it_is_short() {
        for (ms, expected) in [
            (0, "0.0 s"),
            (1_940, "1.9 s"),
            (12_999, "12 s"),
            (61_000, "1 min 01 s"),
            (7_260_000, "2 h 01 min"),
        ] {
            assert_eq!(span(ms), expected);
        }
    }
}
