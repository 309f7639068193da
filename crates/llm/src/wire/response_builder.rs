//! Puts an answer together from its pieces, in the order they came.

use serde_json::{Value, json};

use crate::model::{
    MessagePart, ModelEvent, ModelObserver, ModelResponse, ReasoningPart, StopReason,
    ToolArguments, ToolCall,
};
use crate::provider::{Provider, WireFormat};
use crate::usage::Usage;
use crate::wire::{ResponseError, WireRequest};

/// An answer under construction.
pub(crate) struct ResponseBuilder {
    provider: Provider,
    /// The tool whose arguments are the answer, where JSON was asked for by a forced call.
    forced: Option<String>,
    parts: Vec<PartBuilder>,
    calls: Vec<ToolCallBuilder>,
    pub usage: Usage,
    pub billed_micro_usd: Option<u64>,
    pub stop: Option<StopReason>,
    pub model: String,
    pub id: Option<String>,
}

enum PartBuilder {
    Text(String),
    Reasoning {
        key: u64,
        text: String,
        signature: Option<String>,
        block: Option<(WireFormat, Value)>,
    },
    /// A place in `calls`.
    Call(usize),
}

/// A tool call under construction; the arguments come in pieces, the rest mostly at once.
#[derive(Default)]
pub(crate) struct ToolCallBuilder {
    key: u64,
    pub id: String,
    pub name: String,
    pub raw: String,
    pub signature: Option<String>,
}

impl ResponseBuilder {
    pub(crate) fn new(plan: &WireRequest<'_>, forced: Option<&str>) -> ResponseBuilder {
        ResponseBuilder {
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

    pub(crate) fn text(&mut self, piece: &str, observer: &mut dyn ModelObserver) {
        if piece.is_empty() {
            return;
        }
        observer.notice(ModelEvent::Text(piece));
        if let Some(PartBuilder::Text(text)) = self.parts.last_mut() {
            text.push_str(piece);
        } else {
            self.parts.push(PartBuilder::Text(piece.to_owned()));
        }
    }

    /// Adds a piece of reasoning; pieces with the same key belong together.
    pub(crate) fn reasoning(&mut self, key: u64, piece: &str, observer: &mut dyn ModelObserver) {
        if !piece.is_empty() {
            observer.notice(ModelEvent::Reasoning(piece));
        }
        match self.parts.last_mut() {
            Some(PartBuilder::Reasoning {
                key: last,
                text,
                block: None,
                ..
            }) if *last == key => text.push_str(piece),
            _ => self.parts.push(PartBuilder::Reasoning {
                key,
                text: piece.to_owned(),
                signature: None,
                block: None,
            }),
        }
    }

    /// Adds to the signature of the current reasoning.
    pub(crate) fn sign(&mut self, piece: &str) {
        if let Some(PartBuilder::Reasoning { signature, .. }) = self.parts.last_mut() {
            signature.get_or_insert_default().push_str(piece);
        }
    }

    /// Adds a block to be sent back unchanged.
    pub(crate) fn keep(&mut self, format: WireFormat, block: Value) {
        self.parts.push(PartBuilder::Reasoning {
            key: u64::MAX,
            text: String::new(),
            signature: None,
            block: Some((format, block)),
        });
    }

    /// Returns the call with this key, and starts it if it is new.
    pub(crate) fn call(&mut self, key: u64) -> &mut ToolCallBuilder {
        let at = self
            .calls
            .iter()
            .position(|call| call.key == key)
            .unwrap_or_else(|| {
                self.parts.push(PartBuilder::Call(self.calls.len()));
                self.calls.push(ToolCallBuilder {
                    key,
                    ..ToolCallBuilder::default()
                });
                self.calls.len() - 1
            });
        &mut self.calls[at]
    }

    pub(crate) fn arguments(&mut self, key: u64, piece: &str, observer: &mut dyn ModelObserver) {
        if piece.is_empty() {
            return;
        }
        self.call(key).raw.push_str(piece);
        let forced = self.forced.is_some();
        observer.notice(if forced {
            ModelEvent::Text(piece)
        } else {
            ModelEvent::ToolArguments(piece)
        });
    }

    /// Tells the observer about a call whose name is known now.
    pub(crate) fn announce(&self, name: &str, observer: &mut dyn ModelObserver) {
        if self.forced.as_deref() != Some(name) {
            observer.notice(ModelEvent::ToolCall { name });
        }
    }

    pub(crate) fn calls(&self) -> &[ToolCallBuilder] {
        &self.calls
    }

    /// Finishes the response; without a reason to stop it was cut.
    pub(crate) fn finish(self) -> Result<ModelResponse, ResponseError> {
        let Some(stop) = self.stop else {
            return Err(ResponseError::Truncated);
        };
        let (forced, calls) = (self.forced, self.calls);
        let is_forced = |name: &str| forced.as_deref() == Some(name);
        let answered_by_call = calls.iter().any(|call| is_forced(&call.name));
        let stop = if stop == StopReason::ToolUse && answered_by_call {
            StopReason::EndTurn
        } else {
            stop
        };
        let parts = self.parts.into_iter().filter_map(|piece| match piece {
            // Words around the forced call are no part of the JSON.
            PartBuilder::Text(_) if answered_by_call => None,
            PartBuilder::Text(text) => Some(MessagePart::Text(text)),
            PartBuilder::Reasoning {
                text,
                signature,
                block,
                ..
            } => Some(MessagePart::Reasoning(reasoning(text, signature, block))),
            PartBuilder::Call(at) => {
                let call = calls.get(at)?;
                Some(if is_forced(&call.name) {
                    MessagePart::Text(call.raw.clone())
                } else {
                    MessagePart::ToolCall(call.whole(self.id.as_deref()))
                })
            }
        });
        Ok(ModelResponse {
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

impl ToolCallBuilder {
    pub(crate) fn key(&self) -> u64 {
        self.key
    }

    /// Makes up an id that no other answer has if the provider gives none.
    fn whole(&self, answer: Option<&str>) -> ToolCall {
        let made = || format!("{}_{}", answer.unwrap_or("call"), self.key);
        let id = if self.id.is_empty() {
            made()
        } else {
            self.id.clone()
        };
        let arguments = ToolArguments::read(self.raw.as_str());
        ToolCall {
            id,
            name: self.name.clone(),
            arguments,
            signature: self.signature.clone(),
        }
    }
}

/// Makes a reasoning part. Only Anthropic signs reasoning, and wants it back unchanged.
fn reasoning(
    text: String,
    signature: Option<String>,
    block: Option<(WireFormat, Value)>,
) -> ReasoningPart {
    let signed = signature.map(|signature| {
        (
            WireFormat::Anthropic,
            json!({"type": "thinking", "thinking": text, "signature": signature}),
        )
    });
    ReasoningPart {
        block: block.or(signed),
        text,
    }
}
