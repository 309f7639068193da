//! Turns SQLite's errors into errors that say what to do next.

use std::path::Path;

use crate::error::{DatabaseErrorKind, Error};
use crate::sqlite::BUSY_MS_MAX;

/// The database's path and limit, for error messages.
pub(super) struct SqliteErrorContext<'a> {
    pub(super) place: &'a Path,
    pub(super) bytes_max: Option<u64>,
}

// SQLite's primary result codes.
const BUSY: i32 = 5;
const LOCKED: i32 = 6;
const READONLY: i32 = 8;
const CORRUPT: i32 = 11;
const FULL: i32 = 13;
const CANTOPEN: i32 = 14;
const NOTADB: i32 = 26;
/// Extended code: the shared-memory file beside the database cannot grow.
const IOERR_SHMSIZE: i32 = 4874;

impl SqliteErrorContext<'_> {
    pub(super) fn of(&self, cause: &sqlx::Error) -> Error {
        let place = self.place.display();
        let code = code(cause);
        if code == Some(IOERR_SHMSIZE) {
            return self.full();
        }
        // The upper bits are extended codes, which matter only above.
        match code.map(|extended| extended & 0xff) {
            Some(BUSY | LOCKED) => Error::new(
                DatabaseErrorKind::Busy,
                format!(
                    "{place} was kept locked by another process for {BUSY_MS_MAX} ms. Try again \
                     when it is done."
                ),
            ),
            Some(CORRUPT | NOTADB) => self.corrupt(&said(cause)),
            Some(FULL) => self.full(),
            Some(CANTOPEN | READONLY) => Error::new(
                DatabaseErrorKind::Open,
                format!(
                    "{place} cannot be opened for writing ({}). Check the folder and its \
                     permissions.",
                    said(cause)
                ),
            ),
            _ => Error::new(
                DatabaseErrorKind::Io,
                format!("{place} could not be read or written: {}.", said(cause)),
            ),
        }
    }

    pub(super) fn corrupt(&self, why: &str) -> Error {
        let place = self.place.display();
        Error::new(
            DatabaseErrorKind::Corrupt,
            format!(
                "{place} is damaged or is not a database of drawloom ({why}). Move it away to \
                 begin a new one, or put a backup in its place."
            ),
        )
    }

    fn full(&self) -> Error {
        let place = self.place.display();
        let message = match self.bytes_max {
            Some(bytes_max) => format!(
                "{place} is full (bytes_max = {bytes_max}), or its disk is. Earlier data is \
                 safe; make room and resume."
            ),
            None => {
                format!("the disk of {place} is full. Earlier data is safe; make room and resume.")
            }
        };
        Error::new(DatabaseErrorKind::Full, message)
    }
}

fn code(cause: &sqlx::Error) -> Option<i32> {
    let code = cause.as_database_error()?.code()?;
    code.parse().ok()
}

/// Returns SQLite's own message, without the driver's words around it.
fn said(cause: &sqlx::Error) -> String {
    match cause.as_database_error() {
        Some(error) => error.message().to_owned(),
        None => cause.to_string(),
    }
}
