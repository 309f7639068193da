//! Events while a question waits for its answer, for people who wait.

use std::time::Duration;

use llm::budget::SpendEntry;

/// Observes, and never decides anything. Texts hold no keys.
pub trait AskObserver: Send {
    /// Returns true if a model's answer should be streamed. A stream also shows early that the
    /// model works: between pieces less silence is allowed than for a whole answer.
    fn wants_stream(&self) -> bool {
        true
    }

    fn notice(&mut self, event: AskEvent<'_>);
}

/// An event for the observer.
#[derive(Debug)]
#[non_exhaustive]
pub enum AskEvent<'a> {
    /// A question is sent to this model or program.
    Asking { whom: &'a str },
    /// A piece of a model's answer, of this many bytes.
    Streamed { bytes: usize },
    /// An attempt failed and is made again after a wait.
    Waiting {
        attempt: u32,
        attempts_max: u32,
        wait: Duration,
        why: &'a str,
    },
    /// A provider failed and another model is asked.
    Fallback {
        from: &'a str,
        to: &'a str,
        why: &'a str,
    },
    /// The reply could not be used, and goes back to its author with the reason.
    Correcting { why: &'a str },
    /// Something was done otherwise than the settings suggest.
    Note(&'a str),
    /// A setting that is allowed but should be changed.
    Warning(&'a str),
    /// A sign of life from a program, as it printed it.
    Progress(&'a str),
    /// Output of a program beside its answer.
    Log(&'a str),
    /// A call was paid for, even if its answer cannot be used.
    Spent(&'a SpendEntry),
}

/// An observer that ignores everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct SilentObserver;

impl AskObserver for SilentObserver {
    fn wants_stream(&self) -> bool {
        false
    }

    fn notice(&mut self, _event: AskEvent<'_>) {}
}
