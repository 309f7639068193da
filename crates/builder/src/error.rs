//! The one error: a kind to branch on and a sentence that says what to do next.

use serde::{Deserialize, Serialize};

/// The kinds of error, for callers that branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BuildErrorKind {
    /// There is no such job.
    NotFound,
    /// The job's status does not allow this, or not any more.
    Conflict,
    /// Another process works on the job.
    Held,
    /// The prompt or the options are not valid for a job.
    Invalid,
    /// A plan that cannot be approved; the message names every problem.
    Plan,
    /// The store could not be read or written.
    Store,
    /// The inputs do not fit together, or the project is not a git repository.
    Setup,
    /// The run was interrupted; the job is unchanged and can be resumed.
    Interrupted,
}

/// An error outside a job's own course: it has not changed the job.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: BuildErrorKind,
    message: String,
}

impl Error {
    /// An error of this kind; the message is a sentence or two.
    pub fn new(kind: BuildErrorKind, message: impl Into<String>) -> Error {
        Error {
            kind,
            message: message.into(),
        }
    }

    /// The kind to branch on.
    pub fn kind(&self) -> BuildErrorKind {
        self.kind
    }
}

impl From<workspace::Error> for Error {
    fn from(error: workspace::Error) -> Error {
        Error::new(BuildErrorKind::Setup, error.to_string())
    }
}

impl From<vcs::Error> for Error {
    fn from(error: vcs::Error) -> Error {
        Error::new(BuildErrorKind::Setup, error.to_string())
    }
}
