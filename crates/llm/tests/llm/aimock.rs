//! The three formats against aimock: scripted answers, real faults, and what it saw of us.

use std::time::{Duration, Instant};

use llm::error::Again;
use llm::models::list;
use llm::retry::{Retry, RetryLimits};
use llm::{
    Block, Client, Code, Message, Outcome, Output, Provider, Request, Secret, Stop, Tool,
    ToolResult,
};
use serde_json::{Value, json};

use crate::peer::{Running, installed};
use crate::support::{FAULT_MS_MAX, FORMATS, KEY, LIMITS, MODES, Mode, Watcher, ask, endpoint};

/// A running aimock with the fixtures of all tests.
struct Mock {
    url: String,
    _running: Running,
}

/// A client of the test's own, for what is said to the mock about itself.
fn plain_http() -> reqwest::Client {
    // The crate does this when it makes its first client; a test may come before that.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().build().unwrap()
}

impl Mock {
    fn start(environment: &[(&str, &str)]) -> Mock {
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
        let mut running = Running::start("node".as_ref(), &arguments, environment);
        let line = running.line_with("listening on http");
        let url = line[line.find("http://").unwrap()..].trim().to_owned();
        Mock {
            url,
            _running: running,
        }
    }

    fn client(&self, provider: Provider) -> Client {
        self.client_with(provider, &[])
    }

    /// With aimock's own headers, which make it misbehave for these requests only.
    fn client_with(&self, provider: Provider, headers: &[(&str, &str)]) -> Client {
        let mut endpoint = endpoint(provider, &self.url);
        endpoint.headers = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), Secret::new(*value)))
            .collect();
        Client::new(&endpoint, LIMITS).unwrap()
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

fn request(provider: Provider, text: &str) -> Request {
    let mut request = Request::ask(model_of(provider), text);
    request.system = vec![Block::stable("Be brief.")];
    request
}

#[tokio::test]
async fn text_comes_with_usage_whole_and_streamed() {
    let mock = Mock::start(&[]);
    for provider in FORMATS {
        for mode in MODES {
            let mut watcher = Watcher::new(mode);
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
            assert_eq!(response.stop, Stop::EndTurn);
            assert_eq!(
                (response.usage.input, response.usage.output),
                (11, 7),
                "{provider:?} {mode:?}"
            );
            let pieces = watcher.seen.len();
            assert!(
                if mode == Mode::Streamed {
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
    let mock = Mock::start(&[]);
    for provider in FORMATS {
        for mode in MODES {
            let client = mock.client(provider);
            let mut request = request(provider, "use a tool");
            request.tools = vec![Tool {
                name: "read_file".into(),
                description: "Reads a file.".into(),
                schema: json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}),
            }];
            let response = ask(&client, &request, &mut Watcher::new(mode))
                .await
                .unwrap();
            assert_eq!(response.stop, Stop::ToolUse, "{provider:?} {mode:?}");
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
                outcome: Outcome::Done,
            });
            request.messages.push(Message::results(results.collect()));
            let response = ask(&client, &request, &mut Watcher::new(mode))
                .await
                .unwrap();
            assert_eq!(
                (response.text().as_str(), response.stop),
                ("It says nothing new.", Stop::EndTurn)
            );
        }
    }
}

#[tokio::test]
async fn an_answer_cut_by_its_length_says_so() {
    let mock = Mock::start(&[]);
    for provider in FORMATS {
        for mode in MODES {
            let request = request(provider, "go on forever");
            let response = ask(&mock.client(provider), &request, &mut Watcher::new(mode))
                .await
                .unwrap();
            assert_eq!(response.stop, Stop::MaxTokens, "{provider:?} {mode:?}");
        }
    }
}

