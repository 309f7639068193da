//! `worker --until-idle` ends when nothing can change any more without a person, and not before.

use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use serde_json::json;

use crate::project::CliProject;
use crate::workflow_fixture::{bare, diagram, standing, task};

fn start(project: &CliProject, lines: &str, steps: &[(&str, serde_json::Value)]) {
    project.write("idle.mmd", &diagram(lines, steps));
    let begun = project.run("workflow start idle.mmd");
    assert_eq!(begun.exit, 0, "{}", begun.err);
}

#[test]
fn a_worker_waits_for_a_retry() {
    let project = bare();
    // However slow the machine is, the first attempt fails and the second does not.
    let fails_once = json!({
        "handler": "command", "retry": { "attempts": 2, "delay": "4s" },
        "config": { "run": "test -e seen || { touch seen; exit 1; }" },
    });
    start(&project, " A[One]", &[("A", fails_once)]);
    let worked = project.run("worker --until-idle");
    assert_eq!(worked.exit, 0, "{}", worked.err);
    assert_eq!(standing(&project).0, "completed", "{}", worked.err);
    assert!(worked.err.contains("waiting for a retry"), "{}", worked.err);
}

#[test]
fn a_worker_waits_for_the_lease_of_one_that_died() {
    let project = bare();
    let once = json!({
        "handler": "command",
        "config": { "run": "test -e seen || { touch seen; sleep 9; }" },
    });
    start(&project, " A[One]", &[("A", once)]);
    let mut command = project.command("worker --lease 2s");
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut first = command.spawn().unwrap();
    while !project.path().join("seen").exists() {
        sleep(Duration::from_millis(20));
    }
    first.kill().unwrap();
    first.wait().unwrap();
    let worked = project.run("worker --until-idle");
    assert_eq!(worked.exit, 0, "{}", worked.err);
    assert_eq!(standing(&project).0, "completed", "{}", worked.err);
}

#[test]
fn a_worker_waits_for_a_timer() {
    let project = bare();
    let approve = json!({ "prompt": "Approve?", "timeout": "1500ms" });
    start(&project, " P(Approve)", &[("P", approve)]);
    let worked = project.run("worker --until-idle");
    assert_eq!(worked.exit, 0, "{}", worked.err);
    assert_ne!(task(&project, "P")["status"], "pending", "{}", worked.err);
    assert!(
        worked.err.contains("nothing is left to do"),
        "{}",
        worked.err
    );
}

#[test]
fn a_worker_does_not_wait_for_people() {
    let project = bare();
    start(
        &project,
        " P(Approve)",
        &[("P", json!({ "prompt": "Approve?" }))],
    );
    let worked = project.run("worker --until-idle --max-wait 20s");
    assert_eq!(worked.exit, 0, "{}", worked.err);
}

#[test]
fn how_long_it_waits_can_be_limited_and_is_said() {
    let project = bare();
    let approve = json!({ "prompt": "Approve?", "timeout": "1h" });
    start(&project, " P(Approve)", &[("P", approve)]);
    let worked = project.run("worker --until-idle --max-wait 300ms");
    assert_eq!(worked.exit, 1, "{}", worked.err);
    for piece in ["E_WORK_LEFT", "--max-wait", "a timer at 20"] {
        assert!(worked.err.contains(piece), "{piece}: {}", worked.err);
    }
    let alone = project.run("worker --max-wait 1s");
    assert_eq!(alone.exit, 64, "{}", alone.err);
}
