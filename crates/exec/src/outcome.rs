//! The outcome of a command that ran.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

/// The status and the output of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutcome {
    /// The way it ended.
    pub status: CommandStatus,
    /// Its standard output, shortened in the middle when over the limit.
    pub stdout: Vec<u8>,
    /// Its standard error, shortened in the middle when over the limit.
    pub stderr: Vec<u8>,
    /// True if bytes are missing from `stdout`.
    pub stdout_truncated: bool,
    /// True if bytes are missing from `stderr`.
    pub stderr_truncated: bool,
    /// Time it took.
    pub duration: Duration,
}

/// The way a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandStatus {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal this program did not send.
    Signaled(i32),
    /// Killed by this program, because its time was up.
    TimedOut,
    /// Killed by this program after a cancellation.
    Cancelled,
    /// Killed by this program, because it printed too much.
    Flooded,
}

/// One of the two output streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl CommandOutcome {
    /// Returns true if it ended by itself with code 0.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.status == CommandStatus::Exited(0)
    }

    /// Its standard output as text; bytes that are not UTF-8 are replaced.
    #[must_use]
    pub fn stdout_text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.stdout)
    }

    /// Its standard error as text; bytes that are not UTF-8 are replaced.
    #[must_use]
    pub fn stderr_text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.stderr)
    }
}

impl CommandStatus {
    /// The exit code, if there is one.
    #[must_use]
    pub fn code(self) -> Option<i32> {
        match self {
            Self::Exited(code) => Some(code),
            Self::Signaled(_) | Self::TimedOut | Self::Cancelled | Self::Flooded => None,
        }
    }
}

/// Reads after "the command".
impl fmt::Display for CommandStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exited with code {code}"),
            Self::Signaled(signal) => write!(f, "was ended by signal {signal}"),
            Self::TimedOut => f.write_str("did not end in time and was stopped"),
            Self::Cancelled => f.write_str("was cancelled"),
            Self::Flooded => f.write_str("printed more than it may and was stopped"),
        }
    }
}
