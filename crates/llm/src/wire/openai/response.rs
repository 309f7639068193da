//! OpenAI's answers, whole and streamed.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::model::{ModelObserver, ModelResponse, StopReason};
use crate::price;
use crate::provider::WireFormat;
use crate::provider_error::ProviderError;
use crate::sse;
use crate::usage::Usage;
use crate::wire::response_builder::ResponseBuilder;
use crate::wire::{
    ResponseError, ResponseReader, StreamStep, WireRequest, complaint_free, event_json,
};

/// A whole answer or a chunk of one: they differ in `message` and `delta`.
#[derive(Deserialize)]
struct ChatCompletion {
    id: Option<String>,
    model: Option<String>,
    choices: Vec<OpenAiChoice>,
    usage: Option<OpenAiUsage>,
}

#[derive(Deserialize)]
struct OpenAiChoice {
    #[serde(alias = "delta")]
    message: Option<OpenAiMessage>,
    finish_reason: Option<String>,
    error: Option<Value>,
}

#[derive(Deserialize, Default)]
struct OpenAiMessage {
    content: Option<OpenAiContent>,
    refusal: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<CallPiece>>,
    reasoning_content: Option<String>,
    reasoning: Option<String>,
    reasoning_details: Option<Vec<Value>>,
}

/// Mostly a string; some servers send parts.
#[derive(Deserialize)]
#[serde(untagged)]
enum OpenAiContent {
    Text(String),
    Parts(Vec<Value>),
}

#[derive(Deserialize)]
struct CallPiece {
    index: Option<u64>,
    id: Option<String>,
    function: Option<OpenAiCall>,
}

#[derive(Deserialize)]
struct OpenAiCall {
    name: Option<String>,
    /// A string by the book, an object from some servers.
    arguments: Option<Value>,
}

#[derive(Deserialize)]
struct OpenAiUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
    /// OpenRouter's bill, in dollars.
    cost: Option<f64>,
}

#[derive(Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct CompletionDetails {
    reasoning_tokens: Option<u64>,
}

pub(crate) struct OpenAiReader {
    gather: ResponseBuilder,
    refusal: String,
    finish_reason: Option<String>,
    /// Thoughts as they are to be sent back, by the field they came in.
    thoughts: Map<String, Value>,
}

impl OpenAiReader {
    pub(crate) fn new(plan: &WireRequest<'_>) -> OpenAiReader {
        OpenAiReader {
            gather: ResponseBuilder::new(plan, None),
            refusal: String::new(),
            finish_reason: None,
            thoughts: Map::new(),
        }
    }

