//! The statuses of a job, and the one table of transitions between them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{BuildErrorKind, Error};

/// The status of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobStatus {
    /// Requested, and not begun.
    Queued,
    /// A model is making the plan.
    Planning,
    /// The plan waits for a person.
    PlanReady,
    /// A model is writing the files of the approved plan.
    Generating,
    /// The project's checks are run.
    Validating,
    /// A model is repairing failed checks.
    Repairing,
    /// The work waits for a person's review; nothing has left the machine.
    ReviewReady,
    /// Branch, commit, push and pull request are being made.
    Publishing,
    /// Done, and every check passes that passed before.
    Completed,
    /// Finished as a draft: some failures remain.
    CompletedDraft,
    /// Something other than the code went wrong.
    Failed,
    /// A person rejected the plan.
    Rejected,
    /// A person cancelled the job.
    Cancelled,
}

use JobStatus::{
    Cancelled, Completed, CompletedDraft, Failed, Generating, PlanReady, Planning, Publishing,
    Queued, Rejected, Repairing, ReviewReady, Validating,
};

impl JobStatus {
    /// All statuses, in the order a job goes through them.
    pub const ALL: [JobStatus; 13] = [
        Queued,
        Planning,
        PlanReady,
        Generating,
        Validating,
        Repairing,
        ReviewReady,
        Publishing,
        Completed,
        CompletedDraft,
        Failed,
        Rejected,
        Cancelled,
    ];

    /// The statuses that may come next. This table is the only definition of the state machine.
    pub fn next(self) -> &'static [JobStatus] {
        match self {
            Queued => &[Planning, Failed, Cancelled],
            Planning => &[PlanReady, Failed, Cancelled],
            PlanReady => &[Generating, Rejected, Cancelled],
            Generating => &[Validating, Failed, Cancelled],
            // A dry run ends here, without publishing.
            Validating => &[
                Repairing,
                ReviewReady,
                Publishing,
                Completed,
                CompletedDraft,
                Failed,
                Cancelled,
            ],
            Repairing => &[Validating, Failed, Cancelled],
            // Accepted, commented, or rejected in part.
            ReviewReady => &[Publishing, Repairing, Validating, Rejected, Cancelled],
            Publishing => &[Completed, CompletedDraft, Failed, Cancelled],
            // Local work may be published later, and follow-ups may be asked for.
            Completed | CompletedDraft => &[Publishing, Planning],
            // Resumed at the step that failed.
            Failed => &[Planning, Generating, Validating, Repairing, Publishing],
            Rejected | Cancelled => &[],
        }
    }

    /// Returns true if the table has this transition.
    pub(crate) fn may_become(self, next: JobStatus) -> bool {
        self.next().contains(&next)
    }

    /// Returns true if the job has ended, whatever the result.
    pub fn is_final(self) -> bool {
        matches!(
            self,
            Completed | CompletedDraft | Failed | Rejected | Cancelled
        )
    }

    /// Returns true if the job has ended and needs nothing of its worktree any more. The work of a
    /// cancelled job is still to be saved.
    pub fn is_settled(self) -> bool {
        matches!(
            self,
            JobStatus::Completed | JobStatus::CompletedDraft | JobStatus::Rejected
        )
    }

    /// Returns true if a process should be working on the job.
    pub fn is_active(self) -> bool {
        matches!(
            self,
            Queued | Planning | Generating | Validating | Repairing | Publishing
        )
    }

    /// The name in JSON, in the database and in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Queued => "queued",
            Planning => "planning",
            PlanReady => "plan_ready",
            Generating => "generating",
            Validating => "validating",
            Repairing => "repairing",
            ReviewReady => "review_ready",
            Publishing => "publishing",
            Completed => "completed",
            CompletedDraft => "completed_draft",
            Failed => "failed",
            Rejected => "rejected",
            Cancelled => "cancelled",
        }
    }

    /// Parses the name of a status.
    pub fn read(word: &str) -> Option<JobStatus> {
        JobStatus::ALL
            .into_iter()
            .find(|status| status.as_str() == word)
    }
}

impl fmt::Display for JobStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A transition of the table, or one that keeps the status. It cannot be made in another way, so
/// that a store never gets a transition that the table does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusTransition {
    from: JobStatus,
    to: JobStatus,
}

impl StatusTransition {
    /// Keeps the status, to store an edit of the job.
    pub fn none(status: JobStatus) -> StatusTransition {
        StatusTransition {
            from: status,
            to: status,
        }
    }

    /// The step, if the table has it.
    pub fn new(from: JobStatus, to: JobStatus) -> Result<StatusTransition, Error> {
        if from.may_become(to) {
            return Ok(StatusTransition { from, to });
        }
        if from == to {
            let message = format!("the build is `{from}` already; there is nothing to do");
            return Err(Error::new(BuildErrorKind::Conflict, message));
        }
        let next: Vec<&str> = from.next().iter().map(|status| status.as_str()).collect();
        let hint = if next.is_empty() {
            "it has ended; start another build".to_owned()
        } else {
            format!("it can only become {}", next.join(", "))
        };
        Err(Error::new(
            BuildErrorKind::Conflict,
            format!("the build is `{from}` and cannot become `{to}`; {hint}"),
        ))
    }

    /// The status the job must have.
    pub fn from(self) -> JobStatus {
        self.from
    }

    /// The status it gets.
    pub fn to(self) -> JobStatus {
        self.to
    }
}

#[cfg(test)]
mod tests {
    use super::{JobStatus, StatusTransition};

    #[test]
    fn every_status_is_read_as_it_is_written() {
        for status in JobStatus::ALL {
            assert_eq!(JobStatus::read(status.as_str()), Some(status));
            let json = serde_json::to_string(&status).unwrap();
            assert_eq!(json, format!("\"{status}\""));
        }
        assert_eq!(JobStatus::read("rolled_back"), None);
        assert!(serde_json::from_str::<JobStatus>("\"done\"").is_err());
    }

    #[test]
    fn only_the_steps_of_the_table_can_be_made() {
        for from in JobStatus::ALL {
            for to in JobStatus::ALL {
                let made = StatusTransition::new(from, to).is_ok();
                assert_eq!(made, from.may_become(to), "{from} to {to}");
            }
        }
    }

    #[test]
    fn every_active_status_can_fail_and_be_cancelled() {
        for status in JobStatus::ALL {
            if status.is_active() {
                assert!(status.may_become(JobStatus::Failed), "{status}");
                assert!(status.may_become(JobStatus::Cancelled), "{status}");
            }
        }
    }

    #[test]
    fn a_refused_step_says_what_is_possible() {
        let error = StatusTransition::new(JobStatus::PlanReady, JobStatus::Completed).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the build is `plan_ready` and cannot become `completed`; it can only become \
             generating, rejected, cancelled"
        );
        let error = StatusTransition::new(JobStatus::Rejected, JobStatus::Generating).unwrap_err();
        assert!(error.to_string().contains("start another build"), "{error}");
        let error = StatusTransition::new(JobStatus::Cancelled, JobStatus::Cancelled).unwrap_err();
        assert!(error.to_string().contains("`cancelled` already"), "{error}");
    }
}
