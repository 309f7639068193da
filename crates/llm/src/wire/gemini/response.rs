//! Google's answers. Streamed ones are the same object, again and again, with the next parts.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::model::{ModelObserver, ModelResponse, StopReason};
use crate::provider::WireFormat;
use crate::sse;
use crate::usage::Usage;
use crate::wire::response_builder::ResponseBuilder;
use crate::wire::{
    ResponseError, ResponseReader, StreamStep, WireRequest, complaint_free, event_json,
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiResponse {
    candidates: Option<Vec<GeminiCandidate>>,
    prompt_feedback: Option<PromptFeedback>,
    usage_metadata: Option<GeminiUsage>,
    model_version: Option<String>,
    response_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiCandidate {
    content: Option<GeminiContent>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct GeminiContent {
    parts: Option<Vec<GeminiPart>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiPart {
    text: Option<String>,
    #[serde(default)]
    thought: bool,
    thought_signature: Option<String>,
    function_call: Option<GeminiCall>,
}

#[derive(Deserialize)]
struct GeminiCall {
    id: Option<String>,
    name: String,
    args: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptFeedback {
    block_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiUsage {
    prompt_token_count: Option<u64>,
    tool_use_prompt_token_count: Option<u64>,
    cached_content_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
}

pub(crate) struct GeminiReader {
    gather: ResponseBuilder,
    finish_reason: Option<String>,
    block_reason: Option<String>,
}

impl GeminiReader {
    pub(crate) fn new(plan: &WireRequest<'_>) -> GeminiReader {
        GeminiReader {
            gather: ResponseBuilder::new(plan, None),
            finish_reason: None,
            block_reason: None,
        }
    }

    fn take(
        &mut self,
        value: &Value,
        observer: &mut dyn ModelObserver,
    ) -> Result<(), ResponseError> {
        let generated = GeminiResponse::deserialize(value).map_err(ResponseError::shape)?;
        if generated.candidates.is_none()
            && generated.prompt_feedback.is_none()
            && generated.usage_metadata.is_none()
        {
            return Err(ResponseError::Shape("there are no `candidates`".to_owned()));
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

    fn piece(&mut self, piece: GeminiPart, observer: &mut dyn ModelObserver) {
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
                    WireFormat::Gemini,
                    json!({"text": "", "thoughtSignature": signature}),
                );
            }
            (None, None) => {}
        }
    }

    fn stop(&self) -> Option<StopReason> {
        if let Some(reason) = &self.block_reason {
            return Some(StopReason::Refusal(reason.clone()));
        }
        let calls = !self.gather.calls().is_empty();
        Some(match self.finish_reason.as_deref()? {
            "MAX_TOKENS" => StopReason::MaxTokens,
            reason @ ("SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII"
            | "LANGUAGE" | "IMAGE_SAFETY") => StopReason::Refusal(reason.to_owned()),
            "STOP" | "FUNCTION_CALL" if calls => StopReason::ToolUse,
            "STOP" => StopReason::EndTurn,
            other => StopReason::Other(other.to_owned()),
        })
    }
}

impl ResponseReader for GeminiReader {
    fn whole(
        &mut self,
        body: &Value,
        observer: &mut dyn ModelObserver,
    ) -> Result<(), ResponseError> {
        complaint_free(body)?;
        self.take(body, observer)?;
        if self.stop().is_none() {
            return Err(ResponseError::Shape(
                "there is no candidate with a finishReason".to_owned(),
            ));
        }
        Ok(())
    }

    fn event(
        &mut self,
        event: &sse::SseEvent,
        observer: &mut dyn ModelObserver,
    ) -> Result<StreamStep, ResponseError> {
        let value = event_json(event)?;
        self.take(&value, observer)?;
        // There is no last event: the end of the body is the end.
        Ok(StreamStep::More)
    }

    fn finish(mut self: Box<Self>) -> Result<ModelResponse, ResponseError> {
        self.gather.stop = self.stop();
        self.gather.finish()
    }

    fn usage(&self) -> Usage {
        self.gather.usage
    }
}

/// Converts the counts: prompt tokens include cached ones, thinking tokens come on top of the
/// answer's.
fn usage(counts: &GeminiUsage) -> Usage {
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
