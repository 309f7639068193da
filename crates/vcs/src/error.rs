//! The one error of this crate.

use std::fmt;

/// What went wrong, for callers that branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// There is no `git` program.
    NoGit,
    /// The address cannot be one of a repository.
    BadAddress,
    /// The repository could not be fetched.
    Unreachable,
    /// There is no such branch, tag or commit.
    UnknownRevision,
    /// The directory is not in a git repository.
    NotARepository,
    /// The directory to fetch into is in use.
    Occupied,
    /// Git took longer than allowed.
    TimedOut,
    /// Somebody asked for it to stop.
    Cancelled,
    /// Git failed in another way.
    Failed,
}

/// A git operation that failed.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
}

impl Error {
    /// The kind to branch on.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
