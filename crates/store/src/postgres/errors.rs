//! Turns PostgreSQL's errors into errors that say what to do next.

use crate::error::{DatabaseErrorKind, Error};
use crate::postgres::LOCK_MS_MAX;

/// The database's name for error messages, never with a password.
#[derive(Clone)]
pub(super) struct PostgresErrorContext {
    pub(super) place: String,
}

impl PostgresErrorContext {
    pub(super) fn of(&self, cause: &sqlx::Error) -> Error {
        let place = &self.place;
        let said = said(cause);
        if is_distrust(cause) {
            let message = format!(
                "{place} cannot be opened over TLS ({said}). Check sslmode and sslrootcert in its \
                 address, and the certificate of the server."
            );
            return Error::new(DatabaseErrorKind::Open, message);
        }
        match (code(cause).as_deref(), is_gone(cause)) {
            (_, true) => Error::new(
                DatabaseErrorKind::Lost,
                format!("{place} cannot be reached ({said}). Try again when the server is there."),
            ),
            // A serialization failure, a deadlock, or a row that another transaction has just
            // written.
            (Some("40001" | "40P01" | "40003" | "23505"), _) => Error::new(
                DatabaseErrorKind::Lost,
                format!("{place} gave the transaction up for another one ({said}). Try again."),
            ),
            (Some("55P03"), _) => Error::new(
                DatabaseErrorKind::Busy,
                format!("{place}: a row was kept locked for {LOCK_MS_MAX} ms. Try again."),
            ),
            (Some("53100"), _) => Error::new(
                DatabaseErrorKind::Full,
                format!(
                    "the disk of {place} is full. Earlier data is safe; make room and \
                     resume."
                ),
            ),
            (Some("XX001" | "XX002"), _) => self.corrupt(&said),
            (Some(code), _) if is_entry(code) => Error::new(
                DatabaseErrorKind::Open,
                format!(
                    "{place} cannot be opened ({said}). Check the name of the database, the user \
                     and the password in its address."
                ),
            ),
            _ => Error::new(
                DatabaseErrorKind::Io,
                format!("{place} could not be read or written: {said}."),
            ),
        }
    }

    /// The error of a server that does not answer in time.
    pub(super) fn silent(&self, ms_max: u64) -> Error {
        let place = &self.place;
        Error::new(
            DatabaseErrorKind::Lost,
            format!(
                "{place} did not answer within {ms_max} ms. Check the server and the network, and \
                 try again."
            ),
        )
    }

    pub(super) fn corrupt(&self, why: &str) -> Error {
        let place = &self.place;
        Error::new(
            DatabaseErrorKind::Corrupt,
            format!(
                "{place} is damaged or is not a database of drawloom ({why}). Restore a backup."
            ),
        )
    }
}

/// Tells whether the connection is broken, or the server is temporarily out of service.
pub(super) fn is_gone(cause: &sqlx::Error) -> bool {
    match cause {
        cause if is_distrust(cause) => false,
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed => true,
        // Shutting down, starting up, too many connections, a standby.
        _ => code(cause).is_some_and(|code| {
            code.starts_with("08")
                || matches!(
                    code.as_str(),
                    "57P01" | "57P02" | "57P03" | "57P05" | "25P03" | "53300" | "25006"
                )
        }),
    }
}

/// Tells whether the server cannot speak TLS, or has the wrong certificate: trying again is
/// useless.
fn is_distrust(cause: &sqlx::Error) -> bool {
    match cause {
        sqlx::Error::Tls(_) => true,
        // The TLS library reports certificate problems as invalid data.
        sqlx::Error::Io(cause) => cause.kind() == std::io::ErrorKind::InvalidData,
        _ => false,
    }
}

/// Tells whether the server refuses access: wrong user or password, no such database, no
/// permission.
fn is_entry(code: &str) -> bool {
    code.starts_with("28") || matches!(code, "3D000" | "3F000" | "42501")
}

fn code(cause: &sqlx::Error) -> Option<String> {
    Some(cause.as_database_error()?.code()?.into_owned())
}

/// Returns PostgreSQL's own message, without the driver's words around it.
fn said(cause: &sqlx::Error) -> String {
    match cause.as_database_error() {
        Some(error) => error.message().to_owned(),
        None => cause.to_string(),
    }
}
