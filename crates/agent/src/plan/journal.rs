//! The port that stores a plan's progress, and one in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::handlers::{TaskFailure, TaskResult};
use crate::journal::{JournalFuture, MemoryJournal, TurnJournal};
use crate::task::TaskName;

/// Stores the outcome of each task of one run of a plan, and the conversations.
///
/// Once a call has returned `Ok`, its record survives the death of the process. A run without a
/// past is a journal without records; `--resume` hands in the one of the run that ended.
pub trait PlanJournal: Send {
    /// Returns the records, the newest of each key, in any order.
    fn load(&mut self) -> JournalFuture<'_, Vec<TaskRecord>>;

    /// Keeps a record; it takes the place of an older one of the same key.
    fn keep<'a>(&'a mut self, record: &'a TaskRecord) -> JournalFuture<'a, ()>;

    /// Returns the conversation of the task of this key; one without turns the first time.
    fn conversation<'a>(
        &'a mut self,
        key: &'a TaskFingerprint,
    ) -> JournalFuture<'a, Box<dyn TurnJournal + 'a>>;
}

/// A task as it was defined. Changing its definition, or that of a task it depends on, makes
/// another key, so that what was recorded about the old one does not count for the new one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TaskFingerprint {
    /// The task.
    pub id: TaskName,
    /// A hash of its definition and of those it depends on, in hexadecimal.
    pub fingerprint: String,
}

/// The stored state of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskRecord {
    /// The task.
    pub key: TaskFingerprint,
    /// Its state.
    pub standing: TaskState,
    /// When that was, in milliseconds since 1970.
    pub at_ms: u64,
}

/// The state of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum TaskState {
    /// It has not begun.
    Pending,
    /// It has begun, and no end was recorded.
    Running,
    /// It is done.
    Completed {
        /// The result.
        result: Box<TaskResult>,
    },
    /// It ended without being done.
    Failed {
        /// The failure.
        failure: Box<TaskFailure>,
    },
    /// It was not begun, because a task it depends on is not done.
    Skipped {
        /// The tasks it waited for in vain.
        because: Vec<TaskName>,
    },
}

impl TaskState {
    /// Returns the word for it.
    pub fn word(&self) -> &'static str {
        match self {
            TaskState::Pending => "pending",
            TaskState::Running => "running",
            TaskState::Completed { .. } => "completed",
            TaskState::Failed { .. } => "failed",
            TaskState::Skipped { .. } => "skipped",
        }
    }
}

/// A plan's journal in memory. Clones share it, as if they were the same file.
#[derive(Clone, Debug, Default)]
pub struct MemoryPlan(Arc<Mutex<PlanRecords>>);

#[derive(Debug, Default)]
struct PlanRecords {
    records: BTreeMap<TaskFingerprint, TaskRecord>,
    conversations: BTreeMap<TaskFingerprint, MemoryJournal>,
}

impl MemoryPlan {
    /// Returns the records, by key.
    pub fn records(&self) -> Vec<TaskRecord> {
        self.with(|kept| kept.records.values().cloned().collect())
    }

    fn with<T>(&self, act: impl FnOnce(&mut PlanRecords) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl PlanJournal for MemoryPlan {
    fn load(&mut self) -> JournalFuture<'_, Vec<TaskRecord>> {
        let records = self.records();
        Box::pin(std::future::ready(Ok(records)))
    }

    fn keep<'a>(&'a mut self, record: &'a TaskRecord) -> JournalFuture<'a, ()> {
        self.with(|kept| kept.records.insert(record.key.clone(), record.clone()));
        Box::pin(std::future::ready(Ok(())))
    }

    fn conversation<'a>(
        &'a mut self,
        key: &'a TaskFingerprint,
    ) -> JournalFuture<'a, Box<dyn TurnJournal + 'a>> {
        let memory = self.with(|kept| kept.conversations.entry(key.clone()).or_default().clone());
        let journal: Box<dyn TurnJournal + 'a> = Box::new(memory);
        Box::pin(std::future::ready(Ok(journal)))
    }
}
