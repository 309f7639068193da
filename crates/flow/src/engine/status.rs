//! The statuses of tasks, runs and items, and the only moves there are between them.

use serde::{Deserialize, Serialize};

/// How far a task has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Ready for whoever does it, or waiting for the time of its next attempt.
    Pending,
    InProgress,
    /// For items, for branches, or for a child run.
    Waiting,
    /// For a person.
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

/// A move of a task from one status to another. There is no way to write one that is not listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Move {
    /// Somebody takes it.
    Claim,
    /// A person takes up what is on hold.
    TakeUp,
    Complete,
    Fail,
    /// It needs a person.
    Hold,
    /// The attempt is over, another follows.
    Requeue,
    /// What it waited for is there, and now there is work to do.
    Release,
    /// All it waited for is there.
    Finish,
    /// What it waited for has failed.
    FailWaiting,
    /// What it waited for needs a person.
    HoldWaiting,
    /// A person lets it be tried again.
    Retry,
    /// A person lets it wait again.
    WaitAgain,
    CancelPending,
    CancelInProgress,
    CancelWaiting,
    CancelHeld,
}

impl Move {
    pub const ALL: [Move; 16] = [
        Move::Claim,
        Move::TakeUp,
        Move::Complete,
        Move::Fail,
        Move::Hold,
        Move::Requeue,
        Move::Release,
        Move::Finish,
        Move::FailWaiting,
        Move::HoldWaiting,
        Move::Retry,
        Move::WaitAgain,
        Move::CancelPending,
        Move::CancelInProgress,
        Move::CancelWaiting,
        Move::CancelHeld,
    ];

    #[must_use]
    pub fn from(self) -> TaskStatus {
        match self {
            Move::Claim | Move::CancelPending => TaskStatus::Pending,
            Move::Complete | Move::Fail | Move::Hold | Move::Requeue | Move::CancelInProgress => {
                TaskStatus::InProgress
            }
            Move::Release
            | Move::Finish
            | Move::FailWaiting
            | Move::HoldWaiting
            | Move::CancelWaiting => TaskStatus::Waiting,
            Move::TakeUp | Move::Retry | Move::WaitAgain | Move::CancelHeld => TaskStatus::OnHold,
        }
    }

    #[must_use]
    pub fn to(self) -> TaskStatus {
        match self {
            Move::Claim | Move::TakeUp => TaskStatus::InProgress,
            Move::Complete | Move::Finish => TaskStatus::Completed,
            Move::Fail | Move::FailWaiting => TaskStatus::Failed,
            Move::Hold | Move::HoldWaiting => TaskStatus::OnHold,
            Move::Requeue | Move::Release | Move::Retry => TaskStatus::Pending,
            Move::WaitAgain => TaskStatus::Waiting,
            Move::CancelPending
            | Move::CancelInProgress
            | Move::CancelWaiting
            | Move::CancelHeld => TaskStatus::Cancelled,
        }
    }

    /// The move that cancels a task of this status; nothing where it has ended.
    #[must_use]
    pub fn cancelling(status: TaskStatus) -> Option<Move> {
        match status {
            TaskStatus::Pending => Some(Move::CancelPending),
            TaskStatus::InProgress => Some(Move::CancelInProgress),
            TaskStatus::Waiting => Some(Move::CancelWaiting),
            TaskStatus::OnHold => Some(Move::CancelHeld),
            TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Cancelled => None,
        }
    }
}

/// The status a task begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Begin {
    Pending,
    /// A foreach, a join or a subflow.
    Waiting,
    /// It may not run without a person's word: its step was visited too often.
    OnHold,
}

impl Begin {
    #[must_use]
    pub fn status(self) -> TaskStatus {
        match self {
            Begin::Pending => TaskStatus::Pending,
            Begin::Waiting => TaskStatus::Waiting,
            Begin::OnHold => TaskStatus::OnHold,
        }
    }
}

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    Running,
    /// Nothing of it is claimed until somebody says so; what is under way may end.
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

/// How far an item of a foreach has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemStatus {
    /// Its first step is not created yet.
    Waiting,
    Running,
    Succeeded,
    Failed,
    /// The foreach was over before the item was.
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
    use super::{Move, TaskStatus};

    #[test]
    fn the_moves_are_those_of_the_table_and_no_others() {
        let mut moves: Vec<String> = Move::ALL
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
            let leaves = Move::ALL.iter().filter(|m| m.from() == status).count();
            assert_eq!(leaves == 0, status.is_terminal(), "{status:?}");
            assert_eq!(Move::cancelling(status).is_none(), status.is_terminal());
        }
        for m in Move::ALL {
            assert_ne!(m.from(), m.to(), "{m:?}");
        }
    }
}
