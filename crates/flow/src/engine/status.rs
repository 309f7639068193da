//! The statuses of tasks, runs and items, and the only transitions between them.

use serde::{Deserialize, Serialize};

/// The progress of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Ready for its worker or person, or waiting for the time of its next attempt.
    Pending,
    InProgress,
    /// Waits for items, branches or a child run.
    Waiting,
    /// Waits for a person's decision.
    OnHold,
    Completed,
    Failed,
    Cancelled,
}

impl TaskStatus {
    pub const ALL: [TaskStatus; 7] = [
        TaskStatus::Pending,
        TaskStatus::InProgress,
        TaskStatus::Waiting,
        TaskStatus::OnHold,
        TaskStatus::Completed,
        TaskStatus::Failed,
        TaskStatus::Cancelled,
    ];

    #[must_use]
    pub fn is_terminal(self) -> bool {
        matches!(
            self,
            TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Cancelled
        )
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TaskStatus::Pending => "pending",
            TaskStatus::InProgress => "in_progress",
            TaskStatus::Waiting => "waiting",
            TaskStatus::OnHold => "on_hold",
            TaskStatus::Completed => "completed",
            TaskStatus::Failed => "failed",
            TaskStatus::Cancelled => "cancelled",
        }
    }
}

/// A transition of a task from one status to another. No other transition can be expressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StatusMove {
    /// A worker or a person takes it.
    Claim,
    /// A person takes a task that is on hold.
    TakeUp,
    Complete,
    Fail,
    /// A person has to decide.
    Hold,
    /// The attempt has ended, and another follows.
    Requeue,
    /// Its items, branches or child run have ended, and now it has work of its own.
    Release,
    /// All it waited for has arrived.
    Finish,
    /// Its items, branches or child run have failed.
    FailWaiting,
    /// Its items, branches or child run need a person.
    HoldWaiting,
    /// A person lets it be retried.
    Retry,
    /// A person lets it wait again.
    WaitAgain,
    CancelPending,
    CancelInProgress,
    CancelWaiting,
    CancelHeld,
}

impl StatusMove {
    pub const ALL: [StatusMove; 16] = [
        StatusMove::Claim,
        StatusMove::TakeUp,
        StatusMove::Complete,
        StatusMove::Fail,
        StatusMove::Hold,
        StatusMove::Requeue,
        StatusMove::Release,
        StatusMove::Finish,
        StatusMove::FailWaiting,
        StatusMove::HoldWaiting,
        StatusMove::Retry,
        StatusMove::WaitAgain,
        StatusMove::CancelPending,
        StatusMove::CancelInProgress,
        StatusMove::CancelWaiting,
        StatusMove::CancelHeld,
    ];

    #[must_use]
    pub fn from(self) -> TaskStatus {
        match self {
            StatusMove::Claim | StatusMove::CancelPending => TaskStatus::Pending,
            StatusMove::Complete
            | StatusMove::Fail
            | StatusMove::Hold
            | StatusMove::Requeue
            | StatusMove::CancelInProgress => TaskStatus::InProgress,
            StatusMove::Release
            | StatusMove::Finish
            | StatusMove::FailWaiting
            | StatusMove::HoldWaiting
            | StatusMove::CancelWaiting => TaskStatus::Waiting,
            StatusMove::TakeUp
            | StatusMove::Retry
            | StatusMove::WaitAgain
            | StatusMove::CancelHeld => TaskStatus::OnHold,
        }
    }

    #[must_use]
    pub fn to(self) -> TaskStatus {
        match self {
            StatusMove::Claim | StatusMove::TakeUp => TaskStatus::InProgress,
            StatusMove::Complete | StatusMove::Finish => TaskStatus::Completed,
            StatusMove::Fail | StatusMove::FailWaiting => TaskStatus::Failed,
            StatusMove::Hold | StatusMove::HoldWaiting => TaskStatus::OnHold,
            StatusMove::Requeue | StatusMove::Release | StatusMove::Retry => TaskStatus::Pending,
            StatusMove::WaitAgain => TaskStatus::Waiting,
            StatusMove::CancelPending
            | StatusMove::CancelInProgress
            | StatusMove::CancelWaiting
            | StatusMove::CancelHeld => TaskStatus::Cancelled,
        }
    }

    /// Returns the transition that cancels a task of this status; `None` if it has ended.
    #[must_use]
    pub fn cancelling(status: TaskStatus) -> Option<StatusMove> {
        match status {
            TaskStatus::Pending => Some(StatusMove::CancelPending),
            TaskStatus::InProgress => Some(StatusMove::CancelInProgress),
            TaskStatus::Waiting => Some(StatusMove::CancelWaiting),
            TaskStatus::OnHold => Some(StatusMove::CancelHeld),
            TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Cancelled => None,
        }
    }
}

/// The first status of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InitialStatus {
    Pending,
    /// A foreach, a join or a subflow.
    Waiting,
    /// It may not run before a person permits it: its step was visited too often.
    OnHold,
}

impl InitialStatus {
    #[must_use]
    pub fn status(self) -> TaskStatus {
        match self {
            InitialStatus::Pending => TaskStatus::Pending,
            InitialStatus::Waiting => TaskStatus::Waiting,
            InitialStatus::OnHold => TaskStatus::OnHold,
        }
    }
}

/// The progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    Running,
    /// No worker claims its tasks until it is resumed; tasks in progress may end.
    Paused,
    Completed,
    Failed,
    Cancelled,
}

impl RunStatus {
    #[must_use]
    pub fn is_terminal(self) -> bool {
        !matches!(self, RunStatus::Running | RunStatus::Paused)
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            RunStatus::Running => "running",
            RunStatus::Paused => "paused",
            RunStatus::Completed => "completed",
            RunStatus::Failed => "failed",
            RunStatus::Cancelled => "cancelled",
        }
    }
}

/// The progress of an item of a foreach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemStatus {
    /// Its first step is not created yet.
    Waiting,
    Running,
    Succeeded,
    Failed,
    /// The foreach ended before the item did.
    Skipped,
}

impl ItemStatus {
    #[must_use]
    pub fn is_terminal(self) -> bool {
        !matches!(self, ItemStatus::Waiting | ItemStatus::Running)
    }
}

#[cfg(test)]
mod tests {
    use super::{StatusMove, TaskStatus};

    #[test]
    fn the_moves_are_those_of_the_table_and_no_others() {
        let mut moves: Vec<String> = StatusMove::ALL
            .iter()
            .map(|by| format!("{} {}", by.from().name(), by.to().name()))
            .collect();
        moves.sort();
        moves.dedup();
        assert_eq!(
            moves,
            [
                "in_progress cancelled",
                "in_progress completed",
                "in_progress failed",
                "in_progress on_hold",
                "in_progress pending",
                "on_hold cancelled",
                "on_hold in_progress",
                "on_hold pending",
                "on_hold waiting",
                "pending cancelled",
                "pending in_progress",
                "waiting cancelled",
                "waiting completed",
                "waiting failed",
                "waiting on_hold",
                "waiting pending",
            ]
        );
    }

    #[test]
    fn nothing_leaves_a_terminal_status_and_every_other_can_be_cancelled() {
        for status in TaskStatus::ALL {
            let leaves = StatusMove::ALL
                .iter()
                .filter(|m| m.from() == status)
                .count();
            assert_eq!(leaves == 0, status.is_terminal(), "{status:?}");
            assert_eq!(
                StatusMove::cancelling(status).is_none(),
                status.is_terminal()
            );
        }
        for m in StatusMove::ALL {
            assert_ne!(m.from(), m.to(), "{m:?}");
        }
    }
}
