//! What is sent, in each format.

use llm::{
    CacheControl, ChatMessage, JsonVia, MessagePart, ModelRequest, Provider, ProviderClient,
    ResponseFormat, Secret, StopReason, SystemBlock, ToolArguments, ToolCall, ToolChoice,
    ToolDeclaration, ToolOutcome, ToolResult,
};
use serde_json::{Value, json};

use crate::scripted::{ReceivedRequest, ScriptedProvider, hello, json as answer, reply};
use crate::support::{KEY, LIMITS, ModelWatcher, StreamMode, ask, client, endpoint};

/// A request with something of everything.
fn full() -> ModelRequest {
    let mut request = ModelRequest::ask("m", "read a");
    request.system = vec![
        SystemBlock::stable("You are brief."),
        SystemBlock::text("Today is a day."),
    ];
    request.tools = vec![ToolDeclaration {
        name: "read_file".into(),
        description: "Reads a file.".into(),
        schema: json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}),
    }];
    request.tool_choice = ToolChoice::Any;
    request.max_tokens = 50;
    request.temperature = Some(0.5);
    request.stop = vec!["END".into()];
    let call = ToolCall {
        id: "c.1".into(),
        name: "read_file".into(),
        arguments: ToolArguments::read(r#"{"path":"a"}"#),
        signature: None,
    };
    let mut said = ChatMessage::assistant("I look.");
    said.parts.push(MessagePart::ToolCall(call));
    let result = ToolResult {
        id: "c.1".into(),
        name: "read_file".into(),
        content: "none".into(),
        outcome: ToolOutcome::Failed,
    };
    let mut results = ChatMessage::results(vec![result]);
    results.cache = CacheControl::UpToHere;
    request.messages.extend([said, results]);
    request
}

async fn sent(provider: Provider, mode: StreamMode, request: &ModelRequest) -> ReceivedRequest {
    let (whole, _) = hello(provider);
    let server = ScriptedProvider::start(vec![answer(whole)]);
    ask(
        &client(provider, &server.url),
        request,
        &mut ModelWatcher::new(mode),
    )
    .await
    .unwrap();
    server.received().remove(0)
}

#[tokio::test]
async fn anthropic_gets_its_own_form() {
    let sent = sent(Provider::Anthropic, StreamMode::Streamed, &full()).await;
    assert_eq!(sent.line, "POST /v1/messages");
    assert_eq!(sent.header("x-api-key"), Some(KEY));
    assert_eq!(sent.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(sent.header("authorization"), None);
    assert_eq!(
        sent.body,
        json!({
            "model": "m",
            "max_tokens": 50,
            "system": [
                {"type": "text", "text": "You are brief.", "cache_control": {"type": "ephemeral"}},
                {"type": "text", "text": "Today is a day."},
            ],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "read a"}]},
                {"role": "assistant", "content": [
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "c_1", "name": "read_file", "input": {"path": "a"}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "c_1", "content": "none", "is_error": true,
                     "cache_control": {"type": "ephemeral"}},
                ]},
            ],
            "tools": [{"name": "read_file", "description": "Reads a file.", "input_schema":
                {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}}],
            "tool_choice": {"type": "any"},
            "temperature": 0.5,
            "stop_sequences": ["END"],
            "stream": true,
        })
    );
}

