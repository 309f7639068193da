//! Ctrl-C and SIGTERM: a clean screen, a sentence how to go on, and exit codes that say what happened.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::bare;
use crate::terminal::show;

const SLOW: &str = "graph TD\n A[First] --> B[Slow] --> C[Last]\n%% === WORKFLOW_CONFIG ===\n\
    %% @A: { \"handler\": \"no_op\" }\n\
    %% @B: { \"handler\": \"command\", \"config\": { \"run\": \"test -e go || sleep 30\" } }\n\
    %% @C: { \"handler\": \"no_op\", \"config\": { \"output\": \"end\" } }\n%% === END_CONFIG ===\n";

#[test]
fn ctrl_c_leaves_a_clean_screen_and_says_how_to_go_on() {
    let project = bare();
    project.write("slow.mmd", SLOW);
    let typed = json!([["▶ B Slow", { "type": "\u{3}" }]]);
    let shown = show(&project, "workflow start slow.mmd --wait", (10, 120), typed);
    assert_eq!(shown.exit, 130, "{}", shown.text());
    assert!(shown.shows_cursor, "{}", shown.sent);
    let last = shown.rows.last().unwrap();
    assert!(
        last.starts_with("interrupted; nothing is lost: `drawloom runs resume "),
        "{last}"
    );
    assert_eq!(shown.count("C Last"), 1, "{}", shown.text());

    // Past lines are not repeated.
    project.write("go", "");
    let ran = project.run("runs resume last --wait");
    assert_eq!((ran.exit, ran.out.as_str()), (0, "end\n"), "{}", ran.err);
    assert!(
        !ran.err.contains("A First") && ran.err.contains("✓ B Slow"),
        "{}",
        ran.err
    );
    let ran = project.run("runs rerun last/C --wait");
    assert!(
        !ran.err.contains("B Slow") && ran.err.contains("✓ C~2 Last"),
        "{}",
        ran.err
    );
}

#[test]
fn a_worker_that_is_asked_to_stop_gives_back_its_tasks_and_has_succeeded() {
    for signal in ["TERM", "INT"] {
        let project = bare();
        project.write("slow.mmd", SLOW);
        assert_eq!(project.run("workflow start slow.mmd").exit, 0);
        let mut command = project.command("worker");
        let worker = command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        while !project.run("tasks list").out.contains("in_progress") {
            assert!(Instant::now() < until, "nothing was begun");
        }
        let tasks = project.run("tasks list --json").out;
        let process = format!("-{}-", worker.id());
        assert!(
            tasks.contains(&process),
            "the worker is called by its process: {tasks}"
        );
        let kill = format!("kill -{signal} {}", worker.id());
        let killed = std::process::Command::new("sh")
            .args(["-c", &kill])
            .status();
        assert!(killed.unwrap().success());
        let ended = worker.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(0), "{said}");
        assert!(said.contains("stopped; 1 task was given back"), "{said}");
        project.write("go", "");
        let ran = project.run("runs resume last --wait");
        assert_eq!((ran.exit, ran.out.as_str()), (0, "end\n"), "{}", ran.err);
    }
}
