//! The one error: a kind to branch on and a sentence that says what to do next.

use std::path::Path;

/// The kind of an error, for callers that branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatabaseErrorKind {
    /// The database cannot be opened or created.
    Open,
    /// The file is damaged, or is not a database of ours.
    Corrupt,
    /// A newer drawloom wrote it.
    Newer,
    /// The disk or the limit is full.
    Full,
    /// Another process kept it locked for too long.
    Busy,
    /// The server is gone, or gave the transaction up: a retry may succeed.
    Lost,
    /// Another living process holds the run.
    Locked,
    /// The object does not exist.
    Missing,
    /// Reading or writing failed.
    Io,
    /// The request does not fit what is stored.
    Conflict,
    /// A given value cannot be stored as it is.
    Invalid,
}

/// Something that could not be stored or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: DatabaseErrorKind,
    message: String,
}

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Creates an error of this kind; the message is a sentence or two.
    pub fn new(kind: DatabaseErrorKind, message: impl Into<String>) -> Error {
        Error {
            kind,
            message: message.into(),
        }
    }

    /// Returns the kind to branch on.
    pub fn kind(&self) -> DatabaseErrorKind {
        self.kind
    }

    /// Creates the error of a path that cannot be used for the database.
    pub(crate) fn place(place: &Path, doing: &str, cause: impl std::fmt::Display) -> Error {
        Error::new(
            DatabaseErrorKind::Open,
            format!(
                "{doing} {} failed: {cause}. Check the folder and its permissions.",
                place.display()
            ),
        )
    }
}

impl From<Error> for builder::Error {
    fn from(error: Error) -> builder::Error {
        builder::Error::new(builder::BuildErrorKind::Store, error.message)
    }
}

impl From<Error> for agent::Error {
    fn from(error: Error) -> agent::Error {
        agent::Error::new(agent::AgentErrorKind::Journal, error.message)
    }
}
