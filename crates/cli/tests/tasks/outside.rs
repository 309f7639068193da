//! `--ai-mode command`: an outside agent works in a copy, and its changes are judged like a model's.

use serde_json::json;

use crate::project::CliProject;
use crate::task_fixture::{NO_SANDBOX, events, result};

const TASK: &str = r#"{"subtask_id": "t", "type": "code_generation", "description": "Write a.txt.",
  "output_artifacts": ["a.txt"], "validation_criteria": [{"run": "grep -q right a.txt"}]}"#;

/// A program that reads its prompt and does what the script says.
fn project(script: &str) -> CliProject {
    let project = CliProject::empty();
    let agent = tempfile::tempdir().unwrap().keep().join("agent.sh");
    std::fs::write(&agent, script).unwrap();
    let settings = format!(
        "[ai]\nmode = \"command\"\ncommand = \"sh {}\"\n\n{NO_SANDBOX}",
        agent.display()
    );
    project.write("drawloom.toml", &settings);
    project.write("task.json", TASK);
    project.write("old.txt", "old\n");
    project.write("gone.txt", "gone\n");
    project.write(".env", "TOKEN=hidden\n");
    project
}

#[test]
fn allowed_changes_are_applied_and_the_rest_are_refused_by_name() {
    let project = project(
        "cat > prompt.log; ls -a > seen.log\n\
         echo right > a.txt; echo more >> old.txt; rm gone.txt\n\
         echo stolen > .env; mkdir -p .github/workflows; echo x > .github/workflows/ci.yml\n\
         pwd; echo done",
    );
    let ran = project.run("task run task.json --json");
    assert_eq!(ran.exit, 0, "{}\n{}", ran.out, ran.err);
    assert_eq!(project.read("a.txt"), "right\n");
    assert_eq!(project.read("old.txt"), "old\nmore\n");
    assert!(!project.path().join("gone.txt").exists());
    assert!(project.read("prompt.log").contains("Write a.txt."));
    let seen = project.read("seen.log");
    assert!(seen.contains("old.txt") && !seen.contains(".env"), "{seen}");

    assert_eq!(project.read(".env"), "TOKEN=hidden\n");
    assert!(!project.path().join(".github").exists());
    let events = events(&ran);
    let refused: Vec<&str> = events
        .iter()
        .filter(|event| event["event"] == "tool_finished" && event["outcome"] == "failed")
        .filter_map(|event| event["failure"].as_str())
        .collect();
    assert_eq!(refused.len(), 2, "{refused:?}");
    assert!(
        refused.iter().any(|text| text.contains(".env")),
        "{refused:?}"
    );
    assert!(
        refused.iter().any(|text| text.contains(".github")),
        "{refused:?}"
    );
    let said = result(&ran)["ai_result"]["content"]
        .as_str()
        .unwrap()
        .to_owned();
    let here = project.path().display().to_string();
    assert!(
        said.contains("done") && !said.contains(&here),
        "it worked elsewhere: {said}"
    );
}

#[test]
fn what_fails_goes_back_to_the_program() {
    let project = project(
        "cat > prompt.log; if grep -q 'exited with code 1' prompt.log; then echo right > a.txt; \
         else echo wrong > a.txt; fi; rm prompt.log; echo tried",
    );
    let ran = project.run("task run task.json --json");
    assert_eq!(ran.exit, 0, "{}\n{}", ran.out, ran.err);
    assert_eq!(project.read("a.txt"), "right\n");
    assert_eq!(result(&ran)["files_written"], json!(["a.txt"]));
}

#[test]
fn what_drawloom_keeps_is_not_touched_and_a_write_is_refused_as_a_write() {
    let project = project("ls -a > seen.log; echo stolen > .env; echo right > a.txt");
    project.write(".drawloom/ledger/2026-11-16.jsonl", "{}\n");
    project.write(".drawloom/recipes/x/recipe.yml", "name: x\n");
    let ran = project.run("task run task.json --json");
    assert_eq!(ran.exit, 0, "{}\n{}", ran.out, ran.err);
    let events = events(&ran);
    let failures = events.iter().filter_map(|event| event["failure"].as_str());
    let failures: Vec<&str> = failures.collect();
    assert_eq!(failures.len(), 1, "{failures:?}");
    assert!(
        failures[0].contains("`.env` may not be changed"),
        "{failures:?}"
    );
    assert!(!project.read("seen.log").contains(".drawloom"));
    assert_eq!(project.read(".drawloom/recipes/x/recipe.yml"), "name: x\n");
}

#[test]
fn a_program_that_fails_changes_nothing() {
    let project = project("echo wrong > a.txt; echo 'no credit left' >&2; exit 3");
    let before = project.tree();
    let ran = project.run("task run task.json");
    assert_eq!(ran.exit, 1);
    for piece in [
        "no credit left",
        "None of its changes were taken over",
        "--resume",
    ] {
        assert!(ran.err.contains(piece), "{piece}: {}", ran.err);
    }
    let mut after = project.tree();
    after.retain(|path, _| !path.starts_with(".drawloom"));
    assert_eq!(after, before);
}
