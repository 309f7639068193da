//! PostgreSQL: one database for workers on several machines.

mod claiming;
mod fault;
mod line;
mod migrate;
mod outbox;
mod people;
mod queries;
mod schedules;
mod sweeping;
mod tokens;
mod views;
mod workflows;
mod writing;

use std::fmt;
use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use agent::Clock;
use rustix::fs::{Access, access};
use sqlx::ConnectOptions as _;
use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions, PgRow, PgSslMode};
use tokio::sync::{Mutex, MutexGuard};

use crate::error::{Error, Kind, Result};
use crate::sqlite::Scrub;
use crate::workflows::{Bell, Workflows};
use fault::Fault;
use line::{Doubt, Line, ServerClock, Values};
use workflows::Rows;

/// How long a statement waits for a row that another transaction has, in milliseconds.
pub(crate) const LOCK_MS_MAX: u64 = 30_000;

/// After how long the server takes back what a client that went silent has locked, in milliseconds.
const SILENT_MS_MAX: u64 = 30_000;

/// How often a change is tried when the server is gone or gives it up.
const TRIES_MAX: u32 = 3;

const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// How long is waited before hints are listened for again, once that has failed.
const DEAF: Duration = Duration::from_secs(1);

/// Where workers hear that something is ready.
const CHANNEL: &str = "drawloom_ready";

/// How a database is opened.
#[derive(Clone)]
pub struct PostgresOptions {
    /// The time of this machine. The server's is what counts, and is reckoned from it.
    pub clock: Arc<dyn Clock>,
    /// Takes keys out of what is kept; `None` for a text without any.
    pub scrub: Option<Scrub>,
}

/// A database on a server. Clones share it.
#[derive(Clone)]
pub struct Postgres {
    inner: Arc<Inner>,
}

struct Inner {
    settings: PgConnectOptions,
    fault: Fault,
    clock: Arc<ServerClock>,
    scrub: Option<Scrub>,
    line: Mutex<Line>,
}

impl Postgres {
    /// Opens the database at this address (`postgres://user@host/database`) and brings its tables
    /// up to date.
    pub async fn open(address: &str, options: PostgresOptions) -> Result<Postgres> {
        let settings = settings(address)?;
        let fault = Fault {
            place: place(&settings),
        };
        let clock = Arc::new(ServerClock::new(options.clock));
        let mut line = Line::new(settings.clone(), Arc::clone(&clock), fault.clone());
        migrate::run(line.connection().await?, &fault).await?;
        Ok(Postgres {
            inner: Arc::new(Inner {
                settings,
                fault,
                clock,
                scrub: options.scrub,
                line: Mutex::new(line),
            }),
        })
    }

    /// The workflows, on connections of their own. Must be called inside a runtime, which does the
    /// writing.
    pub async fn workflows(&self) -> Result<Arc<dyn flow::Store>> {
        let clock: Arc<dyn Clock> = Arc::<ServerClock>::clone(&self.inner.clock);
        let (writing, reading) = (self.rows(), self.rows());
        let workflows = Workflows::open(writing, reading, clock);
        Ok(Arc::new(workflows.with_bell(self.bell())))
    }

    /// A bell that rings at every hint.
    fn bell(&self) -> Bell {
        let database = self.clone();
        Bell::hang(|rung, _| async move {
            loop {
                if let Ok(mut hints) = database.hints().await {
                    while hints.next().await.is_ok() {
                        rung.notify_one();
                    }
                }
                tokio::time::sleep(DEAF).await;
            }
        })
    }

    /// Hears when something becomes ready, in whichever process. A hint: whoever relies on it alone
    /// misses what was said while the connection was lost.
    pub async fn hints(&self) -> Result<Hints> {
        let Inner {
            settings, fault, ..
        } = &*self.inner;
        let pool = PgPoolOptions::new().max_connections(1);
        let pool = pool.connect_lazy_with(settings.clone());
        let failed = |cause: sqlx::Error| fault.of(&cause);
        let mut listener = PgListener::connect_with(&pool).await.map_err(failed)?;
        listener.listen(CHANNEL).await.map_err(failed)?;
        Ok(Hints {
            listener,
            fault: fault.clone(),
        })
    }

    /// The server's time, which all processes that share the database go by.
    pub fn now_ms(&self) -> u64 {
        self.inner.clock.now_ms()
    }