#[tokio::test]
async fn openai_gets_its_own_form() {
    let sent = sent(Provider::OpenAi, StreamMode::Streamed, &full()).await;
    assert_eq!(sent.line, "POST /v1/chat/completions");
    assert_eq!(
        sent.header("authorization"),
        Some(format!("Bearer {KEY}").as_str())
    );
    assert_eq!(
        sent.body,
        json!({
            "model": "m",
            "messages": [
                {"role": "system", "content": "You are brief.\n\nToday is a day."},
                {"role": "user", "content": "read a"},
                {"role": "assistant", "content": "I look.", "tool_calls": [
                    {"id": "c.1", "type": "function", "function": {"name": "read_file", "arguments": "{\"path\":\"a\"}"}},
                ]},
                {"role": "tool", "tool_call_id": "c.1", "content": "error: none"},
            ],
            "tools": [{"type": "function", "function": {"name": "read_file", "description": "Reads a file.",
                "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}}}],
            "tool_choice": "required",
            "max_completion_tokens": 50,
            "temperature": 0.5,
            "stop": ["END"],
            "stream": true,
            "stream_options": {"include_usage": true},
        })
    );
}

#[tokio::test]
async fn google_gets_its_own_form() {
    let sent_whole = sent(Provider::Google, StreamMode::Whole, &full()).await;
    assert_eq!(sent_whole.line, "POST /v1beta/models/m:generateContent");
    assert_eq!(sent_whole.header("x-goog-api-key"), Some(KEY));
    assert_eq!(
        sent_whole.body,
        json!({
            "systemInstruction": {"parts": [{"text": "You are brief."}, {"text": "Today is a day."}]},
            "contents": [
                {"role": "user", "parts": [{"text": "read a"}]},
                {"role": "model", "parts": [
                    {"text": "I look."},
                    {"functionCall": {"name": "read_file", "args": {"path": "a"}}},
                ]},
                {"role": "user", "parts": [
                    {"functionResponse": {"name": "read_file", "response": {"error": "none"}}},
                ]},
            ],
            "tools": [{"functionDeclarations": [{"name": "read_file", "description": "Reads a file.",
                "parametersJsonSchema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}}]}],
            "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
            "generationConfig": {"maxOutputTokens": 50, "temperature": 0.5, "stopSequences": ["END"]},
        })
    );
    let streamed = sent(Provider::Google, StreamMode::Streamed, &full()).await;
    assert_eq!(
        streamed.line,
        "POST /v1beta/models/m:streamGenerateContent?alt=sse"
    );
}

#[tokio::test]
async fn a_model_name_cannot_leave_its_place_in_the_path() {
    let mut request = ModelRequest::ask("../../x?key=1#y %2e", "q");
    request.max_tokens = 5;
    let sent = sent(Provider::Google, StreamMode::Whole, &request).await;
    assert_eq!(sent.line, "POST /v1beta///xkey=1y2e:generateContent");
}

fn schema() -> Value {
    json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false})
}

fn asking_for_json() -> ModelRequest {
    let mut request = ModelRequest::ask("m", "q");
    request.output = ResponseFormat::Json {
        name: "answers".into(),
        schema: schema(),
    };
    request
}

#[tokio::test]
async fn json_is_asked_for_by_each_formats_own_means() {
    let request = asking_for_json();
    let body = sent(Provider::Anthropic, StreamMode::Whole, &request)
        .await
        .body;
    assert_eq!(
        body["output_config"],
        json!({"format": {"type": "json_schema", "schema": schema()}})
    );
    let body = sent(Provider::OpenAi, StreamMode::Whole, &request)
        .await
        .body;
    let strict = json!({"name": "answers", "strict": true, "schema": schema()});
    assert_eq!(
        body["response_format"],
        json!({"type": "json_schema", "json_schema": strict})
    );
    let body = sent(Provider::Google, StreamMode::Whole, &request)
        .await
        .body;
    assert_eq!(
        body["generationConfig"]["responseMimeType"],
        "application/json"
    );
    assert_eq!(body["generationConfig"]["responseJsonSchema"], schema());
}

#[tokio::test]
async fn a_forced_tool_call_replaces_json_mode() {
    let called = r#"{"id":"m1","model":"m","content":[{"type":"text","text":"Here:"},
        {"type":"tool_use","id":"t","name":"answers","input":{"a":"b"}}],"stop_reason":"tool_use"}"#;
    let server = ScriptedProvider::start(vec![answer(called)]);
    let mut endpoint = endpoint(Provider::Anthropic, &server.url);
    endpoint.json = JsonVia::ForcedTool;
    let client = ProviderClient::new(&endpoint, LIMITS).unwrap();
    let response = ask(
        &client,
        &asking_for_json(),
        &mut ModelWatcher::new(StreamMode::Whole),
    )
    .await
    .unwrap();
    assert_eq!(response.text(), r#"{"a":"b"}"#);
    assert_eq!(response.stop, StopReason::EndTurn);
    let body = &server.received()[0].body;
    assert_eq!(
        body["tool_choice"],
        json!({"type": "tool", "name": "answers"})
    );
    assert_eq!(body["tools"][0]["input_schema"], schema());
    assert_eq!(body.get("output_config"), None);
}

#[tokio::test]
async fn what_a_model_does_not_take_is_left_out_and_remembered() {
    let refusal = |message: &str| {
        let body =
            format!(r#"{{"error":{{"type":"invalid_request_error","message":"{message}"}}}}"#);
        reply(400, &[("content-type", "application/json")], &body)
    };
    let called = r#"{"id":"m1","model":"m","content":[{"type":"tool_use","id":"t","name":"answers","input":{"a":"b"}}],
        "stop_reason":"tool_use"}"#;
    let server = ScriptedProvider::start(vec![
        refusal("`temperature` is deprecated for this model."),
        refusal("output_config: Extra inputs are not permitted"),
        answer(called),
    ]);
    let client = client(Provider::Anthropic, &server.url);
    let mut request = asking_for_json();
    request.temperature = Some(0.2);
    let mut watcher = ModelWatcher::new(StreamMode::Whole);
    let response = ask(&client, &request, &mut watcher).await.unwrap();
    assert_eq!(response.text(), r#"{"a":"b"}"#);
    let adapted: Vec<_> = watcher
        .seen
        .iter()
        .filter(|line| line.starts_with("adapted"))
        .collect();
    assert_eq!(
        adapted,
        [
            "adapted without temperature",
            "adapted without the provider's structured output"
        ]
    );

    ask(&client, &request, &mut ModelWatcher::new(StreamMode::Whole))
        .await
        .unwrap();
    let bodies: Vec<_> = server
        .received()
        .into_iter()
        .map(|received| received.body)
        .collect();
    assert_eq!(bodies.len(), 4, "the second time it is known");
    let has = |body: &Value, name: &str| body.get(name).is_some();
    let shown: Vec<_> = bodies
        .iter()
        .map(|b| {
            (
                has(b, "temperature"),
                has(b, "output_config"),
                has(b, "tools"),
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            (true, true, false),
            (false, true, false),
            (false, false, true),
            (false, false, true)
        ]
    );
}

#[tokio::test]
async fn gateways_get_their_headers_and_openrouter_its_cache_marks() {
    let (whole, _) = hello(Provider::OpenRouter);
    let server = ScriptedProvider::start(vec![answer(whole)]);
    let mut endpoint = endpoint(
        Provider::OpenRouter,
        &format!("{}/api/v1?tenant=7", server.url),
    );
    endpoint.headers = vec![("X-Title".into(), Secret::new("drawloom"))];
    let client = ProviderClient::new(&endpoint, LIMITS).unwrap();
    ask(&client, &full(), &mut ModelWatcher::new(StreamMode::Whole))
        .await
        .unwrap();
    let sent = server.received().remove(0);
    assert_eq!(sent.line, "POST /api/v1/chat/completions?tenant=7");
    assert_eq!(sent.header("x-title"), Some("drawloom"));
    assert_eq!(
        sent.body["messages"][0]["content"][0]["cache_control"],
        json!({"type": "ephemeral"})
    );
    assert_eq!(sent.body["max_tokens"], 50);
}

#[tokio::test]
async fn anthropic_gets_no_more_cache_marks_than_it_takes() {
    let mut request = ModelRequest::ask("m", "0");
    request.system = vec![SystemBlock::stable("s")];
    for turn in 0..6 {
        let mut message = ChatMessage::user(turn.to_string());
        message.cache = CacheControl::UpToHere;
        request.messages.push(message);
    }
    let body = sent(Provider::Anthropic, StreamMode::Whole, &request)
        .await
        .body
        .to_string();
    assert_eq!(body.matches("cache_control").count(), 4, "{body}");
    assert!(
        body.ends_with(r#""text":"5","cache_control":{"type":"ephemeral"}}]}]}"#),
        "{body}"
    );
}
