//! What becomes of a plan's tasks: the journal that a run of a plan writes to.

use agent::plan::{PlanJournal, TaskKey, TaskRecord};
use agent::{Journal, Stored};

use super::{Run, Store};
use crate::error::{Error, Kind, Result};
use crate::record::RunId;

/// What the keys of these facts begin with.
const TASKS: &str = "task/";

impl Store {
    /// What became of the tasks of a run, whoever holds it.
    pub async fn task_records(&self, run: RunId) -> Result<Vec<TaskRecord>> {
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

impl PlanJournal for Run {
    fn load(&mut self) -> Stored<'_, Vec<TaskRecord>> {
        Box::pin(async { Ok(self.store().task_records(self.id()).await?) })
    }

    fn keep<'a>(&'a mut self, record: &'a TaskRecord) -> Stored<'a, ()> {
        Box::pin(async {
            let body = serde_json::to_string(record).map_err(|cause| {
                let message = format!("a record cannot be written as JSON: {cause}. Report this.");
                Error::new(Kind::Conflict, message)
            })?;
            let key = format!("{TASKS}{}", named(&record.key));
            Ok(self.keep_fact(&key, &body).await?)
        })
    }

    fn conversation<'a>(&'a mut self, key: &'a TaskKey) -> Stored<'a, Box<dyn Journal + 'a>> {
        Box::pin(async {
            let conversation = Run::conversation(self, &named(key)).await?;
            Ok(Box::new(conversation) as Box<dyn Journal + 'a>)
        })
    }
}

/// An id has no slash in it, so the two cannot be confused.
fn named(key: &TaskKey) -> String {
    format!("{}/{}", key.id, key.fingerprint)
}
