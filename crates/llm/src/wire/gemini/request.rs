//! A request as Google's body.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::model::{
    CacheControl, ChatMessage, ChatRole, MessagePart, ModelRequest, ResponseFormat, ToolChoice,
    ToolDeclaration, ToolOutcome, ToolResult,
};
use crate::provider::WireFormat;
use crate::quirk::Quirk;
use crate::wire::body_cache::JsonListWriter;
use crate::wire::{BodyCache, WireRequest};

pub(crate) fn body(plan: &WireRequest<'_>, draft: &mut BodyCache) -> serde_json::Result<Bytes> {
    let request = plan.request;
    let mut body = Map::new();
    let system = request.system.iter().filter(|block| !block.text.is_empty());
    let system: Vec<_> = system.map(|block| json!({"text": block.text})).collect();
    if !system.is_empty() {
        body.insert("systemInstruction".into(), json!({"parts": system}));
    }
    if !request.tools.is_empty() {
        let functions: Vec<_> = request.tools.iter().map(tool).collect();
        body.insert("tools".into(), json!([{"functionDeclarations": functions}]));
        if let Some(choice) = choice(&request.tool_choice) {
            body.insert(
                "toolConfig".into(),
                json!({"functionCallingConfig": choice}),
            );
        }
    }
    body.insert("generationConfig".into(), Value::Object(generation(plan)));
    let head = JsonListWriter::after(&body, "contents")?;
    let messages = request.messages.iter();
    // Marks on messages are not for this format.
    let messages: Vec<_> = messages
        .map(|message| (message, CacheControl::Off))
        .collect();
    draft.body(head, &messages, |message, _, list| {
        content(message).map_or(Ok(()), |content| list.push(&content))
    })
}

fn generation(plan: &WireRequest<'_>) -> Map<String, Value> {
    let request = plan.request;
    let mut config = Map::new();
    config.insert("maxOutputTokens".into(), json!(request.max_tokens));
    if let Some(temperature) = request
        .temperature
        .filter(|_| !plan.has(Quirk::NoTemperature))
    {
        config.insert("temperature".into(), json!(temperature));
    }
    if !request.stop.is_empty() {
        config.insert("stopSequences".into(), json!(request.stop));
    }
    if let ResponseFormat::Json { schema, .. } = &request.output
        && takes_json(request)
    {
        config.insert("responseMimeType".into(), json!("application/json"));
        if !plan.has(Quirk::NoNativeJson) {
            config.insert("responseJsonSchema".into(), schema.clone());
        }
    }
    config
}

/// True if the model takes functions together with JSON; the first two generations refuse that.
fn takes_json(request: &ModelRequest) -> bool {
    let old = request.model.starts_with("gemini-1") || request.model.starts_with("gemini-2");
    request.tools.is_empty() || !old
}

/// Messages without parts are refused, so they are left out.
fn content(message: &ChatMessage) -> Option<Value> {
    let role = match message.role {
        ChatRole::User => "user",
        ChatRole::Assistant => "model",
    };
    let parts: Vec<_> = message.parts.iter().filter_map(part).collect();
    (!parts.is_empty()).then(|| json!({"role": role, "parts": parts}))
}

fn part(part: &MessagePart) -> Option<Value> {
    match part {
        MessagePart::Text(text) if text.is_empty() => None,
        MessagePart::Text(text) => Some(json!({"text": text})),
        MessagePart::Reasoning(reasoning) => match &reasoning.block {
            Some((WireFormat::Gemini, block)) => Some(block.clone()),
            _ => None,
        },
        MessagePart::ToolCall(call) => {
            let mut entry =
                json!({"functionCall": {"name": call.name, "args": call.arguments.as_object()}});
            if let Some(signature) = &call.signature {
                entry["thoughtSignature"] = json!(signature);
            }
            Some(entry)
        }
        MessagePart::ToolResult(result) => Some(function_response(result)),
    }
}

/// Wraps a text result in an object, as the format requires.
fn function_response(result: &ToolResult) -> Value {
    let response = match (
        result.outcome,
        serde_json::from_str::<Value>(&result.content),
    ) {
        (ToolOutcome::Done, Ok(object @ Value::Object(_))) => object,
        (ToolOutcome::Done, _) => json!({"result": result.content}),
        (ToolOutcome::Failed, _) => json!({"error": result.content}),
    };
    json!({"functionResponse": {"name": result.name, "response": response}})
}

fn tool(tool: &ToolDeclaration) -> Value {
    json!({"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.schema})
}

fn choice(choice: &ToolChoice) -> Option<Value> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::Never => Some(json!({"mode": "NONE"})),
        ToolChoice::Any => Some(json!({"mode": "ANY"})),
        ToolChoice::Named(name) => Some(json!({"mode": "ANY", "allowedFunctionNames": [name]})),
    }
}
