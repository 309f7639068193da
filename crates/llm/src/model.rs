//! The one trait, and what goes in and comes out of it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::budget::Entry;
use crate::error::Error;
use crate::provider::{Format, Provider};
use crate::usage::Usage;

/// An answer under way. Boxed, so that models can be kept as `dyn Model`.
pub type Pending<'a> = Pin<Box<dyn Future<Output = Result<Response, Error>> + Send + 'a>>;

/// Something that answers requests.
pub trait Model: Send + Sync {
    /// Answers one request; what happens on the way goes to the observer.
    fn respond<'a>(&'a self, request: &'a Request, observer: &'a mut dyn Observer) -> Pending<'a>;
}

impl<M: Model + ?Sized> Model for Arc<M> {
    fn respond<'a>(&'a self, request: &'a Request, observer: &'a mut dyn Observer) -> Pending<'a> {
        (**self).respond(request, observer)
    }
}

/// Watches a call: progress for people, never a place to decide anything.
pub trait Observer: Send {
    /// Whether pieces of the answer are wanted as they come. Decides if the wire streams.
    fn wants_stream(&self) -> bool {
        true
    }

    fn notice(&mut self, event: Event<'_>);
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

/// What an observer may be told.
#[derive(Debug)]
pub enum Event<'a> {
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
    /// A call was counted, also one that failed and was billed. Told by `budget::Metered`, so
    /// that whoever made the request knows what it took even if others share the meter.
    Counted(&'a Entry),
}

/// What a model is asked. Holds no keys: it may be stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    pub model: String,
    /// Stable text first, so that providers can cache it.
    pub system: Vec<Block>,
    pub messages: Vec<Message>,
    pub tools: Vec<Tool>,
    pub tool_choice: ToolChoice,
    pub output: Output,
    /// The longest answer wanted; an answer that reaches it ends in [`Stop::MaxTokens`].
    pub max_tokens: u32,
    pub temperature: Option<f64>,
    pub stop: Vec<String>,
}

impl Request {
    /// The longest answer asked for unless the caller says otherwise.
    pub const MAX_TOKENS_DEFAULT: u32 = 8_192;

    /// One user message and no tools.
    pub fn ask(model: impl Into<String>, text: impl Into<String>) -> Request {
        Request {
            model: model.into(),
            system: Vec::new(),
            messages: vec![Message::user(text)],
            tools: Vec::new(),
            tool_choice: ToolChoice::Auto,
            output: Output::Text,
            max_tokens: Request::MAX_TOKENS_DEFAULT,
            temperature: None,
            stop: Vec::new(),
        }
    }
}

/// A piece of the system prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    pub text: String,
    pub cache: Cache,
}

impl Block {
    pub fn text(text: impl Into<String>) -> Block {
        Block {
            text: text.into(),
            cache: Cache::Off,
        }
    }

    /// Text that stays the same over many requests, up to and including this block.
    pub fn stable(text: impl Into<String>) -> Block {
        Block {
            text: text.into(),
            cache: Cache::UpToHere,
        }
    }
}

/// Whether the provider should keep the prefix that ends here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cache {
    #[default]
    Off,
    UpToHere,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    pub role: Role,
    pub parts: Vec<Part>,
    #[serde(default)]
    pub cache: Cache,
}

impl Message {
    pub fn user(text: impl Into<String>) -> Message {
        Message {
            role: Role::User,
            parts: vec![Part::Text(text.into())],
            cache: Cache::Off,
        }
    }

    pub fn assistant(text: impl Into<String>) -> Message {
        Message {
            role: Role::Assistant,
            parts: vec![Part::Text(text.into())],
            cache: Cache::Off,
        }
    }

