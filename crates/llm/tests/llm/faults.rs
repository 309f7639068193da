//! Every fault: the right code, whether to try again, a sentence that says what to do, in bounded
//! time, and never the key.

use std::time::Instant;

use llm::error::RetryAdvice;
use llm::{AiErrorCode, Limits, ModelRequest, Provider, ProviderClient, ProviderEndpoint, Secret};

use crate::scripted::{ProviderAct, ScriptedProvider, hello, json, reply, stream, stream_dripping};
use crate::support::{
    FAULT_MS_MAX, FORMATS, KEY, LIMITS, MODES, ModelWatcher, StreamMode, ask, assert_no_key, client,
};

/// What a fault must end in.
struct ExpectedFault<'a> {
    code: AiErrorCode,
    again: RetryAdvice,
    /// Parts of the message.
    said: &'a [&'a str],
}

const fn expect<'a>(
    code: AiErrorCode,
    again: RetryAdvice,
    said: &'a [&'a str],
) -> ExpectedFault<'a> {
    ExpectedFault { code, again, said }
}

async fn check_client(
    client: &ProviderClient,
    mode: StreamMode,
    expected: &ExpectedFault<'_>,
    what: &str,
) {
    let began = Instant::now();
    let error = ask(
        client,
        &ModelRequest::ask("m", "q"),
        &mut ModelWatcher::new(mode),
    )
    .await
    .expect_err(what);
    let took = began.elapsed().as_millis();
    assert!(took < FAULT_MS_MAX, "{what} took {took} ms");
    assert_eq!(
        (error.code, error.again),
        (expected.code, expected.again),
        "{what}: {error}"
    );
    for said in expected.said {
        assert!(
            error.to_string().contains(said),
            "{what}: {said:?} is not in {error}"
        );
    }
    assert!(
        error.advice.ends_with('.') && error.advice.len() > 10,
        "{what}: {error}"
    );
}

/// The same fault in all formats and both modes.
async fn check(acts: &[ProviderAct], expected: ExpectedFault<'_>, what: &str) {
    for provider in FORMATS {
        for mode in MODES {
            let server = ScriptedProvider::start(vec![acts.to_vec()]);
            let what = format!("{what}, {provider:?}, {mode:?}");
            check_client(&client(provider, &server.url), mode, &expected, &what).await;
        }
    }
}

const JSON: (&str, &str) = ("content-type", "application/json");

const STATUSES: [(u16, AiErrorCode, RetryAdvice, &str); 10] = [
    (
        400,
        AiErrorCode::GenerationFailed,
        RetryAdvice::Pointless,
        "refused the request",
    ),
    (
        401,
        AiErrorCode::ApiKeyMissing,
        RetryAdvice::Pointless,
        "refused the API key",
    ),
    (
        403,
        AiErrorCode::ApiKeyMissing,
        RetryAdvice::Pointless,
        "does not allow this key",
    ),
    (
        404,
        AiErrorCode::ProviderUnavailable,
        RetryAdvice::Pointless,
        "drawloom ai models",
    ),
    (
        413,
        AiErrorCode::ContextTooLarge,
        RetryAdvice::Pointless,
        "Send less",
    ),
    (
        429,
        AiErrorCode::RateLimited,
        RetryAdvice::Worthwhile,
        "limits the rate",
    ),
    (
        500,
        AiErrorCode::ProviderUnavailable,
        RetryAdvice::Worthwhile,
        "cannot answer now",
    ),
    (
        502,
        AiErrorCode::ProviderUnavailable,
        RetryAdvice::Worthwhile,
        "cannot answer now",
    ),
    (
        503,
        AiErrorCode::ProviderUnavailable,
        RetryAdvice::Worthwhile,
        "cannot answer now",
    ),
    (
        529,
        AiErrorCode::ProviderUnavailable,
        RetryAdvice::Worthwhile,
        "cannot answer now",
    ),
];

