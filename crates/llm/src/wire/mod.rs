//! The three formats: requests into bodies, bodies and streams into responses.
//!
//! Pure: what is sent and received is `client`'s. Each format has a `request`, which writes the
//! body, and a `response`, which reads whole answers and streams with the same words.

mod anthropic;
mod body;
mod gather;
mod gemini;
mod openai;
mod schema;

use bytes::Bytes;
use serde_json::Value;

use crate::fault::Complaint;
use crate::model::{Observer, Request, Response};
use crate::provider::{Format, Provider};
use crate::quirk::{Quirk, Quirks};
use crate::secret::Secret;
use crate::sse;
use crate::usage::Usage;

pub(crate) use body::Draft;

/// One request and how it is to be sent.
pub(crate) struct Plan<'a> {
    pub request: &'a Request,
    pub provider: Provider,
    pub quirks: &'a Quirks,
    pub streamed: bool,
    /// Ask for JSON by a forced tool call rather than by the format's own means.
    pub force_tool: bool,
}

impl Plan<'_> {
    pub(crate) fn has(&self, quirk: Quirk) -> bool {
        self.quirks.contains(&quirk)
    }
}

/// A format of requests and answers.
pub(crate) trait Wire: Send + Sync {
    /// The path below the base URL.
    fn path(&self, plan: &Plan<'_>) -> String;

    /// The body, which takes over what it can from the draft and becomes the next one.
    fn body(&self, plan: &Plan<'_>, draft: &mut Draft) -> serde_json::Result<Bytes>;

    fn reader(&self, plan: &Plan<'_>) -> Box<dyn Reader>;
}

/// Reads one answer, whole or event by event.
pub(crate) trait Reader: Send {
    fn whole(&mut self, body: &Value, observer: &mut dyn Observer) -> Result<(), Misread>;

    fn event(&mut self, event: &sse::Event, observer: &mut dyn Observer) -> Result<Step, Misread>;

    /// The response, if the answer came to its proper end.
    fn finish(self: Box<Self>) -> Result<Response, Misread>;

    /// What the answer is known to have used so far.
    fn usage(&self) -> Usage;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    More,
    /// The format's own last event was read.
    End,
}

/// An answer that is none.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Misread {
    /// The provider reports a failure in place of an answer.
    Complaint(Complaint),
    /// Not JSON.
    Malformed(String),
    /// JSON, but not of this format.
    Shape(String),
    /// It stopped before its end.
    Truncated,
}

impl Misread {
    fn shape(error: serde_json::Error) -> Misread {
        Misread::Shape(error.to_string())
    }
}

pub(crate) fn of(format: Format) -> &'static dyn Wire {
    match format {
        Format::Anthropic => &anthropic::Anthropic,
        Format::OpenAi => &openai::OpenAi,
        Format::Gemini => &gemini::Gemini,
    }
}

/// The headers that carry the key, and whatever else the format wants with every request.
pub(crate) fn headers(format: Format, key: Option<&Secret>) -> Vec<(String, Secret)> {
    let mut headers = Vec::new();
    if format == Format::Anthropic {
        headers.push((
            "anthropic-version".to_owned(),
            Secret::new(anthropic::VERSION),
        ));
    }
    if let Some(key) = key {
        headers.push(match format {
            Format::Anthropic => ("x-api-key".to_owned(), key.clone()),
            Format::OpenAi => (
                "authorization".to_owned(),
                Secret::new(format!("Bearer {}", key.expose())),
            ),
            Format::Gemini => ("x-goog-api-key".to_owned(), key.clone()),
        });
    }
    headers
}

/// The data of an event as JSON; a failure reported in it is a complaint.
fn event_json(event: &sse::Event) -> Result<Value, Misread> {
    let value =
        serde_json::from_str(&event.data).map_err(|error| Misread::Malformed(error.to_string()))?;
    complaint_free(&value)?;
    Ok(value)
}

fn complaint_free(value: &Value) -> Result<(), Misread> {
    Complaint::find(value).map_or(Ok(()), |complaint| Err(Misread::Complaint(complaint)))
}
