//! SQLite: one file, one connection for each process, every commit on the disk.

mod backup;
mod errors;
mod holding;
mod logs;
mod migrate;
mod outbox;
mod queries;
mod retention;
mod rows;
mod stream;
mod tables;
mod triggers;
mod watch;
mod workflows;
mod writing;

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agent::AgentClock;
use rustix::fs::{FileType, Mode, OFlags, chmod, lstat, mkdir, open};
use rustix::io::Errno;
use sqlx::ConnectOptions as _;
use sqlx::Connection as _;
use sqlx::sqlite::{
    SqliteArguments, SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous,
};
use tokio::sync::Mutex;

use crate::error::{DatabaseErrorKind, Error, Result};
use crate::workflows::WorkflowDatabase;
use errors::SqliteErrorContext;
use rows::SqliteRows;
use watch::FileWatch;

pub use backup::restore_file;

/// Limits the wait of a writer for another one, in milliseconds.
pub(crate) const BUSY_MS_MAX: u64 = 30_000;

/// Limits the prepared statements that are cached: a small transaction is one statement, and there
/// are many kinds of small transactions.
const STATEMENTS_MAX: usize = 300;

/// The number of pages in the write-ahead log that starts a checkpoint. A large one pays: a page
/// that is written again and again goes into the database once.
const LOG_PAGES: u32 = 4_096;

/// A page of a database, in bytes.
const PAGE_BYTES: u64 = 4_096;

/// Removes known secrets from a text; `None` if the text has no secret.
pub type SecretScrub = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The settings for opening a database.
#[derive(Clone)]
pub struct Options {
    /// The clock.
    pub clock: Arc<dyn AgentClock>,
    /// Removes secrets from everything that is stored.
    pub scrub: Option<SecretScrub>,
    /// Limits the size of the file.
    pub bytes_max: Option<u64>,
    /// The id of this process, for messages to others.
    pub pid: u32,
}

/// The database of a project. Clones share the connection.
#[derive(Clone)]
pub struct SqliteDatabase {
    inner: Arc<SqliteInner>,
}

/// The state that clones of [`SqliteDatabase`] share.
struct SqliteInner {
    watch: Arc<FileWatch>,
    place: PathBuf,
    options: Options,
    connection: Mutex<SqliteConnection>,
}

/// A statement of SQLite with its values.
type SqliteQuery<'q> = sqlx::query::Query<'q, sqlx::Sqlite, SqliteArguments>;

impl SqliteDatabase {
    /// Runs a statement that changes rows, and returns how many it has changed.
    async fn touched(&self, statement: SqliteQuery<'_>) -> Result<u64> {
        let mut connection = self.inner.connection.lock().await;
        let done = statement.execute(&mut *connection).await;
        let done = done.map_err(|cause| self.fault().of(&cause))?;
        Ok(done.rows_affected())
    }

    /// Opens the database at this path, creates it if it does not exist, and brings its tables up
    /// to date.
    pub async fn open(place: &Path, options: Options) -> Result<SqliteDatabase> {
        prepare(place)?;
        let fault = SqliteErrorContext {
            place,
            bytes_max: options.bytes_max,
        };
        let connected = settings(place, &options).connect().await;
        let mut connection = connected.map_err(|cause| fault.of(&cause))?;
        migrate::run(&mut connection, &fault).await?;
        Ok(SqliteDatabase {
            inner: Arc::new(SqliteInner {
                watch: Arc::new(FileWatch::new(place)),
                place: place.to_owned(),
                options,
                connection: Mutex::new(connection),
            }),
        })
    }

    /// Opens the workflows in the same file, on connections of their own. Must be called inside a
    /// runtime, which runs the commit loop.
    pub async fn workflows(&self) -> Result<Arc<dyn flow::WorkflowStore>> {
        let writing = self.rows().await?;
        let reading = self.rows().await?;
        let clock = Arc::clone(&self.inner.options.clock);
        let SqliteInner {
            place,
            options,
            watch,
            ..
        } = &*self.inner;
        let listener = watch::listener(Arc::clone(watch), settings(place, options));
        let workflows = WorkflowDatabase::open(writing, reading, clock);
        Ok(Arc::new(workflows.with_listener(listener)))
    }

    async fn rows(&self) -> Result<SqliteRows> {
        let SqliteInner { place, options, .. } = &*self.inner;
        let connected = settings(place, options).connect().await;
        Ok(SqliteRows {
            connection: connected.map_err(|cause| self.fault().of(&cause))?,
            place: place.clone(),
            bytes_max: options.bytes_max,
            statements: writing::StatementWriter::new(options.scrub.clone()),
            watch: Arc::clone(&self.inner.watch),
            version: None,
        })
    }