    /// Takes or keeps a duty that one process has at a time; whether it is the holder's now. A
    /// holder that does not come back in time has lost it, by the server's clock.
    pub async fn lead(&self, duty: &str, holder: &str, lease_ms: u64) -> Result<bool> {
        let values = Values::of(duty).and(holder).and(integer(lease_ms));
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

    /// Refuses to go on where a newer drawloom has changed the tables meanwhile.
    pub async fn check_version(&self) -> Result<()> {
        let sql = "SELECT max(version) FROM drawloom_migrations";
        let rows = self.read(sql, Values::default()).await?;
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

    /// Gives a duty back before its time, so that nobody waits for it; nothing happens to one that
    /// is somebody else's by now.
    pub async fn resign(&self, duty: &str, holder: &str) -> Result<()> {
        let sql = "DELETE FROM workflow_duties WHERE duty = $1 AND holder = $2";
        self.read(sql, Values::of(duty).and(holder)).await?;
        Ok(())
    }

    /// Makes the list of what is ready anew from the tasks; how many lines of it were wrong.
    /// Nothing of ours lets the two differ: this is for what others do to the tables.
    ///
    /// Only what one look at both finds different is touched, and what is put back is held while it
    /// is: whoever claims meanwhile changes both, and is not undone.
    pub async fn reconcile(&self) -> Result<u64> {
        let mut line = self.line().await;
        let mut wrong = 0;
        for sql in [
            "DELETE FROM workflow_ready AS ready WHERE NOT EXISTS \
             (SELECT 1 FROM workflow_tasks AS task WHERE task.id = ready.task AND task.is_active \
             AND task.ready_ms IS NOT DISTINCT FROM ready.ready_ms \
             AND task.assignee IS NOT DISTINCT FROM ready.assignee) RETURNING true",
            "INSERT INTO workflow_ready (task, run, ready_ms, assignee) \
             SELECT id, run, ready_ms, assignee FROM workflow_tasks AS task \
             WHERE ready_ms IS NOT NULL AND is_active \
             AND NOT EXISTS (SELECT 1 FROM workflow_ready AS ready WHERE ready.task = task.id) \
             FOR SHARE OF task ON CONFLICT (task) DO NOTHING RETURNING true",
        ] {
            wrong += line.fetch(sql, Values::default()).await?.len() as u64;
        }
        Ok(wrong)
    }

    /// Lets new rows use the room of deleted ones, and brings the planner's figures up to date. Returns
    /// how large the tables were and are, in bytes: only room at their ends goes back to the disk.
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
        ] {
            self.read(sql, Values::default()).await?;
        }
        Ok((before, self.size().await?))
    }

    async fn size(&self) -> Result<u64> {
        let sql = "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class \
                   WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace \
                   AND relname LIKE 'workflow_%'";
        let rows = self.read(sql, Values::default()).await?;
        let size = rows
            .first()
            .map(|row| sqlx::Row::try_get::<Option<i64>, _>(row, 0));
        let size = size.transpose();
        let size = size.map_err(|cause| self.unreadable("a size", &cause.to_string()))?;
        Ok(size.flatten().map_or(0, count))
    }

    /// Runs one statement, on its own. Done twice when the connection was lost meanwhile: what
    /// changes something that cannot be changed twice is a [`Postgres::change`].
    async fn read(&self, sql: &'static str, values: Values) -> Result<Vec<PgRow>> {
        self.line().await.fetch(sql, values).await
    }

    /// Changes something with one statement. What became of it is known even if the connection is
    /// lost on the way, so that nobody is told of a conflict with themselves.
    async fn change(&self, sql: &'static str, values: Values) -> Result<Vec<PgRow>> {
        let mut line = self.line().await;
        let mut tries = 1;
        loop {
            match change_once(&mut line, sql, values.clone()).await {
                Err(error) if error.kind() == Kind::Lost && tries < TRIES_MAX => tries += 1,
                done => return done,
            }
        }
    }

    /// Changes something with several statements, all of them or none. The number of the first one that
    /// changed nothing, if there is one: then nothing is changed at all.
    async fn change_all(&self, statements: Vec<(&'static str, Values)>) -> Result<Option<usize>> {
        let mut line = self.line().await;
        let mut tries = 1;
        loop {
            match change_all_once(&mut line, &statements).await {
                Err(error) if error.kind() == Kind::Lost && tries < TRIES_MAX => tries += 1,
                done => return done,
            }
        }
    }

    /// The connection, with no transaction on it: whoever was interrupted may have left one.
    async fn line(&self) -> MutexGuard<'_, Line> {
        let mut line = self.inner.line.lock().await;
        if line.is_in_transaction() {
            line.roll_back().await;
        }
        line
    }

