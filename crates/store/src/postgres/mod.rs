//! PostgreSQL: one database for workers on several machines.

mod claiming;
mod connection;
mod errors;
mod holding;
mod logs;
mod migrate;
mod outbox;
mod queries;
mod retention;
mod stream;
mod tables;
mod triggers;
mod workflows;
mod writing;
mod written_columns;

use std::fmt;
use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use agent::AgentClock;
use rustix::fs::{Access, access};
use sqlx::ConnectOptions as _;
use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions, PgRow, PgSslMode};
use tokio::sync::{Mutex, MutexGuard};

use crate::error::{DatabaseErrorKind, Error, Result};
use crate::sqlite::SecretScrub;
use crate::workflows::{ReadyListener, WorkflowDatabase};
use connection::{BoundValues, LostCommitPolicy, PostgresConnection, ServerClock};
use errors::PostgresErrorContext;
use holding::RunHolds;
use workflows::PostgresRows;

/// Limits the wait of a statement for a row that another transaction has locked, in milliseconds.
pub(crate) const LOCK_MS_MAX: u64 = 30_000;

/// Limits the time after which the server releases the locks of a client that has gone silent, in
/// milliseconds.
const SILENT_MS_MAX: u64 = 30_000;

/// Limits the attempts at a change when the server is gone or gives it up.
const TRIES_MAX: u32 = 3;

const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// The pause before listening for hints again, after it has failed.
const DEAF: Duration = Duration::from_secs(1);

/// The channel on which workers hear that a task is ready.
const CHANNEL: &str = "drawloom_ready";

/// The settings for opening a database.
#[derive(Clone)]
pub struct PostgresOptions {
    /// This machine's clock. The server's time counts, and is extrapolated with this.
    pub clock: Arc<dyn AgentClock>,
    /// Removes secrets from everything that is stored.
    pub scrub: Option<SecretScrub>,
}

/// A database on a server. Clones share it.
#[derive(Clone)]
pub struct PostgresDatabase {
    inner: Arc<PostgresInner>,
}

/// The state that clones of [`PostgresDatabase`] share.
struct PostgresInner {
    settings: PgConnectOptions,
    fault: PostgresErrorContext,
    clock: Arc<ServerClock>,
    scrub: Option<SecretScrub>,
    line: Mutex<PostgresConnection>,
    holds: RunHolds,
}

impl PostgresDatabase {
    /// Opens the database at this address (`postgres://user@host/database`) and brings its tables
    /// up to date.
    pub async fn open(address: &str, options: PostgresOptions) -> Result<PostgresDatabase> {
        let settings = settings(address)?;
        let fault = PostgresErrorContext {
            place: place(&settings),
        };
        let clock = Arc::new(ServerClock::new(options.clock));
        let mut line = PostgresConnection::new(settings.clone(), Arc::clone(&clock), fault.clone());
        migrate::run(line.connection().await?, &fault).await?;
        let opened = PostgresDatabase {
            inner: Arc::new(PostgresInner {
                settings,
                fault,
                clock,
                scrub: options.scrub,
                line: Mutex::new(line),
                holds: RunHolds::default(),
            }),
        };
        opened.check_stream().await?;
        Ok(opened)
    }

    /// Opens the workflows, on connections of their own. Must be called inside a runtime, which
    /// runs the commit loop.
    pub async fn workflows(&self) -> Result<Arc<dyn flow::WorkflowStore>> {
        let clock: Arc<dyn AgentClock> = Arc::<ServerClock>::clone(&self.inner.clock);
        let (writing, reading) = (self.rows(), self.rows());
        let workflows = WorkflowDatabase::open(writing, reading, clock);
        Ok(Arc::new(workflows.with_listener(self.listener())))
    }

    /// Creates the listener that wakes workers at every hint.
    fn listener(&self) -> ReadyListener {
        let database = self.clone();
        ReadyListener::spawn(|ready, _| async move {
            loop {
                if let Ok(mut hints) = database.hints().await {
                    while hints.next().await.is_ok() {
                        ready.notify_one();
                    }
                }
                tokio::time::sleep(DEAF).await;
            }
        })
    }

    /// Listens for tasks that become ready, in any process. These are hints: a worker must poll as
    /// well, because it misses hints while its connection is broken.
    pub async fn hints(&self) -> Result<ReadyHints> {
        let PostgresInner {
            settings, fault, ..
        } = &*self.inner;
        let pool = PgPoolOptions::new().max_connections(1);
        let pool = pool.connect_lazy_with(settings.clone());
        let failed = |cause: sqlx::Error| fault.of(&cause);
        let mut listener = PgListener::connect_with(&pool).await.map_err(failed)?;
        listener.listen(CHANNEL).await.map_err(failed)?;
        Ok(ReadyHints {
            listener,
            fault: fault.clone(),
        })
    }

