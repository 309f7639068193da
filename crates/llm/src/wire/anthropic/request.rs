//! A request as Anthropic's body.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::model::{
    CacheControl, ChatMessage, ChatRole, MessagePart, ModelRequest, ResponseFormat, SystemBlock,
    ToolChoice, ToolDeclaration, ToolOutcome,
};
use crate::provider::WireFormat;
use crate::quirk::Quirk;
use crate::wire::anthropic::forced_tool;
use crate::wire::body_cache::JsonListWriter;
use crate::wire::{BodyCache, WireRequest};

/// The API takes no more marks than this; the last ones matter most.
const CACHE_MARKS_MAX: usize = 4;

pub(crate) fn body(plan: &WireRequest<'_>, draft: &mut BodyCache) -> serde_json::Result<Bytes> {
    let request = plan.request;
    let mut marks = CacheMarks::of(request);
    let mut body = Map::new();
    body.insert("model".into(), json!(request.model));
    body.insert("max_tokens".into(), json!(request.max_tokens));
    if !request.system.is_empty() {
        let blocks = request.system.iter();
        let blocks = blocks.map(|block| (block, marks.keep(block.cache)));
        let blocks = blocks.filter(|(block, _)| !block.text.is_empty());
        let blocks = blocks.map(|(block, cache)| system(block, cache));
        body.insert("system".into(), blocks.collect());
    }
    tools(plan, &mut body);
    if let Some(temperature) = request
        .temperature
        .filter(|_| !plan.has(Quirk::NoTemperature))
    {
        body.insert("temperature".into(), json!(temperature));
    }
    if !request.stop.is_empty() {
        body.insert("stop_sequences".into(), json!(request.stop));
    }
    if plan.streamed {
        body.insert("stream".into(), json!(true));
    }
    let head = JsonListWriter::after(&body, "messages")?;
    let messages = request.messages.iter();
    let messages = messages.map(|message| (message, marks.keep(message.cache)));
    draft.body(head, &messages.collect::<Vec<_>>(), |one, cache, list| {
        message(one, cache).map_or(Ok(()), |message| list.push(&message))
    })
}

/// The marks of a request, in order; the first ones fall away when there are too many.
struct CacheMarks {
    surplus: usize,
}

impl CacheMarks {
    fn of(request: &ModelRequest) -> CacheMarks {
        let marks = request.system.iter().map(|block| block.cache);
        let marks = marks.chain(request.messages.iter().map(|message| message.cache));
        let count = marks
            .filter(|cache| *cache == CacheControl::UpToHere)
            .count();
        CacheMarks {
            surplus: count.saturating_sub(CACHE_MARKS_MAX),
        }
    }

    /// Returns the next mark as it is sent.
    fn keep(&mut self, cache: CacheControl) -> CacheControl {
        if cache == CacheControl::UpToHere && self.surplus > 0 {
            self.surplus -= 1;
            return CacheControl::Off;
        }
        cache
    }
}

fn system(block: &SystemBlock, cache: CacheControl) -> Value {
    let mut entry = json!({"type": "text", "text": block.text});
    mark(&mut entry, cache);
    entry
}

fn mark(entry: &mut Value, cache: CacheControl) {
    if cache == CacheControl::UpToHere {
        entry["cache_control"] = json!({"type": "ephemeral"});
    }
}

/// Messages without content are refused, so they are left out.
fn message(message: &ChatMessage, cache: CacheControl) -> Option<Value> {
    let mut content: Vec<_> = message.parts.iter().filter_map(part).collect();
    if let Some(last) = content.last_mut() {
        mark(last, cache);
    }
    let role = match message.role {
        ChatRole::User => "user",
        ChatRole::Assistant => "assistant",
    };
    (!content.is_empty()).then(|| json!({"role": role, "content": content}))
}

fn part(part: &MessagePart) -> Option<Value> {
    match part {
        MessagePart::Text(text) if text.is_empty() => None,
        MessagePart::Text(text) => Some(json!({"type": "text", "text": text})),
        MessagePart::Reasoning(reasoning) => match &reasoning.block {
            Some((WireFormat::Anthropic, block)) => Some(block.clone()),
            _ => None,
        },
        MessagePart::ToolCall(call) => Some(json!({
            "type": "tool_use",
            "id": id(&call.id),
            "name": call.name,
            "input": call.arguments.as_object(),
        })),
        MessagePart::ToolResult(result) => {
            let mut entry = json!({"type": "tool_result", "tool_use_id": id(&result.id), "content": result.content});
            if result.outcome == ToolOutcome::Failed {
                entry["is_error"] = json!(true);
            }
            Some(entry)
        }
    }
}

/// Ids of other providers, after a fallback, may have characters that are refused here.
fn id(id: &str) -> String {
    id.chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '-' {
                c
            } else {
                '_'
            }
        })
        .collect()
}

fn tools(plan: &WireRequest<'_>, body: &mut Map<String, Value>) {
    let request = plan.request;
    if let (Some(name), ResponseFormat::Json { schema, .. }) = (forced_tool(plan), &request.output)
    {
        let answer =
            json!({"name": name, "description": "Give the answer.", "input_schema": schema});
        body.insert("tools".into(), json!([answer]));
        body.insert("tool_choice".into(), json!({"type": "tool", "name": name}));
        return;
    }
    if let ResponseFormat::Json { schema, .. } = &request.output
        && !plan.has(Quirk::NoNativeJson)
        && !plan.force_tool
    {
        body.insert(
            "output_config".into(),
            json!({"format": {"type": "json_schema", "schema": schema}}),
        );
    }
    if request.tools.is_empty() {
        return;
    }
    body.insert("tools".into(), request.tools.iter().map(tool).collect());
    if let Some(choice) = choice(request) {
        body.insert("tool_choice".into(), choice);
    }
}

fn tool(tool: &ToolDeclaration) -> Value {
    json!({"name": tool.name, "description": tool.description, "input_schema": tool.schema})
}

fn choice(request: &ModelRequest) -> Option<Value> {
    match &request.tool_choice {
        ToolChoice::Auto => None,
        ToolChoice::Never => Some(json!({"type": "none"})),
        ToolChoice::Any => Some(json!({"type": "any"})),
        ToolChoice::Named(name) => Some(json!({"type": "tool", "name": name})),
    }
}
