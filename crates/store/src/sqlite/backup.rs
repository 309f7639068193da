//! Backups of a SQLite file: a snapshot while others write, and back again when no process does.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{lstat, rename, unlink};
use sqlx::ConnectOptions as _;
use sqlx::Connection as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};

use super::errors::SqliteErrorContext;
use super::{SqliteDatabase, count, migrate, prepare};
use crate::error::{DatabaseErrorKind, Error, Result};

/// How long a restore waits for other processes to close the database.
const ALONE_WAIT: Duration = Duration::from_millis(500);

impl SqliteDatabase {
    /// Writes a snapshot of the database into a new file that only its owner can read, and returns its
    /// size in bytes. Other processes go on writing; the snapshot has every transaction that was
    /// committed before it began.
    pub async fn back_up(&self, to: &Path) -> Result<u64> {
        if lstat(to).is_ok() {
            return Err(taken(to));
        }
        prepare(to)?;
        let mut connection = self.inner.connection.lock().await;
        let written = copy_into(&mut connection, to).await;
        if let Err(cause) = written {
            // A partial file is not a backup.
            let _ = unlink(to);
            return Err(self.fault().of(&cause));
        }
        let size = lstat(to).map_err(|cause| Error::place(to, "looking at", cause))?;
        Ok(count(size.st_size))
    }
}

/// Puts a backup in the place of a database, which is kept beside it under another name. Returns that
/// name, where there was one. Refused while another process has the database open, and for a file that
/// is no database of ours or is damaged; then nothing changes.
pub async fn restore_file(from: &Path, place: &Path, now_ms: u64) -> Result<Option<PathBuf>> {
    let mut backup = open_backup(from).await?;
    let staged = beside(place, "restoring");
    let _ = unlink(&staged);
    prepare(&staged)?;
    let copied = copy_into(&mut backup, &staged).await;
    let copied = copied.map_err(|cause| fault(from).of(&cause));
    let closed = backup.close().await;
    let put = match copied.and(closed.map_err(|cause| fault(from).of(&cause))) {
        Ok(()) => put_in_place(&staged, place, now_ms).await,
        Err(error) => Err(error),
    };
    if put.is_err() {
        let _ = unlink(&staged);
    }
    put
}

async fn put_in_place(staged: &Path, place: &Path, now_ms: u64) -> Result<Option<PathBuf>> {
    let moved = match lstat(place).is_ok() {
        false => None,
        true => {
            require_alone(place).await?;
            let old = beside(place, &format!("before-{now_ms}"));
            rename(place, &old).map_err(|cause| Error::place(place, "moving away", cause))?;
            Some(old)
        }
    };
    rename(staged, place).map_err(|cause| Error::place(place, "replacing", cause))?;
    Ok(moved)
}

/// Opens a backup to read it, and refuses one that cannot take the place of a database.
async fn open_backup(from: &Path) -> Result<SqliteConnection> {
    let fault = fault(from);
    if lstat(from).is_err() {
        let message = format!("There is no file {}.", from.display());
        return Err(Error::new(DatabaseErrorKind::Missing, message));
    }
    let options = SqliteConnectOptions::new()
        .filename(from)
        .read_only(true)
        .disable_statement_logging();
    let connected = options.connect().await;
    let mut connection = connected.map_err(|cause| fault.of(&cause))?;
    migrate::require_ours(&mut connection, &fault).await?;
    let found: Vec<String> = sqlx::query_scalar("PRAGMA quick_check(5)")
        .fetch_all(&mut connection)
        .await
        .map_err(|cause| fault.of(&cause))?;
    match found.as_slice() {
        [only] if only == "ok" => Ok(connection),
        _ => Err(fault.corrupt(&found.join("; "))),
    }
}

/// Refuses a database that another process has open: it would go on with the file that was moved away.
async fn require_alone(place: &Path) -> Result<()> {
    let options = SqliteConnectOptions::new()
        .filename(place)
        .busy_timeout(ALONE_WAIT)
        .disable_statement_logging();
    let connected = options.connect().await;
    let mut connection = connected.map_err(|cause| fault(place).of(&cause))?;
    // SQLite leaves its log of writes only when no other process is connected, and takes in all of it.
    let left = sqlx::query_scalar::<_, String>("PRAGMA journal_mode = DELETE")
        .fetch_one(&mut connection)
        .await;
    let is_alone = left.as_ref().is_ok_and(|mode| mode == "delete");
    let closed = connection.close().await;
    closed.map_err(|cause| fault(place).of(&cause))?;
    match is_alone {
        true => Ok(()),
        false => Err(Error::new(
            DatabaseErrorKind::Locked,
            format!(
                "{} is used by another process. Stop workers and servers first.",
                place.display()
            ),
        )),
    }
}

async fn copy_into(
    connection: &mut SqliteConnection,
    to: &Path,
) -> std::result::Result<(), sqlx::Error> {
    let copied = sqlx::query("VACUUM INTO $1").bind(to.to_string_lossy().into_owned());
    copied.execute(connection).await?;
    Ok(())
}

fn beside(place: &Path, ending: &str) -> PathBuf {
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    place.with_file_name(format!("{name}.{ending}"))
}

fn fault(place: &Path) -> SqliteErrorContext<'_> {
    SqliteErrorContext {
        place,
        bytes_max: None,
    }
}

fn taken(to: &Path) -> Error {
    let message = format!(
        "{} exists already. Name a file that does not, or move it away.",
        to.display()
    );
    Error::new(DatabaseErrorKind::Conflict, message)
}
