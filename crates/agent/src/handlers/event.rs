//! Events of a task, in addition to those of the loop.

use serde::Serialize;

use super::context::ContextNote;
use super::result::{CriterionReading, OverallStatus};
use crate::event::{AgentObserver, NoAgentObserver};
use crate::task::{TaskKind, TaskName};

/// Watches tasks and the loop inside them.
pub trait TaskObserver: AgentObserver {
    /// Receives each event as it happens. Must not block: the task waits for it.
    fn notice_task(&mut self, event: &TaskEvent<'_>);
}

impl TaskObserver for NoAgentObserver {
    fn notice_task(&mut self, _event: &TaskEvent<'_>) {}
}

/// One thing that happened to a task.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum TaskEvent<'a> {
    /// A task begins, or is gone on with.
    TaskStarted {
        task: &'a TaskName,
        name: &'a str,
        #[serde(rename = "type")]
        kind: TaskKind,
    },
    /// An input artifact is not shown to the model as it is.
    ContextNoted {
        task: &'a TaskName,
        #[serde(flatten)]
        note: &'a ContextNote,
    },
    /// The context is gathered.
    ContextGathered {
        task: &'a TaskName,
        artifacts: usize,
        tokens: usize,
    },
    /// A criterion that is only a text was read as something.
    CriterionRead {
        task: &'a TaskName,
        reading: &'a CriterionReading,
    },
    /// A check begins.
    CheckStarted { task: &'a TaskName, check: &'a str },
    /// A check ended.
    CheckFinished {
        task: &'a TaskName,
        check: &'a str,
        passed: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
    },
    /// All checks of a round ended.
    Validated {
        task: &'a TaskName,
        status: OverallStatus,
    },
    /// The model got the problems and continues.
    FedBack {
        task: &'a TaskName,
        retry: u32,
        retries_max: u32,
        text: &'a str,
    },
    /// The task is done.
    TaskCompleted {
        task: &'a TaskName,
        message: &'a str,
        status: OverallStatus,
    },
    /// The task ended without being done.
    TaskFailed {
        task: &'a TaskName,
        message: &'a str,
    },
    /// The task was not begun.
    TaskSkipped {
        task: &'a TaskName,
        because: &'a [TaskName],
    },
    /// The task was done by an earlier run and is not done again.
    TaskKept { task: &'a TaskName },
}
