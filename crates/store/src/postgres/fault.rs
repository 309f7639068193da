//! What PostgreSQL says went wrong, as errors that say what to do.

use crate::error::{Error, Kind};
use crate::postgres::LOCK_MS_MAX;

/// Knows which database it is, to say so; never with a password.
#[derive(Clone)]
pub(super) struct Fault {
    pub(super) place: String,
}

impl Fault {
    pub(super) fn of(&self, cause: &sqlx::Error) -> Error {
        let place = &self.place;
        let said = said(cause);
        if is_distrust(cause) {
            let message = format!(
                "{place} cannot be opened over TLS ({said}). Check sslmode and sslrootcert in its \
                 address, and the certificate of the server."
            );
            return Error::new(Kind::Open, message);
        }
        match (code(cause).as_deref(), is_gone(cause)) {
            (_, true) => Error::new(
                Kind::Lost,
                format!("{place} cannot be reached ({said}). Try again when the server is there."),
            ),
            // Serialization, deadlock, a row that somebody else wrote meanwhile.
            (Some("40001" | "40P01" | "40003" | "23505"), _) => Error::new(
                Kind::Lost,
                format!("{place} gave the transaction up for another one ({said}). Try again."),
            ),
            (Some("55P03"), _) => Error::new(
                Kind::Busy,
                format!("{place}: a row was kept locked for {LOCK_MS_MAX} ms. Try again."),
            ),
            (Some("53100"), _) => Error::new(
                Kind::Full,
                format!(
                    "the disk of {place} is full. What was kept before is safe; make room and \
                     resume."
                ),
            ),
            (Some("XX001" | "XX002"), _) => self.corrupt(&said),
            (Some(code), _) if is_entry(code) => Error::new(
                Kind::Open,
                format!(
                    "{place} cannot be opened ({said}). Check the name of the database, the user \
                     and the password in its address."
                ),
            ),
            _ => Error::new(
                Kind::Io,
                format!("{place} could not be read or written: {said}."),
            ),
        }
    }

    /// Nobody answers.
    pub(super) fn silent(&self, ms_max: u64) -> Error {
        let place = &self.place;
        Error::new(
            Kind::Lost,
            format!(
                "{place} did not answer within {ms_max} ms. Check the server and the network, and \
                 try again."
            ),
        )
    }

    pub(super) fn corrupt(&self, why: &str) -> Error {
        let place = &self.place;
        Error::new(
            Kind::Corrupt,
            format!(
                "{place} is damaged or is not a database of drawloom ({why}). Restore a backup."
            ),
        )
    }
}

/// Whether the connection is of no use any more, or the server of none right now.
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

/// Whether the server cannot speak TLS, or is not who it should be: trying again is of no use.
fn is_distrust(cause: &sqlx::Error) -> bool {
    match cause {
        sqlx::Error::Tls(_) => true,
        // What is wrong with a certificate comes as words that cannot be understood.
        sqlx::Error::Io(cause) => cause.kind() == std::io::ErrorKind::InvalidData,
        _ => false,
    }
}

/// Wrong user or password, no such database, no permission.
fn is_entry(code: &str) -> bool {
    code.starts_with("28") || matches!(code, "3D000" | "3F000" | "42501")
}

fn code(cause: &sqlx::Error) -> Option<String> {
    Some(cause.as_database_error()?.code()?.into_owned())
}

/// PostgreSQL's own words, without the driver's around them.
fn said(cause: &sqlx::Error) -> String {
    match cause.as_database_error() {
        Some(error) => error.message().to_owned(),
        None => cause.to_string(),
    }
}