    /// Returns the server's time, the same for all processes that share the database.
    pub fn now_ms(&self) -> u64 {
        self.inner.clock.now_ms()
    }

    /// Takes or keeps a duty that one process has at a time, and tells whether this process has it
    /// now. A holder that does not renew it in time loses it, by the server's clock.
    pub async fn lead(&self, duty: &str, holder: &str, lease_ms: u64) -> Result<bool> {
        let values = BoundValues::of(duty).and(holder).and(integer(lease_ms));
        let rows = self
            .read(
                "WITH time AS \
                 (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms) \
                 INSERT INTO workflow_duties AS duties (duty, holder, until_ms) \
                 SELECT $1, $2, now_ms + $3 FROM time ON CONFLICT (duty) DO UPDATE \
                 SET holder = excluded.holder, until_ms = excluded.until_ms \
                 WHERE duties.holder = excluded.holder \
                 OR duties.until_ms <= (SELECT now_ms FROM time) RETURNING true",
                values,
            )
            .await?;
        Ok(!rows.is_empty())
    }

    /// Refuses to continue if a newer drawloom has changed the tables since.
    pub async fn check_version(&self) -> Result<()> {
        let sql = "SELECT max(version) FROM drawloom_migrations";
        let rows = self.read(sql, BoundValues::default()).await?;
        let found = rows
            .first()
            .map(|row| sqlx::Row::try_get::<Option<i64>, _>(row, 0));
        let found = found
            .transpose()
            .map_err(|cause| self.unreadable("the version of the tables", &cause.to_string()))?;
        match found.flatten() {
            Some(version) if version > migrate::latest() => {
                Err(migrate::newer(&self.inner.fault.place, version))
            }
            _ => Ok(()),
        }
    }

    /// Gives a duty back before its lease ends, so that the next process need not wait. Does
    /// nothing to a duty that another process has by now.
    pub async fn resign(&self, duty: &str, holder: &str) -> Result<()> {
        let sql = "DELETE FROM workflow_duties WHERE duty = $1 AND holder = $2";
        self.read(sql, BoundValues::of(duty).and(holder)).await?;
        Ok(())
    }

    /// Rebuilds the list of ready tasks from the tasks, and returns how many rows of it were wrong.
    /// Our own code never lets the two differ: this repairs what others do to the tables.
    ///
    /// It touches only rows that one snapshot shows to differ, and locks the rows that it restores.
    /// So a worker that claims at the same time, and changes both tables, is not undone.
    pub async fn reconcile(&self) -> Result<u64> {
        let mut line = self.line().await;
        let mut wrong = 0;
        for sql in [
            "DELETE FROM workflow_ready AS ready WHERE NOT EXISTS \
             (SELECT 1 FROM workflow_tasks AS task WHERE task.id = ready.task AND task.is_active \
             AND task.ready_ms IS NOT DISTINCT FROM ready.ready_ms \
             AND task.assignee IS NOT DISTINCT FROM ready.assignee \
             AND task.slot IS NOT DISTINCT FROM ready.slot AND task.rank = ready.rank) \
             RETURNING true",
            "INSERT INTO workflow_ready (task, run, ready_ms, assignee, slot, rank) \
             SELECT id, run, ready_ms, assignee, slot, rank FROM workflow_tasks AS task \
             WHERE ready_ms IS NOT NULL AND is_active \
             AND NOT EXISTS (SELECT 1 FROM workflow_ready AS ready WHERE ready.task = task.id) \
             FOR SHARE OF task ON CONFLICT (task) DO NOTHING RETURNING true",
        ] {
            wrong += line.fetch(sql, BoundValues::default()).await?.len() as u64;
        }
        Ok(wrong)
    }