    fn take(
        &mut self,
        completion: ChatCompletion,
        observer: &mut dyn ModelObserver,
    ) -> Result<(), ResponseError> {
        if completion.id.is_some() {
            self.gather.id = completion.id;
        }
        if let Some(model) = completion.model.filter(|model| !model.is_empty()) {
            self.gather.model = model;
        }
        if let Some(counts) = completion.usage {
            self.gather.billed_micro_usd = counts
                .cost
                .and_then(price::micro_usd)
                .or(self.gather.billed_micro_usd);
            self.gather.usage = usage(&counts);
        }
        // Only one choice is ever asked for.
        let Some(choice) = completion.choices.into_iter().next() else {
            return Ok(());
        };
        if choice.finish_reason.as_deref() == Some("error")
            || choice.error.as_ref().is_some_and(|e| !e.is_null())
        {
            let error = serde_json::json!({"error": choice.error.unwrap_or_else(|| "the provider broke off".into())});
            return Err(ResponseError::Complaint(
                ProviderError::find(&error).unwrap_or_default(),
            ));
        }
        if let Some(said) = choice.message {
            self.hear(said, observer);
        }
        if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
            self.finish_reason = Some(reason);
        }
        Ok(())
    }

    fn hear(&mut self, said: OpenAiMessage, observer: &mut dyn ModelObserver) {
        self.think(&said, observer);
        match said.content {
            Some(OpenAiContent::Text(text)) => self.gather.text(&text, observer),
            Some(OpenAiContent::Parts(parts)) => {
                for part in parts {
                    self.gather.text(
                        part.get("text").and_then(Value::as_str).unwrap_or_default(),
                        observer,
                    );
                }
            }
            None => {}
        }
        self.refusal
            .push_str(said.refusal.as_deref().unwrap_or_default());
        for piece in said.tool_calls.into_iter().flatten() {
            self.call(piece, observer);
        }
    }

    /// Servers name the same thing differently, and some under two names at once.
    fn think(&mut self, said: &OpenAiMessage, observer: &mut dyn ModelObserver) {
        if let Some(details) = &said.reasoning_details {
            let all = self
                .thoughts
                .entry("reasoning_details")
                .or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(all) = all {
                all.extend(details.iter().cloned());
            }
        }
        let named = said
            .reasoning_content
            .as_deref()
            .map(|text| ("reasoning_content", text));
        let Some((name, text)) =
            named.or(said.reasoning.as_deref().map(|text| ("reasoning", text)))
        else {
            return;
        };
        self.gather.reasoning(0, text, observer);
        if name == "reasoning_content"
            && let Value::String(all) = self
                .thoughts
                .entry(name)
                .or_insert_with(|| Value::String(String::new()))
        {
            all.push_str(text);
        }
    }

    fn call(&mut self, piece: CallPiece, observer: &mut dyn ModelObserver) {
        let id = piece.id.unwrap_or_default();
        let key = self.key(piece.index, &id);
        let Some(function) = piece.function else {
            return;
        };
        let call = self.gather.call(key);
        if call.id.is_empty() {
            call.id = id;
        }
        if let Some(name) = function
            .name
            .filter(|name| !name.is_empty() && call.name.is_empty())
        {
            call.name.clone_from(&name);
            self.gather.announce(&name, observer);
        }
        match function.arguments {
            Some(Value::String(text)) => self.gather.arguments(key, &text, observer),
            None | Some(Value::Null) => {}
            Some(other) => self.gather.arguments(key, &other.to_string(), observer),
        }
    }

    /// Pieces belong together by index. Some servers give none, or the same one to every call:
    /// then a new id begins a new call.
    fn key(&self, index: Option<u64>, id: &str) -> u64 {
        let calls = self.gather.calls();
        let next = calls
            .iter()
            .map(|call| call.key().saturating_add(1))
            .max()
            .unwrap_or(0);
        if !id.is_empty()
            && let Some(known) = calls.iter().find(|call| call.id == id)
        {
            return known.key();
        }
        let Some(index) = index else {
            return if id.is_empty() {
                next.saturating_sub(1)
            } else {
                next
            };
        };
        let taken = calls
            .iter()
            .any(|call| call.key() == index && !call.id.is_empty() && !id.is_empty());
        if taken { next } else { index }
    }

    fn stop(&self) -> Option<StopReason> {
        let reason = self.finish_reason.as_deref()?;
        let calls = !self.gather.calls().is_empty();
        Some(match reason {
            "length" | "max_tokens" | "model_length" => StopReason::MaxTokens,
            "content_filter" => StopReason::Refusal(reason.to_owned()),
            // Servers disagree on the reason when there are calls; the calls decide.
            _ if calls => StopReason::ToolUse,
            _ if !self.refusal.is_empty() => StopReason::Refusal(self.refusal.clone()),
            "stop" | "eos" | "end_turn" | "tool_calls" | "function_call" => StopReason::EndTurn,
            other => StopReason::Other(other.to_owned()),
        })
    }
}

impl ResponseReader for OpenAiReader {
    fn whole(
        &mut self,
        body: &Value,
        observer: &mut dyn ModelObserver,
    ) -> Result<(), ResponseError> {
        complaint_free(body)?;
        let completion = ChatCompletion::deserialize(body).map_err(ResponseError::shape)?;
        match completion.choices.first() {
            None => return Err(ResponseError::Shape("`choices` is empty".to_owned())),
            Some(choice) if choice.message.is_none() => {
                return Err(ResponseError::Shape("the choice has no message".to_owned()));
            }
            Some(_) => {}
        }
        self.take(completion, observer)?;
        // Some servers leave the reason out of whole answers, which are whole all the same.
        self.finish_reason.get_or_insert_with(|| "stop".to_owned());
        Ok(())
    }

    fn event(
        &mut self,
        event: &sse::SseEvent,
        observer: &mut dyn ModelObserver,
    ) -> Result<StreamStep, ResponseError> {
        if event.data.trim() == "[DONE]" {
            return Ok(StreamStep::End);
        }
        let value = event_json(event)?;
        let completion = ChatCompletion::deserialize(&value).map_err(ResponseError::shape)?;
        self.take(completion, observer)?;
        Ok(StreamStep::More)
    }

    fn finish(mut self: Box<Self>) -> Result<ModelResponse, ResponseError> {
        self.gather.stop = self.stop();
        if !self.thoughts.is_empty() {
            let thoughts = Value::Object(std::mem::take(&mut self.thoughts));
            self.gather.keep(WireFormat::OpenAi, thoughts);
        }
        self.gather.finish()
    }

    fn usage(&self) -> Usage {
        self.gather.usage
    }
}

/// Converts the counts: `prompt_tokens` includes cached tokens.
fn usage(counts: &OpenAiUsage) -> Usage {
    let sent = counts.prompt_tokens.unwrap_or(0);
    let details = counts.prompt_tokens_details.as_ref();
    let cache_read = details
        .and_then(|details| details.cached_tokens)
        .unwrap_or(0);
    let cache_write = details
        .and_then(|details| details.cache_write_tokens)
        .unwrap_or(0);
    let reasoning = counts
        .completion_tokens_details
        .as_ref()
        .and_then(|details| details.reasoning_tokens);
    Usage {
        input: sent.saturating_sub(cache_read).saturating_sub(cache_write),
        output: counts.completion_tokens.unwrap_or(0),
        cache_read,
        cache_write,
        reasoning: reasoning.unwrap_or(0),
    }
}
