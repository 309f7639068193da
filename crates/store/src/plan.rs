//! The journal that a run of a plan writes to: the results of its tasks, on either engine.

use agent::plan::{PlanJournal, TaskFingerprint, TaskRecord};
use agent::{JournalFuture, TurnJournal};

use crate::error::{DatabaseErrorKind, Error, Result};
use crate::record::{DatabaseFuture, RunNumber};
use crate::runs::{AgentRuns, LockedRun};

/// The prefix of the keys of these facts.
const TASKS: &str = "task/";

/// The results of tasks among the facts of a run.
pub trait TaskRecords: AgentRuns {
    /// Returns the results of the tasks of a run, also while another process holds it.
    fn task_records(&self, run: RunNumber) -> DatabaseFuture<'_, Vec<TaskRecord>> {
        Box::pin(async move { read(self.facts(run).await?) })
    }
}

impl<T: AgentRuns + ?Sized> TaskRecords for T {}

fn read(facts: Vec<(String, String)>) -> Result<Vec<TaskRecord>> {
    let tasks = facts.iter().filter(|(key, _)| key.starts_with(TASKS));
    let read = tasks.map(|(key, body)| {
        serde_json::from_str(body).map_err(|cause| {
            let message = format!("the record of `{key}` is unreadable: {cause}");
            Error::new(DatabaseErrorKind::Corrupt, message)
        })
    });
    read.collect()
}

impl PlanJournal for LockedRun {
    fn load(&mut self) -> JournalFuture<'_, Vec<TaskRecord>> {
        Box::pin(async { Ok(read(self.facts().await?)?) })
    }

    fn keep<'a>(&'a mut self, record: &'a TaskRecord) -> JournalFuture<'a, ()> {
        Box::pin(async {
            let body = serde_json::to_string(record).map_err(|cause| {
                let message = format!("a record cannot be written as JSON: {cause}. Report this.");
                Error::new(DatabaseErrorKind::Conflict, message)
            })?;
            let key = format!("{TASKS}{}", named(&record.key));
            Ok(self.keep_fact(&key, &body).await?)
        })
    }

    fn conversation<'a>(
        &'a mut self,
        key: &'a TaskFingerprint,
    ) -> JournalFuture<'a, Box<dyn TurnJournal + 'a>> {
        Box::pin(async {
            let conversation = LockedRun::conversation(self, &named(key)).await?;
            Ok(Box::new(conversation) as Box<dyn TurnJournal + 'a>)
        })
    }
}

/// Builds the key of a task. An id has no slash in it, so that no two keys are equal.
fn named(key: &TaskFingerprint) -> String {
    format!("{}/{}", key.id, key.fingerprint)
}
