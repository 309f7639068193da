//! The one error: a kind to branch on and a sentence that says what to do next.

use serde::{Deserialize, Serialize};

/// What went wrong, for callers that branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// There is no such job.
    NotFound,
    /// The job does not stand, or does no longer stand, where this is possible.
    Conflict,
    /// Another process works on the job.
    Held,
    /// What was asked for cannot be a job: the words, or the options.
    Invalid,
    /// A plan that cannot be approved; the message names every problem.
    Plan,
    /// What is kept could not be read or written.
    Store,
    /// What was handed in does not fit together, or the project is not a git repository.
    Setup,
    /// The run was interrupted here; the job is as it was and can be gone on with.
    Interrupted,
}

/// Something that is not part of a job's own story: nothing about the job was changed by it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: Kind,
    message: String,
}

impl Error {
    /// An error of this kind; the message is a sentence or two.
    pub fn new(kind: Kind, message: impl Into<String>) -> Error {
        Error {
            kind,
            message: message.into(),
        }
    }

    /// The kind to branch on.
    pub fn kind(&self) -> Kind {
        self.kind
    }
}

impl From<workspace::Error> for Error {
    fn from(error: workspace::Error) -> Error {
        Error::new(Kind::Setup, error.to_string())
    }
}

impl From<vcs::Error> for Error {
    fn from(error: vcs::Error) -> Error {
        Error::new(Kind::Setup, error.to_string())
    }
}
