//! The one error of this crate: a kind to branch on and a sentence to show.

use std::fmt;
use std::io;

use crate::policy::Denial;

/// The kinds of error, for callers that branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkspaceErrorKind {
    /// The text is not a path inside the project.
    InvalidPath,
    /// A symlink on the way leaves the root.
    Escape,
    /// The policy refuses; [`Error::denial`] has the rule and the reason.
    Denied,
    /// A directory is in the way, or a file where a directory is needed.
    Conflict,
    /// The file, or its directory, may not be written.
    ReadOnly,
    /// A device, FIFO or socket: neither read nor replaced.
    SpecialFile,
    /// The content is not UTF-8 text.
    NotText,
    /// A named limit was reached.
    Limit,
    /// Another process holds the project's apply lock.
    Locked,
    /// The target is on another filesystem than the project's `.drawloom`.
    OtherFilesystem,
    /// An interrupted apply could not be finished or undone.
    Recovery,
    /// A search pattern that cannot be read.
    Pattern,
    /// A directory that must exist does not.
    NotFound,
    /// The operating system refused.
    Io,
}

/// An error with the place it happened at.
#[derive(Debug)]
pub struct Error {
    kind: WorkspaceErrorKind,
    message: String,
    source: Option<io::Error>,
    denial: Option<Box<Denial>>,
}

impl Error {
    /// The kind to branch on.
    #[must_use]
    pub fn kind(&self) -> WorkspaceErrorKind {
        self.kind
    }

    pub(crate) fn new(kind: WorkspaceErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            source: None,
            denial: None,
        }
    }

    /// Wraps an operating system error while doing `what` (`reading`, `creating`) to `place`.
    pub(crate) fn io(what: &str, place: &dyn fmt::Display, source: impl Into<io::Error>) -> Self {
        let source = source.into();
        let (kind, hint) = match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                (WorkspaceErrorKind::ReadOnly, "; check the permissions")
            }
            io::ErrorKind::CrossesDevices => (
                WorkspaceErrorKind::OtherFilesystem,
                "; it is on another filesystem than the project's `.drawloom` directory, and \
                 files cannot be moved there in one step",
            ),
            io::ErrorKind::StorageFull => {
                (WorkspaceErrorKind::Io, "; free some space and run again")
            }
            _ => (WorkspaceErrorKind::Io, ""),
        };
        Self {
            kind,
            message: format!("{what} `{place}` failed: {source}{hint}"),
            source: Some(source),
            denial: None,
        }
    }

    /// Returns true if the disk has no room.
    #[must_use]
    pub fn is_disk_full(&self) -> bool {
        let source = self.source.as_ref();
        source.is_some_and(|source| source.kind() == io::ErrorKind::StorageFull)
    }

    /// Adds a sentence about the reaction to the error.
    pub(crate) fn noting(mut self, sentence: &str) -> Self {
        self.message.push_str("; ");
        self.message.push_str(sentence);
        self
    }

    pub(crate) fn with_denial(mut self, denial: Denial) -> Self {
        self.denial = Some(Box::new(denial));
        self
    }

    pub(crate) fn with_kind(mut self, kind: WorkspaceErrorKind) -> Self {
        self.kind = kind;
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // The message already contains the source; a chain printer must not repeat it.
        None
    }
}

impl Error {
    /// The refusal as a value, when the policy refused.
    #[must_use]
    pub fn denial(&self) -> Option<&Denial> {
        self.denial.as_deref()
    }

    /// The operating system's error, when there was one.
    #[must_use]
    pub fn os(&self) -> Option<&io::Error> {
        self.source.as_ref()
    }
}
