//! The outbox as its readers see it: notices that wait for delivery, whatever engine stores them.
//!
//! A notice is written in the same transaction as the change it tells of, and stays until a reader
//! has delivered it or its run is deleted. A reader that dies between delivering and acknowledging
//! delivers again: at least once, never lost.

use flow::engine::Notice;

use crate::record::DatabaseFuture;

/// A notice that waits for delivery.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredNotice {
    /// Its number; a notice that is delivered again has the same.
    pub id: u64,
    /// The number of failed deliveries.
    pub tries: u64,
    /// The time of the next try, in milliseconds since 1970; `None` if there is no next try.
    pub due_ms: Option<u64>,
    /// The notice itself.
    pub notice: Notice,
}

/// The port to the outbox.
pub trait Outbox: Send + Sync {
    /// Takes notices that are due, the longest due first. No other reader gets them before the
    /// lease ends; until then the caller acknowledges or postpones each of them.
    fn claim_notices(
        &self,
        now_ms: u64,
        lease_ms: u64,
        max: usize,
    ) -> DatabaseFuture<'_, Vec<StoredNotice>>;

    /// Lists all notices, in the order of writing.
    fn list_notices(&self, max: usize) -> DatabaseFuture<'_, Vec<StoredNotice>>;

    /// Records a failed delivery, and the time of the next try: `None` for never.
    fn postpone_notice(&self, id: u64, due_ms: Option<u64>) -> DatabaseFuture<'_, ()>;

    /// Removes notices that were delivered, or that no reader wants. Returns how many were there.
    fn acknowledge_notices<'a>(&'a self, ids: &'a [u64]) -> DatabaseFuture<'a, usize>;
}
