//! Ctrl-C while another process answers: prompt, with nothing half done and nothing lost.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::project::ProgramOutput;
use crate::scripted::{STREAM, ScriptedAct, ScriptedServer, says};
use crate::test_project::{FIRST, TestProject, assert_no_key, program, written};

/// Starts a run, waits until the question is out, presses Ctrl-C.
fn interrupted(shop: &TestProject, is_asked: impl Fn() -> bool) -> (ProgramOutput, Duration) {
    let mut command = shop.command("run card Customer");
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while !is_asked() {
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "nobody was asked"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(100));
    let pressed = Instant::now();
    let kill = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
    let ran = ProgramOutput::from(child.wait_with_output().unwrap());
    (ran, pressed.elapsed())
}

#[track_caller]
fn check(shop: &TestProject, (ran, took): (ProgramOutput, Duration)) -> ProgramOutput {
    assert_eq!(ran.exit, 130, "{}", ran.err);
    assert!(took < Duration::from_secs(3), "{took:?}");
    assert!(written(&shop.project).is_empty());
    assert_no_key(&ran.err);
    ran
}

#[test]
fn a_model_that_takes_its_time() {
    let slow = vec![
        ScriptedAct::Send(STREAM.to_owned()),
        ScriptedAct::Pause(20_000),
    ];
    let server = ScriptedServer::start(vec![says(FIRST), slow]);
    let shop = TestProject::api("anthropic", "claude-sonnet-4-5", &server.url);
    let settings = shop.project.read("drawloom.toml").replace("2500", "30000");
    shop.project.write("drawloom.toml", &settings);
    let ran = check(&shop, interrupted(&shop, || server.requests() == 2));
    assert!(ran.err.contains("3 answers are saved"), "{}", ran.err);
    assert!(!shop.only_file(".drawloom/answers").is_empty());
    assert!(server.body(1).contains("Write a caption"));
}

#[test]
fn a_command_and_a_program_that_take_theirs() {
    for settings in [
        format!("mode = \"command\"\ncommand = \"{}\"", program("hangs")),
        format!(
            "mode = \"stdio\"\nstdio_command = \"{}\"",
            program("stdio-silent")
        ),
    ] {
        let shop = TestProject::with(&format!("[ai]\n{settings}\n"));
        let began = Instant::now();
        let waited = || began.elapsed() > Duration::from_millis(700);
        let ran = check(&shop, interrupted(&shop, waited));
        assert!(
            ran.err.contains("stopped: nothing was written"),
            "{}",
            ran.err
        );
    }
}
