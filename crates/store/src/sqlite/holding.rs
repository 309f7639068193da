//! Locks on runs in SQLite: files beside the database, which the system unlocks.

use std::sync::Arc;

use super::SqliteDatabase;
use crate::lock::{self, RunLock};
use crate::record::{DatabaseFuture, RunNumber};
use crate::runs::{RunHold, RunTables};

impl RunTables for SqliteDatabase {
    fn take_run(&self, run: RunNumber) -> DatabaseFuture<'_, Option<RunHold>> {
        let taken = RunLock::take(&self.inner.place, run);
        let held = taken.map(|lock| lock.map(|lock| Box::new(lock) as RunHold));
        Box::pin(std::future::ready(held))
    }

    fn is_run_taken(&self, run: RunNumber) -> DatabaseFuture<'_, bool> {
        Box::pin(std::future::ready(lock::is_taken(&self.inner.place, run)))
    }

    fn run_fence(&self, _: RunNumber) -> Option<i64> {
        // The lock cannot be lost while this process lives.
        None
    }

    fn pid(&self) -> u32 {
        self.inner.options.pid
    }

    fn shared(&self) -> Arc<dyn RunTables> {
        Arc::new(self.clone())
    }
}
