//! What whoever watches a task is told, beside what the loop tells.

use serde::Serialize;

use super::context::ContextNote;
use super::result::{OverallStatus, Reading};
use crate::event::{Nobody, Observer};
use crate::task::{TaskId, TaskKind};

/// Watches tasks and the loop inside them.
pub trait TaskObserver: Observer {
    /// Told as it happens. Must not block: the task waits for it.
    fn notice_task(&mut self, event: &TaskEvent<'_>);
}

impl TaskObserver for Nobody {
    fn notice_task(&mut self, _event: &TaskEvent<'_>) {}
}

/// One thing that happened to a task.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum TaskEvent<'a> {
    /// A task begins, or is gone on with.
    TaskStarted {
        task: &'a TaskId,
        name: &'a str,
        #[serde(rename = "type")]
        kind: TaskKind,
    },
    /// An input artifact is not shown to the model as it is.
    ContextNoted {
        task: &'a TaskId,
        #[serde(flatten)]
        note: &'a ContextNote,
    },
    /// The context is gathered.
    ContextGathered {
        task: &'a TaskId,
        artifacts: usize,
        tokens: usize,
    },
    /// A criterion that is only a text was read as something.
    CriterionRead {
        task: &'a TaskId,
        reading: &'a Reading,
    },
    /// A check begins.
    CheckStarted { task: &'a TaskId, check: &'a str },
    /// A check ended.
    CheckFinished {
        task: &'a TaskId,
        check: &'a str,
        passed: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
    },
    /// All checks of a round ended.
    Validated {
        task: &'a TaskId,
        status: OverallStatus,
    },
    /// The model is told what is wrong and goes on.
    FedBack {
        task: &'a TaskId,
        retry: u32,
        retries_max: u32,
        text: &'a str,
    },
    /// The task is done.
    TaskCompleted {
        task: &'a TaskId,
        message: &'a str,
        status: OverallStatus,
    },
    /// The task ended without being done.
    TaskFailed { task: &'a TaskId, message: &'a str },
    /// The task was not begun.
    TaskSkipped {
        task: &'a TaskId,
        because: &'a [TaskId],
    },
    /// The task was done by an earlier run and is not done again.
    TaskKept { task: &'a TaskId },
}
