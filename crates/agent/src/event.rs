//! What whoever watches a run is told, ready to be shown or written as JSON lines.

use serde::Serialize;

use crate::error::Kind;
use crate::spending::Totals;
use crate::tool::Deed;
use llm::{Cost, Outcome, Usage};

/// Watches a run: progress for people, never a place to decide anything.
pub trait Observer: Send {
    /// Whether pieces of text are wanted as they come. Decides if the wire streams.
    fn wants_stream(&self) -> bool {
        true
    }

    /// Told as it happens. Must not block: the run waits for it.
    fn notice(&mut self, event: &Event<'_>);
}

/// An observer that looks away.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Observer for Nobody {
    fn wants_stream(&self) -> bool {
        false
    }

    fn notice(&mut self, _event: &Event<'_>) {}
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event<'a> {
    /// The model is asked.
    TurnStarted { turn: u32, phase: &'a str },
    /// A turn that a crash had interrupted is gone on with.
    TurnResumed { turn: u32, phase: &'a str },
    /// A piece of the reply's text.
    Text { text: &'a str },
    /// A piece of what the model thinks aloud.
    Reasoning { text: &'a str },
    /// The model began to write a tool call.
    ToolAnnounced { name: &'a str },
    /// The attempt failed and is made again; pieces shown of this turn are void.
    Waiting {
        attempt: u32,
        attempts_max: u32,
        wait_ms: u64,
        why: String,
    },
    /// Another model is asked; pieces shown of this turn are void.
    Fallback {
        from: &'a str,
        to: &'a str,
        why: String,
    },
    /// The request is sent again without something the provider does not take.
    Adapted { without: &'a str },
    /// A call was paid for.
    Spent {
        usage: Usage,
        cost: Cost,
        totals: &'a Totals,
    },
    /// A tool call begins.
    ToolStarted {
        turn: u32,
        id: &'a str,
        name: &'a str,
        arguments: &'a str,
    },
    /// A tool read, wrote or ran something.
    Did { turn: u32, deed: &'a Deed },
    /// A line that a running command printed.
    CommandLine { stream: &'a str, line: &'a str },
    /// A tool call ended; a failure carries what the model is told.
    ToolFinished {
        turn: u32,
        id: &'a str,
        name: &'a str,
        outcome: Outcome,
        #[serde(skip_serializing_if = "Option::is_none")]
        failure: Option<&'a str>,
    },
    /// The model is told something by the loop itself.
    Told { turn: u32, text: &'a str },
    /// A turn is stored.
    Committed { turn: u32, totals: &'a Totals },
    /// The model answered without calling a tool.
    Finished { text: &'a str, totals: &'a Totals },
    /// The run ended before the model was done.
    Stopped {
        kind: Kind,
        message: &'a str,
        totals: &'a Totals,
    },
}
