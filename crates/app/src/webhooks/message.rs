//! Events as messages: thin documents that say what happened to which thing.

use flow::WorkflowStore;
use flow::engine::{EventKind, InitialStatus, RunEvent, RunStatus, StatusMove};
use jiff::Timestamp;
use serde_json::{Value, json};
use store::{StreamContent, StreamEvent};

use crate::Error;

/// Every kind of event that a webhook can be told of.
pub const WEBHOOK_EVENTS: [&str; 21] = [
    "run.started",
    "run.paused",
    "run.resumed",
    "run.completed",
    "run.failed",
    "run.cancelled",
    "task.waiting",
    "task.on_hold",
    "task.completed",
    "task.failed",
    "task.edited",
    "task.commented",
    "build.changed",
    "user.added",
    "user.edited",
    "schedule.added",
    "schedule.edited",
    "schedule.removed",
    "workflow.added",
    "workflow.edited",
    "webhook.test",
];

/// A message before its receivers are chosen.
pub(super) struct EventMessage {
    /// The same whenever it is made of the same event.
    pub(super) id: String,
    pub(super) event: &'static str,
    pub(super) body: String,
}

/// Returns the message of an event; nothing for events without a message.
pub(super) async fn of(
    store: &dyn WorkflowStore,
    event: &StreamEvent,
) -> Result<Option<EventMessage>, Error> {
    let told = match &event.content {
        StreamContent::Run(event) => of_run(store, event).await?,
        StreamContent::Changed {
            kind,
            subject,
            about,
        } => {
            let change = about.get("change").and_then(Value::as_str);
            let kind = kind.as_str();
            let at_ms = about.get("at_ms").and_then(Value::as_u64).unwrap_or(0);
            let named = named_change(kind, change.unwrap_or_default());
            named.map(|name| (name, at_ms, json!({ kind: subject, "about": about })))
        }
    };
    Ok(told.map(|(event_name, at_ms, data)| EventMessage {
        id: format!("msg_{}", event.position.to_string().replace('.', "_")),
        event: event_name,
        body: body(event_name, at_ms, &data),
    }))
}

/// The content of a message, as Standard Webhooks wants it.
pub(crate) fn body(event: &str, at_ms: u64, data: &Value) -> String {
    let ms = i64::try_from(at_ms).unwrap_or(i64::MAX);
    let time = Timestamp::from_millisecond(ms).unwrap_or_default();
    json!({ "type": event, "timestamp": time.to_string(), "data": data }).to_string()
}

fn named_change(kind: &str, change: &str) -> Option<&'static str> {
    let wanted = match kind {
        "build" => "build.changed".to_owned(),
        _ => format!("{kind}.{change}"),
    };
    WEBHOOK_EVENTS.into_iter().find(|name| *name == wanted)
}

type ToldEvent = Option<(&'static str, u64, Value)>;

async fn of_run(store: &dyn WorkflowStore, event: &RunEvent) -> Result<ToldEvent, Error> {
    let run = event.run.as_str();
    let of_task = |task: &flow::TaskId| json!({ "run": run, "task": task.to_string() });
    let told = match &event.what {
        EventKind::RunStarted { .. } => ("run.started", json!({ "run": run })),
        EventKind::RunPaused { reason } => ("run.paused", json!({ "run": run, "reason": reason })),
        EventKind::RunResumed => ("run.resumed", json!({ "run": run })),
        EventKind::RunEnded { status, reason } => {
            let name = match status {
                RunStatus::Completed => "run.completed",
                RunStatus::Cancelled => "run.cancelled",
                _ => "run.failed",
            };
            (name, json!({ "run": run, "reason": reason }))
        }
        EventKind::TaskCreated { task, begin, .. } => match begin {
            InitialStatus::OnHold => ("task.on_hold", of_task(task)),
            InitialStatus::Pending => {
                let row = store.task(task).await?;
                let Some(row) = row.filter(|row| row.execution == flow::ExecutionMode::Manual)
                else {
                    return Ok(None);
                };
                let mut data = of_task(task);
                data["assignee"] = json!(row.assignee);
                ("task.waiting", data)
            }
            InitialStatus::Waiting => return Ok(None),
        },
        EventKind::TaskMoved { task, by, why, .. } => {
            let name = match by {
                StatusMove::Complete | StatusMove::Finish => "task.completed",
                StatusMove::Fail | StatusMove::FailWaiting => "task.failed",
                StatusMove::Hold | StatusMove::HoldWaiting => "task.on_hold",
                _ => return Ok(None),
            };
            let mut data = of_task(task);
            data["reason"] = json!(why);
            (name, data)
        }
        _ => return Ok(None),
    };
    let (name, data) = told;
    Ok(Some((name, event.at_ms, data)))
}
