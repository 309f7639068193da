//! The three formats against aimock: scripted answers, real faults, and what it saw of us.

use std::time::{Duration, Instant};

use llm::error::RetryAdvice;
use llm::models::list;
use llm::retry::{RetryLimits, RetryingModel};
use llm::{
    AiErrorCode, ChatMessage, ModelRequest, Provider, ProviderClient, ResponseFormat, Secret,
    StopReason, SystemBlock, ToolDeclaration, ToolOutcome, ToolResult,
};
use serde_json::{Value, json};

use crate::peer::{RunningPeer, installed};
use crate::support::{
    FAULT_MS_MAX, FORMATS, KEY, LIMITS, MODES, ModelWatcher, StreamMode, ask, endpoint,
};

/// A running aimock with the fixtures of all tests.
struct AimockServer {
    url: String,
    _running: RunningPeer,
}

/// A client of the test's own, for what is said to the mock about itself.
fn plain_http() -> reqwest::Client {
    // The crate does this when it makes its first client; a test may come before that.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().build().unwrap()
}

impl AimockServer {
    fn start(environment: &[(&str, &str)]) -> AimockServer {
        let folder = installed("aimock").join("node_modules/@copilotkit/aimock/dist/cli.js");
        let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/aimock.json");
        let program = folder.to_str().unwrap();
        let arguments = [
            program,
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "-f",
            fixtures,
            "--strict",
        ];
        let mut running = RunningPeer::start("node".as_ref(), &arguments, environment);
        let line = running.line_with("listening on http");
        let url = line[line.find("http://").unwrap()..].trim().to_owned();
        AimockServer {
            url,
            _running: running,
        }
    }

    fn client(&self, provider: Provider) -> ProviderClient {
        self.client_with(provider, &[])
    }

    /// With aimock's own headers, which make it misbehave for these requests only.
    fn client_with(&self, provider: Provider, headers: &[(&str, &str)]) -> ProviderClient {
        let mut endpoint = endpoint(provider, &self.url);
        endpoint.headers = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), Secret::new(*value)))
            .collect();
        ProviderClient::new(&endpoint, LIMITS).unwrap()
    }

    async fn next_fails(&self, status: u16, message: &str) {
        let body = json!({"status": status, "body": {"message": message, "type": "some_error"}});
        let http = plain_http();
        let url = format!("{}/__aimock/error", self.url);
        assert!(
            http.post(url)
                .body(body.to_string())
                .send()
                .await
                .unwrap()
                .status()
                .is_success()
        );
    }

    async fn journal(&self) -> Vec<Value> {
        let http = plain_http();
        let text = http
            .get(format!("{}/__aimock/journal", self.url))
            .send()
            .await
            .unwrap()
            .text()
            .await;
        serde_json::from_str(&text.unwrap()).unwrap()
    }
}

fn model_of(provider: Provider) -> &'static str {
    match provider {
        Provider::Anthropic => "claude-sonnet-4-5",
        Provider::Google => "gemini-2.5-flash",
        _ => "gpt-5",
    }
}

fn request(provider: Provider, text: &str) -> ModelRequest {
    let mut request = ModelRequest::ask(model_of(provider), text);
    request.system = vec![SystemBlock::stable("Be brief.")];
    request
}

#[tokio::test]
async fn text_comes_with_usage_whole_and_streamed() {
    let mock = AimockServer::start(&[]);
    for provider in FORMATS {
        for mode in MODES {
            let mut watcher = ModelWatcher::new(mode);
            let response = ask(
                &mock.client(provider),
                &request(provider, "say hello"),
                &mut watcher,
            )
            .await
            .unwrap();
            assert_eq!(
                response.text(),
                "Hello there, friend of mine and of everyone!"
            );
            assert_eq!(response.stop, StopReason::EndTurn);
            assert_eq!(
                (response.usage.input, response.usage.output),
                (11, 7),
                "{provider:?} {mode:?}"
            );
            let pieces = watcher.seen.len();
            assert!(
                if mode == StreamMode::Streamed {
                    pieces > 1
                } else {
                    pieces == 1
                },
                "{:?}",
                watcher.seen
            );
            assert_eq!(watcher.text(), response.text());
        }
    }
    let journal = mock.journal().await;
    let paths: Vec<_> = journal
        .iter()
        .map(|entry| entry["path"].as_str().unwrap())
        .collect();
    assert_eq!(
        paths,
        [
            "/v1/messages",
            "/v1/messages",
            "/v1/chat/completions",
            "/v1/chat/completions",
            "/v1beta/models/gemini-2.5-flash:generateContent",
            "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
        ]
    );
    for entry in &journal {
        assert!(
            entry["body"].to_string().contains("Be brief."),
            "the system prompt is sent: {entry}"
        );
        assert!(!entry["body"].to_string().contains(KEY));
        assert_eq!(entry["headers"]["content-type"], "application/json");
    }
}

