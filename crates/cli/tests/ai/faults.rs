//! Whatever goes wrong ends in its code, a sentence that helps, no file, and in time.

use std::time::{Duration, Instant};

use crate::scripted::{STREAM, ScriptedAct, ScriptedServer, events, reply, says};
use crate::test_project::{FIRST, KEY, TestProject, mock, program};

/// No fault may take longer than this; the settings of the tests allow 2.5 s for a call.
const FAULT_MAX: Duration = Duration::from_secs(15);

#[track_caller]
fn check(shop: &TestProject, code: &str, said: &[&str]) {
    let began = Instant::now();
    let ran = shop.fails("run card Customer", code, said);
    assert!(
        began.elapsed() < FAULT_MAX,
        "{code} took {:?}",
        began.elapsed()
    );
    // The same for programs, as one document.
    let json = shop.run("run card Customer --json");
    let line = json.err.lines().last().unwrap_or_default();
    let error: serde_json::Value = serde_json::from_str(line)
        .unwrap_or_else(|cause| panic!("{cause}: {}\n{}", json.err, ran.err));
    assert_eq!(error["error"]["code"], code);
    assert!(error["error"]["hint"].is_string(), "{error}");
}

fn anthropic(acts: Vec<ScriptedAct>) -> TestProject {
    let server = ScriptedServer::start(vec![acts]);
    TestProject::api("anthropic", "claude-sonnet-4-5", &server.url)
}

