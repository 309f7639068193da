//! A request as OpenAI's body.

use std::borrow::Cow;

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::model::{
    CacheControl, ChatMessage, ChatRole, MessagePart, ReasoningPart, ResponseFormat, ToolCall,
    ToolChoice, ToolDeclaration, ToolOutcome, ToolResult,
};
use crate::provider::{Provider, WireFormat};
use crate::quirk::Quirk;
use crate::wire::body_cache::JsonListWriter;
use crate::wire::{BodyCache, WireRequest, schema};

pub(crate) fn body(plan: &WireRequest<'_>, draft: &mut BodyCache) -> serde_json::Result<Bytes> {
    let request = plan.request;
    let mut body = Map::new();
    body.insert("model".into(), json!(request.model));
    if !request.tools.is_empty() {
        body.insert("tools".into(), request.tools.iter().map(tool).collect());
        if let Some(choice) = choice(&request.tool_choice) {
            body.insert("tool_choice".into(), choice);
        }
    }
    if let ResponseFormat::Json { name, schema } = &request.output
        && !plan.has(Quirk::NoNativeJson)
    {
        let schema = json!({"name": name, "strict": schema::is_strict(schema), "schema": schema});
        body.insert(
            "response_format".into(),
            json!({"type": "json_schema", "json_schema": schema}),
        );
    }
    body.insert(max_tokens_name(plan).into(), json!(request.max_tokens));
    if let Some(temperature) = request
        .temperature
        .filter(|_| !plan.has(Quirk::NoTemperature))
    {
        body.insert("temperature".into(), json!(temperature));
    }
    if !request.stop.is_empty() {
        body.insert("stop".into(), json!(request.stop));
    }
    if plan.streamed {
        body.insert("stream".into(), json!(true));
        if !plan.has(Quirk::NoStreamUsage) {
            body.insert("stream_options".into(), json!({"include_usage": true}));
        }
    }
    let mut head = JsonListWriter::after(&body, "messages")?;
    if let Some(system) = system(plan) {
        head.push(&system)?;
    }
    let messages = request.messages.iter();
    // Marks on messages are not for this format.
    let messages: Vec<_> = messages
        .map(|message| (message, CacheControl::Off))
        .collect();
    draft.body(head, &messages, |message, _, list| match message.role {
        ChatRole::User => user(message, list),
        ChatRole::Assistant => assistant(message, list),
    })
}

/// OpenAI renamed it; most others know only the old name.
fn max_tokens_name(plan: &WireRequest<'_>) -> &'static str {
    let new = (plan.provider == Provider::OpenAi) != plan.has(Quirk::OtherMaxTokens);
    if new {
        "max_completion_tokens"
    } else {
        "max_tokens"
    }
}

/// A long text message, serialised without a copy.
#[derive(Serialize)]
struct TextMessage<'a> {
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    content: &'a str,
}

/// OpenRouter passes cache marks on to providers that want them; OpenAI caches by itself.
fn system(plan: &WireRequest<'_>) -> Option<Value> {
    let blocks: Vec<_> = plan
        .request
        .system
        .iter()
        .filter(|block| !block.text.is_empty())
        .collect();
    if blocks.is_empty() {
        return None;
    }
    let marked = blocks
        .iter()
        .any(|block| block.cache == CacheControl::UpToHere);
    if plan.provider == Provider::OpenRouter && marked {
        let content = blocks.iter().map(|block| match block.cache {
            CacheControl::Off => json!({"type": "text", "text": block.text}),
            CacheControl::UpToHere => {
                json!({"type": "text", "text": block.text, "cache_control": {"type": "ephemeral"}})
            }
        });
        return Some(json!({"role": "system", "content": content.collect::<Vec<_>>()}));
    }
    let texts: Vec<_> = blocks.iter().map(|block| block.text.as_str()).collect();
    Some(json!({"role": "system", "content": texts.join("\n\n")}))
}

/// Writes each tool result as a message of its own.
fn user(message: &ChatMessage, list: &mut JsonListWriter) -> serde_json::Result<()> {
    for part in &message.parts {
        if let MessagePart::ToolResult(result) = part {
            tool_result(result, list)?;
        }
    }
    let text = text(message);
    if text.is_empty() {
        return Ok(());
    }
    list.push(&TextMessage {
        role: "user",
        tool_call_id: None,
        content: &text,
    })
}

fn tool_result(result: &ToolResult, list: &mut JsonListWriter) -> serde_json::Result<()> {
    let content = match result.outcome {
        ToolOutcome::Done => Cow::from(&result.content),
        ToolOutcome::Failed => Cow::from(format!("error: {}", result.content)),
    };
    list.push(&TextMessage {
        role: "tool",
        tool_call_id: Some(&result.id),
        content: &content,
    })
}

fn text(message: &ChatMessage) -> Cow<'_, str> {
    let texts = message.parts.iter().filter_map(|part| match part {
        MessagePart::Text(text) if !text.is_empty() => Some(text.as_str()),
        _ => None,
    });
    match texts.collect::<Vec<_>>().as_slice() {
        [only] => Cow::from(*only),
        texts => Cow::from(texts.join("\n\n")),
    }
}

