//! Anthropic's answers, whole and streamed.

use serde::Deserialize;
use serde_json::Value;

use crate::model::{ModelObserver, ModelResponse, StopReason};
use crate::provider::WireFormat;
use crate::sse;
use crate::usage::Usage;
use crate::wire::anthropic::forced_tool;
use crate::wire::response_builder::ResponseBuilder;
use crate::wire::{
    ResponseError, ResponseReader, StreamStep, WireRequest, complaint_free, event_json,
};

#[derive(Deserialize)]
struct AnthropicMessage {
    id: Option<String>,
    model: Option<String>,
    content: Vec<Value>,
    stop_reason: Option<String>,
    usage: Option<AnthropicUsage>,
}

/// Counts of a stream come in several events, each with only some of them.
#[derive(Deserialize, Default)]
struct AnthropicUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Deserialize)]
struct OutputDetails {
    thinking_tokens: Option<u64>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum AnthropicEvent {
    MessageStart {
        message: AnthropicMessage,
    },
    ContentBlockStart {
        index: u64,
        content_block: Value,
    },
    ContentBlockDelta {
        index: u64,
        delta: AnthropicDelta,
    },
    MessageDelta {
        delta: MessageDelta,
        usage: Option<AnthropicUsage>,
    },
    MessageStop,
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum AnthropicDelta {
    #[serde(rename = "text_delta")]
    Text { text: String },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: String },
    #[serde(rename = "signature_delta")]
    Signature { signature: String },
    #[serde(rename = "input_json_delta")]
    Input { partial_json: String },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct MessageDelta {
    stop_reason: Option<String>,
}

pub(crate) struct AnthropicReader {
    gather: ResponseBuilder,
    /// Arguments that came with the start of a call; they count if no pieces follow.
    at_start: Vec<(u64, Value)>,
    ended: bool,
}

impl AnthropicReader {
    pub(crate) fn new(plan: &WireRequest<'_>) -> AnthropicReader {
        AnthropicReader {
            gather: ResponseBuilder::new(plan, forced_tool(plan)),
            at_start: Vec::new(),
            ended: false,
        }
    }

    fn begin(&mut self, message: &AnthropicMessage) {
        self.gather.id.clone_from(&message.id);
        if let Some(model) = message.model.as_deref().filter(|model| !model.is_empty()) {
            model.clone_into(&mut self.gather.model);
        }
        self.count(message.usage.as_ref());
    }

    fn count(&mut self, counts: Option<&AnthropicUsage>) {
        let Some(counts) = counts else { return };
        let usage = &mut self.gather.usage;
        let set = |field: &mut u64, count: Option<u64>| *field = count.unwrap_or(*field);
        set(&mut usage.input, counts.input_tokens);
        set(&mut usage.output, counts.output_tokens);
        set(&mut usage.cache_read, counts.cache_read_input_tokens);
        set(&mut usage.cache_write, counts.cache_creation_input_tokens);
        set(
            &mut usage.reasoning,
            counts
                .output_tokens_details
                .as_ref()
                .and_then(|details| details.thinking_tokens),
        );
    }

    fn block(
        &mut self,
        index: u64,
        block: &Value,
        observer: &mut dyn ModelObserver,
    ) -> Result<(), ResponseError> {
        let field = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default();
        match block.get("type").and_then(Value::as_str) {
            Some("text") => self.gather.text(field("text"), observer),
            Some("thinking") => {
                self.gather.reasoning(index, field("thinking"), observer);
                if !field("signature").is_empty() {
                    self.gather.sign(field("signature"));
                }
            }
            Some("redacted_thinking") => self.gather.keep(WireFormat::Anthropic, block.clone()),
            Some("tool_use") => {
                let call = self.gather.call(index);
                field("id").clone_into(&mut call.id);
                field("name").clone_into(&mut call.name);
                self.gather.announce(field("name"), observer);
                if let Some(input) = block
                    .get("input")
                    .filter(|input| input.as_object().is_none_or(|o| !o.is_empty()))
                {
                    self.at_start.push((index, input.clone()));
                }
            }
            Some(_) => {}
            None => {
                return Err(ResponseError::Shape(
                    "a content block has no type".to_owned(),
                ));
            }
        }
        Ok(())
    }

    fn delta(&mut self, index: u64, delta: &AnthropicDelta, observer: &mut dyn ModelObserver) {
        match delta {
            AnthropicDelta::Text { text } => self.gather.text(text, observer),
            AnthropicDelta::Thinking { thinking } => {
                self.gather.reasoning(index, thinking, observer)
            }
            AnthropicDelta::Signature { signature } => self.gather.sign(signature),
            AnthropicDelta::Input { partial_json } => {
                self.at_start.retain(|(key, _)| *key != index);
                self.gather.arguments(index, partial_json, observer);
            }
            AnthropicDelta::Other => {}
        }
    }

    fn end(&mut self, reason: Option<&str>) {
        if let Some(reason) = reason {
            self.gather.stop = Some(stop(reason));
        }
    }

    fn arguments_at_start(&mut self, observer: &mut dyn ModelObserver) {
        for (index, input) in std::mem::take(&mut self.at_start) {
            let text = input
                .as_str()
                .map_or_else(|| input.to_string(), str::to_owned);
            self.gather.arguments(index, &text, observer);
        }
    }
}

impl ResponseReader for AnthropicReader {
    fn whole(
        &mut self,
        body: &Value,
        observer: &mut dyn ModelObserver,
    ) -> Result<(), ResponseError> {
        complaint_free(body)?;
        let message = AnthropicMessage::deserialize(body).map_err(ResponseError::shape)?;
        self.begin(&message);
        for (index, block) in message.content.iter().enumerate() {
            self.block(index as u64, block, observer)?;
        }
        self.arguments_at_start(observer);
        if message.stop_reason.is_none() {
            return Err(ResponseError::Shape("there is no stop_reason".to_owned()));
        }
        self.end(message.stop_reason.as_deref());
        self.ended = true;
        Ok(())
    }

    fn event(
        &mut self,
        event: &sse::SseEvent,
        observer: &mut dyn ModelObserver,
    ) -> Result<StreamStep, ResponseError> {
        let value = event_json(event)?;
        match AnthropicEvent::deserialize(&value).map_err(ResponseError::shape)? {
            AnthropicEvent::MessageStart { message } => self.begin(&message),
            AnthropicEvent::ContentBlockStart {
                index,
                content_block,
            } => self.block(index, &content_block, observer)?,
            AnthropicEvent::ContentBlockDelta { index, delta } => {
                self.delta(index, &delta, observer)
            }
            AnthropicEvent::MessageDelta { delta, usage } => {
                self.count(usage.as_ref());
                self.end(delta.stop_reason.as_deref());
            }
            AnthropicEvent::MessageStop => {
                self.arguments_at_start(observer);
                self.ended = true;
                return Ok(StreamStep::End);
            }
            AnthropicEvent::Other => {}
        }
        Ok(StreamStep::More)
    }

    fn finish(self: Box<Self>) -> Result<ModelResponse, ResponseError> {
        if self.ended {
            self.gather.finish()
        } else {
            Err(ResponseError::Truncated)
        }
    }

    fn usage(&self) -> Usage {
        self.gather.usage
    }
}

fn stop(reason: &str) -> StopReason {
    match reason {
        "end_turn" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" | "model_context_window_exceeded" => StopReason::MaxTokens,
        "stop_sequence" => StopReason::StopSequence,
        "refusal" => StopReason::Refusal(reason.to_owned()),
        other => StopReason::Other(other.to_owned()),
    }
}
