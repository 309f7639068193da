//! How a job stands, and which standing may follow which: the one table of it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Kind};

/// How a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Asked for, and nothing done about it yet.
    Queued,
    /// A model is making the plan.
    Planning,
    /// The plan waits for a person.
    PlanReady,
    /// A model is writing the files of the approved plan.
    Generating,
    /// The project's checks are run.
    Validating,
    /// A model is mending what the checks found.
    Repairing,
    /// The work waits for a person to look at it; nothing has left the machine.
    ReviewReady,
    /// Branch, commit, push and pull request are being made.
    Publishing,
    /// Done, and every check passes that passed before.
    Completed,
    /// Done as far as it went: a draft with what is left to mend.
    CompletedDraft,
    /// Something other than the code went wrong.
    Failed,
    /// A person did not want the plan.
    Rejected,
    /// A person did not want the job any more.
    Cancelled,
}

use Status::{
    Cancelled, Completed, CompletedDraft, Failed, Generating, PlanReady, Planning, Publishing,
    Queued, Rejected, Repairing, ReviewReady, Validating,
};

impl Status {
    /// All of them, in the order a job goes through them.
    pub const ALL: [Status; 13] = [
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

    /// What may come next. The table is the state machine; nothing else knows it.
    pub fn next(self) -> &'static [Status] {
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
            // Taken as it is, commented, or a part of it turned down.
            ReviewReady => &[Publishing, Repairing, Validating, Rejected, Cancelled],
            Publishing => &[Completed, CompletedDraft, Failed, Cancelled],
            // What stayed local may be published later, and more may be asked for.
            Completed | CompletedDraft => &[Publishing, Planning],
            // Taken up again at the step that failed.
            Failed => &[Planning, Generating, Validating, Repairing, Publishing],
            Rejected | Cancelled => &[],
        }
    }

    /// Whether the table has this step.
    pub fn may_become(self, next: Status) -> bool {
        self.next().contains(&next)
    }

    /// Whether the job has come to an end, one way or the other.
    pub fn is_final(self) -> bool {
        matches!(
            self,
            Completed | CompletedDraft | Failed | Rejected | Cancelled
        )
    }

    /// Whether somebody should be working on the job.
    pub fn is_active(self) -> bool {
        matches!(
            self,
            Queued | Planning | Generating | Validating | Repairing | Publishing
        )
    }

    /// The word in JSON, in the database and in messages.
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

    /// The status of this word.
    pub fn read(word: &str) -> Option<Status> {
        Status::ALL
            .into_iter()
            .find(|status| status.as_str() == word)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A step of the table, or none. There is no other way to make one, so that a store cannot be handed a
/// step that the table does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transition {
    from: Status,
    to: Status,
}

impl Transition {
    /// Staying where one is, to keep what is known now.
    pub fn none(status: Status) -> Transition {
        Transition {
            from: status,
            to: status,
        }
    }

    /// The step, if the table has it.
    pub fn new(from: Status, to: Status) -> Result<Transition, Error> {
        if from.may_become(to) {
            return Ok(Transition { from, to });
        }
        if from == to {
            let message = format!("the build is `{from}` already; there is nothing to do");
            return Err(Error::new(Kind::Conflict, message));
        }
        let next: Vec<&str> = from.next().iter().map(|status| status.as_str()).collect();
        let hint = if next.is_empty() {
            "it has come to its end; start another build".to_owned()
        } else {
            format!("it can only become {}", next.join(", "))
        };
        Err(Error::new(
            Kind::Conflict,
            format!("the build is `{from}` and cannot become `{to}`; {hint}"),
        ))
    }

    /// How the job has to stand.
    pub fn from(self) -> Status {
        self.from
    }

    /// How it stands afterwards.
    pub fn to(self) -> Status {
        self.to
    }
}

#[cfg(test)]
mod tests {
    use super::{Status, Transition};

    #[test]
    fn every_status_is_read_as_it_is_written() {
        for status in Status::ALL {
            assert_eq!(Status::read(status.as_str()), Some(status));
            let json = serde_json::to_string(&status).unwrap();
            assert_eq!(json, format!("\"{status}\""));
        }
        assert_eq!(Status::read("rolled_back"), None);
        assert!(serde_json::from_str::<Status>("\"done\"").is_err());
    }

    #[test]
    fn only_the_steps_of_the_table_can_be_made() {
        for from in Status::ALL {
            for to in Status::ALL {
                let made = Transition::new(from, to).is_ok();
                assert_eq!(made, from.may_become(to), "{from} to {to}");
            }
        }
    }

    #[test]
    fn every_active_status_can_fail_and_be_cancelled() {
        for status in Status::ALL {
            if status.is_active() {
                assert!(status.may_become(Status::Failed), "{status}");
                assert!(status.may_become(Status::Cancelled), "{status}");
            }
        }
    }

    #[test]
    fn a_refused_step_says_what_is_possible() {
        let error = Transition::new(Status::PlanReady, Status::Completed).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the build is `plan_ready` and cannot become `completed`; it can only become \
             generating, rejected, cancelled"
        );
        let error = Transition::new(Status::Rejected, Status::Generating).unwrap_err();
        assert!(error.to_string().contains("start another build"), "{error}");
        let error = Transition::new(Status::Cancelled, Status::Cancelled).unwrap_err();
        assert!(error.to_string().contains("`cancelled` already"), "{error}");
    }
}
