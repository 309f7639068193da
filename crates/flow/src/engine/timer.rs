//! Messages that a run gets at a time: what is due, and what subflows and their child runs tell each
//! other.

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
    pub due: Due,
}

/// What a timer is for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "due")]
pub enum Due {
    /// A foreach, a join or a person's task has taken too long.
    Timeout { task: TaskId },
    /// A person is reminded of a task.
    Remind { task: TaskId },
    /// A wait is over.
    Wake { task: TaskId },
    /// The child run of a subflow is to be started, by whoever knows the workflows.
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
        /// What sort of failure it was; nothing where nothing failed.
        class: Option<FailureClass>,
    },
    /// The child run of a subflow goes on after it was paused.
    ChildResumed { task: TaskId, child: RunId },
    /// The run above is cancelled.
    Cancel { reason: String },
    /// The run above has given this one up.
    GiveUp { reason: String },
    /// The run above is resumed.
    Resume,
}

/// What a subflow starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChildRun {
    pub run: RunId,
    pub parent: TaskId,
    /// `subflowId`, or the label after `Run:`.
    pub subflow: String,
    pub input: Value,
    pub depth: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "end")]
pub enum ChildEnd {
    Completed {
        output: Value,
    },
    Failed {
        message: String,
        /// What sort of failure it was, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        class: Option<FailureClass>,
    },
    Cancelled {
        message: String,
    },
}
