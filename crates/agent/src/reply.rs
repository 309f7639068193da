//! One reply of the model, and what the loop makes of it.

use llm::budget::Entry;
use llm::{Message, Part, Stop, ToolCall};
use serde::{Deserialize, Serialize};

/// What the model answered, with what it had been asked since the turn before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// Counts from 1 over the whole conversation.
    pub turn: u32,
    /// What the turn was for, such as `generate`.
    pub phase: String,
    /// The user's messages that this turn added; none after tool results.
    pub asked: Vec<Message>,
    /// The assistant's message.
    pub answer: Message,
    /// Why the model stopped.
    pub stop: Stop,
    /// The calls it took, failed attempts that were billed included.
    pub calls: Vec<Entry>,
    /// How long the model took. Named apart from the whole turn's time, which is written beside it.
    #[serde(rename = "answered_in_ms")]
    pub duration_ms: u64,
}

/// What is to be done about a reply. Nothing but this decides how a run goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The model is done.
    Final,
    /// It wants tools.
    Calls,
    /// It was cut off; what it wants is not known in full.
    Cut,
    /// It said nothing.
    Empty,
    /// It will not.
    Refused(String),
}

impl Reply {
    /// The text without thoughts and tool calls.
    pub fn text(&self) -> String {
        let texts = self.answer.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// The tool calls, in the order the model made them.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.answer.parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    pub(crate) fn verdict(&self) -> Verdict {
        let has_calls = self.tool_calls().next().is_some();
        match &self.stop {
            Stop::MaxTokens => Verdict::Cut,
            Stop::Refusal(word) => Verdict::Refused(word.clone()),
            _ if has_calls => Verdict::Calls,
            _ if self.is_blank() => Verdict::Empty,
            _ => Verdict::Final,
        }
    }

    /// Whether there is nothing in it that a provider would take back as a message.
    pub(crate) fn is_blank(&self) -> bool {
        let says = |part: &Part| match part {
            Part::Text(text) => !text.trim().is_empty(),
            Part::ToolCall(_) => true,
            Part::Reasoning(_) | Part::ToolResult(_) => false,
        };
        !self.answer.parts.iter().any(says)
    }
}
