//! Sessions of people who have signed in, stored so that they can be listed and ended.
//!
//! The browser has the secret in a cookie, the database has its digest. A session ends at its
//! absolute expiry, when it was idle for too long, when its user is deactivated, when the password
//! changes, or when a person ends it; an ended session never comes back.

use std::fmt;

use crate::error::{DatabaseErrorKind, Error};
use crate::record::DatabaseFuture;
use crate::secrets::OpaqueSecret;
use crate::tables::{ColumnRead, SharedTables, TableRow, TableStatement, read_rows, row_limit};
use crate::users::{Slug, User, UserStore, no_user};

/// The longest user agent and address that are kept; longer ones are cut.
pub const SESSION_CLIENT_CHARS_MAX: usize = 300;

/// The precision of [`WebSession::seen_ms`], in milliseconds: storing every request would cost a
/// write each.
pub const SESSION_SEEN_MS_STEP: u64 = 60_000;

/// The number of a session, as lists show it. It is no secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub i64);

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A session to begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSession {
    /// The person who signed in.
    pub user: Slug,
    /// The time after which it has ended whatever happens, in milliseconds since 1970.
    pub expires_ms: u64,
    /// Limits the idle time, in milliseconds.
    pub idle_ms_max: u64,
    /// The browser, as it calls itself; cut to [`SESSION_CLIENT_CHARS_MAX`].
    pub user_agent: String,
    /// The address that signed in; cut to [`SESSION_CLIENT_CHARS_MAX`].
    pub address: String,
}

/// A session that is kept; everything but its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebSession {
    /// Its number.
    pub id: SessionId,
    /// The person.
    pub user: Slug,
    /// The time of signing in, in milliseconds since 1970.
    pub created_ms: u64,
    /// The time of the last request, give or take [`SESSION_SEEN_MS_STEP`].
    pub seen_ms: u64,
    /// The time after which it has ended.
    pub expires_ms: u64,
    /// Limits the idle time, in milliseconds.
    pub idle_ms_max: u64,
    /// The browser, as it calls itself.
    pub user_agent: String,
    /// The address that signed in.
    pub address: String,
}

impl WebSession {
    /// Tells if the session has ended at this time.
    pub fn has_ended(&self, now_ms: u64) -> bool {
        let idle_end_ms = self.seen_ms.saturating_add(self.idle_ms_max);
        self.expires_ms <= now_ms || idle_end_ms <= now_ms
    }
}

/// The result of checking a cookie. A visitor is told "sign in" for all but the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionCheck {
    /// The session is good; the user is as they are now.
    Granted {
        /// The session.
        session: Box<WebSession>,
        /// The person.
        user: Box<User>,
    },
    /// There is no session with this secret.
    Unknown,
    /// It has ended, or was idle for too long.
    Ended,
    /// Its user was deactivated.
    Inactive,
}

/// The port to the sessions.
pub trait WebSessions: Send + Sync {
    /// Begins a session. [`DatabaseErrorKind::Missing`] without such a user.
    fn begin_session<'a>(
        &'a self,
        new: &'a NewSession,
        secret: &'a OpaqueSecret,
    ) -> DatabaseFuture<'a, WebSession>;

    /// Returns the session and the user of a secret. Changes nothing: a caller that accepts the
    /// request records it with [`WebSessions::note_session_use`].
    fn check_session<'a>(&'a self, secret: &'a OpaqueSecret) -> DatabaseFuture<'a, SessionCheck>;

    /// Notes that a session was used now, unless that was noted less than [`SESSION_SEEN_MS_STEP`] ago.
    fn note_session_use(&self, session: SessionId) -> DatabaseFuture<'_, ()>;

    /// Returns the sessions of a user, or of all users, that have not ended; the newest first.
    fn sessions<'a>(
        &'a self,
        user: Option<&'a Slug>,
        max: usize,
    ) -> DatabaseFuture<'a, Vec<WebSession>>;

    /// Ends a session. [`DatabaseErrorKind::Missing`] if there is no such session.
    fn end_session(&self, session: SessionId) -> DatabaseFuture<'_, ()>;

    /// Ends all sessions of a user but one, and returns how many those were.
    fn end_sessions<'a>(
        &'a self,
        user: &'a Slug,
        but: Option<SessionId>,
    ) -> DatabaseFuture<'a, usize>;

    /// Removes sessions and one-time links that have ended; returns how many sessions those were.
    fn sweep_sessions(&self) -> DatabaseFuture<'_, usize>;
}

macro_rules! columns {
    () => {
        "id, \"user\", created_ms, seen_ms, expires_ms, idle_ms_max, user_agent, address"
    };
}

const BEGIN: &str = concat!(
    "INSERT INTO sessions (\"user\", digest, created_ms, seen_ms, expires_ms, idle_ms_max, user_agent, \
     address) SELECT slug, $2, $3, $3, $4, $5, $6, $7 FROM users WHERE slug = $1 RETURNING ",
    columns!()
);
const FIND: &str = concat!("SELECT ", columns!(), " FROM sessions WHERE digest = $1");
const USE: &str =
    "UPDATE sessions SET seen_ms = $1 WHERE id = $2 AND seen_ms <= $1 - $3 RETURNING id";