#[tokio::test]
async fn json_is_asked_for_and_given() {
    let mock = Mock::start(&[]);
    let mut request = request(Provider::OpenAi, "give me json");
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false});
    request.output = Output::Json {
        name: "answers".into(),
        schema,
    };
    let response = ask(
        &mock.client(Provider::OpenAi),
        &request,
        &mut Watcher::new(Mode::Streamed),
    )
    .await
    .unwrap();
    assert_eq!(response.text(), r#"{"a":"b"}"#);
}

#[tokio::test]
async fn failures_that_pass_are_waited_out_as_long_as_the_server_asks() {
    let mock = Mock::start(&[]);
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
            let model = Retry::new(mock.client(provider), limits);
            let mut watcher = Watcher::new(Mode::Streamed);
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
                // aimock sends `Retry-After: 1`.
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
    client: &Client,
    provider: Provider,
    text: &str,
    mode: Mode,
    expected: (Code, Again),
) {
    let began = Instant::now();
    let error = ask(client, &request(provider, text), &mut Watcher::new(mode))
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
    let mock = Mock::start(&[]);
    for provider in FORMATS {
        for mode in MODES {
            for (header, code) in [
                ("x-aimock-chaos-drop", Code::ProviderUnavailable),
                ("x-aimock-chaos-ratelimit", Code::RateLimited),
                ("x-aimock-chaos-disconnect", Code::TransportFailed),
                ("x-aimock-chaos-malformed", Code::TransportFailed),
            ] {
                let client = mock.client_with(provider, &[(header, "1")]);
                check(
                    &client,
                    provider,
                    "say hello",
                    mode,
                    (code, Again::Worthwhile),
                )
                .await;
            }
        }
        let slow = mock.client_with(provider, &[("x-aimock-chaos-latency", "4000")]);
        let unavailable = Code::ProviderUnavailable;
        check(
            &slow,
            provider,
            "say hello",
            Mode::Streamed,
            (unavailable, Again::Worthwhile),
        )
        .await;
        check(
            &slow,
            provider,
            "say hello",
            Mode::Whole,
            (unavailable, Again::Pointless),
        )
        .await;
    }
}

#[tokio::test]
async fn streams_that_break_or_stall_end_in_the_right_error() {
    let mock = Mock::start(&[]);
    for provider in FORMATS {
        let client = mock.client(provider);
        check(
            &client,
            provider,
            "be cut",
            Mode::Streamed,
            (Code::TransportFailed, Again::Worthwhile),
        )
        .await;
        check(
            &client,
            provider,
            "be slow",
            Mode::Streamed,
            (Code::ProviderUnavailable, Again::Worthwhile),
        )
        .await;
    }
}

#[tokio::test]
async fn refusals_end_in_the_right_error_with_the_servers_words() {
    let mock = Mock::start(&[]);
    for provider in FORMATS {
        for mode in MODES {
            for (status, text, code) in [
                (400, "prompt is too long: 3 > 2", Code::ContextTooLarge),
                (400, "no such thing", Code::GenerationFailed),
                (404, "no such model", Code::ProviderUnavailable),
            ] {
                mock.next_fails(status, text).await;
                let error = ask(
                    &mock.client(provider),
                    &request(provider, "say hello"),
                    &mut Watcher::new(mode),
                )
                .await;
                let error = error.expect_err(text);
                assert_eq!(
                    (error.code, error.again, error.status),
                    (code, Again::Pointless, Some(status)),
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
    let mock = Mock::start(&[("AIMOCK_API_KEYS", "another-key")]);
    for provider in FORMATS {
        for mode in MODES {
            check(
                &mock.client(provider),
                provider,
                "say hello",
                mode,
                (Code::ApiKeyMissing, Again::Pointless),
            )
            .await;
        }
    }
    let right = Mock::start(&[("AIMOCK_API_KEYS", KEY)]);
    for provider in FORMATS {
        ask(
            &right.client(provider),
            &request(provider, "say hello"),
            &mut Watcher::new(Mode::Whole),
        )
        .await
        .unwrap();
    }
}

#[tokio::test]
async fn models_are_listed() {
    let mock = Mock::start(&[]);
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