    /// The results of the tool calls of the message before.
    pub fn results(results: Vec<ToolResult>) -> Message {
        let parts = results.into_iter().map(Part::ToolResult).collect();
        Message {
            role: Role::User,
            parts,
            cache: Cache::Off,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    User,
    Assistant,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    Text(String),
    Reasoning(Reasoning),
    ToolCall(ToolCall),
    ToolResult(ToolResult),
}

impl Part {
    /// How long its text is.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Part::Text(text) => text.len(),
            Part::Reasoning(reasoning) => reasoning.text.len(),
            Part::ToolCall(call) => call.name.len() + call.arguments.raw().len(),
            Part::ToolResult(result) => result.content.len(),
        }
    }
}

/// What the model thought. Some providers want it back, unchanged, in the next request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reasoning {
    pub text: String,
    /// The provider's own block, sent back only to the format it came from.
    pub block: Option<(Format, Value)>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    pub arguments: Arguments,
    /// Gemini's proof of its thoughts, which it wants back with the call.
    pub signature: Option<String>,
}

/// Tool arguments: the text the model wrote, and what it says if it is a JSON object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Arguments {
    raw: String,
    value: Result<Map<String, Value>, String>,
}

impl Arguments {
    /// Reads the model's text; no text at all means no arguments.
    pub fn read(raw: impl Into<String>) -> Arguments {
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
        Arguments { raw, value }
    }

    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// The arguments, or a sentence for the model that says what is wrong with them.
    pub fn value(&self) -> Result<&Map<String, Value>, &str> {
        self.value.as_ref().map_err(String::as_str)
    }

    /// An object in any case: providers refuse a history with malformed arguments in it.
    pub(crate) fn as_object(&self) -> Map<String, Value> {
        match &self.value {
            Ok(fields) => fields.clone(),
            Err(_) => Map::from_iter([("malformed".to_owned(), Value::String(self.raw.clone()))]),
        }
    }
}

impl From<String> for Arguments {
    fn from(raw: String) -> Self {
        Arguments::read(raw)
    }
}

impl From<Arguments> for String {
    fn from(arguments: Arguments) -> Self {
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
    pub outcome: Outcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Done,
    Failed,
}

/// A tool the model may call; `schema` is the JSON Schema of its arguments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tool {
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
pub enum Output {
    #[default]
    Text,
    /// A JSON text that fits the schema, by the provider's own means where it has them. The
    /// prompt has to ask for JSON all the same: not every provider can be held to it.
    Json { name: String, schema: Value },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Response {
    pub parts: Vec<Part>,
    pub stop: Stop,
    pub usage: Usage,
    /// What the provider itself says the call cost, in millionths of a dollar.
    pub billed_micro_usd: Option<u64>,
    pub provider: Provider,
    /// The model as the provider names it, which may be more exact than the one asked for.
    pub model: String,
    pub id: Option<String>,
}

impl Response {
    /// The answer's text without thoughts and tool calls.
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// The answer as the next message of the conversation.
    pub fn into_message(self) -> Message {
        Message {
            role: Role::Assistant,
            parts: self.parts,
            cache: Cache::Off,
        }
    }
}

/// Why the model stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
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
    use super::{Arguments, Part, ToolCall};

    #[test]
    fn malformed_arguments_are_kept_with_a_sentence_about_them() {
        let whole = Arguments::read(r#"{"path":"a"}"#);
        assert_eq!(whole.value().unwrap()["path"], "a");
        assert_eq!(Arguments::read("").value().unwrap().len(), 0);

        let cut = Arguments::read(r#"{"path":"a"#);
        assert!(
            cut.value()
                .unwrap_err()
                .starts_with("the arguments are not JSON")
        );
        assert_eq!(cut.raw(), r#"{"path":"a"#);
        assert_eq!(cut.as_object()["malformed"], r#"{"path":"a"#);
        assert!(
            Arguments::read("[1]")
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
            arguments: Arguments::read("{ \"a\" :1"),
            signature: None,
        };
        let text = serde_json::to_string(&Part::ToolCall(call.clone())).unwrap();
        assert!(text.contains(r#""{ \"a\" :1""#), "{text}");
        assert_eq!(
            serde_json::from_str::<Part>(&text).unwrap(),
            Part::ToolCall(call)
        );
    }
}