#[tokio::test]
async fn tools_are_called_and_their_results_answered() {
    let mock = AimockServer::start(&[]);
    for provider in FORMATS {
        for mode in MODES {
            let client = mock.client(provider);
            let mut request = request(provider, "use a tool");
            request.tools = vec![ToolDeclaration {
                name: "read_file".into(),
                description: "Reads a file.".into(),
                schema: json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}),
            }];
            let response = ask(&client, &request, &mut ModelWatcher::new(mode))
                .await
                .unwrap();
            assert_eq!(response.stop, StopReason::ToolUse, "{provider:?} {mode:?}");
            let calls: Vec<_> = response.tool_calls().cloned().collect();
            assert_eq!(calls.len(), 2, "{provider:?} {mode:?}");
            assert_eq!(calls[0].name, "read_file");
            assert_eq!(calls[0].arguments.value().unwrap()["path"], "a.txt");
            assert_eq!(calls[1].arguments.value().unwrap()["path"], "b.txt");
            assert_ne!(calls[0].id, calls[1].id);

            request.messages.push(response.into_message());
            let results = calls.into_iter().map(|call| ToolResult {
                id: call.id,
                name: call.name,
                content: "the text of the file".into(),
                outcome: ToolOutcome::Done,
            });
            request
                .messages
                .push(ChatMessage::results(results.collect()));
            let response = ask(&client, &request, &mut ModelWatcher::new(mode))
                .await
                .unwrap();
            assert_eq!(
                (response.text().as_str(), response.stop),
                ("It says nothing new.", StopReason::EndTurn)
            );
        }
    }
}

#[tokio::test]
async fn an_answer_cut_by_its_length_says_so() {
    let mock = AimockServer::start(&[]);
    for provider in FORMATS {
        for mode in MODES {
            let request = request(provider, "go on forever");
            let response = ask(
                &mock.client(provider),
                &request,
                &mut ModelWatcher::new(mode),
            )
            .await
            .unwrap();
            assert_eq!(
                response.stop,
                StopReason::MaxTokens,
                "{provider:?} {mode:?}"
            );
        }
    }
}

#[tokio::test]
async fn json_mode_returns_json() {
    let mock = AimockServer::start(&[]);
    let mut request = request(Provider::OpenAi, "give me json");
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false});
    request.output = ResponseFormat::Json {
        name: "answers".into(),
        schema,
    };
    let response = ask(
        &mock.client(Provider::OpenAi),
        &request,
        &mut ModelWatcher::new(StreamMode::Streamed),
    )
    .await
    .unwrap();
    assert_eq!(response.text(), r#"{"a":"b"}"#);
}

#[tokio::test]
async fn failures_that_pass_are_waited_out_as_long_as_the_server_asks() {
    let mock = AimockServer::start(&[]);
    let limits = RetryLimits {
        attempts_max: 3,
        first_wait_ms: 10,
        wait_ms_max: 1_500,
        total_ms_max: 5_000,
    };
    for provider in FORMATS {
        for (status, code) in [
            (429, "AI_RATE_LIMITED"),
            (529, "AI_PROVIDER_UNAVAILABLE"),
            (500, "AI_PROVIDER_UNAVAILABLE"),
        ] {
            mock.next_fails(status, "not now").await;
            let before = mock.journal().await.len();
            let began = Instant::now();
            let model = RetryingModel::new(mock.client(provider), limits);
            let mut watcher = ModelWatcher::new(StreamMode::Streamed);
            ask(&model, &request(provider, "say hello"), &mut watcher)
                .await
                .unwrap();
            assert!(
                watcher.seen[0].starts_with("waiting 1/3") && watcher.seen[0].contains(code),
                "{:?}",
                watcher.seen
            );
            assert!(watcher.seen[0].contains("not now"), "{:?}", watcher.seen);
            assert_eq!(mock.journal().await.len(), before + 2);
            if status == 429 {
                // aimock sends `RetryingModel-After: 1`.
                assert!(
                    began.elapsed() >= Duration::from_secs(1),
                    "the wait is kept"
                );
            }
        }
    }
}

