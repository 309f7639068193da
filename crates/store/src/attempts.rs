//! The attempts of a task: who had it when, and how each attempt ended.
//!
//! Every claim and every end of one is an event of the run, so that attempts are read from the
//! events and stored nowhere a second time.

use flow::engine::{EventKind, FailureClass, RunEvent, SpentAmount, StatusMove, TaskStatus};
use flow::{StoreError, TaskId, WorkflowStore};

/// Limits the events that one query reads.
const EVENTS_MAX: usize = 5_000;

/// One claim of a task by a worker or a person, until it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptRecord {
    /// The number, from 1; attempts before a retry count as well.
    pub number: u32,
    /// The worker or the person; `None` where a timeout acted for a person.
    pub by: Option<String>,
    /// The start, in milliseconds since 1970.
    pub begun_ms: u64,
    /// The end; `None` while the attempt is in progress.
    pub end: Option<AttemptEnd>,
    /// The tokens and money spent; `None` while the attempt is in progress.
    pub spent: Option<SpentAmount>,
}

/// The end of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptEnd {
    /// The time, in milliseconds since 1970.
    pub at_ms: u64,
    /// The status that the task got.
    pub status: TaskStatus,
    /// The failure, the reason for a hold, or the work that is left.
    pub message: Option<String>,
    /// The class of the failure, if the attempt failed.
    pub class: Option<FailureClass>,
}

/// Returns the attempts of a task, the earliest first; empty if the task does not exist.
pub async fn attempts(
    store: &dyn WorkflowStore,
    task: &TaskId,
) -> Result<Vec<AttemptRecord>, StoreError> {
    let mut found = Vec::new();
    let mut after = 0;
    loop {
        let events = store.events(&task.run, after, EVENTS_MAX).await?;
        let Some(last) = events.last() else { break };
        after = last.seq;
        for event in &events {
            take(&mut found, task, event);
        }
    }
    Ok(found)
}

fn take(attempts: &mut Vec<AttemptRecord>, task: &TaskId, event: &RunEvent) {
    let EventKind::TaskMoved {
        task: moved,
        by,
        why,
        class,
        spent,
        ..
    } = &event.what
    else {
        return;
    };
    if moved != task {
        return;
    }
    if matches!(by, StatusMove::Claim | StatusMove::TakeUp) {
        attempts.push(AttemptRecord {
            number: u32::try_from(attempts.len() + 1).unwrap_or(u32::MAX),
            by: why.clone(),
            begun_ms: event.at_ms,
            end: None,
            spent: None,
        });
    } else if by.from() == TaskStatus::InProgress
        && let Some(last) = attempts.last_mut()
    {
        last.end = Some(AttemptEnd {
            at_ms: event.at_ms,
            status: by.to(),
            message: why.clone(),
            class: *class,
        });
        last.spent = Some(spent.unwrap_or_default());
    }
}
