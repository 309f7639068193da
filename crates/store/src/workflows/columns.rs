//! The key columns of a task, the same for every engine.

use std::fmt::{Display, Write as _};

use flow::engine::{StepAddress, TaskRow, TaskStatus};
use flow::{ClaimRequest, ItemPath, OnLimit, RunId, StepId, TaskId};
use serde_json::{Value, json};

/// An initial capacity at least as long as most names: a text that grows is copied.
const NAME_BYTES: usize = 64;

/// The columns beside the document of a task.
pub(crate) struct TaskColumns {
    pub(crate) place: String,
    /// The time when a worker may claim it; `None` if no worker may.
    pub(crate) ready_ms: Option<u64>,
    /// The end of its lease; `None` without a lease.
    pub(crate) lease_ms: Option<u64>,
    pub(crate) is_active: bool,
    /// The concurrency key it waits for, or else its lane; `None` if it does not wait.
    pub(crate) slot: Option<String>,
    /// The order of claiming: lower for a higher priority.
    pub(crate) rank: i64,
}

pub(crate) fn task(row: &TaskRow) -> TaskColumns {
    let lease = row.lease.as_ref();
    let lease = lease.filter(|_| row.status == TaskStatus::InProgress);
    TaskColumns {
        place: place_of(&row.id),
        ready_ms: row.is_claimable().then_some(row.ready_ms),
        lease_ms: lease.map(|lease| lease.until_ms),
        is_active: !row.status.is_terminal(),
        slot: waits_for(row),
        rank: -i64::from(row.priority),
    }
}

/// Returns the concurrency key without which a task is not claimed. The worker that claims it
/// checks the other rules.
fn waits_for(row: &TaskRow) -> Option<String> {
    if !row.is_claimable() {
        return None;
    }
    let wish = row.slot.as_deref();
    let wish = wish.filter(|wish| wish.on_limit == OnLimit::Queue);
    wish.map(|wish| wish.key.clone())
        .or_else(|| row.lane.clone())
}

/// The limits of a claim as a database reads them: for each lane the key that is counted, how many may begin,
/// and since when they count. An empty list where the claim has none.
pub(crate) fn rates(claim: &ClaimRequest, now_ms: u64) -> String {
    let rates = claim.rates.iter().flat_map(|rate| {
        let since_ms = now_ms.saturating_sub(rate.per_ms);
        let lanes = rate.lanes().into_iter();
        lanes.map(move |lane| {
            json!({ "lane": lane, "key": rate.key(), "max": rate.max, "since": since_ms })
        })
    });
    Value::Array(rates.collect()).to_string()
}

pub(crate) fn text(value: &impl Display) -> String {
    let mut text = String::with_capacity(NAME_BYTES);
    // Writing into a `String` does not fail.
    let _ = write!(text, "{value}");
    text
}

/// Returns the text of a place: the name of the step's first visit.
pub(crate) fn place(place: &StepAddress) -> String {
    let first = TaskId {
        run: place.run.clone(),
        path: place.path.clone(),
        step: place.step.clone(),
        visit: 1,
    };
    text(&first)
}

/// Returns the place of a task.
pub(crate) fn place_of(task: &TaskId) -> String {
    match task.visit {
        1 => text(task),
        _ => place(&task.place()),
    }
}

/// Returns the range that holds all places of a run: from the first text, and before the second.
pub(crate) fn places(run: &RunId) -> (String, String) {
    let first = TaskId {
        run: run.clone(),
        path: ItemPath::default(),
        step: StepId::from(""),
        visit: 1,
    };
    let first = text(&first);
    let name = first.strip_suffix('/').unwrap_or(&first);
    // `0` is the character after `/`, which ends the name of a run.
    let end = format!("{name}0");
    (first, end)
}