fn error(message: &str) -> String {
    format!(r#"{{"type":"error","error":{{"type":"x_error","message":"{message} (key {KEY})"}}}}"#)
}

#[test]
fn refusals_by_status() {
    let status =
        |status, headers: &str, text: &str| anthropic(reply(status, headers, &error(text)));
    check(
        &status(429, "retry-after: 1\r\n", "slow down"),
        "AI_RATE_LIMITED",
        &[
            "slow down",
            "HTTP 429",
            "retrying in 1.0 s (2 of 2)",
            "`attempts_max` = 2",
        ],
    );
    check(
        &status(429, "retry-after: 60\r\n", "slow down"),
        "AI_RATE_LIMITED",
        &["`wait_ms_max` = 1500"],
    );
    check(
        &status(529, "", "overloaded"),
        "AI_PROVIDER_UNAVAILABLE",
        &["overloaded", "HTTP 529"],
    );
    check(
        &status(500, "", "oops"),
        "AI_PROVIDER_UNAVAILABLE",
        &["oops", "HTTP 500"],
    );
    check(
        &status(401, "", "invalid x-api-key"),
        "AI_API_KEY_MISSING",
        &["invalid x-api-key"],
    );
    check(
        &status(404, "", "no such model"),
        "AI_PROVIDER_UNAVAILABLE",
        &["no such model"],
    );
}

#[test]
fn unusable_answers_are_reported() {
    check(
        &anthropic(reply(200, "", "<html>hello</html>")),
        "AI_TRANSPORT_FAILED",
        &[],
    );
    let inside = reply(
        200,
        "content-type: application/json\r\n",
        &error("overloaded inside"),
    );
    check(
        &anthropic(inside),
        "AI_PROVIDER_UNAVAILABLE",
        &["overloaded inside"],
    );
    let halfway = events(FIRST);
    let cut = vec![ScriptedAct::Send(format!(
        "{STREAM}{}",
        &halfway[..halfway.len() / 2]
    ))];
    check(&anthropic(cut), "AI_TRANSPORT_FAILED", &[]);
    check(&anthropic(Vec::new()), "AI_TRANSPORT_FAILED", &[]);
    let slow = vec![
        ScriptedAct::Send(STREAM.to_owned()),
        ScriptedAct::Pause(20_000),
    ];
    check(
        &anthropic(slow),
        "AI_PROVIDER_UNAVAILABLE",
        &["in time", "= 2500", "raise `ai.timeout_ms`"],
    );
    let nowhere = TestProject::api("anthropic", "claude-sonnet-4-5", "http://127.0.0.1:9");
    check(&nowhere, "AI_PROVIDER_UNAVAILABLE", &["127.0.0.1"]);
}

#[test]
fn answers_that_cannot_be_used() {
    check(
        &anthropic(says("I would say: a card.")),
        "AI_TRANSPORT_FAILED",
        &["could not be read, also after a correction"],
    );
    check(
        &anthropic(says(&FIRST[..30])),
        "AI_TRANSPORT_FAILED",
        &["also after a correction"],
    );
    check(
        &anthropic(says(&FIRST.replace("\"name\"", "\"phone\""))),
        "AI_ANSWER_INVALID",
        &["mainFields", "phone"],
    );
    let long = events(FIRST).replace("end_turn", "max_tokens");
    check(
        &anthropic(vec![ScriptedAct::Send(format!("{STREAM}{long}"))]),
        "AI_GENERATION_FAILED",
        &["`ai.max_tokens` = 8192"],
    );
}

#[test]
fn the_other_formats_end_the_same_way() {
    for (provider, body) in [
        (
            "openai",
            format!(r#"{{"error":{{"message":"bad key {KEY}","code":"invalid_api_key"}}}}"#),
        ),
        (
            "google",
            format!(
                r#"{{"error":{{"code":401,"status":"UNAUTHENTICATED","message":"bad key {KEY}"}}}}"#
            ),
        ),
    ] {
        let server = ScriptedServer::start(vec![reply(401, "", &body)]);
        let shop = TestProject::api(provider, "some-model", &server.url);
        check(&shop, "AI_API_KEY_MISSING", &["bad key"]);
        for (acts, code, said) in everywhere() {
            let server = ScriptedServer::start(vec![acts]);
            let shop = TestProject::api(provider, "some-model", &server.url);
            check(&shop, code, &[said]);
        }
    }
}

/// Faults that look the same in all formats.
fn everywhere() -> Vec<(Vec<ScriptedAct>, &'static str, &'static str)> {
    let body = format!(r#"{{"error":{{"message":"told you, {KEY}"}}}}"#);
    let later = "retry-after: 60\r\n";
    let json = "content-type: application/json\r\n";
    let half = format!("{STREAM}data: {{\"candidates\":[{{\"conte");
    vec![
        (reply(429, later, &body), "AI_RATE_LIMITED", "`wait_ms_max`"),
        (reply(529, "", &body), "AI_PROVIDER_UNAVAILABLE", "told you"),
        (reply(500, "", &body), "AI_PROVIDER_UNAVAILABLE", "told you"),
        (reply(200, json, &body), "AI_GENERATION_FAILED", "told you"),
        (
            reply(200, json, "so sorry"),
            "AI_TRANSPORT_FAILED",
            "not JSON",
        ),
        (vec![ScriptedAct::Send(half)], "AI_TRANSPORT_FAILED", ""),
        (Vec::new(), "AI_TRANSPORT_FAILED", "broke"),
    ]
}

#[test]
fn commands() {
    let command = |what: &str| {
        let line = program(what);
        let settings = "mode = \"command\"\ntimeout_ms = 1500";
        TestProject::with(&format!("[ai]\ncommand = \"{line}\"\n{settings}\n"))
            .variable("ANTHROPIC_API_KEY", KEY)
    };
    check(
        &command("exits"),
        "AI_TRANSPORT_FAILED",
        &["exited with code 3", "cannot log in with"],
    );
    check(
        &command("garbage"),
        "AI_TRANSPORT_FAILED",
        &["also after a correction"],
    );
    check(&command("wrong"), "AI_ANSWER_INVALID", &["mainFields"]);
    check(
        &command("hangs"),
        "AI_TRANSPORT_FAILED",
        &["`ai.timeout_ms` (it is 1500)"],
    );
    let missing = TestProject::with("[ai]\ncommand = \"no-such-program-here -p {prompt}\"\n");
    check(&missing, "AI_TRANSPORT_FAILED", &["no-such-program-here"]);
}

#[test]
fn programs_that_stay() {
    let stdio = |what: &str| {
        let line = program(what);
        let settings = "mode = \"stdio\"\ntimeout_ms = 1500";
        TestProject::with(&format!("[ai]\nstdio_command = \"{line}\"\n{settings}\n"))
            .variable("ANTHROPIC_API_KEY", KEY)
    };
    check(
        &stdio("stdio-dies"),
        "AI_TRANSPORT_FAILED",
        &["exited with code 7", "last words"],
    );
    check(
        &stdio("stdio-silent"),
        "AI_TRANSPORT_FAILED",
        &["was silent for 1500 ms"],
    );
    check(
        &stdio("stdio-gives-up"),
        "AI_RATE_LIMITED",
        &["try tomorrow"],
    );
}

#[test]
fn settings_that_cannot_work() {
    check(
        &TestProject::with("[ai]\nmode = \"api\"\n"),
        "AI_API_KEY_MISSING",
        &["`ai.provider`"],
    );
    let keyless =
        TestProject::with("[ai]\nmode = \"api\"\nprovider = \"openai\"\nmodel = \"gpt-5\"\n");
    check(&keyless, "AI_API_KEY_MISSING", &["OPENAI_API_KEY"]);
    let modelless = TestProject::with("[ai]\nmode = \"api\"\nprovider = \"openai\"\n")
        .variable("OPENAI_API_KEY", KEY);
    check(&modelless, "AI_PROVIDER_UNAVAILABLE", &["`ai.model`"]);
    check(
        &TestProject::with("[ai]\nmode = \"command\"\n"),
        "AI_TRANSPORT_FAILED",
        &["`ai.command`"],
    );
    check(
        &TestProject::with("[ai]\nmode = \"stdio\"\n"),
        "AI_TRANSPORT_FAILED",
        &["`ai.stdio_command`"],
    );
}

#[test]
fn a_base_url_does_not_get_keys_unasked() {
    let shop = TestProject::with(
        "[ai]\nprovider = \"openai\"\nmodel = \"gpt-5\"\nmode = \"api\"\nbase_url = \"https://evil.example/v1\"\n",
    )
    .variable("OPENAI_API_KEY", KEY);
    check(&shop, "AI_API_KEY_MISSING", &["unasked"]);
}

#[test]
fn a_fallback_answers_when_the_first_cannot() {
    let broken = ScriptedServer::start(vec![reply(529, "", &error("overloaded"))]);
    let shop = TestProject::api("anthropic", "claude-sonnet-4-5", &broken.url);
    let settings = shop.project.read("drawloom.toml");
    let settings = settings.replace("timeout_ms", "fallbacks = [\"ollama/llama\"]\ntimeout_ms");
    shop.project.write("drawloom.toml", &settings);
    // No ollama runs here, but it is asked.
    let ran = shop.run("run card Customer");
    assert!(
        ran.err
            .contains("note: claude-sonnet-4-5 cannot answer, asking llama instead"),
        "{}",
        ran.err
    );
    assert!(!mock().is_empty());
}
