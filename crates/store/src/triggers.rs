//! The state of triggers, whatever engine stores it: each change starts a run once, however many
//! processes watch.

use crate::record::DatabaseFuture;

/// The port to the state of triggers.
pub trait TriggerMemory: Send + Sync {
    /// Returns what a trigger has seen last; `None` before its first look.
    fn seen<'a>(&'a self, name: &'a str) -> DatabaseFuture<'a, Option<String>>;

    /// Stores what a trigger sees now, if the stored state is still `before`, and tells whether it
    /// was.
    fn note_seen<'a>(
        &'a self,
        name: &'a str,
        before: Option<&'a str>,
        now: &'a str,
    ) -> DatabaseFuture<'a, bool>;
}