    /// Lets new rows reuse the space of deleted ones, and updates the planner's statistics. Returns
    /// the size of the tables before and after, in bytes: only space at their ends goes back to the
    /// disk.
    pub async fn compact(&self) -> Result<(u64, u64)> {
        let before = self.size().await?;
        for sql in [
            "VACUUM (ANALYZE) workflow_runs",
            "VACUUM (ANALYZE) workflow_tasks",
            "VACUUM (ANALYZE) workflow_ready",
            "VACUUM (ANALYZE) workflow_groups",
            "VACUUM (ANALYZE) workflow_items",
            "VACUUM (ANALYZE) workflow_timers",
            "VACUUM (ANALYZE) workflow_events",
            "VACUUM (ANALYZE) workflow_notices",
            "VACUUM (ANALYZE) workflow_tags",
            "VACUUM (ANALYZE) event_stream",
            "VACUUM (ANALYZE) builds",
            "VACUUM (ANALYZE) turns",
            "VACUUM (ANALYZE) notes",
            "VACUUM (ANALYZE) calls",
            "VACUUM (ANALYZE) run_files",
        ] {
            self.read(sql, BoundValues::default()).await?;
        }
        Ok((before, self.size().await?))
    }

    async fn size(&self) -> Result<u64> {
        let sql = "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class \
                   WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace \
                   AND relname LIKE 'workflow_%'";
        let rows = self.read(sql, BoundValues::default()).await?;
        let size = rows
            .first()
            .map(|row| sqlx::Row::try_get::<Option<i64>, _>(row, 0));
        let size = size.transpose();
        let size = size.map_err(|cause| self.unreadable("a size", &cause.to_string()))?;
        Ok(size.flatten().map_or(0, count))
    }

    /// Runs one statement on its own, twice if the connection breaks meanwhile. A change that must
    /// not happen twice uses [`PostgresDatabase::change`].
    async fn read(&self, sql: &'static str, values: BoundValues) -> Result<Vec<PgRow>> {
        self.line().await.fetch(sql, values).await
    }

    /// Runs one statement that changes something. It finds out what happened even if the connection
    /// breaks on the way, so that a caller never gets a conflict with its own change.
    async fn change(&self, sql: &'static str, values: BoundValues) -> Result<Vec<PgRow>> {
        let mut line = self.line().await;
        let mut tries = 1;
        loop {
            match change_once(&mut line, sql, values.clone()).await {
                Err(error) if error.kind() == DatabaseErrorKind::Lost && tries < TRIES_MAX => {
                    tries += 1
                }
                done => return done,
            }
        }
    }

    /// Returns the connection, and rolls back a transaction that a cancelled caller may have left
    /// open.
    async fn line(&self) -> MutexGuard<'_, PostgresConnection> {
        let mut line = self.inner.line.lock().await;
        if line.is_in_transaction() {
            line.roll_back().await;
        }
        line
    }

    /// Returns the text without known secrets.
    fn clean(&self, text: &str) -> String {
        let scrubbed = self.inner.scrub.as_ref().and_then(|scrub| scrub(text));
        scrubbed.unwrap_or_else(|| text.to_owned())
    }

    fn unreadable(&self, what: &str, why: &str) -> Error {
        let why = format!("{what} is unreadable: {why}");
        self.inner.fault.corrupt(&why)
    }

    fn rows(&self) -> PostgresRows {
        let PostgresInner {
            settings,
            fault,
            clock,
            scrub,
            ..
        } = &*self.inner;
        let line = PostgresConnection::new(settings.clone(), Arc::clone(clock), fault.clone());
        PostgresRows::new(line, scrub.clone())
    }
}

impl fmt::Debug for PostgresDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Postgres({})", self.inner.fault.place)
    }
}

/// Tells workers when to look for tasks, between their regular polls.
pub struct ReadyHints {
    listener: PgListener,
    fault: PostgresErrorContext,
}

impl ReadyHints {
    /// Waits for the next hint; hints that arrived together count as one.
    pub async fn next(&mut self) -> Result<()> {
        let heard = self.listener.recv().await;
        heard.map_err(|cause| self.fault.of(&cause))?;
        while self.listener.next_buffered().is_some() {}
        Ok(())
    }
}

impl fmt::Debug for ReadyHints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hints({})", self.fault.place)
    }
}

async fn change_once(
    line: &mut PostgresConnection,
    sql: &'static str,
    values: BoundValues,
) -> Result<Vec<PgRow>> {
    line.begin().await?;
    match line.fetch(sql, values).await {
        Ok(rows) => {
            line.commit(LostCommitPolicy::Unnamed).await?;
            Ok(rows)
        }
        Err(error) => {
            line.roll_back().await;
            Err(error)
        }
    }
}

