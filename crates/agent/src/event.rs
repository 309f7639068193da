//! Events of a run, ready to be shown or written as JSON lines.

use serde::Serialize;

use crate::error::AgentErrorKind;
use crate::spending::ConversationTotals;
use crate::tool::ToolAction;
use llm::{CallCost, ToolOutcome, Usage};

/// Watches a run: progress for people, never a place to decide anything.
pub trait AgentObserver: Send {
    /// True if the observer wants pieces of text as they arrive. Decides if the wire streams.
    fn wants_stream(&self) -> bool {
        true
    }

    /// Receives each event as it happens. Must not block: the run waits for it.
    fn notice(&mut self, event: &AgentEvent<'_>);
}

/// An observer that looks away.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoAgentObserver;

impl AgentObserver for NoAgentObserver {
    fn wants_stream(&self) -> bool {
        false
    }

    fn notice(&mut self, _event: &AgentEvent<'_>) {}
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum AgentEvent<'a> {
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
        cost: CallCost,
        totals: &'a ConversationTotals,
    },
    /// A tool call begins.
    ToolStarted {
        turn: u32,
        id: &'a str,
        name: &'a str,
        arguments: &'a str,
    },
    /// A tool read, wrote or ran something.
    Did { turn: u32, deed: &'a ToolAction },
    /// A line that a running command printed.
    CommandLine { stream: &'a str, line: &'a str },
    /// A tool call ended; a failure carries the value sent to the model.
    ToolFinished {
        turn: u32,
        id: &'a str,
        name: &'a str,
        outcome: ToolOutcome,
        #[serde(skip_serializing_if = "Option::is_none")]
        failure: Option<&'a str>,
    },
    /// The loop itself sent the model a message.
    Told { turn: u32, text: &'a str },
    /// A turn is stored.
    Committed {
        turn: u32,
        totals: &'a ConversationTotals,
    },
    /// The model answered without calling a tool.
    Finished {
        text: &'a str,
        totals: &'a ConversationTotals,
    },
    /// The run ended before the model was done.
    Stopped {
        kind: AgentErrorKind,
        message: &'a str,
        totals: &'a ConversationTotals,
    },
}
