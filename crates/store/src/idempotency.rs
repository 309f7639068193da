//! Keys by which a repeated request is answered as it was the first time.
//!
//! A client sends a key of its own with a request that creates or acts. The first request claims the
//! key and does the work; a repetition gets the stored response. A request with the same key and
//! another content is told apart by its digest. A key whose first request died is free again when its
//! lease has ended.

use crate::error::Result;
use crate::record::DatabaseFuture;
use crate::tables::{ColumnRead, SharedTables, TableRow, TableStatement, read_rows};
use crate::users::{check_line, invalid};

/// The longest key that a client may choose.
pub const IDEMPOTENCY_KEY_CHARS_MAX: usize = 255;

/// The largest response that is kept for a repetition, in bytes.
pub const IDEMPOTENCY_BODY_BYTES_MAX: usize = 1 << 20;

/// A client's key, which means something only beside its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestKey {
    /// The user or token whose key it is: two users may choose the same text.
    pub owner: String,
    /// The text that the client chose.
    pub key: String,
}

/// A response as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredResponse {
    /// The status of HTTP, or a door's own number.
    pub status: u16,
    /// Headers that belong to the content, as JSON: an object of texts.
    pub headers: String,
    /// The content.
    pub body: Vec<u8>,
}

/// The times of a key, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyTimes {
    /// Limits the time of the first request before the key is free again.
    pub lease_ms: u64,
    /// The time for which the response is stored; the server's is 24 hours.
    pub keep_ms: u64,
}

/// The answer to a claim of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyClaim {
    /// The key is the caller's: it does the work, then calls
    /// [`finish_key`](IdempotencyKeys::finish_key) or [`release_key`](IdempotencyKeys::release_key).
    Fresh,
    /// The first request is still at work (409).
    UnderWay,
    /// The first request is done; its response is sent again.
    Done(StoredResponse),
    /// The first request had another content (422).
    OtherRequest,
}

/// The port to the idempotency keys.
pub trait IdempotencyKeys: Send + Sync {
    /// Claims a key for a request with this digest. Of two claims at once one is
    /// [`Fresh`](KeyClaim::Fresh) and the other [`UnderWay`](KeyClaim::UnderWay).
    fn claim_key<'a>(
        &'a self,
        key: &'a RequestKey,
        digest: [u8; 32],
        times: KeyTimes,
    ) -> DatabaseFuture<'a, KeyClaim>;

    /// Keeps the response to a request whose key was claimed. [`DatabaseErrorKind::Invalid`](crate::DatabaseErrorKind::Invalid)
    /// for a content over [`IDEMPOTENCY_BODY_BYTES_MAX`].
    fn finish_key<'a>(
        &'a self,
        key: &'a RequestKey,
        response: &'a StoredResponse,
    ) -> DatabaseFuture<'a, ()>;

    /// Lets a key go whose request changed nothing, so that the client may try again.
    fn release_key<'a>(&'a self, key: &'a RequestKey) -> DatabaseFuture<'a, ()>;

    /// Removes keys whose time is over; returns how many.
    fn sweep_keys(&self) -> DatabaseFuture<'_, usize>;
}

const CLAIM: &str = "INSERT INTO idempotency_keys (owner, key, digest, lease_ms, expires_ms) \
     VALUES ($1, $2, $3, $4, $5) ON CONFLICT (owner, key) DO UPDATE \
     SET digest = excluded.digest, lease_ms = excluded.lease_ms, expires_ms = excluded.expires_ms, \
     status = NULL, headers = NULL, body = NULL \
     WHERE idempotency_keys.expires_ms <= $6 \
     OR (idempotency_keys.status IS NULL AND idempotency_keys.lease_ms <= $6) RETURNING owner";
const FIND: &str = "SELECT digest, status, coalesce(headers, '') AS headers, body \
     FROM idempotency_keys WHERE owner = $1 AND key = $2";
const FINISH: &str = "UPDATE idempotency_keys SET status = $3, headers = $4, body = $5 \
     WHERE owner = $1 AND key = $2 AND status IS NULL RETURNING owner";
const RELEASE: &str = "DELETE FROM idempotency_keys \
     WHERE owner = $1 AND key = $2 AND status IS NULL RETURNING owner";
const SWEEP: &str = "DELETE FROM idempotency_keys WHERE expires_ms <= $1 RETURNING owner";

impl<T: SharedTables> IdempotencyKeys for T {
    fn claim_key<'a>(
        &'a self,
        key: &'a RequestKey,
        digest: [u8; 32],
        times: KeyTimes,
    ) -> DatabaseFuture<'a, KeyClaim> {
        Box::pin(async move {
            let limit = ("IDEMPOTENCY_KEY_CHARS_MAX", IDEMPOTENCY_KEY_CHARS_MAX);
            check_line("the idempotency key", &key.key, limit)?;
            let now_ms = self.time_ms();
            let claim = named(TableStatement::optional(CLAIM), key)
                .with(digest.to_vec())
                .with(now_ms.saturating_add(times.lease_ms))
                .with(now_ms.saturating_add(times.keep_ms))
                .with(now_ms);
            if !self.change_rows(claim).await?.is_empty() {
                return Ok(KeyClaim::Fresh);
            }
            let rows = self.look(named(TableStatement::new(FIND), key)).await?;
            let found = read_rows(self, "an idempotency key", &rows, read_key)?.pop();
            Ok(match found {
                Some((other, _)) if other != digest => KeyClaim::OtherRequest,
                Some((_, Some(response))) => KeyClaim::Done(response),
                // A key that is gone by now was released at this moment.
                _ => KeyClaim::UnderWay,
            })
        })
    }

    fn finish_key<'a>(
        &'a self,
        key: &'a RequestKey,
        response: &'a StoredResponse,
    ) -> DatabaseFuture<'a, ()> {
        Box::pin(async move {
            check_body(&response.body)?;
            let statement = named(TableStatement::optional(FINISH), key)
                .with(i64::from(response.status))
                .with(response.headers.as_str())
                .with(response.body.clone());
            self.change_rows(statement).await?;
            Ok(())
        })
    }

    fn release_key<'a>(&'a self, key: &'a RequestKey) -> DatabaseFuture<'a, ()> {
        Box::pin(async move {
            self.change_rows(named(TableStatement::optional(RELEASE), key))
                .await?;
            Ok(())
        })
    }

    fn sweep_keys(&self) -> DatabaseFuture<'_, usize> {
        Box::pin(async move {
            let statement = TableStatement::optional(SWEEP).with(self.time_ms());
            Ok(self.change_rows(statement).await?.len())
        })
    }
}

fn named(statement: TableStatement, key: &RequestKey) -> TableStatement {
    statement.with(key.owner.as_str()).with(key.key.as_str())
}

fn check_body(body: &[u8]) -> Result<()> {
    match body.len() > IDEMPOTENCY_BODY_BYTES_MAX {
        true => Err(invalid(format!(
            "a response of {} bytes is not kept for repetitions: IDEMPOTENCY_BODY_BYTES_MAX = \
             {IDEMPOTENCY_BODY_BYTES_MAX}.",
            body.len()
        ))),
        false => Ok(()),
    }
}

fn read_key(row: &TableRow) -> ColumnRead<(Vec<u8>, Option<StoredResponse>)> {
    let digest = row.bytes("digest")?;
    let Some(status) = row.maybe_count("status")? else {
        return Ok((digest, None));
    };
    let response = StoredResponse {
        status: u16::try_from(status).map_err(|cause| cause.to_string())?,
        headers: row.text("headers")?,
        body: row.bytes("body")?,
    };
    Ok((digest, Some(response)))
}