fn settings(address: &str) -> Result<PgConnectOptions> {
    let unread = |why: String| {
        // Does not repeat the address: there may be a password in it.
        let message = format!(
            "the address of the database cannot be read ({why}). Write it as \
             postgres://USER:PASSWORD@HOST:PORT/DATABASE."
        );
        Error::new(DatabaseErrorKind::Open, message)
    };
    let is_ours = SCHEMES.iter().any(|scheme| address.starts_with(scheme));
    if !is_ours {
        return Err(unread("it does not begin with postgres://".to_owned()));
    }
    let read = PgConnectOptions::from_str(address).map_err(|cause| unread(cause.to_string()))?;
    check_files(&read)?;
    let read = encrypted(read, address);
    let limits = [
        ("lock_timeout", LOCK_MS_MAX),
        ("idle_in_transaction_session_timeout", SILENT_MS_MAX),
    ];
    let settings = read
        .application_name("drawloom")
        .disable_statement_logging();
    Ok(settings.options(limits.map(|(name, ms)| (name, ms.to_string()))))
}

/// Requires TLS and a certificate for this very host if the address leads to another machine and
/// does not say otherwise: the driver would silently fall back to clear text.
fn encrypted(read: PgConnectOptions, address: &str) -> PgConnectOptions {
    let is_here = read.get_socket().is_some() || is_this_machine(read.get_host());
    match says_ssl_mode(address) || is_here {
        true => read,
        false => read.ssl_mode(PgSslMode::VerifyFull),
    }
}

/// Looks for the setting among the parameters only: a password may contain its name.
fn says_ssl_mode(address: &str) -> bool {
    let (_, parameters) = address.rsplit_once('?').unwrap_or_default();
    let mut names = parameters
        .split('&')
        .filter_map(|pair| pair.split('=').next());
    names.any(|name| matches!(name, "sslmode" | "ssl-mode"))
}

fn is_this_machine(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let address = bare.parse::<std::net::IpAddr>();
    host.starts_with('/')
        || host == "localhost"
        || address.is_ok_and(|address| address.is_loopback())
}

/// Checks the files that the address names, because the driver would only say that the server is
/// gone.
fn check_files(settings: &PgConnectOptions) -> Result<()> {
    for (name, file) in settings.to_url_lossy().query_pairs() {
        // The address may contain the certificate itself.
        let Some(file) = file.strip_prefix("file: ") else {
            continue;
        };
        if let Err(cause) = access(file, Access::READ_OK) {
            let message = format!(
                "{name} in the address of the database names {file}, which cannot be read \
                 ({cause}). Give the path of a file in PEM form."
            );
            return Err(Error::new(DatabaseErrorKind::Open, message));
        }
    }
    Ok(())
}

/// Returns the name of the database in messages.
fn place(settings: &PgConnectOptions) -> String {
    let database = settings.get_database().unwrap_or(settings.get_username());
    let host = match settings.get_socket() {
        Some(socket) => socket.display().to_string(),
        None => settings.get_host().to_owned(),
    };
    format!("the database {database} at {host}:{}", settings.get_port())
}

/// Converts a count: PostgreSQL has signed integers only, and no count here comes near their
/// maximum.
fn integer(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn count(integer: i64) -> u64 {
    u64::try_from(integer).unwrap_or(0)
}

#[cfg(test)]
mod encryption_tests {
    use super::*;

    #[track_caller]
    fn check(address: &str, expected: PgSslMode) {
        let mode = settings(address).unwrap().get_ssl_mode();
        assert_eq!(format!("{mode:?}"), format!("{expected:?}"), "{address}");
    }

    #[test]
    fn another_machine_is_reached_by_tls_unless_the_address_says_otherwise() {
        for address in [
            "postgres://me@db.example.org/x",
            "postgres://me@10.0.0.7:5432/x",
            "postgres://me:sslmode=disable@db.example.org/x",
            "postgres://me:%3Fsslmode=disable@db.example.org/x?application_name=sslmode",
            "postgres://me@db.example.org/sslmode=disable",
        ] {
            check(address, PgSslMode::VerifyFull);
        }
        check(
            "postgres://me@db.example.org/x?sslmode=require",
            PgSslMode::Require,
        );
        check(
            "postgres://me@db.example.org/x?sslmode=disable",
            PgSslMode::Disable,
        );
        check(
            "postgres://me@db.example.org/x?sslmode=verify-full",
            PgSslMode::VerifyFull,
        );
        check("postgres://me@127.0.0.1/x", PgSslMode::Prefer);
        check("postgres://me@localhost/x", PgSslMode::Prefer);
        check("postgres://me@[::1]/x", PgSslMode::Prefer);
    }
}
