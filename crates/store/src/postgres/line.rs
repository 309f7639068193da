//! A connection that is made anew when it is lost, and a transaction on it whose end is known even if
//! the connection is lost in the middle of its commit.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use agent::Clock;
use sqlx::postgres::{PgArguments, PgConnectOptions, PgConnection, PgRow};
use sqlx::{Arguments as _, ConnectOptions as _, Encode, Postgres, Row as _, Type};
use tokio::time::{Instant, timeout};

use super::LOCK_MS_MAX;
use super::fault::{Fault, is_gone};
use crate::error::{Error, Kind, Result};

/// How long a server may take to let somebody in, in milliseconds.
const CONNECT_MS_MAX: u64 = 5_000;

/// How long a server may take for a statement, in milliseconds; then the line is taken to be cut. It
/// may wait for a lock, and has a while beside that.
const ANSWER_MS_MAX: u64 = LOCK_MS_MAX + 15_000;

/// How often the server's time is asked for, in milliseconds.
const TIME_MS: u64 = 10_000;

/// For how long, and how often, the server is asked what became of a commit, in milliseconds.
const LOOK_MS_MAX: u64 = 30_000;
const LOOK_MS: u64 = 500;

/// The values of a statement, in the order of their numbers.
#[derive(Clone, Default)]
pub(super) struct Values {
    arguments: PgArguments,
    fault: Option<String>,
}

impl Values {
    pub(super) fn of<'q, T: Encode<'q, Postgres> + Type<Postgres>>(value: T) -> Values {
        Values::default().and(value)
    }

    pub(super) fn and<'q, T: Encode<'q, Postgres> + Type<Postgres>>(mut self, value: T) -> Values {
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
                Err(Error::new(Kind::Conflict, message))
            }
        }
    }
}

/// How a transaction is known again by somebody else than its connection.
pub(super) enum Mark {
    Name(String),
    /// The name may be another's by then.
    Both(String, Witness),
    /// The name was never heard of.
    Witness(Witness),
}

/// An event that only this transaction can have written.
pub(super) struct Witness {
    pub(super) run: String,
    pub(super) seq: i64,
    pub(super) body: String,
}

/// What is done if nobody answers a commit.
#[derive(Default)]
pub(super) enum Doubt {
    /// It is taken for lost: doing the same again changes nothing.
    #[default]
    Harmless,
    /// The transaction is looked for.
    Named(Mark),
    /// The transaction is looked for by the name that it has at its end.
    Unnamed,
}

/// The server's time: all processes that share a database see the same. Between two askings it goes
/// on with this machine's steady clock, so that setting the other one changes nothing.
pub(super) struct ServerClock {
    local: Arc<dyn Clock>,
    begun: Instant,
    /// What time it was at the server when this clock began; 0 before it was asked.
    begun_ms: AtomicU64,
    /// When it was asked, in milliseconds from the begin of this clock.
    asked_ms: AtomicU64,
}

