//! The records as callers see them, whatever engine keeps them.

use std::fmt;
use std::pin::Pin;

use crate::error::Result;

/// What a port answers, once it is on the disk.
pub type Kept<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// The number of a run, as people name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(pub i64);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// What was started.
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
    /// The word in the database and in messages.
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

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    /// Under way, or left so by a process that died.
    Running,
    /// It ended before its end: a limit, an error, somebody's wish. It can be resumed.
    Stopped,
    /// It came to its end, and not everything in it went well.
    Failed,
    /// It came to its end.
    Done,
}

impl RunState {
    /// The word in the database and in messages.
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

/// What a run is begun with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRun {
    /// What is started.
    pub kind: RunKind,
    /// The file it is started from, relative to the project.
    pub name: String,
    /// A digest of what that file says, so that a resume knows whether it still does.
    pub digest: String,
}

/// A run as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRecord {
    /// Its number.
    pub id: RunId,
    /// What was started.
    pub kind: RunKind,
    /// The file it was started from.
    pub name: String,
    /// The digest of what that file said.
    pub digest: String,
    /// How far it has come.
    pub state: RunState,
    /// The process that worked on it last.
    pub pid: u32,
    /// When it was begun, in milliseconds since 1970.
    pub created_ms: u64,
}

/// What the calls of a run took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Calls that were paid for.
    pub calls: u64,
    /// Tokens of all buckets.
    pub tokens: u64,
    /// Money of the calls whose price is known, in millionths of a dollar.
    pub micro_usd: u64,
    /// Calls whose price is not known.
    pub unpriced_calls: u64,
}
