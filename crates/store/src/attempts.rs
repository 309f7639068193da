//! The attempts of a task: who had it when, and what came of it.
//!
//! Every claim and every end of one is an event of the run, so that attempts are read from there and
//! written nowhere a second time.

use flow::engine::{Event, FailureClass, Move, Spent, TaskStatus, What};
use flow::{Store, StoreError, TaskId};

/// How many events are read at a time.
const EVENTS_MAX: usize = 5_000;

/// One time that somebody had a task in their hands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// From 1; also those before a retry are counted.
    pub number: u32,
    /// The worker or the person; nothing where the clock acted for a person who was too late.
    pub by: Option<String>,
    /// When it began, in milliseconds since 1970.
    pub begun_ms: u64,
    /// When it ended, and how; nothing while it is under way.
    pub end: Option<AttemptEnd>,
    /// What was paid for; nothing while it is under way.
    pub spent: Option<Spent>,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptEnd {
    /// When.
    pub at_ms: u64,
    /// Where it left the task.
    pub status: TaskStatus,
    /// The failure, the reason for a hold, what is still to do.
    pub message: Option<String>,
    /// What sort of failure it was, if it was one.
    pub class: Option<FailureClass>,
}

/// The attempts of a task, the first one first; none of a task that is not there.
pub async fn attempts(store: &dyn Store, task: &TaskId) -> Result<Vec<Attempt>, StoreError> {
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

fn take(attempts: &mut Vec<Attempt>, task: &TaskId, event: &Event) {
    let What::TaskMoved {
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
    if matches!(by, Move::Claim | Move::TakeUp) {
        attempts.push(Attempt {
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
