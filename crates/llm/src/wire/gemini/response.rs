//! Google's answers. Streamed ones are the same object, again and again, with the next parts.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::model::{Observer, Response, Stop};
use crate::provider::Format;
use crate::sse;
use crate::usage::Usage;
use crate::wire::gather::Gather;
use crate::wire::{Misread, Plan, Reader, Step, complaint_free, event_json};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Generated {
    candidates: Option<Vec<Candidate>>,
    prompt_feedback: Option<Feedback>,
    usage_metadata: Option<Counts>,
    model_version: Option<String>,
    response_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    content: Option<Content>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Content {
    parts: Option<Vec<Piece>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Piece {
    text: Option<String>,
    #[serde(default)]
    thought: bool,
    thought_signature: Option<String>,
    function_call: Option<Function>,
}

#[derive(Deserialize)]
struct Function {
    id: Option<String>,
    name: String,
    args: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    block_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Counts {
    prompt_token_count: Option<u64>,
    tool_use_prompt_token_count: Option<u64>,
    cached_content_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
}

pub(crate) struct Reading {
    gather: Gather,
    finish_reason: Option<String>,
    block_reason: Option<String>,
}

impl Reading {
    pub(crate) fn new(plan: &Plan<'_>) -> Reading {
        Reading {
            gather: Gather::new(plan, None),
            finish_reason: None,
            block_reason: None,
        }
    }

    fn take(&mut self, value: &Value, observer: &mut dyn Observer) -> Result<(), Misread> {
        let generated = Generated::deserialize(value).map_err(Misread::shape)?;
        if generated.candidates.is_none()
            && generated.prompt_feedback.is_none()
            && generated.usage_metadata.is_none()
        {
            return Err(Misread::Shape("there are no `candidates`".to_owned()));
        }
        if generated.response_id.is_some() {
            self.gather.id = generated.response_id;
        }
        if let Some(model) = generated.model_version.filter(|model| !model.is_empty()) {
            self.gather.model = model;
        }
        if let Some(counts) = generated.usage_metadata {
            self.gather.usage = usage(&counts);
        }
        if let Some(reason) = generated
            .prompt_feedback
            .and_then(|feedback| feedback.block_reason)
        {
            self.block_reason = Some(reason);
        }
        let Some(candidate) = generated.candidates.into_iter().flatten().next() else {
            return Ok(());
        };
        for piece in candidate
            .content
            .and_then(|content| content.parts)
            .into_iter()
            .flatten()
        {
            self.piece(piece, observer);
        }
        if let Some(reason) = candidate.finish_reason {
            self.finish_reason = Some(reason);
        }
        Ok(())
    }

    fn piece(&mut self, piece: Piece, observer: &mut dyn Observer) {
        let text = piece.text.unwrap_or_default();
        if piece.thought {
            self.gather.reasoning(0, &text, observer);
            return;
        }
        self.gather.text(&text, observer);
        match (piece.function_call, piece.thought_signature) {
            (Some(function), signature) => {
                let key = self.gather.calls().len() as u64;
                let call = self.gather.call(key);
                call.id = function.id.unwrap_or_default();
                call.name.clone_from(&function.name);
                call.signature = signature;
                self.gather.announce(&function.name, observer);
                let args = function.args.unwrap_or_else(|| json!({}));
                self.gather.arguments(key, &args.to_string(), observer);
            }
            // The proof of thoughts goes back in a part of its own.
            (None, Some(signature)) => {
                self.gather.keep(
                    Format::Gemini,
                    json!({"text": "", "thoughtSignature": signature}),
                );
            }
            (None, None) => {}
        }
    }

    fn stop(&self) -> Option<Stop> {
        if let Some(reason) = &self.block_reason {
            return Some(Stop::Refusal(reason.clone()));
        }
        let calls = !self.gather.calls().is_empty();
        Some(match self.finish_reason.as_deref()? {
            "MAX_TOKENS" => Stop::MaxTokens,
            reason @ ("SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII"
            | "LANGUAGE" | "IMAGE_SAFETY") => Stop::Refusal(reason.to_owned()),
            "STOP" | "FUNCTION_CALL" if calls => Stop::ToolUse,
            "STOP" => Stop::EndTurn,
            other => Stop::Other(other.to_owned()),
        })
    }
}

impl Reader for Reading {
    fn whole(&mut self, body: &Value, observer: &mut dyn Observer) -> Result<(), Misread> {
        complaint_free(body)?;
        self.take(body, observer)?;
        if self.stop().is_none() {
            return Err(Misread::Shape(
                "there is no candidate with a finishReason".to_owned(),
            ));
        }
        Ok(())
    }

    fn event(&mut self, event: &sse::Event, observer: &mut dyn Observer) -> Result<Step, Misread> {
        let value = event_json(event)?;
        self.take(&value, observer)?;
        // There is no last event: the end of the body is the end.
        Ok(Step::More)
    }

    fn finish(mut self: Box<Self>) -> Result<Response, Misread> {
        self.gather.stop = self.stop();
        self.gather.finish()
    }

    fn usage(&self) -> Usage {
        self.gather.usage
    }
}

/// What was sent includes what was cached; what was thought comes on top of what was said.
fn usage(counts: &Counts) -> Usage {
    let prompt = counts.prompt_token_count.unwrap_or(0);
    let sent = prompt.saturating_add(counts.tool_use_prompt_token_count.unwrap_or(0));
    let cache_read = counts.cached_content_token_count.unwrap_or(0);
    let reasoning = counts.thoughts_token_count.unwrap_or(0);
    Usage {
        input: sent.saturating_sub(cache_read),
        output: counts
            .candidates_token_count
            .unwrap_or(0)
            .saturating_add(reasoning),
        cache_read,
        cache_write: 0,
        reasoning,
    }
}
