//! Puts an answer together from its pieces, in the order they came.

use serde_json::{Value, json};

use crate::model::{Arguments, Event, Observer, Part, Reasoning, Response, Stop, ToolCall};
use crate::provider::{Format, Provider};
use crate::usage::Usage;
use crate::wire::{Misread, Plan};

/// An answer under construction.
pub(crate) struct Gather {
    provider: Provider,
    /// The tool whose arguments are the answer, where JSON was asked for by a forced call.
    forced: Option<String>,
    parts: Vec<Piece>,
    calls: Vec<Call>,
    pub usage: Usage,
    pub billed_micro_usd: Option<u64>,
    pub stop: Option<Stop>,
    pub model: String,
    pub id: Option<String>,
}

enum Piece {
    Text(String),
    Reasoning {
        key: u64,
        text: String,
        signature: Option<String>,
        block: Option<(Format, Value)>,
    },
    /// A place in `calls`.
    Call(usize),
}

/// A tool call under construction; the arguments come in pieces, the rest mostly at once.
#[derive(Default)]
pub(crate) struct Call {
    key: u64,
    pub id: String,
    pub name: String,
    pub raw: String,
    pub signature: Option<String>,
}

impl Gather {
    pub(crate) fn new(plan: &Plan<'_>, forced: Option<&str>) -> Gather {
        Gather {
            provider: plan.provider,
            forced: forced.map(str::to_owned),
            parts: Vec::new(),
            calls: Vec::new(),
            usage: Usage::default(),
            billed_micro_usd: None,
            stop: None,
            model: plan.request.model.clone(),
            id: None,
        }
    }

    pub(crate) fn text(&mut self, piece: &str, observer: &mut dyn Observer) {
        if piece.is_empty() {
            return;
        }
        observer.notice(Event::Text(piece));
        if let Some(Piece::Text(text)) = self.parts.last_mut() {
            text.push_str(piece);
        } else {
            self.parts.push(Piece::Text(piece.to_owned()));
        }
    }

    /// A piece of thought; pieces with the same key belong together.
    pub(crate) fn reasoning(&mut self, key: u64, piece: &str, observer: &mut dyn Observer) {
        if !piece.is_empty() {
            observer.notice(Event::Reasoning(piece));
        }
        match self.parts.last_mut() {
            Some(Piece::Reasoning {
                key: last,
                text,
                block: None,
                ..
            }) if *last == key => text.push_str(piece),
            _ => self.parts.push(Piece::Reasoning {
                key,
                text: piece.to_owned(),
                signature: None,
                block: None,
            }),
        }
    }

    /// The signature of the thought that is being gathered.
    pub(crate) fn sign(&mut self, piece: &str) {
        if let Some(Piece::Reasoning { signature, .. }) = self.parts.last_mut() {
            signature.get_or_insert_default().push_str(piece);
        }
    }

    /// A block to be sent back as it is.
    pub(crate) fn keep(&mut self, format: Format, block: Value) {
        self.parts.push(Piece::Reasoning {
            key: u64::MAX,
            text: String::new(),
            signature: None,
            block: Some((format, block)),
        });
    }

    /// The call with this key, begun if it is new.
    pub(crate) fn call(&mut self, key: u64) -> &mut Call {
        let at = self
            .calls
            .iter()
            .position(|call| call.key == key)
            .unwrap_or_else(|| {
                self.parts.push(Piece::Call(self.calls.len()));
                self.calls.push(Call {
                    key,
                    ..Call::default()
                });
                self.calls.len() - 1
            });
        &mut self.calls[at]
    }

    pub(crate) fn arguments(&mut self, key: u64, piece: &str, observer: &mut dyn Observer) {
        if piece.is_empty() {
            return;
        }
        self.call(key).raw.push_str(piece);
        let forced = self.forced.is_some();
        observer.notice(if forced {
            Event::Text(piece)
        } else {
            Event::ToolArguments(piece)
        });
    }

    /// Tells the observer about a call whose name is known now.
    pub(crate) fn announce(&self, name: &str, observer: &mut dyn Observer) {
        if self.forced.as_deref() != Some(name) {
            observer.notice(Event::ToolCall { name });
        }
    }

    pub(crate) fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// The response; without a reason to stop it was cut.
    pub(crate) fn finish(self) -> Result<Response, Misread> {
        let Some(stop) = self.stop else {
            return Err(Misread::Truncated);
        };
        let (forced, calls) = (self.forced, self.calls);
        let is_forced = |name: &str| forced.as_deref() == Some(name);
        let answered_by_call = calls.iter().any(|call| is_forced(&call.name));
        let stop = if stop == Stop::ToolUse && answered_by_call {
            Stop::EndTurn
        } else {
            stop
        };
        let parts = self.parts.into_iter().filter_map(|piece| match piece {
            // Words around the forced call are no part of the JSON.
            Piece::Text(_) if answered_by_call => None,
            Piece::Text(text) => Some(Part::Text(text)),
            Piece::Reasoning {
                text,
                signature,
                block,
                ..
            } => Some(Part::Reasoning(reasoning(text, signature, block))),
            Piece::Call(at) => {
                let call = calls.get(at)?;
                Some(if is_forced(&call.name) {
                    Part::Text(call.raw.clone())
                } else {
                    Part::ToolCall(call.whole(self.id.as_deref()))
                })
            }
        });
        Ok(Response {
            parts: parts.collect(),
            stop,
            usage: self.usage,
            billed_micro_usd: self.billed_micro_usd,
            provider: self.provider,
            model: self.model,
            id: self.id,
        })
    }
}

impl Call {
    pub(crate) fn key(&self) -> u64 {
        self.key
    }

    /// Where the provider gives no id, one that no other answer has.
    fn whole(&self, answer: Option<&str>) -> ToolCall {
        let made = || format!("{}_{}", answer.unwrap_or("call"), self.key);
        let id = if self.id.is_empty() {
            made()
        } else {
            self.id.clone()
        };
        let arguments = Arguments::read(self.raw.as_str());
        ToolCall {
            id,
            name: self.name.clone(),
            arguments,
            signature: self.signature.clone(),
        }
    }
}

/// Only Anthropic signs thoughts; it wants them back as they were.
fn reasoning(text: String, signature: Option<String>, block: Option<(Format, Value)>) -> Reasoning {
    let signed = signature.map(|signature| {
        (
            Format::Anthropic,
            json!({"type": "thinking", "thinking": text, "signature": signature}),
        )
    });
    Reasoning {
        block: block.or(signed),
        text,
    }
}
