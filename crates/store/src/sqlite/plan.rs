//! The journal that a run of a plan writes to: the results of its tasks.

use agent::plan::{PlanJournal, TaskFingerprint, TaskRecord};
use agent::{JournalFuture, TurnJournal};

use super::{LockedRun, SqliteDatabase};
use crate::error::{DatabaseErrorKind, Error, Result};
use crate::record::RunNumber;

/// The prefix of the keys of these facts.
const TASKS: &str = "task/";

impl SqliteDatabase {
    /// Returns the results of the tasks of a run, also while another process holds it.
    pub async fn task_records(&self, run: RunNumber) -> Result<Vec<TaskRecord>> {
        let facts = self.facts(run).await?.into_iter();
        let tasks = facts.filter(|(key, _)| key.starts_with(TASKS));
        let read = tasks.map(|(_, body)| {
            let record = serde_json::from_str(&body);
            record.map_err(|cause| {
                self.fault()
                    .corrupt(&format!("a record is unreadable: {cause}"))
            })
        });
        read.collect()
    }
}

impl PlanJournal for LockedRun {
    fn load(&mut self) -> JournalFuture<'_, Vec<TaskRecord>> {
        Box::pin(async { Ok(self.store().task_records(self.id()).await?) })
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