    /// The text as it may be kept.
    fn clean(&self, text: &str) -> String {
        let scrubbed = self.inner.scrub.as_ref().and_then(|scrub| scrub(text));
        scrubbed.unwrap_or_else(|| text.to_owned())
    }

    fn unreadable(&self, what: &str, why: &str) -> Error {
        let why = format!("{what} is unreadable: {why}");
        self.inner.fault.corrupt(&why)
    }

    fn rows(&self) -> Rows {
        let Inner {
            settings,
            fault,
            clock,
            scrub,
            ..
        } = &*self.inner;
        let line = Line::new(settings.clone(), Arc::clone(clock), fault.clone());
        Rows::new(line, scrub.clone())
    }
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Postgres({})", self.inner.fault.place)
    }
}

/// Says when to look for work, between the times one looks anyway.
pub struct Hints {
    listener: PgListener,
    fault: Fault,
}

impl Hints {
    /// Waits for the next hint; those that came together are one.
    pub async fn next(&mut self) -> Result<()> {
        let heard = self.listener.recv().await;
        heard.map_err(|cause| self.fault.of(&cause))?;
        while self.listener.next_buffered().is_some() {}
        Ok(())
    }
}

impl fmt::Debug for Hints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hints({})", self.fault.place)
    }
}

async fn change_once(line: &mut Line, sql: &'static str, values: Values) -> Result<Vec<PgRow>> {
    line.begin().await?;
    match line.fetch(sql, values).await {
        Ok(rows) => {
            line.commit(Doubt::Unnamed).await?;
            Ok(rows)
        }
        Err(error) => {
            line.roll_back().await;
            Err(error)
        }
    }
}

async fn change_all_once(
    line: &mut Line,
    statements: &[(&'static str, Values)],
) -> Result<Option<usize>> {
    line.begin().await?;
    for (at, (sql, values)) in statements.iter().enumerate() {
        match line.fetch(sql, values.clone()).await {
            Ok(rows) if rows.is_empty() => {
                line.roll_back().await;
                return Ok(Some(at));
            }
            Ok(_) => {}
            Err(error) => {
                line.roll_back().await;
                return Err(error);
            }
        }
    }
    line.commit(Doubt::Unnamed).await?;
    Ok(None)
}

fn settings(address: &str) -> Result<PgConnectOptions> {
    let unread = |why: String| {
        // The address is not repeated: there may be a password in it.
        let message = format!(
            "the address of the database cannot be read ({why}). Write it as \
             postgres://USER:PASSWORD@HOST:PORT/DATABASE."
        );
        Error::new(Kind::Open, message)
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

/// Asks for TLS where the address leads to another machine and does not say otherwise: the driver
/// would fall back to clear text without a word.
fn encrypted(read: PgConnectOptions, address: &str) -> PgConnectOptions {
    let says_itself = address.contains("sslmode=") || address.contains("ssl-mode=");
    let is_here = read.get_socket().is_some() || is_this_machine(read.get_host());
    match says_itself || is_here {
        true => read,
        false => read.ssl_mode(PgSslMode::Require),
    }
}

fn is_this_machine(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let address = bare.parse::<std::net::IpAddr>();
    host.starts_with('/')
        || host == "localhost"
        || address.is_ok_and(|address| address.is_loopback())
}

/// Files that the address names are looked for here: the driver would say that the server is gone.
fn check_files(settings: &PgConnectOptions) -> Result<()> {
    for (name, file) in settings.to_url_lossy().query_pairs() {
        // A certificate may be in the address itself.
        let Some(file) = file.strip_prefix("file: ") else {
            continue;
        };
        if let Err(cause) = access(file, Access::READ_OK) {
            let message = format!(
                "{name} in the address of the database names {file}, which cannot be read \
                 ({cause}). Give the path of a file in PEM form."
            );
            return Err(Error::new(Kind::Open, message));
        }
    }
    Ok(())
}

/// The database as messages name it.
fn place(settings: &PgConnectOptions) -> String {
    let database = settings.get_database().unwrap_or(settings.get_username());
    let host = match settings.get_socket() {
        Some(socket) => socket.display().to_string(),
        None => settings.get_host().to_owned(),
    };
    format!("the database {database} at {host}:{}", settings.get_port())
}

/// PostgreSQL has signed integers only; nothing that is counted here comes near their end.
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
        check("postgres://me@db.example.org/x", PgSslMode::Require);
        check("postgres://me@10.0.0.7:5432/x", PgSslMode::Require);
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