const OF_USER: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM sessions WHERE \"user\" = $1 AND expires_ms > $2 AND seen_ms + idle_ms_max > $2 \
     ORDER BY id DESC LIMIT $3"
);
const OF_ALL: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM sessions WHERE expires_ms > $1 AND seen_ms + idle_ms_max > $1 ORDER BY id DESC LIMIT $2"
);
const END: &str = "DELETE FROM sessions WHERE id = $1 RETURNING id";
const END_ALL: &str = "DELETE FROM sessions WHERE \"user\" = $1 AND id <> $2 RETURNING id";
const SWEEP: &str =
    "DELETE FROM sessions WHERE expires_ms <= $1 OR seen_ms + idle_ms_max <= $1 RETURNING id";
const SWEEP_LINKS: &str = "DELETE FROM one_time_links WHERE expires_ms <= $1 RETURNING id";

impl<T: SharedTables + UserStore> WebSessions for T {
    fn begin_session<'a>(
        &'a self,
        new: &'a NewSession,
        secret: &'a OpaqueSecret,
    ) -> DatabaseFuture<'a, WebSession> {
        Box::pin(async move {
            let statement = TableStatement::new(BEGIN)
                .with(new.user.as_str())
                .with(secret.digest())
                .with(self.time_ms())
                .with(new.expires_ms)
                .with(new.idle_ms_max)
                .with(self.scrubbed(&client(&new.user_agent)))
                .with(client(&new.address));
            let begun = self.change_rows(statement).await?;
            let begun = read_rows(self, "a session", &begun, read_session)?.pop();
            begun.ok_or_else(|| no_user(&new.user))
        })
    }

    fn check_session<'a>(&'a self, secret: &'a OpaqueSecret) -> DatabaseFuture<'a, SessionCheck> {
        Box::pin(async move {
            let rows = self
                .look(TableStatement::new(FIND).with(secret.digest()))
                .await?;
            let Some(session) = read_rows(self, "a session", &rows, read_session)?.pop() else {
                return Ok(SessionCheck::Unknown);
            };
            if session.has_ended(self.time_ms()) {
                return Ok(SessionCheck::Ended);
            }
            Ok(match self.user(&session.user).await? {
                None => SessionCheck::Unknown,
                Some(user) if !user.is_active => SessionCheck::Inactive,
                Some(user) => SessionCheck::Granted {
                    session: Box::new(session),
                    user: Box::new(user),
                },
            })
        })
    }

    fn note_session_use(&self, session: SessionId) -> DatabaseFuture<'_, ()> {
        Box::pin(async move {
            let statement = TableStatement::optional(USE)
                .with(self.time_ms())
                .with(session.0)
                .with(SESSION_SEEN_MS_STEP);
            self.change_rows(statement).await?;
            Ok(())
        })
    }

    fn sessions<'a>(
        &'a self,
        user: Option<&'a Slug>,
        max: usize,
    ) -> DatabaseFuture<'a, Vec<WebSession>> {
        Box::pin(async move {
            let statement = match user {
                Some(user) => TableStatement::new(OF_USER).with(user.as_str()),
                None => TableStatement::new(OF_ALL),
            };
            let statement = statement.with(self.time_ms()).with(row_limit(max));
            let rows = self.look(statement).await?;
            read_rows(self, "a session", &rows, read_session)
        })
    }

    fn end_session(&self, session: SessionId) -> DatabaseFuture<'_, ()> {
        Box::pin(async move {
            let ended = self
                .change_rows(TableStatement::new(END).with(session.0))
                .await?;
            match ended.is_empty() {
                true => Err(no_session(session)),
                false => Ok(()),
            }
        })
    }

    fn end_sessions<'a>(
        &'a self,
        user: &'a Slug,
        but: Option<SessionId>,
    ) -> DatabaseFuture<'a, usize> {
        Box::pin(async move {
            // No session has the number 0.
            let but = but.map_or(0, |session| session.0);
            let statement = TableStatement::optional(END_ALL)
                .with(user.as_str())
                .with(but);
            Ok(self.change_rows(statement).await?.len())
        })
    }

    fn sweep_sessions(&self) -> DatabaseFuture<'_, usize> {
        Box::pin(async move {
            let now_ms = self.time_ms();
            let links = TableStatement::optional(SWEEP_LINKS).with(now_ms);
            self.change_rows(links).await?;
            let statement = TableStatement::optional(SWEEP).with(now_ms);
            Ok(self.change_rows(statement).await?.len())
        })
    }
}

fn no_session(session: SessionId) -> Error {
    Error::new(
        DatabaseErrorKind::Missing,
        format!("There is no session {session}, or it has ended."),
    )
}

/// Returns the user agent or the address as stored: one line, cut to the limit.
fn client(text: &str) -> String {
    let plain = text.chars().filter(|c| !c.is_control());
    plain.take(SESSION_CLIENT_CHARS_MAX).collect()
}

fn read_session(row: &TableRow) -> ColumnRead<WebSession> {
    Ok(WebSession {
        id: SessionId(row.integer("id")?),
        user: row.parsed("user")?,
        created_ms: row.count("created_ms")?,
        seen_ms: row.count("seen_ms")?,
        expires_ms: row.count("expires_ms")?,
        idle_ms_max: row.count("idle_ms_max")?,
        user_agent: row.text("user_agent")?,
        address: row.text("address")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_agents_are_cut_and_lose_line_ends() {
        assert_eq!(client("Mozilla\r\n/5.0"), "Mozilla/5.0");
        assert_eq!(
            client(&"ä".repeat(900)).chars().count(),
            SESSION_CLIENT_CHARS_MAX
        );
    }
}
