//! Records calls and plays them back, so that any run can be repeated offline.
//!
//! A call is found again by what was asked: the hash of the request, which holds no keys and no
//! times. Asked the same thing twice, a run gets the second answer the second time.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::error::{Code, Error, Result};
use crate::model::{Event, Model, Observer, Part, Pending, Request, Response};
use crate::secret::{Secret, scrub};

/// Where recordings are kept; files are the caller's.
pub trait Tape: Send + Sync {
    /// The text stored under a name, if there is one.
    fn get(&self, name: &str) -> std::result::Result<Option<String>, String>;

    /// Stores a text under a name such as `4f…e1` or `4f…e1-2`.
    fn put(&self, name: &str, text: &str) -> std::result::Result<(), String>;
}

/// A call as it is stored.
#[derive(Debug, Serialize, Deserialize)]
struct Recording {
    format: u32,
    request: Request,
    response: Response,
}

const FORMAT: u32 = 1;

/// The name a request is stored under: the hash of its JSON with sorted keys.
pub fn name(request: &Request) -> Result<String> {
    let value = serde_json::to_value(request).map_err(|error| {
        Error::new(
            Code::TransportFailed,
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
struct Turns(Mutex<HashMap<String, u32>>);

impl Turns {
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
pub struct Record<M, T> {
    inner: M,
    tape: T,
    secrets: Vec<Secret>,
    turns: Turns,
}

impl<M: Model, T: Tape> Record<M, T> {
    /// `secrets` are removed from what is stored, should a prompt or an answer quote them.
    pub fn new(inner: M, tape: T, secrets: Vec<Secret>) -> Record<M, T> {
        Record {
            inner,
            tape,
            secrets,
            turns: Turns::default(),
        }
    }

    async fn answer(&self, request: &Request, observer: &mut dyn Observer) -> Result<Response> {
        let name = name(request)?;
        let name = numbered(&name, self.turns.next(&name));
        let response = self.inner.respond(request, observer).await?;
        let recording = Recording {
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
        Code::TransportFailed,
        what,
        "Check the folder given to --record.",
    )
}

impl<M: Model, T: Tape> Model for Record<M, T> {
    fn respond<'a>(&'a self, request: &'a Request, observer: &'a mut dyn Observer) -> Pending<'a> {
        Box::pin(self.answer(request, observer))
    }
}

/// A model that answers from recordings and never asks anyone.
pub struct Replay<T> {
    tape: T,
    turns: Turns,
}

impl<T: Tape> Replay<T> {
    pub fn new(tape: T) -> Replay<T> {
        Replay {
            tape,
            turns: Turns::default(),
        }
    }

    fn answer(&self, request: &Request, observer: &mut dyn Observer) -> Result<Response> {
        let name = name(request)?;
        let turn = self.turns.next(&name);
        // Asked more often than was recorded: the last answer stands.
        let text = (1..=turn)
            .rev()
            .find_map(|turn| self.tape.get(&numbered(&name, turn)).transpose());
        let text = match text {
            Some(Ok(text)) => text,
            Some(Err(why)) => return Err(unreadable(&name, &why)),
            None => return Err(missing(request, &name)),
        };
        let recording: Recording =
            serde_json::from_str(&text).map_err(|error| unreadable(&name, &error.to_string()))?;
        if recording.format != FORMAT {
            return Err(unreadable(
                &name,
                &format!("its format is {}, not {FORMAT}", recording.format),
            ));
        }
        for part in &recording.response.parts {
            match part {
                Part::Text(text) => observer.notice(Event::Text(text)),
                Part::ToolCall(call) => observer.notice(Event::ToolCall { name: &call.name }),
                Part::Reasoning(_) | Part::ToolResult(_) => {}
            }
        }
        Ok(recording.response)
    }
}

fn missing(request: &Request, name: &str) -> Error {
    let asked = request
        .messages
        .iter()
        .flat_map(|message| &message.parts)
        .rev()
        .find_map(|part| match part {
            Part::Text(text) => Some(crate::error::bounded(text.trim(), 80)),
            _ => None,
        });
    Error::new(
        Code::TransportFailed,
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
        Code::TransportFailed,
        what,
        "Check the folder given to --replay, or record it again.",
    )
}

impl<T: Tape> Model for Replay<T> {
    fn respond<'a>(&'a self, request: &'a Request, observer: &'a mut dyn Observer) -> Pending<'a> {
        let answer = self.answer(request, observer);
        Box::pin(std::future::ready(answer))
    }
}
