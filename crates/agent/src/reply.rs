//! One reply of the model, and what the loop makes of it.

use llm::budget::SpendEntry;
use llm::{ChatMessage, MessagePart, StopReason, ToolCall};
use serde::{Deserialize, Serialize};

/// The model's answer, with the messages sent since the turn before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelReply {
    /// Counts from 1 over the whole conversation.
    pub turn: u32,
    /// The phase of the turn, such as `generate`.
    pub phase: String,
    /// The user's messages that this turn added; none after tool results.
    pub asked: Vec<ChatMessage>,
    /// The assistant's message.
    pub answer: ChatMessage,
    /// Why the model stopped.
    pub stop: StopReason,
    /// The calls it took, failed attempts that were billed included.
    pub calls: Vec<SpendEntry>,
    /// Time the model took. Its name differs from the whole turn's time, which is written next to
    /// it.
    #[serde(rename = "answered_in_ms")]
    pub duration_ms: u64,
}

/// The action a reply calls for. Only this decides how a run continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReplyVerdict {
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

impl ModelReply {
    /// Returns the text without thoughts and tool calls.
    pub fn text(&self) -> String {
        let texts = self.answer.parts.iter().filter_map(|part| match part {
            MessagePart::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// Returns the tool calls, in the order the model made them.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.answer.parts.iter().filter_map(|part| match part {
            MessagePart::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    pub(crate) fn verdict(&self) -> ReplyVerdict {
        let has_calls = self.tool_calls().next().is_some();
        match &self.stop {
            StopReason::MaxTokens => ReplyVerdict::Cut,
            StopReason::Refusal(word) => ReplyVerdict::Refused(word.clone()),
            _ if has_calls => ReplyVerdict::Calls,
            _ if self.is_blank() => ReplyVerdict::Empty,
            _ => ReplyVerdict::Final,
        }
    }

    /// True if the reply holds nothing that a provider would accept back as a message.
    pub(crate) fn is_blank(&self) -> bool {
        let says = |part: &MessagePart| match part {
            MessagePart::Text(text) => !text.trim().is_empty(),
            MessagePart::ToolCall(_) => true,
            MessagePart::Reasoning(_) | MessagePart::ToolResult(_) => false,
        };
        !self.answer.parts.iter().any(says)
    }
}
