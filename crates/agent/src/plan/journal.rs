//! The port behind which a plan's progress is kept, and the one that keeps it in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::handlers::{TaskFailure, TaskResult};
use crate::journal::{Journal, Memory, Stored};
use crate::task::TaskId;

/// Keeps what became of the tasks of one run of a plan, and their conversations.
///
/// What a call has returned `Ok` for survives the death of the process. A run without a past is a
/// journal without records; `--resume` hands in the one of the run that ended.
pub trait PlanJournal: Send {
    /// The records, the newest of each key, in any order.
    fn load(&mut self) -> Stored<'_, Vec<TaskRecord>>;

    /// Keeps a record; it takes the place of an older one of the same key.
    fn keep<'a>(&'a mut self, record: &'a TaskRecord) -> Stored<'a, ()>;

    /// The conversation of the task of this key; one without turns the first time.
    fn conversation<'a>(&'a mut self, key: &'a TaskKey) -> Stored<'a, Box<dyn Journal + 'a>>;
}

/// A task as it was defined. Changing its definition, or that of a task it depends on, makes
/// another key, so that what was recorded about the old one does not count for the new one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TaskKey {
    /// The task.
    pub id: TaskId,
    /// A hash of its definition and of those it depends on, in hexadecimal.
    pub fingerprint: String,
}

/// What became of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskRecord {
    /// Which task.
    pub key: TaskKey,
    /// What became of it.
    pub standing: Standing,
    /// When that was, in milliseconds since 1970.
    pub at_ms: u64,
}

/// How a task stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Standing {
    /// It has not begun.
    Pending,
    /// It has begun, and nobody said that it ended.
    Running,
    /// It is done.
    Completed {
        /// What came out.
        result: Box<TaskResult>,
    },
    /// It ended without being done.
    Failed {
        /// What went wrong.
        failure: Box<TaskFailure>,
    },
    /// It was not begun, because a task it depends on is not done.
    Skipped {
        /// The tasks it waited for in vain.
        because: Vec<TaskId>,
    },
}

impl Standing {
    /// The word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Standing::Pending => "pending",
            Standing::Running => "running",
            Standing::Completed { .. } => "completed",
            Standing::Failed { .. } => "failed",
            Standing::Skipped { .. } => "skipped",
        }
    }
}

/// A plan's journal in memory. Clones share it, as if they were the same file.
#[derive(Clone, Debug, Default)]
pub struct MemoryPlan(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    records: BTreeMap<TaskKey, TaskRecord>,
    conversations: BTreeMap<TaskKey, Memory>,
}

impl MemoryPlan {
    /// The records, by key.
    pub fn records(&self) -> Vec<TaskRecord> {
        self.with(|kept| kept.records.values().cloned().collect())
    }

    fn with<T>(&self, act: impl FnOnce(&mut Kept) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl PlanJournal for MemoryPlan {
    fn load(&mut self) -> Stored<'_, Vec<TaskRecord>> {
        let records = self.records();
        Box::pin(std::future::ready(Ok(records)))
    }

    fn keep<'a>(&'a mut self, record: &'a TaskRecord) -> Stored<'a, ()> {
        self.with(|kept| kept.records.insert(record.key.clone(), record.clone()));
        Box::pin(std::future::ready(Ok(())))
    }

    fn conversation<'a>(&'a mut self, key: &'a TaskKey) -> Stored<'a, Box<dyn Journal + 'a>> {
        let memory = self.with(|kept| kept.conversations.entry(key.clone()).or_default().clone());
        let journal: Box<dyn Journal + 'a> = Box::new(memory);
        Box::pin(std::future::ready(Ok(journal)))
    }
}