fn assistant(message: &ChatMessage, list: &mut JsonListWriter) -> serde_json::Result<()> {
    let text = text(message);
    let calls = message.parts.iter().filter_map(|part| match part {
        MessagePart::ToolCall(call) => Some(tool_call(call)),
        _ => None,
    });
    let calls: Vec<_> = calls.collect();
    if text.is_empty() && calls.is_empty() {
        return Ok(());
    }
    let mut entry = Map::new();
    entry.insert("role".into(), json!("assistant"));
    entry.insert(
        "content".into(),
        if text.is_empty() {
            Value::Null
        } else {
            json!(text)
        },
    );
    if !calls.is_empty() {
        entry.insert("tool_calls".into(), Value::Array(calls));
    }
    // Thoughts go back under the name they came with.
    for part in &message.parts {
        if let MessagePart::Reasoning(ReasoningPart {
            block: Some((WireFormat::OpenAi, Value::Object(fields))),
            ..
        }) = part
        {
            entry.extend(fields.clone());
        }
    }
    list.push(&entry)
}

fn tool_call(call: &ToolCall) -> Value {
    let arguments = match call.arguments.value() {
        Ok(_) if !call.arguments.raw().trim().is_empty() => call.arguments.raw().to_owned(),
        _ => Value::Object(call.arguments.as_object()).to_string(),
    };
    json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}})
}

fn tool(tool: &ToolDeclaration) -> Value {
    let function =
        json!({"name": tool.name, "description": tool.description, "parameters": tool.schema});
    json!({"type": "function", "function": function})
}

fn choice(choice: &ToolChoice) -> Option<Value> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::Never => Some(json!("none")),
        ToolChoice::Any => Some(json!("required")),
        ToolChoice::Named(name) => Some(json!({"type": "function", "function": {"name": name}})),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::body;
    use crate::model::{
        ChatMessage, MessagePart, ModelRequest, SystemBlock, ToolArguments, ToolCall, ToolOutcome,
        ToolResult,
    };
    use crate::provider::Provider;
    use crate::quirk::{Quirk, QuirkSet};
    use crate::wire::{BodyCache, WireRequest};

    fn read_back(plan: &WireRequest<'_>) -> serde_json::Value {
        let body = body(plan, &mut BodyCache::default()).expect("the body is written");
        serde_json::from_slice(&body).expect("the body is JSON")
    }

    #[test]
    fn the_token_limit_goes_by_the_name_the_server_knows() {
        let request = ModelRequest::ask("m", "q");
        for (provider, quirks, name) in [
            (Provider::OpenAi, QuirkSet::new(), "max_completion_tokens"),
            (Provider::Ollama, QuirkSet::new(), "max_tokens"),
            (
                Provider::Compatible,
                QuirkSet::from([Quirk::OtherMaxTokens]),
                "max_completion_tokens",
            ),
            (
                Provider::OpenAi,
                QuirkSet::from([Quirk::OtherMaxTokens]),
                "max_tokens",
            ),
        ] {
            let plan = WireRequest {
                request: &request,
                provider,
                quirks: &quirks,
                streamed: false,
                force_tool: false,
            };
            assert_eq!(read_back(&plan)[name], 8192, "{provider:?}");
        }
    }

    #[test]
    fn a_conversation_with_tools_is_written_in_order() {
        let mut request = ModelRequest::ask("m", "read it");
        request.system = vec![SystemBlock::stable("be brief"), SystemBlock::text("")];
        let call = |arguments: &str| ToolCall {
            id: "c1".into(),
            name: "read".into(),
            arguments: ToolArguments::read(arguments),
            signature: None,
        };
        let mut said = ChatMessage::assistant("");
        said.parts
            .push(MessagePart::ToolCall(call(r#"{"path": "a"}"#)));
        said.parts.push(MessagePart::ToolCall(call(r#"{"path"#)));
        request.messages.push(said);
        let result = |outcome| ToolResult {
            id: "c1".into(),
            name: "read".into(),
            content: "x".into(),
            outcome,
        };
        request.messages.push(ChatMessage::results(vec![
            result(ToolOutcome::Done),
            result(ToolOutcome::Failed),
        ]));
        let quirks = QuirkSet::new();
        let plan = WireRequest {
            request: &request,
            provider: Provider::OpenAi,
            quirks: &quirks,
            streamed: true,
            force_tool: false,
        };
        let body = read_back(&plan);
        assert_eq!(
            body["messages"],
            json!([
                {"role": "system", "content": "be brief"},
                {"role": "user", "content": "read it"},
                {"role": "assistant", "content": null, "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{\"path\": \"a\"}"}},
                    {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{\"malformed\":\"{\\\"path\"}"}},
                ]},
                {"role": "tool", "tool_call_id": "c1", "content": "x"},
                {"role": "tool", "tool_call_id": "c1", "content": "error: x"},
            ])
        );
        assert_eq!(body["stream_options"], json!({"include_usage": true}));
    }
}
