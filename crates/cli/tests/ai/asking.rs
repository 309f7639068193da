//! `drawloom ai` and what `doctor` says about answers.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::Value;

use crate::project::ProgramOutput;
use crate::test_project::{KEY, TestProject, mock, program};

#[test]
fn one_question_is_answered_in_the_mode_that_is_configured() {
    let shop = TestProject::api("google", "gemini-2.5-flash", mock());
    let ran = shop.run("ai ask 'Name three colours.'");
    assert_eq!(ran.exit, 0, "{}", ran.err);
    assert_eq!(ran.out, "Red, green and blue.\n");
    let ran = shop.run("ai ask 'Name three colours.' --json");
    let reply: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(reply["answer"], "Red, green and blue.");
    assert_eq!(reply["mode"], "api");
    assert_eq!(reply["calls"][0]["usage"]["input"], 1000);
    assert_eq!(ran.err, "");

    let echo = TestProject::with(
        "[ai]\ncommand = \"sh -c 'cat >/dev/null; echo Four.'\"\ncommand_mode = \"per-block\"\n",
    );
    let ran = echo.run("ai ask 'Two and two?'");
    assert_eq!(ran.out, "Four.\n", "{}", ran.err);
}

#[test]
fn a_question_comes_from_stdin_too() {
    let shop = TestProject::api("anthropic", "claude-sonnet-4-5", mock());
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
    let ran = ProgramOutput::from(child.wait_with_output().unwrap());
    assert_eq!(ran.out, "Red, green and blue.\n", "{}", ran.err);
    let empty = shop.run("ai ask ' '");
    assert_eq!(empty.exit, 64, "{}", empty.err);
}

/// Asks a program that repeats its prompt, with something piped in.
fn repeated(shop: &TestProject, line: &str, piped: &str) -> ProgramOutput {
    let mut child = shop
        .command(line)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(piped.as_bytes()).unwrap();
    drop(stdin);
    ProgramOutput::from(child.wait_with_output().unwrap())
}

#[test]
fn a_conversation_goes_on_with_what_was_said_before() {
    let shop = TestProject::with("[ai]\ncommand = \"cat\"\ncommand_mode = \"per-block\"\n");
    let ran = shop.run("ai ask --continue 'And then?'");
    assert_eq!(ran.exit, 1);
    assert!(
        ran.err.contains("no conversation to continue"),
        "{}",
        ran.err
    );

    let ran = repeated(
        &shop,
        "ai ask 'What is this?' --system 'Be brief.'",
        "a diff\n",
    );
    assert_eq!(ran.exit, 0, "{}", ran.err);
    for piece in ["What is this?", "a diff", "Be brief."] {
        assert!(ran.out.contains(piece), "{piece}: {}", ran.out);
    }
    shop.project.write("notes.md", "Noted.\n");
    let ran = shop.run("ai ask -c 'And then?' --file notes.md");
    for piece in [
        "Question:\n\nWhat is this?",
        "Be brief.",
        "And then?",
        "Noted.",
    ] {
        assert!(ran.out.contains(piece), "{piece}: {}", ran.out);
    }
    // Without the option a new conversation begins.
    let ran = shop.run("ai ask 'Something else?'");
    assert!(!ran.out.contains("And then?"), "{}", ran.out);
    let ran = shop.run("ai ask -c 'More?'");
    assert!(ran.out.contains("Something else?") && !ran.out.contains("And then?"));
    let ran = shop.run("ai ask 'What?' --file none.md");
    assert_eq!(ran.exit, 1);
    assert!(ran.err.contains("there is no file none.md"), "{}", ran.err);
    shop.project.write(".drawloom/asked/last.json", "{");
    let ran = shop.run("ai ask -c 'More?'");
    assert_eq!(ran.exit, 1);
    assert!(ran.err.contains("last.json cannot be read"), "{}", ran.err);
}

#[test]
fn a_missing_model_is_an_error() {
    let shop = TestProject::with("");
    let ran = shop.run("ai ask 'Who is there?'");
    assert_eq!(ran.exit, 2);
    assert!(ran.out.contains("Who is there?"), "{}", ran.out);
    assert!(!ran.out.contains("## Instructions"), "{}", ran.out);
    assert!(
        ran.err.contains("no model was asked") && ran.err.contains("ai.provider"),
        "{}",
        ran.err
    );
    let model = TestProject::with("[ai]\nmodel = \"qwen3:8b\"\n");
    let ran = model.run("ai ask 'Who is there?'");
    let why = "no provider is set, and `qwen3:8b` does not say whose model it is";
    assert!(ran.err.contains(why), "{}", ran.err);
    let ran = shop.run("ai ask 'Who is there?' --ai-mode api");
    assert_eq!(ran.exit, 1);
    assert!(ran.err.contains("AI_API_KEY_MISSING"), "{}", ran.err);
}

#[test]
fn models_are_listed() {
    let shop =
        TestProject::api("anthropic", "claude-sonnet-4-5", mock()).variable("OPENAI_API_KEY", KEY);
    let ran = shop.run("ai models");
    assert_eq!(ran.exit, 0, "{}", ran.err);
    assert!(ran.out.contains("anthropic"), "{}", ran.out);
    let ran = shop.run("ai models --json");
    let list: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(list["providers"][0]["provider"], "anthropic");
    assert!(list["providers"][0]["models"].is_array(), "{list}");
    let nowhere = TestProject::api("anthropic", "claude-sonnet-4-5", "http://127.0.0.1:9");
    let ran = nowhere.run("ai models");
    assert_eq!(ran.exit, 1);
    assert!(ran.err.contains("AI_PROVIDER_UNAVAILABLE"), "{}", ran.err);
}

#[test]
fn doctor_names_who_would_answer_and_asks_no_one() {
    let check = |settings: &str, exit: i32, said: &str| {
        let shop = TestProject::with(settings).variable("MINE", KEY);
        let ran = shop.run("doctor");
        assert_eq!(ran.exit, exit, "{settings}\n{}", ran.out);
        assert!(ran.out.contains(said), "{settings}\n{}", ran.out);
    };
    check(
        "",
        0,
        "answers: questions are printed: `auto` found no model or program to ask",
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