/// The fault's code, in bounded time.
async fn check(
    client: &ProviderClient,
    provider: Provider,
    text: &str,
    mode: StreamMode,
    expected: (AiErrorCode, RetryAdvice),
) {
    let began = Instant::now();
    let error = ask(
        client,
        &request(provider, text),
        &mut ModelWatcher::new(mode),
    )
    .await
    .expect_err(text);
    assert!(began.elapsed().as_millis() < FAULT_MS_MAX, "{text}");
    assert_eq!(
        (error.code, error.again),
        expected,
        "{provider:?} {mode:?} {text}: {error}"
    );
    assert!(error.advice.ends_with('.'), "{error}");
}

#[tokio::test]
async fn chaos_ends_in_the_right_error() {
    let mock = AimockServer::start(&[]);
    for provider in FORMATS {
        for mode in MODES {
            for (header, code) in [
                ("x-aimock-chaos-drop", AiErrorCode::ProviderUnavailable),
                ("x-aimock-chaos-ratelimit", AiErrorCode::RateLimited),
                ("x-aimock-chaos-disconnect", AiErrorCode::TransportFailed),
                ("x-aimock-chaos-malformed", AiErrorCode::TransportFailed),
            ] {
                let client = mock.client_with(provider, &[(header, "1")]);
                check(
                    &client,
                    provider,
                    "say hello",
                    mode,
                    (code, RetryAdvice::Worthwhile),
                )
                .await;
            }
        }
        let slow = mock.client_with(provider, &[("x-aimock-chaos-latency", "4000")]);
        let unavailable = AiErrorCode::ProviderUnavailable;
        check(
            &slow,
            provider,
            "say hello",
            StreamMode::Streamed,
            (unavailable, RetryAdvice::Worthwhile),
        )
        .await;
        check(
            &slow,
            provider,
            "say hello",
            StreamMode::Whole,
            (unavailable, RetryAdvice::Pointless),
        )
        .await;
    }
}

#[tokio::test]
async fn streams_that_break_or_stall_end_in_the_right_error() {
    let mock = AimockServer::start(&[]);
    for provider in FORMATS {
        let client = mock.client(provider);
        check(
            &client,
            provider,
            "be cut",
            StreamMode::Streamed,
            (AiErrorCode::TransportFailed, RetryAdvice::Worthwhile),
        )
        .await;
        check(
            &client,
            provider,
            "be slow",
            StreamMode::Streamed,
            (AiErrorCode::ProviderUnavailable, RetryAdvice::Worthwhile),
        )
        .await;
    }
}

#[tokio::test]
async fn refusals_end_in_the_right_error_with_the_servers_words() {
    let mock = AimockServer::start(&[]);
    for provider in FORMATS {
        for mode in MODES {
            for (status, text, code) in [
                (
                    400,
                    "prompt is too long: 3 > 2",
                    AiErrorCode::ContextTooLarge,
                ),
                (400, "no such thing", AiErrorCode::GenerationFailed),
                (404, "no such model", AiErrorCode::ProviderUnavailable),
            ] {
                mock.next_fails(status, text).await;
                let error = ask(
                    &mock.client(provider),
                    &request(provider, "say hello"),
                    &mut ModelWatcher::new(mode),
                )
                .await;
                let error = error.expect_err(text);
                assert_eq!(
                    (error.code, error.again, error.status),
                    (code, RetryAdvice::Pointless, Some(status)),
                    "{error}"
                );
                assert!(error.to_string().contains(text), "{error}");
                assert!(
                    error.request_id.is_some(),
                    "aimock gives every answer an id: {error:?}"
                );
            }
        }
    }
}

#[tokio::test]
async fn a_wrong_key_is_refused_and_not_shown() {
    let mock = AimockServer::start(&[("AIMOCK_API_KEYS", "another-key")]);
    for provider in FORMATS {
        for mode in MODES {
            check(
                &mock.client(provider),
                provider,
                "say hello",
                mode,
                (AiErrorCode::ApiKeyMissing, RetryAdvice::Pointless),
            )
            .await;
        }
    }
    let right = AimockServer::start(&[("AIMOCK_API_KEYS", KEY)]);
    for provider in FORMATS {
        ask(
            &right.client(provider),
            &request(provider, "say hello"),
            &mut ModelWatcher::new(StreamMode::Whole),
        )
        .await
        .unwrap();
    }
}

#[tokio::test]
async fn models_are_listed() {
    let mock = AimockServer::start(&[]);
    for (provider, path) in [
        (Provider::OpenAi, ""),
        (Provider::OpenRouter, "/api/v1"),
        (Provider::Ollama, ""),
    ] {
        let offers = list(&endpoint(provider, &format!("{}{path}", mock.url)), LIMITS)
            .await
            .unwrap();
        assert!(
            !offers.is_empty() && offers.iter().all(|offer| !offer.model.is_empty()),
            "{provider:?} {offers:?}"
        );
    }
}
