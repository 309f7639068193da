//! The outbox as its readers see it: notices that wait for delivery, whatever engine keeps them.
//!
//! A notice is written in the transaction that it tells of, and stays until a reader has delivered it or
//! its run is deleted. A reader that dies between the two delivers again: at least once, never lost.

use flow::engine::Notice;

use crate::record::Kept;

/// A notice that waits.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptNotice {
    /// Its number; a notice that is delivered again has the same.
    pub id: u64,
    /// How often delivering it has failed.
    pub tries: u64,
    /// When it is tried next, in milliseconds since 1970; `None` if it is not tried any more.
    pub due_ms: Option<u64>,
    /// What it says.
    pub notice: Notice,
}

/// The port behind which notices wait.
pub trait Outbox: Send + Sync {
    /// Takes notices that are due, those that are due for longest first. Nobody else gets them before
    /// the lease has ended: whoever takes them acknowledges or postpones each before that.
    fn claim_notices(&self, now_ms: u64, lease_ms: u64, max: usize) -> Kept<'_, Vec<KeptNotice>>;

    /// All notices, in the order in which they were written.
    fn list_notices(&self, max: usize) -> Kept<'_, Vec<KeptNotice>>;

    /// Notes that delivering a notice has failed, and when it is tried next: `None` for never.
    fn postpone_notice(&self, id: u64, due_ms: Option<u64>) -> Kept<'_, ()>;

    /// Removes notices that were delivered, or that nobody wants.
    fn acknowledge_notices<'a>(&'a self, ids: &'a [u64]) -> Kept<'a, ()>;
}
