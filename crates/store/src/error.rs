//! The one error: a kind to branch on and a sentence that says what to do next.

use std::path::Path;

/// What went wrong, for callers that branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The place of the database cannot be opened or made.
    Open,
    /// The file is damaged, or is not a database of ours.
    Corrupt,
    /// A newer drawloom wrote it.
    Newer,
    /// The disk or the limit is full.
    Full,
    /// Somebody else kept it locked for too long.
    Busy,
    /// The server is gone, or gave the transaction up: the same again may work.
    Lost,
    /// The run belongs to another process that lives.
    Locked,
    /// There is no such run.
    Missing,
    /// Reading or writing failed.
    Io,
    /// What was asked for does not fit what is stored.
    Conflict,
    /// What was given cannot be kept as it is.
    Invalid,
}

/// Something that could not be stored or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: Kind,
    message: String,
}

/// The result of everything here.
pub type Result<T> = std::result::Result<T, Error>;

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

    /// The place of the database cannot be used.
    pub(crate) fn place(place: &Path, doing: &str, cause: impl std::fmt::Display) -> Error {
        Error::new(
            Kind::Open,
            format!(
                "{doing} {} failed: {cause}. Check the folder and its permissions.",
                place.display()
            ),
        )
    }
}

impl From<Error> for builder::Error {
    fn from(error: Error) -> builder::Error {
        builder::Error::new(builder::Kind::Store, error.message)
    }
}

impl From<Error> for agent::Error {
    fn from(error: Error) -> agent::Error {
        agent::Error::new(agent::Kind::Journal, error.message)
    }
}
