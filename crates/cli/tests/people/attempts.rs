//! Attempts of a task, as `tasks show` tells them: who had it, and each outcome.

use crate::project::CliProject;
use crate::{document, done};

const WORKFLOW: &str = "graph TD\n    A[Look]\n\n%% === WORKFLOW_CONFIG ===\n\
    %% @A: { \"handler\": \"command\", \"config\": { \"run\": \"test -f flag\" } }\n\
    %% === END_CONFIG ===\n";

#[test]
fn every_attempt_is_shown_with_who_and_why() {
    check_attempts(&CliProject::with(&[("drawloom.toml", SETTINGS)]));
}

pub(crate) const SETTINGS: &str = "[agent.sandbox]\nkind = \"none\"\n";

pub(crate) fn check_attempts(project: &CliProject) {
    project.write("w.mmd", WORKFLOW);
    let ran = project.run("workflow start w.mmd --wait");
    assert_ne!(ran.exit, 0, "{}", ran.err);
    let shown = document(project, "tasks show last/A --json");
    let first = &shown["attempts"][0];
    assert_eq!(first["number"], 1);
    assert_eq!(first["status"], "on_hold");
    assert_eq!(first["class"], "exit");
    assert!(!first["message"].as_str().unwrap().is_empty());
    assert!(first["ended_ms"].as_u64() >= first["begun_ms"].as_u64());
    let worker = first["by"].as_str().unwrap().to_owned();

    project.write("flag", "");
    done(project, "tasks retry last/A");
    done(project, "worker --until-idle");
    let shown = document(project, "tasks show last/A --json");
    let attempts = shown["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 2, "{attempts:?}");
    assert_eq!(attempts[1]["status"], "completed");
    let text = done(project, "tasks show last/A").out;
    let told: Vec<&str> = text
        .lines()
        .skip_while(|line| *line != "attempts")
        .collect();
    assert!(
        told[1].starts_with("  1  ") && told[1].contains(&worker),
        "{text}"
    );
    assert!(told[1].contains("on_hold"), "{text}");
    assert!(
        told[2].starts_with("  2  ") && told[2].contains("completed"),
        "{text}"
    );
}
