//! The one trait, and what goes in and comes out of it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::budget::SpendEntry;
use crate::error::Error;
use crate::provider::{Provider, WireFormat};
use crate::usage::Usage;

/// An answer under way. Boxed, so that models can be kept as `dyn Model`.
pub type ModelFuture<'a> = Pin<Box<dyn Future<Output = Result<ModelResponse, Error>> + Send + 'a>>;

/// Something that answers requests.
pub trait Model: Send + Sync {
    /// Answers one request; what happens on the way goes to the observer.
    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        observer: &'a mut dyn ModelObserver,
    ) -> ModelFuture<'a>;
}

impl<M: Model + ?Sized> Model for Arc<M> {
    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        observer: &'a mut dyn ModelObserver,
    ) -> ModelFuture<'a> {
        (**self).respond(request, observer)
    }
}

/// Watches a call: progress for people, never a place to decide anything.
pub trait ModelObserver: Send {
    /// True if the observer wants pieces of the answer as they arrive. Decides if the wire streams.
    fn wants_stream(&self) -> bool {
        true
    }

    fn notice(&mut self, event: ModelEvent<'_>);
}

/// An observer that wants nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoModelObserver;

impl ModelObserver for NoModelObserver {
    fn wants_stream(&self) -> bool {
        false
    }

