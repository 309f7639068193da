//! Records calls and plays them back, so that any run can be repeated offline.
//!
//! A call is found again by what was asked: the hash of the request, which holds no keys and no
//! times. Asked the same thing twice, a run gets the second answer the second time.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::error::{AiErrorCode, Error, Result};
use crate::model::{
    MessagePart, Model, ModelEvent, ModelFuture, ModelObserver, ModelRequest, ModelResponse,
};
use crate::secret::{Secret, scrub};

/// Storage of recordings; the caller owns the files.
pub trait Tape: Send + Sync {
    /// Returns the text stored under a name, if there is one.
    fn get(&self, name: &str) -> std::result::Result<Option<String>, String>;

    /// Stores a text under a name such as `4f…e1` or `4f…e1-2`.
    fn put(&self, name: &str, text: &str) -> std::result::Result<(), String>;
}

/// A call as it is stored.
#[derive(Debug, Serialize, Deserialize)]
struct CallRecording {
    format: u32,
    request: ModelRequest,
    response: ModelResponse,
}

const FORMAT: u32 = 1;

/// Returns the name a request is stored under: the hash of its JSON with sorted keys.
pub fn name(request: &ModelRequest) -> Result<String> {
    let value = serde_json::to_value(request).map_err(|error| {
        Error::new(
            AiErrorCode::TransportFailed,
            format!("the request cannot be written as JSON: {error}"),
            "Report this.",
        )
    })?;
    let text = canonical(&value).to_string();
    let digest = Sha256::digest(text.as_bytes());
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Sorted keys: maps that come from settings or schemas may be in any order.
fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut sorted: Vec<_> = fields.iter().collect();
            sorted.sort_by_key(|(key, _)| *key);
            Value::Object(
                sorted
                    .into_iter()
                    .map(|(key, value)| (key.clone(), canonical(value)))
                    .collect::<Map<_, _>>(),
            )
        }
        Value::Array(all) => Value::Array(all.iter().map(canonical).collect()),
        other => other.clone(),
    }
}

/// Counts how often each request was made in this run.
#[derive(Default)]
struct ReplayCounts(Mutex<HashMap<String, u32>>);

impl ReplayCounts {
    fn next(&self, name: &str) -> u32 {
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let turn = turns.entry(name.to_owned()).or_insert(0);
        *turn += 1;
        *turn
    }
}

fn numbered(name: &str, turn: u32) -> String {
    if turn == 1 {
        name.to_owned()
    } else {
        format!("{name}-{turn}")
    }
}

/// A model whose answers are recorded.
pub struct RecordingModel<M, T> {
    inner: M,
    tape: T,
    secrets: Vec<Secret>,
    turns: ReplayCounts,
}

impl<M: Model, T: Tape> RecordingModel<M, T> {
    /// Wraps a model; `secrets` are removed from recordings, should a prompt or an answer quote
    /// them.
    pub fn new(inner: M, tape: T, secrets: Vec<Secret>) -> RecordingModel<M, T> {
        RecordingModel {
            inner,
            tape,
            secrets,
            turns: ReplayCounts::default(),
        }
    }

    async fn answer(
        &self,
        request: &ModelRequest,
        observer: &mut dyn ModelObserver,
    ) -> Result<ModelResponse> {
        let name = name(request)?;
        let name = numbered(&name, self.turns.next(&name));
        let response = self.inner.respond(request, observer).await?;
        let recording = CallRecording {
            format: FORMAT,
            request: request.clone(),
            response,
        };
        let text = serde_json::to_string_pretty(&recording)
            .map_err(|error| not_stored(&name, &error.to_string()))?;
        self.tape
            .put(&name, &scrub(&text, &self.secrets))
            .map_err(|why| not_stored(&name, &why))?;
        Ok(recording.response)
    }
}

fn not_stored(name: &str, why: &str) -> Error {
    let what = format!("the recording {name} could not be stored: {why}");
    Error::new(
        AiErrorCode::TransportFailed,
        what,
        "Check the folder given to --record.",
    )
}

impl<M: Model, T: Tape> Model for RecordingModel<M, T> {
    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        observer: &'a mut dyn ModelObserver,
    ) -> ModelFuture<'a> {
        Box::pin(self.answer(request, observer))
    }
}

/// A model that answers from recordings and never asks anyone.
pub struct ReplayModel<T> {
    tape: T,
    turns: ReplayCounts,
}

impl<T: Tape> ReplayModel<T> {
    pub fn new(tape: T) -> ReplayModel<T> {
        ReplayModel {
            tape,
            turns: ReplayCounts::default(),
        }
    }

    fn answer(
        &self,
        request: &ModelRequest,
        observer: &mut dyn ModelObserver,
    ) -> Result<ModelResponse> {
        let name = name(request)?;
        let turn = self.turns.next(&name);
        // Asked more often than was recorded: repeat the last answer.
        let text = (1..=turn)
            .rev()
            .find_map(|turn| self.tape.get(&numbered(&name, turn)).transpose());
        let text = match text {
            Some(Ok(text)) => text,
            Some(Err(why)) => return Err(unreadable(&name, &why)),
            None => return Err(missing(request, &name)),
        };
        let recording: CallRecording =
            serde_json::from_str(&text).map_err(|error| unreadable(&name, &error.to_string()))?;
        if recording.format != FORMAT {
            return Err(unreadable(
                &name,
                &format!("its format is {}, not {FORMAT}", recording.format),
            ));
        }
        for part in &recording.response.parts {
            match part {
                MessagePart::Text(text) => observer.notice(ModelEvent::Text(text)),
                MessagePart::ToolCall(call) => {
                    observer.notice(ModelEvent::ToolCall { name: &call.name })
                }
                MessagePart::Reasoning(_) | MessagePart::ToolResult(_) => {}
            }
        }
        Ok(recording.response)
    }
}

fn missing(request: &ModelRequest, name: &str) -> Error {
    let asked = request
        .messages
        .iter()
        .flat_map(|message| &message.parts)
        .rev()
        .find_map(|part| match part {
            MessagePart::Text(text) => Some(crate::error::bounded(text.trim(), 80)),
            _ => None,
        });
    Error::new(
        AiErrorCode::TransportFailed,
        format!(
            "there is no recording of this request to {} ({name}): {:?}",
            request.model,
            asked.unwrap_or_default()
        ),
        "The prompt, the settings or the context have changed since; record it again with --record.",
    )
}

fn unreadable(name: &str, why: &str) -> Error {
    let what = format!("the recording {name} cannot be read: {why}");
    Error::new(
        AiErrorCode::TransportFailed,
        what,
        "Check the folder given to --replay, or record it again.",
    )
}

impl<T: Tape> Model for ReplayModel<T> {
    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        observer: &'a mut dyn ModelObserver,
    ) -> ModelFuture<'a> {
        let answer = self.answer(request, observer);
        Box::pin(std::future::ready(answer))
    }
}
