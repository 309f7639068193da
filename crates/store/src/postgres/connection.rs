//! A connection that reconnects by itself, and commits whose outcome is found out even if the
//! connection breaks in the middle of them.
//!
//! A `COMMIT` that gets no reply may have succeeded or not. Repeating the work blindly could do it
//! twice, so the transaction is looked up afterwards.
//!
//! Example: a worker's turn writes event 42 of run `r` in transaction `7001`, and the network fails
//! during `COMMIT`.
//!
//! 1. [`PostgresConnection::commit`] has [`TransactionMarker::Both`]: the id `7001`, and as [`CommitWitness`] the row of event 42
//!    with its exact text.
//! 2. [`PostgresConnection::find_out`] reconnects and asks `pg_xact_status('7001')`. While the server answers "in
//!    progress", or does not answer at all, it asks again, for up to `LOOK_MS_MAX`.
//! 3. "aborted": the turn is decided and written again. "committed": a server that crashed may have
//!    given the id to another transaction, so the witness decides. If the row of event 42 has this
//!    text, the commit succeeded; otherwise the turn is repeated.
//! 4. No answer in time: the caller gets an error that says the outcome is unknown.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use agent::AgentClock;
use sqlx::postgres::{PgArguments, PgConnectOptions, PgConnection, PgRow};
use sqlx::{Arguments as _, ConnectOptions as _, Encode, Postgres, Row as _, Type};
use tokio::time::{Instant, timeout};

use super::LOCK_MS_MAX;
use super::errors::{PostgresErrorContext, is_gone};
use crate::error::{DatabaseErrorKind, Error, Result};

/// Limits the time for connecting, in milliseconds.
const CONNECT_MS_MAX: u64 = 5_000;

/// Limits the time for a statement, in milliseconds; after it the connection counts as broken. A
/// statement may wait for a lock as long as `LOCK_MS_MAX`, and then needs time to run.
const ANSWER_MS_MAX: u64 = LOCK_MS_MAX + 15_000;

/// The interval between two readings of the server's time, in milliseconds.
const TIME_MS: u64 = 10_000;

/// Limits the time for finding out whether a commit succeeded, and the pause between two tries, in
/// milliseconds.
const LOOK_MS_MAX: u64 = 30_000;
const LOOK_MS: u64 = 500;

/// The values of a statement, in the order of its numbered parameters.
#[derive(Clone, Default)]
pub(super) struct BoundValues {
    arguments: PgArguments,
    fault: Option<String>,
}

impl BoundValues {
    pub(super) fn of<'q, T: Encode<'q, Postgres> + Type<Postgres>>(value: T) -> BoundValues {
        BoundValues::default().and(value)
    }

    pub(super) fn and<'q, T: Encode<'q, Postgres> + Type<Postgres>>(
        mut self,
        value: T,
    ) -> BoundValues {
        if let Err(cause) = self.arguments.add(value) {
            self.fault = Some(cause.to_string());
        }
        self
    }

    fn checked(self) -> Result<PgArguments> {
        match self.fault {
            None => Ok(self.arguments),
            Some(fault) => {
                let message = format!("a value does not fit into the database: {fault}.");
                Err(Error::new(DatabaseErrorKind::Conflict, message))
            }
        }
    }
}

/// Identifies a transaction after its connection is gone.
pub(super) enum TransactionMarker {
    Name(String),
    /// The transaction id and a witness, because a crashed server may use the id again.
    Both(String, CommitWitness),
    /// Only a witness: the statement ran outside of a transaction, and its id was never sent.
    Witness(CommitWitness),
}

/// An event row that only this transaction can have written, and so the proof that it was
/// committed.
pub(super) struct CommitWitness {
    pub(super) run: String,
    pub(super) seq: i64,
    pub(super) body: String,
}

/// The policy for a commit that gets no reply.
#[derive(Default)]
pub(super) enum LostCommitPolicy {
    /// Report it as lost: the caller may repeat the same work without harm.
    #[default]
    Harmless,
    /// Look up the transaction by its marker.
    Named(TransactionMarker),
    /// Read the transaction id just before the commit, and look up the transaction by that.
    Unnamed,
}