    fn notice(&mut self, _event: ModelEvent<'_>) {}
}

/// Progress of a call, for an observer.
#[derive(Debug)]
pub enum ModelEvent<'a> {
    /// A piece of the answer's text.
    Text(&'a str),
    /// A piece of what the model thinks aloud.
    Reasoning(&'a str),
    /// The model began to call a tool.
    ToolCall { name: &'a str },
    /// A piece of the arguments of the tool call that began last.
    ToolArguments(&'a str),
    /// The attempt failed and is made again; pieces shown so far are void.
    Waiting {
        attempt: u32,
        attempts_max: u32,
        wait: Duration,
        error: &'a Error,
    },
    /// The provider refused an optional part of the request, which is sent again without it.
    Adapted { without: &'static str },
    /// The provider failed for good and another model is asked; pieces shown so far are void.
    Fallback {
        from: &'a str,
        to: &'a str,
        error: &'a Error,
    },
    /// A call was counted, also one that failed and was billed. `budget::MeteredModel` sends it, so that
    /// the caller knows the cost of its own request even if others share the meter.
    Counted(&'a SpendEntry),
}

/// A request to a model. It holds no keys, so it may be stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelRequest {
    pub model: String,
    /// Stable text first, so that providers can cache it.
    pub system: Vec<SystemBlock>,
    pub messages: Vec<ChatMessage>,
    pub tools: Vec<ToolDeclaration>,
    pub tool_choice: ToolChoice,
    pub output: ResponseFormat,
    /// The longest answer wanted; an answer that reaches it ends in [`StopReason::MaxTokens`].
    pub max_tokens: u32,
    pub temperature: Option<f64>,
    pub stop: Vec<String>,
}

impl ModelRequest {
    /// The longest answer asked for unless the caller says otherwise.
    pub const MAX_TOKENS_DEFAULT: u32 = 8_192;

    /// Makes a request of one user message and no tools.
    pub fn ask(model: impl Into<String>, text: impl Into<String>) -> ModelRequest {
        ModelRequest {
            model: model.into(),
            system: Vec::new(),
            messages: vec![ChatMessage::user(text)],
            tools: Vec::new(),
            tool_choice: ToolChoice::Auto,
            output: ResponseFormat::Text,
            max_tokens: ModelRequest::MAX_TOKENS_DEFAULT,
            temperature: None,
            stop: Vec::new(),
        }
    }
}

/// A piece of the system prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemBlock {
    pub text: String,
    pub cache: CacheControl,
}

impl SystemBlock {
    pub fn text(text: impl Into<String>) -> SystemBlock {
        SystemBlock {
            text: text.into(),
            cache: CacheControl::Off,
        }
    }

    /// Makes a block of text that stays the same over many requests, up to and including this
    /// block.
    pub fn stable(text: impl Into<String>) -> SystemBlock {
        SystemBlock {
            text: text.into(),
            cache: CacheControl::UpToHere,
        }
    }
}

/// Asks the provider to cache the prefix that ends here, or not to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheControl {
    #[default]
    Off,
    UpToHere,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChatMessage {
    pub role: ChatRole,
    pub parts: Vec<MessagePart>,
    #[serde(default)]
    pub cache: CacheControl,
}

impl ChatMessage {
    pub fn user(text: impl Into<String>) -> ChatMessage {
        ChatMessage {
            role: ChatRole::User,
            parts: vec![MessagePart::Text(text.into())],
            cache: CacheControl::Off,
        }
    }

    pub fn assistant(text: impl Into<String>) -> ChatMessage {
        ChatMessage {
            role: ChatRole::Assistant,
            parts: vec![MessagePart::Text(text.into())],
            cache: CacheControl::Off,
        }
    }

    /// Makes the message with the results of the tool calls before.
    pub fn results(results: Vec<ToolResult>) -> ChatMessage {
        let parts = results.into_iter().map(MessagePart::ToolResult).collect();
        ChatMessage {
            role: ChatRole::User,
            parts,
            cache: CacheControl::Off,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatRole {
    User,
    Assistant,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessagePart {
    Text(String),
    Reasoning(ReasoningPart),
    ToolCall(ToolCall),
    ToolResult(ToolResult),
}

impl MessagePart {
    /// Returns the length of its text.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            MessagePart::Text(text) => text.len(),
            MessagePart::Reasoning(reasoning) => reasoning.text.len(),
            MessagePart::ToolCall(call) => call.name.len() + call.arguments.raw().len(),
            MessagePart::ToolResult(result) => result.content.len(),
        }
    }
}

/// The model's reasoning. Some providers want it back, unchanged, in the next request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReasoningPart {
    pub text: String,
    /// The provider's own block, sent back only to the format it came from.
    pub block: Option<(WireFormat, Value)>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    pub arguments: ToolArguments,
    /// Gemini's proof of its thoughts, which it wants back with the call.
    pub signature: Option<String>,
}

/// Tool arguments: the text the model wrote, and what it says if it is a JSON object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct ToolArguments {
    raw: String,
    value: Result<Map<String, Value>, String>,
}

impl ToolArguments {
    /// Reads the model's text; no text at all means no arguments.
    pub fn read(raw: impl Into<String>) -> ToolArguments {
        let raw = raw.into();
        let value = if raw.trim().is_empty() {
            Ok(Map::new())
        } else {
            match serde_json::from_str::<Value>(&raw) {
                Ok(Value::Object(fields)) => Ok(fields),
                Ok(_) => Err("the arguments are JSON but not an object".to_owned()),
                Err(error) => Err(format!("the arguments are not JSON: {error}")),
            }
        };
        ToolArguments { raw, value }
    }

    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// Returns the arguments, or a sentence for the model that says what is wrong with them.
    pub fn value(&self) -> Result<&Map<String, Value>, &str> {
        self.value.as_ref().map_err(String::as_str)
    }

    /// Returns an object in any case: providers refuse a history with malformed arguments in it.
    pub(crate) fn as_object(&self) -> Map<String, Value> {
        match &self.value {
            Ok(fields) => fields.clone(),
            Err(_) => Map::from_iter([("malformed".to_owned(), Value::String(self.raw.clone()))]),
        }
    }
}

impl From<String> for ToolArguments {
    fn from(raw: String) -> Self {
        ToolArguments::read(raw)
    }
}

impl From<ToolArguments> for String {
    fn from(arguments: ToolArguments) -> Self {
        arguments.raw
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the call it answers.
    pub id: String,
    /// The tool's name, which some formats want again.
    pub name: String,
    pub content: String,
    pub outcome: ToolOutcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolOutcome {
    Done,
    Failed,
}

/// A tool the model may call; `schema` is the JSON Schema of its arguments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolDeclaration {
    pub name: String,
    pub description: String,
    pub schema: Value,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    #[default]
    Auto,
    /// Tools are shown but may not be called.
    Never,
    /// Some tool must be called.
    Any,
    Named(String),
}

/// The form of the answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseFormat {
    #[default]
    Text,
    /// A JSON text that fits the schema, by the provider's own means where it has them. The
    /// prompt has to ask for JSON all the same: not every provider can be held to it.
    Json { name: String, schema: Value },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelResponse {
    pub parts: Vec<MessagePart>,
    pub stop: StopReason,
    pub usage: Usage,
    /// Cost of the call as the provider reports it, in millionths of a dollar.
    pub billed_micro_usd: Option<u64>,
    pub provider: Provider,
    /// The model as the provider names it, which may be more exact than the one asked for.
    pub model: String,
    pub id: Option<String>,
}

impl ModelResponse {
    /// Returns the answer's text without thoughts and tool calls.
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            MessagePart::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            MessagePart::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// Turns the answer into the next message of the conversation.
    pub fn into_message(self) -> ChatMessage {
        ChatMessage {
            role: ChatRole::Assistant,
            parts: self.parts,
            cache: CacheControl::Off,
        }
    }
}

/// Why the model stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    EndTurn,
    ToolUse,
    /// The answer is cut short; its last part may be incomplete.
    MaxTokens,
    StopSequence,
    /// The model or the provider's filter refused; the provider's word for it.
    Refusal(String),
    Other(String),
}

#[cfg(test)]
mod tests {
    use super::{MessagePart, ToolArguments, ToolCall};

    #[test]
    fn malformed_arguments_are_kept_with_a_sentence_about_them() {
        let whole = ToolArguments::read(r#"{"path":"a"}"#);
        assert_eq!(whole.value().unwrap()["path"], "a");
        assert_eq!(ToolArguments::read("").value().unwrap().len(), 0);

        let cut = ToolArguments::read(r#"{"path":"a"#);
        assert!(
            cut.value()
                .unwrap_err()
                .starts_with("the arguments are not JSON")
        );
        assert_eq!(cut.raw(), r#"{"path":"a"#);
        assert_eq!(cut.as_object()["malformed"], r#"{"path":"a"#);
        assert!(
            ToolArguments::read("[1]")
                .value()
                .unwrap_err()
                .contains("not an object")
        );
    }

    #[test]
    fn arguments_are_stored_as_the_model_wrote_them() {
        let call = ToolCall {
            id: "1".into(),
            name: "read_file".into(),
            arguments: ToolArguments::read("{ \"a\" :1"),
            signature: None,
        };
        let text = serde_json::to_string(&MessagePart::ToolCall(call.clone())).unwrap();
        assert!(text.contains(r#""{ \"a\" :1""#), "{text}");
        assert_eq!(
            serde_json::from_str::<MessagePart>(&text).unwrap(),
            MessagePart::ToolCall(call)
        );
    }
}
