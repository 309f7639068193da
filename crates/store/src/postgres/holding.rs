//! Leases on runs in PostgreSQL: rows with a fence and an end, by the server's clock.
//!
//! A thread of its own renews a lease, because a process may be busy with a command for minutes. A
//! holder that dies is replaced when its lease ends; one that only seemed dead finds at its next write
//! that the fence is not its own any more.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use super::PostgresDatabase;
use super::connection::{BoundValues, PostgresConnection};
use crate::error::{DatabaseErrorKind, Error, Result};
use crate::record::{DatabaseFuture, RunNumber};
use crate::runs::{RunHold, RunTables};

/// The time for which a run is held after its holder was heard of last, in milliseconds.
pub(crate) const RUN_LEASE_MS: i64 = 10_000;
/// The interval between two renewals.
const RENEW_EVERY: Duration = Duration::from_millis(2_000);
/// The interval between two looks at a lease that is about to end.
const LOOK_EVERY: Duration = Duration::from_millis(100);

macro_rules! now {
    () => {
        "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
    };
}

const TAKE: &str = concat!(
    "INSERT INTO run_leases AS lease (run, fence, until_ms) VALUES ($1, 1, ",
    now!(),
    " + $2) ON CONFLICT (run) DO UPDATE SET fence = lease.fence + 1, until_ms = excluded.until_ms \
     WHERE lease.until_ms <= ",
    now!(),
    " RETURNING fence"
);
/// The end of the lease and whether it is over.
const LOOK: &str = concat!(
    "SELECT until_ms, until_ms <= ",
    now!(),
    " FROM run_leases WHERE run = $1"
);
const RENEW: &str = concat!(
    "UPDATE run_leases SET until_ms = ",
    now!(),
    " + $3 WHERE run = $1 AND fence = $2 RETURNING true"
);
const RELEASE: &str =
    "UPDATE run_leases SET until_ms = 0 WHERE run = $1 AND fence = $2 RETURNING true";

/// The leases of this process.
#[derive(Default)]
pub(super) struct RunHolds {
    fences: Mutex<HashMap<i64, i64>>,
    /// Threads that give leases back.
    ending: Mutex<Vec<JoinHandle<()>>>,
}

impl RunHolds {
    fn fences(&self) -> MutexGuard<'_, HashMap<i64, i64>> {
        self.fences.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ending(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.ending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunTables for PostgresDatabase {
    fn take_run(&self, run: RunNumber) -> DatabaseFuture<'_, Option<RunHold>> {
        Box::pin(async move {
            let mut seen = None;
            let began = Instant::now();
            loop {
                let values = BoundValues::of(run.0).and(RUN_LEASE_MS);
                let taken = self.change(TAKE, values).await?;
                if let Some(fence) = self.numbers(&taken).await?.pop() {
                    return Ok(Some(self.hold(run, fence)?));
                }
                let until = self.lease_end(run).await?;
                let is_renewed = seen.is_some_and(|seen| until > seen);
                // A holder that lives renews it long before its end.
                if is_renewed || began.elapsed() > Duration::from_millis(RUN_LEASE_MS as u64 * 2) {
                    return Ok(None);
                }
                seen = Some(until);
                tokio::time::sleep(LOOK_EVERY).await;
            }
        })
    }

    fn is_run_taken(&self, run: RunNumber) -> DatabaseFuture<'_, bool> {
        Box::pin(async move {
            let rows = self.read(LOOK, BoundValues::of(run.0)).await?;
            let over: Vec<bool> = self.line().await.column(&rows, 1)?;
            Ok(over.first() == Some(&false))
        })
    }

    fn run_fence(&self, run: RunNumber) -> Option<i64> {
        self.inner.holds.fences().get(&run.0).copied()
    }

    fn pid(&self) -> u32 {
        std::process::id()
    }

    fn shared(&self) -> Arc<dyn RunTables> {
        Arc::new(self.clone())
    }
}

impl PostgresDatabase {
    /// Waits until every lease that was let go is given back, so that the next process need not wait
    /// for its end.
    pub async fn close(self) -> Result<()> {
        let ending = std::mem::take(&mut *self.inner.holds.ending());
        if !ending.is_empty() {
            // A thread that panicked has given nothing back: the lease ends by itself.
            let joined = tokio::task::spawn_blocking(move || {
                ending.into_iter().for_each(|thread| {
                    let _ = thread.join();
                });
            });
            let _ = joined.await;
        }
        Ok(())
    }

    async fn lease_end(&self, run: RunNumber) -> Result<i64> {
        let rows = self.read(LOOK, BoundValues::of(run.0)).await?;
        Ok(self.numbers(&rows).await?.pop().unwrap_or_default())
    }

    async fn numbers(&self, rows: &[sqlx::postgres::PgRow]) -> Result<Vec<i64>> {
        self.line().await.column(rows, 0)
    }

    fn hold(&self, run: RunNumber, fence: i64) -> Result<RunHold> {
        let inner = &self.inner;
        let renewer = LeaseRenewer {
            run: run.0,
            fence,
            line: PostgresConnection::new(
                inner.settings.clone(),
                Arc::clone(&inner.clock),
                inner.fault.clone(),
            ),
        };
        let (stop, stopped) = channel();
        let thread = Builder::new()
            .name("drawloom-lease".to_owned())
            .spawn(move || renewer.renew_until(&stopped));
        let thread = thread.map_err(|cause| {
            let message = format!("a lease on run {run} cannot be renewed: {cause}");
            Error::new(DatabaseErrorKind::Io, message)
        })?;
        inner.holds.fences().insert(run.0, fence);
        Ok(Box::new(LeaseHold {
            database: self.clone(),
            run: run.0,
            stop,
            thread: Some(thread),
        }))
    }
}

/// Gives the lease back when it is dropped.
struct LeaseHold {
    database: PostgresDatabase,
    run: i64,
    stop: Sender<()>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for LeaseHold {
    fn drop(&mut self) {
        let holds = &self.database.inner.holds;
        holds.fences().remove(&self.run);
        // The thread may have ended: then the lease is another process's.
        let _ = self.stop.send(());
        let mut ending = holds.ending();
        ending.retain(|thread| !thread.is_finished());
        ending.extend(self.thread.take());
    }
}

/// Renews a lease on a thread and a connection of its own.
struct LeaseRenewer {
    run: i64,
    fence: i64,
    line: PostgresConnection,
}

impl LeaseRenewer {
    fn renew_until(mut self, stopped: &Receiver<()>) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        // Without one the lease ends, and the holder finds out at its next write.
        let Ok(runtime) = runtime else {
            return;
        };
        while stopped.recv_timeout(RENEW_EVERY) == Err(RecvTimeoutError::Timeout) {
            let values = self.values().and(RUN_LEASE_MS);
            let renewed = runtime.block_on(self.line.fetch(RENEW, values));
            if renewed.is_ok_and(|rows| rows.is_empty()) {
                return;
            }
        }
        // A lease that cannot be given back ends by itself.
        let values = self.values();
        let _ = runtime.block_on(self.line.fetch(RELEASE, values));
    }

    fn values(&self) -> BoundValues {
        BoundValues::of(self.run).and(self.fence)
    }
}
