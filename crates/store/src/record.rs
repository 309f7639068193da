//! The records of runs as callers see them, whatever engine stores them.

use std::fmt;
use std::pin::Pin;

use crate::error::Result;

/// The future of a port's answer. Changes are on the disk when it is ready.
pub type DatabaseFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// The number of a run that people use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunNumber(pub i64);

impl fmt::Display for RunNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The command that started a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunKind {
    /// One task.
    Task,
    /// A plan of tasks.
    Plan,
    /// A build.
    Build,
}

impl RunKind {
    /// Returns the word in the database and in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            RunKind::Task => "task",
            RunKind::Plan => "plan",
            RunKind::Build => "build",
        }
    }

    pub(crate) fn read(text: &str) -> Option<RunKind> {
        [RunKind::Task, RunKind::Plan, RunKind::Build]
            .into_iter()
            .find(|kind| kind.as_str() == text)
    }
}

/// The progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    /// In progress, or left so by a process that died.
    Running,
    /// It ended early, by a limit, an error or a user's interrupt, and can be resumed.
    Stopped,
    /// It ran to its end, and part of it failed.
    Failed,
    /// It ran to its end, and everything succeeded.
    Done,
}

impl RunState {
    /// Returns the word in the database and in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            RunState::Running => "running",
            RunState::Stopped => "stopped",
            RunState::Failed => "failed",
            RunState::Done => "done",
        }
    }

    pub(crate) fn read(text: &str) -> Option<RunState> {
        [
            RunState::Running,
            RunState::Stopped,
            RunState::Failed,
            RunState::Done,
        ]
        .into_iter()
        .find(|state| state.as_str() == text)
    }
}

/// The parameters of a new run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRun {
    /// The command that starts it.
    pub kind: RunKind,
    /// The file it is started from, relative to the project.
    pub name: String,
    /// A digest of that file, so that a resume notices a changed file.
    pub digest: String,
}

/// A run as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRecord {
    /// Its number.
    pub id: RunNumber,
    /// The command that started it.
    pub kind: RunKind,
    /// The file it was started from.
    pub name: String,
    /// The digest of that file when the run began.
    pub digest: String,
    /// The progress.
    pub state: RunState,
    /// The process that worked on it last.
    pub pid: u32,
    /// The start, in milliseconds since 1970.
    pub created_ms: u64,
}

/// The totals of the model calls of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallTotals {
    /// Calls that were paid for.
    pub calls: u64,
    /// Tokens of all buckets.
    pub tokens: u64,
    /// The cost of all calls with a known price, in millionths of a dollar.
    pub micro_usd: u64,
    /// Calls whose price is not known.
    pub unpriced_calls: u64,
}

/// A file as a run has left it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFile {
    /// Its path from the project's folder, or from the top of the repository for a build.
    pub path: String,
    /// Its content; `None` if the run has deleted it.
    pub content: Option<Vec<u8>>,
    /// True if it may be executed.
    pub is_executable: bool,
    /// A digest of what the run found there first; `None` where it found nothing.
    pub before: Option<String>,
}