#[tokio::test]
async fn error_statuses() {
    let body = r#"{"error":{"message":"told you so","type":"some_error"}}"#;
    for (status, code, again, said) in STATUSES {
        let acts = reply(status, &[JSON, ("request-id", "req-9")], body);
        let said = [said, "told you so", "req-9"];
        check(
            &acts,
            expect(code, again, &said),
            &format!("status {status}"),
        )
        .await;
    }
}

#[tokio::test]
async fn bodies_that_are_no_answers() {
    use RetryAdvice::{Pointless, Worthwhile};
    let malformed = |said| expect(AiErrorCode::TransportFailed, Worthwhile, said);
    let shape = |said| expect(AiErrorCode::TransportFailed, Pointless, said);
    check(
        &json(r#"{"id":"m1","cont"#),
        malformed(&["not JSON", "{\"id\":\"m1\",\"cont"]),
        "truncated JSON",
    )
    .await;
    check(
        &json("so sorry"),
        malformed(&["not JSON", "so sorry"]),
        "plain text",
    )
    .await;
    check(&json(""), malformed(&["not JSON"]), "an empty body").await;
    check(
        &json("{}"),
        shape(&["not an answer of its API", "ai.base_url"]),
        "an empty object",
    )
    .await;
    check(&json("[]"), shape(&["not an answer"]), "an empty list").await;
    check(
        &json(r#"{"status":"ok"}"#),
        shape(&["not an answer", "{\"status\":\"ok\"}"]),
        "another API",
    )
    .await;
    check(
        &reply(
            200,
            &[("content-type", "text/html")],
            "<!doctype html><title>Sign in</title>",
        ),
        shape(&["web page", "Sign in"]),
        "a login page",
    )
    .await;
    check(
        &json(r#"{"choices":[],"content":7,"candidates":7}"#),
        shape(&["not an answer"]),
        "wrong types",
    )
    .await;
    check(
        &stream("data: {\"half\":\n\n"),
        malformed(&["not JSON", "{\"half\":"]),
        "a malformed event",
    )
    .await;
    check(
        &stream("data: {\"hello\":1}\n\n"),
        shape(&["not an answer"]),
        "an event of another API",
    )
    .await;
    check(
        &stream(""),
        malformed(&["stopped before its end"]),
        "an empty stream",
    )
    .await;
}

#[tokio::test]
async fn answers_of_another_format_are_not_read_as_empty_ones() {
    for provider in FORMATS {
        for other in FORMATS.into_iter().filter(|other| *other != provider) {
            let (whole, streamed) = hello(other);
            for (acts, mode) in [
                (json(whole), StreamMode::Whole),
                (stream(streamed), StreamMode::Streamed),
            ] {
                let server = ScriptedProvider::start(vec![acts]);
                let expected = expect(
                    AiErrorCode::TransportFailed,
                    RetryAdvice::Pointless,
                    &["not an answer of its API"],
                );
                let what = format!("{other:?} to {provider:?}");
                check_client(&client(provider, &server.url), mode, &expected, &what).await;
            }
        }
    }
}

#[tokio::test]
async fn errors_inside_a_200() {
    let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"Too busy"}}"#;
    let busy = || {
        expect(
            AiErrorCode::ProviderUnavailable,
            RetryAdvice::Worthwhile,
            &["Too busy"],
        )
    };
    check(&json(overloaded), busy(), "a whole error").await;
    check(
        &stream(&format!("event: error\ndata: {overloaded}\n\n")),
        busy(),
        "an error event",
    )
    .await;
    check(
        &json(r#"{"error":{"code":429,"message":"Slow down"}}"#),
        expect(
            AiErrorCode::RateLimited,
            RetryAdvice::Worthwhile,
            &["Slow down"],
        ),
        "a status in the body",
    )
    .await;
    check(
        &json(r#"{"error":"boom"}"#),
        expect(
            AiErrorCode::GenerationFailed,
            RetryAdvice::Pointless,
            &["boom"],
        ),
        "an error without a kind",
    )
    .await;
    // In the middle of an answer that had begun well.
    for provider in FORMATS {
        let (_, streamed) = hello(provider);
        let begun = &streamed[..streamed
            .find("lo.")
            .map_or(0, |at| streamed[..at].rfind("data:").unwrap())];
        let server =
            ScriptedProvider::start(vec![stream(&format!("{begun}data: {overloaded}\n\n"))]);
        check_client(
            &client(provider, &server.url),
            StreamMode::Streamed,
            &busy(),
            "in the middle",
        )
        .await;
    }
    // OpenRouter's way.
    let choice = r#"{"choices":[{"delta":{},"finish_reason":"error","error":{"code":502,"message":"Upstream broke"}}]}"#;
    let server = ScriptedProvider::start(vec![stream(&format!("data: {choice}\n\n"))]);
    let expected = expect(
        AiErrorCode::ProviderUnavailable,
        RetryAdvice::Worthwhile,
        &["Upstream broke"],
    );
    check_client(
        &client(Provider::OpenRouter, &server.url),
        StreamMode::Streamed,
        &expected,
        "in a choice",
    )
    .await;
}

#[tokio::test]
async fn broken_connections() {
    let cut = |said| expect(AiErrorCode::TransportFailed, RetryAdvice::Worthwhile, said);
    check(
        &[ProviderAct::Break],
        cut(&["broke before the answer was complete"]),
        "no answer at all",
    )
    .await;
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{\"id\":";
    check(
        &[ProviderAct::Send(head.into())],
        cut(&["broke before"]),
        "a body cut short",
    )
    .await;
    check(
        &[ProviderAct::Send("HTTP/1.1 200 OK\r\ncontent-ty".into())],
        cut(&["broke before"]),
        "a head cut short",
    )
    .await;
    check(
        &[ProviderAct::Send("SSH-2.0-OpenSSH_9\r\n\r\n".into())],
        cut(&["broke before"]),
        "not HTTP",
    )
    .await;
}

#[tokio::test]
async fn silence_and_slowness() {
    let silent = expect(
        AiErrorCode::ProviderUnavailable,
        RetryAdvice::Worthwhile,
        &["`silence_ms_max` = 800"],
    );
    let late = expect(
        AiErrorCode::ProviderUnavailable,
        RetryAdvice::Pointless,
        &["`call_ms_max` = 2000"],
    );
    for provider in FORMATS {
        let (_, streamed) = hello(provider);
        let never = ScriptedProvider::start(vec![vec![ProviderAct::Pause(20_000)]]);
        check_client(
            &client(provider, &never.url),
            StreamMode::Streamed,
            &silent,
            "no head",
        )
        .await;
        let stuck = ScriptedProvider::start(vec![stream_dripping(streamed, 90, 10_000)]);
        check_client(
            &client(provider, &stuck.url),
            StreamMode::Streamed,
            &silent,
            "no next piece",
        )
        .await;
        // Pieces come often enough, but the whole takes too long.
        let endless = ScriptedProvider::start(vec![stream_dripping(
            &": keep-alive\n\n".repeat(1000),
            14,
            100,
        )]);
        check_client(
            &client(provider, &endless.url),
            StreamMode::Streamed,
            &late,
            "no end",
        )
        .await;
    }
    let never = ScriptedProvider::start(vec![vec![ProviderAct::Pause(20_000)]]);
    check_client(
        &client(Provider::Anthropic, &never.url),
        StreamMode::Whole,
        &late,
        "no whole answer",
    )
    .await;
}

#[tokio::test]
async fn answers_beyond_the_limit_are_not_swallowed() {
    let large = format!(r#"{{"id":"{}"}}"#, "x".repeat(LIMITS.response_bytes_max));
    let expected = expect(
        AiErrorCode::GenerationFailed,
        RetryAdvice::Pointless,
        &["`response_bytes_max` = 262144"],
    );
    check(&json(&large), expected, "a large body").await;
    let expected = expect(
        AiErrorCode::GenerationFailed,
        RetryAdvice::Pointless,
        &["`response_bytes_max`"],
    );
    check(
        &stream(&format!("data: {large}\n\n")),
        expected,
        "a large event",
    )
    .await;
    // A large error body is read as far as it says something.
    let page = reply(500, &[], &"so sorry ".repeat(20_000));
    check(
        &page,
        expect(
            AiErrorCode::ProviderUnavailable,
            RetryAdvice::Worthwhile,
            &["so sorry", "…"],
        ),
        "a large error",
    )
    .await;
}

#[tokio::test]
async fn addresses_that_lead_nowhere() {
    let check_url = async |url: &str, said: &'static [&'static str]| {
        let expected = expect(
            AiErrorCode::ProviderUnavailable,
            RetryAdvice::Worthwhile,
            said,
        );
        check_client(
            &client(Provider::OpenAi, url),
            StreamMode::Streamed,
            &expected,
            url,
        )
        .await;
    };
    let port = crate::peer::free_port();
    check_url(
        &format!("http://127.0.0.1:{port}"),
        &["nothing listens at 127.0.0.1", "Start the server"],
    )
    .await;
    check_url(
        "http://no-such-host.invalid/v1",
        &["no-such-host.invalid", "network"],
    )
    .await;
    // TLS to a server without it, and to one we do not trust.
    let plain = ScriptedProvider::start(vec![json("{}")]);
    check_url(
        &plain.url.replace("http:", "https:"),
        &["no secure connection", "https"],
    )
    .await;
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let elsewhere = ScriptedProvider::start(vec![json("{}")]);
    for provider in FORMATS {
        let location = format!("{}/v1/chat/completions", elsewhere.url);
        let server = ScriptedProvider::start(vec![reply(307, &[("location", &location)], "")]);
        let expected = expect(
            AiErrorCode::ProviderUnavailable,
            RetryAdvice::Pointless,
            &["Redirects are not followed"],
        );
        check_client(
            &client(provider, &server.url),
            StreamMode::Whole,
            &expected,
            "a redirect",
        )
        .await;
    }
    assert!(elsewhere.received().is_empty(), "the key went along");
}

// tidy: allow long-function, because it is one table of cases
#[expect(clippy::too_many_lines, reason = "it is one table of cases")]
#[tokio::test]
async fn servers_that_echo_the_key_do_not_bring_it_out() {
    let quoted = serde_json::to_string(KEY).unwrap();
    let escaped = KEY
        .replace('/', "%2F")
        .replace('+', "%2B")
        .replace('=', "%3D");
    for echo in [
        KEY,
        &quoted[1..quoted.len() - 1],
        &escaped,
        &format!("Bearer {KEY}"),
    ] {
        let body =
            format!(r#"{{"error":{{"message":"Incorrect API key provided: {echo}. Try again"}}}}"#);
        let refused = || {
            expect(
                AiErrorCode::ApiKeyMissing,
                RetryAdvice::Pointless,
                &["[key removed]"],
            )
        };
        check(
            &reply(401, &[JSON, ("request-id", KEY)], &body),
            refused(),
            "in a 401",
        )
        .await;
        check(
            &reply(401, &[], &format!("<p>{echo}</p>")),
            refused(),
            "in a page",
        )
        .await;
        let within = || {
            expect(
                AiErrorCode::GenerationFailed,
                RetryAdvice::Pointless,
                &["[key removed]"],
            )
        };
        check(
            &json(&format!(r#"{{"error":"no {echo}"}}"#)),
            within(),
            "in a 200",
        )
        .await;
        check(
            &stream(&format!("data: {{\"error\":\"no {echo}\"}}\n\n")),
            within(),
            "in an event",
        )
        .await;
        let unreadable = || {
            expect(
                AiErrorCode::TransportFailed,
                RetryAdvice::Worthwhile,
                &["[key removed]"],
            )
        };
        check(&json(&format!("no {echo}")), unreadable(), "in rubbish").await;
        let unread = || {
            expect(
                AiErrorCode::TransportFailed,
                RetryAdvice::Pointless,
                &["[key removed]"],
            )
        };
        check(
            &json(&format!(r#"{{"got":"{echo}"}}"#)),
            unread(),
            "in another shape",
        )
        .await;
        // Long before the key, so that the message is cut in the middle of it.
        let body = format!("{}{echo}", "x".repeat(590));
        check(
            &reply(400, &[], &body),
            expect(
                AiErrorCode::GenerationFailed,
                RetryAdvice::Pointless,
                &["xxx"],
            ),
            "at the cut",
        )
        .await;
    }
}

#[tokio::test]
async fn keys_that_cannot_be_sent_are_refused_without_being_shown() {
    let make = |provider, key: Option<&str>, base_url: Option<&str>| {
        let mut endpoint = ProviderEndpoint::new(provider, key.map(Secret::new));
        endpoint.base_url = base_url.map(str::to_owned);
        assert_no_key(&format!("{endpoint:?}"));
        ProviderClient::new(&endpoint, Limits::default())
            .err()
            .map(|error| {
                assert_no_key(&format!("{error} {error:?}"));
                format!("{} {error}", error.code)
            })
    };
    let missing = make(Provider::Anthropic, None, None).unwrap();
    assert!(missing.starts_with(
        "AI_API_KEY_MISSING there is no API key for anthropic. Set ANTHROPIC_API_KEY"
    ));
    assert!(
        make(Provider::OpenAi, Some("  "), None)
            .unwrap()
            .contains("OPENAI_API_KEY")
    );
    let broken = make(Provider::OpenAi, Some(&format!("{KEY}\nother")), None).unwrap();
    assert!(
        broken.contains("cannot be sent") && broken.contains("line breaks"),
        "{broken}"
    );
    assert_eq!(make(Provider::Ollama, None, None), None);
    assert!(
        make(Provider::Compatible, None, None)
            .unwrap()
            .contains("ai.base_url")
    );
    for url in [
        "not a url",
        "ftp://host/x",
        &format!("htp://user:{KEY}@host"),
    ] {
        let error = make(Provider::Compatible, None, Some(url)).unwrap();
        assert!(error.contains("not an http or https address"), "{error}");
    }
}

#[tokio::test]
async fn a_password_in_the_address_stays_there() {
    let password = KEY
        .replace('/', "%2F")
        .replace('+', "%2B")
        .replace('=', "%3D");
    let echo = reply(400, &[], &format!("no {KEY} or {password}"));
    let server = ScriptedProvider::start(vec![echo]);
    let url = server
        .url
        .replace("http://", &format!("http://user:{password}@"));
    let mut endpoint = ProviderEndpoint::new(Provider::Compatible, None);
    endpoint.base_url = Some(url);
    assert_no_key(&format!("{endpoint:?}"));
    let client = ProviderClient::new(&endpoint, LIMITS).unwrap();
    let expected = expect(
        AiErrorCode::GenerationFailed,
        RetryAdvice::Pointless,
        &["[key removed]"],
    );
    check_client(&client, StreamMode::Whole, &expected, "a password").await;
}

#[tokio::test]
async fn servers_without_a_trusted_certificate_get_no_key() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let heard = std::thread::spawn(move || {
        let certificate = include_bytes!("../data/self-signed.cert.der")
            .to_vec()
            .into();
        let key = rustls::pki_types::PrivatePkcs8KeyDer::from(
            &include_bytes!("../data/self-signed.key.der")[..],
        );
        let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key.into())
            .unwrap();
        let mut connection = rustls::ServerConnection::new(config.into()).unwrap();
        let (mut socket, _) = listener.accept().unwrap();
        let mut heard = String::new();
        let _ = std::io::Read::read_to_string(
            &mut rustls::Stream::new(&mut connection, &mut socket),
            &mut heard,
        );
        heard
    });
    let said = &[
        "no secure connection to 127.0.0.1",
        "certificate",
        "CA certificates",
    ];
    let expected = expect(
        AiErrorCode::ProviderUnavailable,
        RetryAdvice::Worthwhile,
        said,
    );
    check_client(
        &client(Provider::OpenAi, &url),
        StreamMode::Streamed,
        &expected,
        "a certificate of its own",
    )
    .await;
    assert_eq!(heard.join().unwrap(), "", "nothing was sent");
}
