//! Runs are mended: another text, other settings for one task; and what commands print is seen.

use serde_json::json;

use crate::project::CliProject;
use crate::workflow_fixture::{bare, diagram, document, standing, task};

fn command(line: &str) -> serde_json::Value {
    json!({ "handler": "command", "config": { "run": line } })
}

fn paused(project: &CliProject, line: &str) {
    project.write(
        "m.mmd",
        &diagram(
            " A[One] --> B[Two]",
            &[("A", command(line)), ("B", command("echo two"))],
        ),
    );
    let begun = project.run("workflow start m.mmd --wait");
    assert_eq!(begun.exit, 1, "{}", begun.err);
    assert_eq!(standing(project).0, "paused");
}

#[test]
fn a_paused_run_moves_to_a_mended_file_and_goes_on() {
    let project = bare();
    paused(&project, "exit 3");
    let mended = diagram(
        " A[One] --> C[New] --> B[Two]",
        &[
            ("A", command("echo one")),
            ("B", command("echo two")),
            ("C", command("echo new")),
        ],
    );
    project.write("m.mmd", &mended);
    let planned = document(&project.run("runs move last --to m.mmd --dry-run --json"));
    assert_eq!(planned["did"], "nothing");
    assert_eq!(planned["added"], json!(["C"]));
    assert_eq!(planned["changed"], json!(["A"]));
    assert_eq!(standing(&project).0, "paused");
    let moved = project.run("runs move last --to m.mmd");
    assert_eq!(moved.exit, 0, "{}", moved.err);
    assert!(moved.out.contains("+ C\n~ A\n"), "{}", moved.out);
    let resumed = project.run("runs resume last --wait");
    assert_eq!(resumed.exit, 0, "{}", resumed.err);
    assert_eq!(task(&project, "C")["status"], "completed");
}

#[test]
fn a_run_that_does_not_fit_stays_as_it_is() {
    let project = bare();
    paused(&project, "exit 3");
    project.write(
        "other.mmd",
        &diagram(" X[Other]", &[("X", command("true"))]),
    );
    let refused = project.run("runs move last --to other.mmd");
    assert_eq!(refused.exit, 1, "{}", refused.err);
    assert!(
        refused
            .err
            .contains("`A` is on_hold, and is no step of the new text."),
        "{}",
        refused.err
    );
    let planned = project.run("runs move last --to other.mmd --dry-run");
    assert_eq!(planned.exit, 1, "{}", planned.out);
    let missing = project.run("runs move last --to nowhere.mmd");
    assert_eq!(missing.exit, 1, "{}", missing.err);
    assert_eq!(standing(&project).0, "paused");
}

#[test]
fn a_task_is_tried_again_with_other_settings() {
    let project = bare();
    paused(&project, "exit 3");
    let wrong = project.run("tasks retry last/A --with '{\"onError\":\"B\"}'");
    assert_eq!(wrong.exit, 1, "{}", wrong.err);
    assert!(
        wrong.err.contains("cannot be set for one task only"),
        "{}",
        wrong.err
    );
    let text = project.run("tasks retry last/A --with 3");
    assert_eq!(text.exit, 64, "{}", text.err);
    let retried = project.run("tasks retry last/A --with '{\"config\":{\"run\":\"true\"}}'");
    assert_eq!(retried.exit, 0, "{}", retried.err);
    let worked = project.run("worker --until-idle");
    assert_eq!(worked.exit, 0, "{}", worked.err);
    assert_eq!(standing(&project).0, "completed");
}

#[test]
fn what_a_command_prints_is_seen_while_it_runs_and_afterwards() {
    let project = bare();
    let slow =
        command("echo begun; echo odd >&2; until test -e go; do sleep 0.05; done; echo over");
    project.write("m.mmd", &diagram(" A[One]", &[("A", slow)]));
    assert_eq!(project.run("workflow start m.mmd").exit, 0);
    let mut worker = project.command("worker --until-idle").spawn().unwrap();
    let printed = || {
        let shown = document(&project.run("tasks show last/A --json"));
        let lines = shown["log"].as_array().unwrap().clone();
        let lines = lines.iter().map(|line| {
            format!(
                "{}:{}",
                line["stream"].as_str().unwrap(),
                line["text"].as_str().unwrap()
            )
        });
        lines.collect::<Vec<_>>()
    };
    while printed().len() < 2 {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(task(&project, "A")["status"], "in_progress");
    project.write("go", "");
    worker.wait().unwrap();
    let mut lines = printed();
    lines.sort();
    assert_eq!(lines, ["stderr:odd", "stdout:begun", "stdout:over"]);
    let text = project.run("tasks show last/A").out;
    assert!(
        text.contains("printed\n") && text.contains("  ! odd\n"),
        "{text}"
    );
}