impl ServerClock {
    pub(super) fn new(local: Arc<dyn Clock>) -> ServerClock {
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

impl Clock for ServerClock {
    fn now_ms(&self) -> u64 {
        match self.begun_ms.load(Ordering::Relaxed) {
            0 => self.local.now_ms(),
            begun_ms => begun_ms.saturating_add(self.since_ms()),
        }
    }
}

pub(super) struct Line {
    settings: PgConnectOptions,
    clock: Arc<ServerClock>,
    pub(super) fault: Fault,
    connection: Option<PgConnection>,
    is_open: bool,
}

impl Line {
    pub(super) fn new(settings: PgConnectOptions, clock: Arc<ServerClock>, fault: Fault) -> Line {
        Line {
            settings,
            clock,
            fault,
            connection: None,
            is_open: false,
        }
    }

    /// The connection, made if there is none.
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

    /// What the server says, if it says anything in time: a network that was cut says nothing at all.
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

    /// A commit is on the disk when it is answered, whatever the server's default. Statements go by
    /// their indexes, planned once: what the server knows of the size of tables is too old to go by
    /// when a run has just filled them.
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

    /// Whether a transaction is open.
    pub(super) fn is_in_transaction(&self) -> bool {
        self.is_open
    }

    pub(super) async fn begin(&mut self) -> Result<()> {
        if self.clock.is_old() {
            let rows = self.fetch(NOW, Values::default()).await?;
            let now = rows.first().map(|row| row.try_get(0)).transpose();
            let now = now.map_err(|cause| self.fault.of(&cause))?;
            self.clock.set(now.unwrap_or_default());
        }
        self.fetch("BEGIN", Values::default()).await?;
        self.is_open = true;
        Ok(())
    }

    /// Commits the transaction.
    pub(super) async fn commit(&mut self, doubt: Doubt) -> Result<()> {
        let doubt = match doubt {
            Doubt::Unnamed => match self.name().await {
                Ok(named) => named,
                Err(error) => {
                    self.roll_back().await;
                    return Err(error);
                }
            },
            doubt => doubt,
        };
        let committed = self.fetch("COMMIT", Values::default()).await;
        self.is_open = false;
        match (committed, doubt) {
            (Ok(_), _) => Ok(()),
            (Err(error), Doubt::Named(mark))
                if error.kind() == Kind::Lost && self.connection.is_none() =>
            {
                self.look(&mark).await
            }
            (Err(error), _) => {
                self.roll_back().await;
                Err(error)
            }
        }
    }

    /// A transaction that has no name has written nothing.
    async fn name(&mut self) -> Result<Doubt> {
        const NAME: &str = "SELECT pg_current_xact_id_if_assigned()::text";
        let rows = self.fetch(NAME, Values::default()).await?;
        let name = self.first::<Option<String>>(&rows)?.flatten();
        Ok(name.map_or(Doubt::Harmless, |name| Doubt::Named(Mark::Name(name))))
    }

    /// What became of a transaction whose commit nobody answered.
    async fn look(&mut self, mark: &Mark) -> Result<()> {
        match self.find_out(mark).await {
            Some(true) => Ok(()),
            Some(false) => {
                let message = format!("{} was lost before a commit.", self.fault.place);
                Err(Error::new(Kind::Lost, message))
            }
            None => Err(Error::new(
                Kind::Busy,
                format!(
                    "{} was lost in the middle of a commit, and does not say what became of it. \
                     Look before you do it again.",
                    self.fault.place
                ),
            )),
        }
    }

    /// Whether a transaction was committed; nothing if nobody says so for too long.
    async fn find_out(&mut self, mark: &Mark) -> Option<bool> {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(LOOK_MS_MAX) {
            match self.is_committed(mark).await {
                Ok(Some(is_committed)) => return Some(is_committed),
                // It may still be under way, or the server may.
                Ok(None) | Err(_) => tokio::time::sleep(Duration::from_millis(LOOK_MS)).await,
            }
        }
        None
    }

    /// Nothing while it is still under way.
    async fn is_committed(&mut self, mark: &Mark) -> Result<Option<bool>> {
        // A server that has died forgets the newest names, and then gives them to others.
        const STATUS: &str = "SELECT CASE WHEN $1::text::xid8 >= pg_snapshot_xmax(pg_current_snapshot()) \
             THEN 'aborted' ELSE pg_xact_status($1::text::xid8) END";
        let (name, witness) = match mark {
            Mark::Name(name) => (name, None),
            Mark::Both(name, witness) => (name, Some(witness)),
            Mark::Witness(witness) => return self.is_there(witness).await.map(Some),
        };
        let rows = self.fetch(STATUS, Values::of(name.as_str())).await?;
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
        if self.fetch("ROLLBACK", Values::default()).await.is_err() {
            self.connection = None;
        }
    }

    /// Runs a statement. Outside of a transaction, a connection that was lost is made anew for it.
    pub(super) async fn fetch(&mut self, sql: &'static str, values: Values) -> Result<Vec<PgRow>> {
        let values = values.checked()?;
        let was_there = self.connection.is_some();
        if self.is_open && !was_there {
            let message = format!("{} was lost in a transaction. Try again.", self.fault.place);
            return Err(Error::new(Kind::Lost, message));
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

    /// Runs a statement that writes outside of a transaction, once. If nobody answers, its witness is
    /// looked for: nothing is given where it is there. One that comes later than this finds its run
    /// changed, and does nothing.
    pub(super) async fn fetch_or_look(
        &mut self,
        sql: &'static str,
        values: Values,
        witness: Witness,
    ) -> Result<Option<Vec<PgRow>>> {
        let values = values.checked()?;
        match self.fetch_once(sql, values).await {
            Err(error) if error.kind() == Kind::Lost && self.connection.is_none() => {
                match self.find_out(&Mark::Witness(witness)).await {
                    Some(true) => Ok(None),
                    _ => Err(error),
                }
            }
            answered => answered.map(Some),
        }
    }

    async fn is_there(&mut self, witness: &Witness) -> Result<bool> {
        const WITNESS: &str =
            "SELECT body FROM workflow_events WHERE run = $1 AND seq = $2 AND body = $3";
        let values = Values::of(witness.run.as_str())
            .and(witness.seq)
            .and(witness.body.as_str());
        Ok(!self.fetch(WITNESS, values).await?.is_empty())
    }

    async fn fetch_once(&mut self, sql: &'static str, values: PgArguments) -> Result<Vec<PgRow>> {
        let connection = self.connection().await?;
        let asking = sqlx::query_with(sql, values).fetch_all(connection);
        let fetched = timeout(Duration::from_millis(ANSWER_MS_MAX), asking).await;
        let Ok(fetched) = fetched else {
            // Closing would say good-bye to somebody who does not hear.
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

    /// One column of all rows.
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