    /// Reads the whole file and reports damage.
    pub async fn check(&self) -> Result<()> {
        let mut connection = self.inner.connection.lock().await;
        let findings: Vec<String> = sqlx::query_scalar("PRAGMA quick_check(5)")
            .fetch_all(&mut *connection)
            .await
            .map_err(|cause| self.fault().of(&cause))?;
        match findings.as_slice() {
            [only] if only == "ok" => Ok(()),
            _ => Err(self.fault().corrupt(&findings.join("; "))),
        }
    }

    /// Writes the file anew without the space of deleted rows; other writers wait meanwhile.
    /// Returns the size before and after, in bytes.
    pub async fn compact(&self) -> Result<(u64, u64)> {
        let mut connection = self.inner.connection.lock().await;
        let before = self.size(&mut connection).await?;
        for sql in ["VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"] {
            let done = sqlx::query(sql).fetch_all(&mut *connection).await;
            done.map_err(|cause| self.fault().of(&cause))?;
        }
        Ok((before, self.size(&mut connection).await?))
    }

    async fn size(&self, connection: &mut SqliteConnection) -> Result<u64> {
        let pages = sqlx::query_scalar(
            "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
        );
        let bytes: i64 = pages
            .fetch_one(connection)
            .await
            .map_err(|cause| self.fault().of(&cause))?;
        Ok(count(bytes))
    }

    /// Closes the connection, so that another process finds one file and not three.
    pub async fn close(self) -> Result<()> {
        let place = self.inner.place.clone();
        let Some(inner) = Arc::into_inner(self.inner) else {
            // A clone is still in use; dropping the last one closes the file.
            return Ok(());
        };
        let fault = SqliteErrorContext {
            place: &place,
            bytes_max: None,
        };
        let closed = inner.connection.into_inner().close().await;
        closed.map_err(|cause| fault.of(&cause))
    }

    fn fault(&self) -> SqliteErrorContext<'_> {
        SqliteErrorContext {
            place: &self.inner.place,
            bytes_max: self.inner.options.bytes_max,
        }
    }

    fn now_ms(&self) -> i64 {
        integer(self.inner.options.clock.now_ms())
    }

    /// Returns the text without known secrets.
    fn clean<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let scrubbed = self
            .inner
            .options
            .scrub
            .as_ref()
            .and_then(|scrub| scrub(text));
        scrubbed.map_or(Cow::Borrowed(text), Cow::Owned)
    }
}

impl fmt::Debug for SqliteDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Store({})", self.inner.place.display())
    }
}

fn settings(place: &Path, options: &Options) -> SqliteConnectOptions {
    let settings = SqliteConnectOptions::new()
        .filename(place)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(Duration::from_millis(BUSY_MS_MAX))
        .page_size(PAGE_BYTES as u32)
        .thread_name(|_| "drawloom-sqlite".to_owned())
        .statement_cache_capacity(STATEMENTS_MAX)
        .pragma("wal_autocheckpoint", LOG_PAGES.to_string())
        .disable_statement_logging();
    match options.bytes_max {
        Some(bytes) => settings.pragma("max_page_count", bytes.div_ceil(PAGE_BYTES).to_string()),
        None => settings,
    }
}

/// Converts a count: SQLite has signed integers only, and no count here comes near their maximum.
fn integer(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn count(integer: i64) -> u64 {
    u64::try_from(integer).unwrap_or(0)
}

/// Creates the file readable for its owner only, before SQLite would create it readable for all.
///
/// A file that exists is not opened: closing it again would drop the locks that another connection
/// of this process has on it.
fn prepare(place: &Path) -> Result<()> {
    let owner = Mode::RUSR | Mode::WUSR;
    if let Some(folder) = place
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        match mkdir(
            folder,
            Mode::RWXU | Mode::RGRP | Mode::XGRP | Mode::ROTH | Mode::XOTH,
        ) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(cause) => return Err(Error::place(folder, "making", cause)),
        }
    }
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
    match open(place, flags, owner) {
        Ok(_) => return Ok(()),
        Err(Errno::EXIST) => {}
        Err(cause) => return Err(Error::place(place, "making", cause)),
    }
    let found = lstat(place).map_err(|cause| Error::place(place, "looking at", cause))?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Err(Error::new(
            DatabaseErrorKind::Open,
            format!(
                "{} is not a plain file, and a database is expected there. Move it away.",
                place.display()
            ),
        ));
    }
    let mode = Mode::from_raw_mode(found.st_mode);
    if mode.intersects(Mode::RWXG | Mode::RWXO) {
        match chmod(place, owner) {
            // The file belongs to another user who has given us access; its permissions are up to
            // that user.
            Ok(()) | Err(Errno::PERM) => {}
            Err(cause) => return Err(Error::place(place, "protecting", cause)),
        }
    }
    Ok(())
}
