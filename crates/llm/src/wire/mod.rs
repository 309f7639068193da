//! The three formats: requests into bodies, bodies and streams into responses.
//!
//! Pure: `client` sends and receives. Each format has a `request`, which writes the
//! body, and a `response`, which reads whole answers and streams with the same words.

mod anthropic;
mod body_cache;
mod gemini;
mod openai;
mod response_builder;
mod schema;

use bytes::Bytes;
use serde_json::Value;

use crate::model::{ModelObserver, ModelRequest, ModelResponse};
use crate::provider::{Provider, WireFormat};
use crate::provider_error::ProviderError;
use crate::quirk::{Quirk, QuirkSet};
use crate::secret::Secret;
use crate::sse;
use crate::usage::Usage;

pub(crate) use body_cache::BodyCache;

/// One request and how it is to be sent.
pub(crate) struct WireRequest<'a> {
    pub request: &'a ModelRequest,
    pub provider: Provider,
    pub quirks: &'a QuirkSet,
    pub streamed: bool,
    /// Ask for JSON by a forced tool call rather than by the format's own means.
    pub force_tool: bool,
}

impl WireRequest<'_> {
    pub(crate) fn has(&self, quirk: Quirk) -> bool {
        self.quirks.contains(&quirk)
    }
}

/// A format of requests and answers.
pub(crate) trait WireCodec: Send + Sync {
    /// Returns the path below the base URL.
    fn path(&self, plan: &WireRequest<'_>) -> String;

    /// Writes the body, which reuses what it can of the draft and becomes the next one.
    fn body(&self, plan: &WireRequest<'_>, draft: &mut BodyCache) -> serde_json::Result<Bytes>;

    fn reader(&self, plan: &WireRequest<'_>) -> Box<dyn ResponseReader>;
}

/// Reads one answer, whole or event by event.
pub(crate) trait ResponseReader: Send {
    fn whole(
        &mut self,
        body: &Value,
        observer: &mut dyn ModelObserver,
    ) -> Result<(), ResponseError>;

    fn event(
        &mut self,
        event: &sse::SseEvent,
        observer: &mut dyn ModelObserver,
    ) -> Result<StreamStep, ResponseError>;

    /// Returns the response, if the answer is complete.
    fn finish(self: Box<Self>) -> Result<ModelResponse, ResponseError>;

    /// Returns the usage reported so far.
    fn usage(&self) -> Usage;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamStep {
    More,
    /// The format's own last event was read.
    End,
}

/// An answer that could not be read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ResponseError {
    /// The provider reports a failure in place of an answer.
    Complaint(ProviderError),
    /// Not JSON.
    Malformed(String),
    /// JSON, but not of this format.
    Shape(String),
    /// It stopped before its end.
    Truncated,
}

impl ResponseError {
    fn shape(error: serde_json::Error) -> ResponseError {
        ResponseError::Shape(error.to_string())
    }
}

pub(crate) fn of(format: WireFormat) -> &'static dyn WireCodec {
    match format {
        WireFormat::Anthropic => &anthropic::AnthropicCodec,
        WireFormat::OpenAi => &openai::OpenAiCodec,
        WireFormat::Gemini => &gemini::GeminiCodec,
    }
}

/// Returns the headers that carry the key, and the others that the format wants with every request.
pub(crate) fn headers(format: WireFormat, key: Option<&Secret>) -> Vec<(String, Secret)> {
    let mut headers = Vec::new();
    if format == WireFormat::Anthropic {
        headers.push((
            "anthropic-version".to_owned(),
            Secret::new(anthropic::VERSION),
        ));
    }
    if let Some(key) = key {
        headers.push(match format {
            WireFormat::Anthropic => ("x-api-key".to_owned(), key.clone()),
            WireFormat::OpenAi => (
                "authorization".to_owned(),
                Secret::new(format!("Bearer {}", key.expose())),
            ),
            WireFormat::Gemini => ("x-goog-api-key".to_owned(), key.clone()),
        });
    }
    headers
}

/// Parses the data of an event as JSON; a failure reported in it is a complaint.
fn event_json(event: &sse::SseEvent) -> Result<Value, ResponseError> {
    let value = serde_json::from_str(&event.data)
        .map_err(|error| ResponseError::Malformed(error.to_string()))?;
    complaint_free(&value)?;
    Ok(value)
}

fn complaint_free(value: &Value) -> Result<(), ResponseError> {
    ProviderError::find(value).map_or(Ok(()), |complaint| Err(ResponseError::Complaint(complaint)))
}
