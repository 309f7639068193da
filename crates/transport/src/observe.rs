//! What happens while a question is out, for people who wait.

use std::time::Duration;

use llm::budget::Entry;

/// Watches; never a place to decide anything. Texts hold no keys.
pub trait Observer: Send {
    /// Whether a model's answer shall come in pieces. A stream also shows early that somebody is
    /// there: between pieces less silence is allowed than for a whole answer.
    fn wants_stream(&self) -> bool {
        true
    }

    fn notice(&mut self, event: Event<'_>);
}

/// What an observer may be told.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A question goes out to this model or program.
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
    /// The reply could not be used, and its author is told why.
    Correcting { why: &'a str },
    /// Something was done otherwise than the settings suggest.
    Note(&'a str),
    /// What the settings allow but should say otherwise.
    Warning(&'a str),
    /// A sign of life from a program, in its own words.
    Progress(&'a str),
    /// What a program said beside its answer.
    Log(&'a str),
    /// A call was paid for, also when its answer is of no use.
    Spent(&'a Entry),
}

/// An observer that wants nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn wants_stream(&self) -> bool {
        false
    }

    fn notice(&mut self, _event: Event<'_>) {}
}
