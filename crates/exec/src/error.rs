//! The one error of this crate: why a command could not be run at all.

use std::fmt;
use std::io;

/// The reasons why nothing ran, for callers that branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExecErrorKind {
    /// There is no such program.
    ProgramNotFound,
    /// The program exists and may not be executed.
    NotExecutable,
    /// The directory to run in does not exist.
    NoDirectory,
    /// The program name, an argument or a variable cannot be passed on.
    InvalidArgument,
    /// No sandbox of the required kind can be used here.
    NoSandbox,
    /// The requested sandbox cannot be made.
    InvalidSandbox,
    /// The operating system refused.
    Io,
}

/// A command that could not be started, or not be followed.
#[derive(Debug)]
pub struct Error {
    kind: ExecErrorKind,
    message: String,
}

impl Error {
    /// The kind to branch on.
    #[must_use]
    pub fn kind(&self) -> ExecErrorKind {
        self.kind
    }

    pub(crate) fn new(kind: ExecErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    /// The error for a program that did not start.
    pub(crate) fn unstarted(program: &str, source: &io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::NotFound => Self::new(
                ExecErrorKind::ProgramNotFound,
                format!(
                    "the program `{program}` was not found; install it, or check the name and PATH"
                ),
            ),
            io::ErrorKind::PermissionDenied => Self::new(
                ExecErrorKind::NotExecutable,
                format!(
                    "the program `{program}` may not be executed; check its permissions (`chmod +x`)"
                ),
            ),
            io::ErrorKind::InvalidInput => Self::new(
                ExecErrorKind::InvalidArgument,
                format!(
                    "`{program}` was not started: its name, an argument or a variable contains a NUL character"
                ),
            ),
            io::ErrorKind::ArgumentListTooLong => Self::new(
                ExecErrorKind::InvalidArgument,
                format!(
                    "`{program}` was not started: its arguments and environment are longer than the system allows; pass long values on standard input"
                ),
            ),
            _ => Self::new(
                ExecErrorKind::Io,
                format!("`{program}` was not started: {source}"),
            ),
        }
    }

    pub(crate) fn lost(program: &str, source: &io::Error) -> Self {
        Self::new(
            ExecErrorKind::Io,
            format!("following `{program}` failed: {source}"),
        )
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
