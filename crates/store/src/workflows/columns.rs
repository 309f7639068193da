//! The columns that a task is found by, the same for every engine.

use std::fmt::{Display, Write as _};

use flow::engine::{Place, TaskRow, TaskStatus};
use flow::{Path, RunId, StepId, TaskId};

/// As long as names are, or longer: a text that grows is copied.
const NAME_BYTES: usize = 64;

/// What stands beside the document of a task.
pub(crate) struct TaskColumns {
    pub(crate) place: String,
    /// When a worker may claim it; nothing where none may.
    pub(crate) ready_ms: Option<u64>,
    /// When its lease ends; nothing where nobody has one.
    pub(crate) lease_ms: Option<u64>,
    pub(crate) is_active: bool,
}

pub(crate) fn task(row: &TaskRow) -> TaskColumns {
    let lease = row.lease.as_ref();
    let lease = lease.filter(|_| row.status == TaskStatus::InProgress);
    TaskColumns {
        place: place_of(&row.id),
        ready_ms: row.is_claimable().then_some(row.ready_ms),
        lease_ms: lease.map(|lease| lease.until_ms),
        is_active: !row.status.is_terminal(),
    }
}

pub(crate) fn text(value: &impl Display) -> String {
    let mut text = String::with_capacity(NAME_BYTES);
    // Writing into a text does not fail.
    let _ = write!(text, "{value}");
    text
}

/// The name of a step's first visit stands for the place.
pub(crate) fn place(place: &Place) -> String {
    let first = TaskId {
        run: place.run.clone(),
        path: place.path.clone(),
        step: place.step.clone(),
        visit: 1,
    };
    text(&first)
}

/// The place of a task.
pub(crate) fn place_of(task: &TaskId) -> String {
    match task.visit {
        1 => text(task),
        _ => place(&task.place()),
    }
}

/// Between which texts all places of a run are: from the first, and before the second.
pub(crate) fn places(run: &RunId) -> (String, String) {
    let first = TaskId {
        run: run.clone(),
        path: Path::default(),
        step: StepId::from(""),
        visit: 1,
    };
    let first = text(&first);
    let name = first.strip_suffix('/').unwrap_or(&first);
    // What comes after the character that ends the name of a run.
    let end = format!("{name}0");
    (first, end)
}
