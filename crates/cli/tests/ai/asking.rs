//! `drawloom ai` and what `doctor` says about answers.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::Value;

use crate::project::Ran;
use crate::shop::{KEY, Shop, mock, program};

#[test]
fn one_question_is_answered_in_the_mode_that_is_configured() {
    let shop = Shop::api("google", "gemini-2.5-flash", mock());
    let ran = shop.run("ai ask 'Name three colours.'");
    assert_eq!(ran.exit, 0, "{}", ran.err);
    assert_eq!(ran.out, "Red, green and blue.\n");
    let ran = shop.run("ai ask 'Name three colours.' --json");
    let reply: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(reply["answer"], "Red, green and blue.");
    assert_eq!(reply["mode"], "api");
    assert_eq!(reply["calls"][0]["usage"]["input"], 1000);
    assert_eq!(ran.err, "");

    let echo = Shop::with(
        "[ai]\ncommand = \"sh -c 'cat >/dev/null; echo Four.'\"\ncommand_mode = \"per-block\"\n",
    );
    let ran = echo.run("ai ask 'Two and two?'");
    assert_eq!(ran.out, "Four.\n", "{}", ran.err);
}

#[test]
fn a_question_comes_from_stdin_too() {
    let shop = Shop::api("anthropic", "claude-sonnet-4-5", mock());
    let mut command = shop.command("ai ask -");
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"Name three colours.\n").unwrap();
    drop(stdin);
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.out, "Red, green and blue.\n", "{}", ran.err);
    let empty = shop.run("ai ask ' '");
    assert_eq!(empty.exit, 64, "{}", empty.err);
}

#[test]
fn nobody_to_ask_is_said() {
    let shop = Shop::with("");
    let ran = shop.run("ai ask 'Who is there?'");
    assert_eq!(ran.exit, 2);
    assert!(ran.out.contains("Who is there?"), "{}", ran.out);
    assert!(!ran.out.contains("## Instructions"), "{}", ran.out);
    assert!(
        ran.err.contains("nobody was asked") && ran.err.contains("ai.provider"),
        "{}",
        ran.err
    );
    let model = Shop::with("[ai]\nmodel = \"qwen3:8b\"\n");
    let ran = model.run("ai ask 'Who is there?'");
    let why = "no provider is set, and `qwen3:8b` does not say whose model it is";
    assert!(ran.err.contains(why), "{}", ran.err);
    let ran = shop.run("ai ask 'Who is there?' --ai-mode api");
    assert_eq!(ran.exit, 1);
    assert!(ran.err.contains("AI_API_KEY_MISSING"), "{}", ran.err);
}

#[test]
fn models_are_listed() {
    let shop = Shop::api("anthropic", "claude-sonnet-4-5", mock()).variable("OPENAI_API_KEY", KEY);
    let ran = shop.run("ai models");
    assert_eq!(ran.exit, 0, "{}", ran.err);
    assert!(ran.out.contains("anthropic"), "{}", ran.out);
    let ran = shop.run("ai models --json");
    let list: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(list["providers"][0]["provider"], "anthropic");
    assert!(list["providers"][0]["models"].is_array(), "{list}");
    let nowhere = Shop::api("anthropic", "claude-sonnet-4-5", "http://127.0.0.1:9");
    let ran = nowhere.run("ai models");
    assert_eq!(ran.exit, 1);
    assert!(ran.err.contains("AI_PROVIDER_UNAVAILABLE"), "{}", ran.err);
}

#[test]
fn doctor_says_who_would_answer_and_asks_nobody() {
    let check = |settings: &str, exit: i32, said: &str| {
        let shop = Shop::with(settings).variable("MINE", KEY);
        let ran = shop.run("doctor");
        assert_eq!(ran.exit, exit, "{settings}\n{}", ran.out);
        assert!(ran.out.contains(said), "{settings}\n{}", ran.out);
    };
    check(
        "",
        0,
        "answers: questions are printed: `auto` found nobody to ask",
    );
    check(
        "[ai]\nmodel = \"claude-sonnet-4-5\"\napi_key = \"$MINE\"\nbase_url = \"http://127.0.0.1:9\"\n",
        0,
        "answers: from claude-sonnet-4-5 of anthropic: `auto` found the provider anthropic",
    );
    check(
        "[ai]\nmode = \"api\"\nprovider = \"openai\"\nmodel = \"x\"\n",
        1,
        "there is no API key for openai",
    );
    check(
        "[ai]\ncommand = \"sh -c x\"\n",
        0,
        "answers: from `sh`: `auto` found `ai.command`",
    );
    check(
        "[ai]\ncommand = \"no-such-thing x\"\n",
        1,
        "`ai.command` names `no-such-thing`, which is not there",
    );
    check("[ai]\nmode = \"off\"\n", 0, "there is no terminal");
    check(
        "[ai]\nmode = \"stdout\"\n",
        0,
        "questions are printed: the mode is `stdout`",
    );
    check(
        &format!(
            "[ai]\nmode = \"stdio\"\nstdio_command = \"{}\"\n",
            program("x")
        ),
        0,
        "answers: from `python3`",
    );
}
