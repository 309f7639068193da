//! Timers: messages that a run gets at a time, including those between a subflow and its child run.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::engine::rows::FailureClass;
use crate::id::{RunId, TaskId};

/// A message to a run, due at a time. The key is `run` and `key`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimerRow {
    pub run: RunId,
    pub key: String,
    pub at_ms: u64,
    pub due: TimerPurpose,
}

/// The purpose of a timer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "due")]
pub enum TimerPurpose {
    /// A foreach, a join or a person's task has taken too long.
    Timeout { task: TaskId },
    /// A person is reminded of a task.
    Remind { task: TaskId },
    /// A wait is over.
    Wake { task: TaskId },
    /// Start the child run of a subflow. The worker does this, because the engine does not know
    /// other workflows.
    StartChild { child: ChildRun },
    /// The child run of a subflow has ended.
    ChildEnded {
        task: TaskId,
        child: RunId,
        end: ChildEnd,
    },
    /// The child run of a subflow is paused because of one of its tasks.
    ChildPaused {
        task: TaskId,
        child: RunId,
        message: String,
        /// The class of the failure; `None` if nothing failed.
        class: Option<FailureClass>,
    },
    /// The child run of a subflow resumes after a pause.
    ChildResumed { task: TaskId, child: RunId },
    /// The parent run was cancelled.
    Cancel { reason: String },
    /// The parent run has given this one up.
    GiveUp { reason: String },
    /// The parent run was resumed.
    Resume,
    /// A slot may be free for a run that waits for it.
    Admit,
    /// A task has to give its slot to a newer one.
    MakeRoom { task: TaskId, reason: String },
}

/// The child run that a subflow starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChildRun {
    pub run: RunId,
    pub parent: TaskId,
    /// `subflowId`, or the label after `Run:`.
    pub subflow: String,
    pub input: Value,
    pub depth: u32,
    /// The priority of the parent run.
    #[serde(default)]
    pub priority: i32,
}

/// The end of a child run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "end")]
pub enum ChildEnd {
    Completed {
        output: Value,
    },
    Failed {
        message: String,
        /// The class of the failure, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        class: Option<FailureClass>,
    },
    Cancelled {
        message: String,
    },
}
