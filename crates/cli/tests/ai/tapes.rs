//! A run recorded once is repeated offline, by whichever transport it was answered.

use crate::scripted::{ScriptedServer, reply, says};
use crate::test_project::{KEY, TestProject, both, file, mock, program};

fn check(shop: &TestProject, offline: &str) {
    shop.generates("run card Customer --record tape");
    let tree = shop.project.tree();
    let recorded = tree.keys().filter(|path| path.starts_with("tape")).count();
    assert_eq!(recorded, 2, "one for each round");
    std::fs::remove_dir_all(shop.project.path().join("src")).unwrap();
    std::fs::remove_dir_all(shop.project.path().join(".drawloom/generated")).unwrap();
    // The model is gone now.
    let settings = shop.project.read("drawloom.toml");
    let (from, to) = offline.split_once(" -> ").unwrap();
    let settings = settings.replace(from, to);
    shop.project.write("drawloom.toml", &settings);
    let ran = shop.generates("run card Customer --replay tape");
    assert!(
        !ran.err.contains("tokens in"),
        "replaying costs nothing: {}",
        ran.err
    );
    // Another question has no recording.
    let ran = shop.run("run card Order --replay tape --force");
    assert_eq!(ran.exit, 1, "{}", ran.err);
    assert!(ran.err.contains("there is no recording"), "{}", ran.err);
}

#[test]
fn a_models_turns() {
    let shop = TestProject::api("anthropic", "claude-sonnet-4-5", mock());
    check(&shop, &format!("{} -> http://127.0.0.1:9", mock()));
}

#[test]
fn a_commands_answers() {
    let line = program("batched");
    let shop = TestProject::with(&format!("[ai]\nmode = \"command\"\ncommand = \"{line}\"\n"));
    check(&shop, "python3 -> no-such-program");
}

#[test]
fn the_answers_of_a_program_that_stays() {
    let line = format!(
        "python3 '{}' mine.json",
        file("../../examples/stdio/answer.py")
    );
    let shop = TestProject::with(&format!(
        "[ai]\nmode = \"stdio\"\nstdio_command = \"{line}\"\n"
    ));
    shop.project.write("mine.json", &both());
    check(&shop, "python3 -> no-such-program");
}

#[test]
fn a_key_is_not_needed_for_replaying() {
    let shop = TestProject::api("openai", "gpt-5", mock());
    shop.generates("run card Customer --record tape");
    let keyless = TestProject::with(&shop.project.read("drawloom.toml"));
    for (path, bytes) in shop.project.tree() {
        if path.starts_with("tape") {
            keyless
                .project
                .write(path.to_str().unwrap(), &String::from_utf8(bytes).unwrap());
        }
    }
    keyless.generates("run card Customer --replay tape");
}

#[test]
fn wrong_uses_are_said() {
    let shop = TestProject::with("");
    let ran = shop.run("run card Customer --replay nowhere");
    assert_eq!(ran.exit, 1);
    assert!(
        ran.err.contains("there is no folder nowhere to replay"),
        "{}",
        ran.err
    );
    let ran = shop.run("run card Customer --replay a --record b");
    assert_eq!(ran.exit, 64, "{}", ran.err);
}

#[test]
fn a_recording_of_failures_holds_no_key() {
    // `run` looks for the key in everything that is printed or stored.
    for (provider, status) in [("anthropic", 401), ("openai", 500), ("google", 400)] {
        let body = format!(r#"{{"error":{{"message":"no, {KEY}, no"}}}}"#);
        let server = ScriptedServer::start(vec![reply(status, "", &body)]);
        let shop = TestProject::api(provider, "some-model", &server.url);
        let ran = shop.run("run card Customer --record tape");
        assert_eq!(ran.exit, 1, "{}", ran.err);
        assert!(ran.err.contains("no, "), "{}", ran.err);
    }
    let echoing = format!("My key is {KEY}.");
    let server = ScriptedServer::start(vec![says(&echoing)]);
    let shop = TestProject::api("anthropic", "claude-sonnet-4-5", &server.url);
    let ran = shop.run("run card Customer --record tape");
    assert!(ran.err.contains("AI_TRANSPORT_FAILED"), "{}", ran.err);
    for (mode, setting, what) in [
        ("command", "command", "exits"),
        ("command", "command", "garbage"),
        ("stdio", "stdio_command", "stdio-dies"),
    ] {
        let line = program(what);
        let shop = TestProject::with(&format!(
            "[ai]\nmode = \"{mode}\"\n{setting} = \"{line}\"\n"
        ))
        .variable("ANTHROPIC_API_KEY", KEY);
        let ran = shop.run("run card Customer --record tape");
        assert_eq!(ran.exit, 1, "{what}: {}", ran.err);
    }
}