/// The server's time, the same for all processes that share a database. Between two readings it
/// follows this machine's monotonic clock, so that setting the local clock changes nothing.
pub(super) struct ServerClock {
    local: Arc<dyn AgentClock>,
    begun: Instant,
    /// The server's time when this clock began; 0 before the first reading.
    begun_ms: AtomicU64,
    /// The time of the last reading, in milliseconds since this clock began.
    asked_ms: AtomicU64,
}

impl ServerClock {
    pub(super) fn new(local: Arc<dyn AgentClock>) -> ServerClock {
        ServerClock {
            local,
            begun: Instant::now(),
            begun_ms: AtomicU64::new(0),
            asked_ms: AtomicU64::new(0),
        }
    }

    fn set(&self, server_ms: i64) {
        let since_ms = self.since_ms();
        let begun_ms = u64::try_from(server_ms)
            .unwrap_or(0)
            .saturating_sub(since_ms);
        self.begun_ms.store(begun_ms, Ordering::Relaxed);
        self.asked_ms.store(since_ms, Ordering::Relaxed);
    }

    fn is_old(&self) -> bool {
        let asked_ms = self.asked_ms.load(Ordering::Relaxed);
        self.since_ms().saturating_sub(asked_ms) > TIME_MS
    }

    fn since_ms(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

impl AgentClock for ServerClock {
    fn now_ms(&self) -> u64 {
        match self.begun_ms.load(Ordering::Relaxed) {
            0 => self.local.now_ms(),
            begun_ms => begun_ms.saturating_add(self.since_ms()),
        }
    }
}

/// One connection to the server. It connects when it is first used, and again after it broke.
pub(super) struct PostgresConnection {
    settings: PgConnectOptions,
    clock: Arc<ServerClock>,
    pub(super) fault: PostgresErrorContext,
    connection: Option<PgConnection>,
    is_open: bool,
}

impl PostgresConnection {
    pub(super) fn new(
        settings: PgConnectOptions,
        clock: Arc<ServerClock>,
        fault: PostgresErrorContext,
    ) -> PostgresConnection {
        PostgresConnection {
            settings,
            clock,
            fault,
            connection: None,
            is_open: false,
        }
    }

    /// Returns the connection, and connects first if there is no connection.
    pub(super) async fn connection(&mut self) -> Result<&mut PgConnection> {
        let made = match self.connection.take() {
            Some(connection) => connection,
            None => self.within(CONNECT_MS_MAX, self.connect()).await?,
        };
        Ok(self.connection.insert(made))
    }

    async fn connect(&self) -> std::result::Result<PgConnection, sqlx::Error> {
        let mut connection = self.settings.connect().await?;
        self.prepare(&mut connection).await?;
        Ok(connection)
    }

    /// Waits for the server for a limited time: a cut network gives no error, only silence.
    async fn within<T>(
        &self,
        ms_max: u64,
        asking: impl Future<Output = std::result::Result<T, sqlx::Error>>,
    ) -> Result<T> {
        match timeout(Duration::from_millis(ms_max), asking).await {
            Ok(answer) => answer.map_err(|cause| self.fault.of(&cause)),
            Err(_) => Err(self.fault.silent(ms_max)),
        }
    }

    /// Sets up a new connection. A commit must be on the disk when the server replies, whatever its
    /// default is. Plans are generic and use indexes, because the statistics of a table that a run
    /// has just filled are too old to plan by.
    async fn prepare(&self, connection: &mut PgConnection) -> std::result::Result<(), sqlx::Error> {
        let now = sqlx::query(
            "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint, \
             CASE current_setting('synchronous_commit') WHEN 'off' \
             THEN set_config('synchronous_commit', 'on', false) END, \
             set_config('plan_cache_mode', 'force_generic_plan', false), \
             set_config('enable_seqscan', 'off', false)",
        )
        .fetch_one(connection)
        .await?;
        self.clock.set(now.try_get(0)?);
        Ok(())
    }

    /// Tells whether a transaction is open.
    pub(super) fn is_in_transaction(&self) -> bool {
        self.is_open
    }

    pub(super) async fn begin(&mut self) -> Result<()> {
        if self.clock.is_old() {
            let rows = self.fetch(NOW, BoundValues::default()).await?;
            let now = rows.first().map(|row| row.try_get(0)).transpose();
            let now = now.map_err(|cause| self.fault.of(&cause))?;
            self.clock.set(now.unwrap_or_default());
        }
        self.fetch("BEGIN", BoundValues::default()).await?;
        self.is_open = true;
        Ok(())
    }

    /// Commits the transaction; `doubt` says what to do if the server does not reply.
    pub(super) async fn commit(&mut self, doubt: LostCommitPolicy) -> Result<()> {
        let doubt = match doubt {
            LostCommitPolicy::Unnamed => match self.name().await {
                Ok(named) => named,
                Err(error) => {
                    self.roll_back().await;
                    return Err(error);
                }
            },
            doubt => doubt,
        };
        let committed = self.fetch("COMMIT", BoundValues::default()).await;
        self.is_open = false;
        match (committed, doubt) {
            (Ok(_), _) => Ok(()),
            (Err(error), LostCommitPolicy::Named(mark))
                if error.kind() == DatabaseErrorKind::Lost && self.connection.is_none() =>
            {
                self.look(&mark).await
            }
            (Err(error), _) => {
                self.roll_back().await;
                Err(error)
            }
        }
    }

    /// Returns the policy by the transaction's id. A transaction without an id has written nothing.
    async fn name(&mut self) -> Result<LostCommitPolicy> {
        const NAME: &str = "SELECT pg_current_xact_id_if_assigned()::text";
        let rows = self.fetch(NAME, BoundValues::default()).await?;
        let name = self.first::<Option<String>>(&rows)?.flatten();
        Ok(name.map_or(LostCommitPolicy::Harmless, |name| {
            LostCommitPolicy::Named(TransactionMarker::Name(name))
        }))
    }

    /// Finds out whether a commit without a reply succeeded, and returns its error if not.
    async fn look(&mut self, mark: &TransactionMarker) -> Result<()> {
        match self.find_out(mark).await {
            Some(true) => Ok(()),
            Some(false) => {
                let message = format!("{} was lost before a commit.", self.fault.place);
                Err(Error::new(DatabaseErrorKind::Lost, message))
            }
            None => Err(Error::new(
                DatabaseErrorKind::Busy,
                format!(
                    "{} was lost in the middle of a commit, and does not say whether it succeeded. \
                     Check before you try again.",
                    self.fault.place
                ),
            )),
        }
    }

    /// Asks until the server says whether a transaction was committed; `None` if it does not say in
    /// time.
    async fn find_out(&mut self, mark: &TransactionMarker) -> Option<bool> {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(LOOK_MS_MAX) {
            match self.is_committed(mark).await {
                Ok(Some(is_committed)) => return Some(is_committed),
                // The transaction may still be in progress, or the server may still be starting.
                Ok(None) | Err(_) => tokio::time::sleep(Duration::from_millis(LOOK_MS)).await,
            }
        }
        None
    }

    /// Returns `None` while the transaction is in progress.
    async fn is_committed(&mut self, mark: &TransactionMarker) -> Result<Option<bool>> {
        // A server that has crashed forgets its newest transaction ids and uses them again.
        const STATUS: &str = "SELECT CASE WHEN $1::text::xid8 >= pg_snapshot_xmax(pg_current_snapshot()) \
             THEN 'aborted' ELSE pg_xact_status($1::text::xid8) END";
        let (name, witness) = match mark {
            TransactionMarker::Name(name) => (name, None),
            TransactionMarker::Both(name, witness) => (name, Some(witness)),
            TransactionMarker::Witness(witness) => return self.is_there(witness).await.map(Some),
        };
        let rows = self.fetch(STATUS, BoundValues::of(name.as_str())).await?;
        let status = self.first::<Option<String>>(&rows)?.flatten();
        match (status.as_deref(), witness) {
            (Some("committed"), None) => Ok(Some(true)),
            (Some("committed"), Some(witness)) => self.is_there(witness).await.map(Some),
            (Some("aborted"), _) => Ok(Some(false)),
            _ => Ok(None),
        }
    }

    pub(super) async fn roll_back(&mut self) {
        self.is_open = false;
        if self.connection.is_none() {
            return;
        }
        if self
            .fetch("ROLLBACK", BoundValues::default())
            .await
            .is_err()
        {
            self.connection = None;
        }
    }

    /// Runs a statement. Outside of a transaction, it reconnects and tries once more if the
    /// connection is broken.
    pub(super) async fn fetch(
        &mut self,
        sql: &'static str,
        values: BoundValues,
    ) -> Result<Vec<PgRow>> {
        let values = values.checked()?;
        let was_there = self.connection.is_some();
        if self.is_open && !was_there {
            let message = format!("{} was lost in a transaction. Try again.", self.fault.place);
            return Err(Error::new(DatabaseErrorKind::Lost, message));
        }
        let again = (was_there && !self.is_open).then(|| values.clone());
        let fetched = self.fetch_once(sql, values).await;
        match (fetched, again) {
            (Err(_), Some(arguments)) if self.connection.is_none() => {
                self.fetch_once(sql, arguments).await
            }
            (fetched, _) => fetched,
        }
    }

    /// Runs a statement that writes outside of a transaction, once. If the server does not reply,
    /// it looks for the witness, and returns `None` where the witness is stored. If the statement
    /// arrives at the server only after that, it finds its runs changed by the repetition, and
    /// writes nothing.
    pub(super) async fn fetch_or_look(
        &mut self,
        sql: &'static str,
        values: BoundValues,
        witness: CommitWitness,
    ) -> Result<Option<Vec<PgRow>>> {
        let values = values.checked()?;
        match self.fetch_once(sql, values).await {
            Err(error) if error.kind() == DatabaseErrorKind::Lost && self.connection.is_none() => {
                match self.find_out(&TransactionMarker::Witness(witness)).await {
                    Some(true) => Ok(None),
                    _ => Err(error),
                }
            }
            answered => answered.map(Some),
        }
    }

    async fn is_there(&mut self, witness: &CommitWitness) -> Result<bool> {
        const WITNESS: &str =
            "SELECT body FROM workflow_events WHERE run = $1 AND seq = $2 AND body = $3";
        let values = BoundValues::of(witness.run.as_str())
            .and(witness.seq)
            .and(witness.body.as_str());
        Ok(!self.fetch(WITNESS, values).await?.is_empty())
    }

    async fn fetch_once(&mut self, sql: &'static str, values: PgArguments) -> Result<Vec<PgRow>> {
        let connection = self.connection().await?;
        let asking = sqlx::query_with(sql, values).fetch_all(connection);
        let fetched = timeout(Duration::from_millis(ANSWER_MS_MAX), asking).await;
        let Ok(fetched) = fetched else {
            // Closing properly would send a message to a server that does not answer.
            self.connection = None;
            return Err(self.fault.silent(ANSWER_MS_MAX));
        };
        fetched.map_err(|cause| {
            if is_gone(&cause) {
                self.connection = None;
            }
            self.fault.of(&cause)
        })
    }

    fn first<T>(&self, rows: &[PgRow]) -> Result<Option<T>>
    where
        T: for<'r> sqlx::Decode<'r, Postgres> + Type<Postgres>,
    {
        let first = rows.first().map(|row| row.try_get(0)).transpose();
        first.map_err(|cause| self.fault.of(&cause))
    }

    /// Returns one column of all rows.
    pub(super) fn column<T>(&self, rows: &[PgRow], at: usize) -> Result<Vec<T>>
    where
        T: for<'r> sqlx::Decode<'r, Postgres> + Type<Postgres>,
    {
        let column = rows.iter().map(|row| row.try_get(at));
        let column: std::result::Result<Vec<T>, sqlx::Error> = column.collect();
        column.map_err(|cause| self.fault.of(&cause))
    }
}

const NOW: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
