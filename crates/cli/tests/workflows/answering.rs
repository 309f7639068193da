//! People: asked, refused, accepted; and nothing else without a model.

use serde_json::json;

use crate::project::ExpectedText::{Anything, Has};
use crate::project::{ExpectedRun, check};
use crate::workflow_fixture::{bare, document, result};

const MANUAL: &str = "graph TD\n A(Approve) --> B[After]\n%% === WORKFLOW_CONFIG ===\n\
    %% @A: { \"prompt\": \"Approve {{input.what}}?\", \"outputSchema\": { \"type\": \"object\", \"required\": [\"ok\"], \"properties\": { \"ok\": { \"type\": \"boolean\" } } } }\n\
    %% @B: { \"handler\": \"no_op\" }\n%% === END_CONFIG ===\n";

#[test]
fn a_manual_task_takes_only_what_its_schema_takes() {
    let project = bare();
    project.write("m.mmd", MANUAL);
    check(
        &project,
        "workflow start m.mmd --wait what=that",
        ExpectedRun {
            exit: 2,
            out: Anything,
            err: Has(&[
                "waits for a person",
                "Approve that?",
                "drawloom tasks answer",
            ]),
        },
    );
    check(
        &project,
        "tasks answer last/A 'yes'",
        ExpectedRun {
            exit: 1,
            out: Anything,
            err: Has(&["error"]),
        },
    );
    let listed = document(&project.run("tasks list --mine --json"));
    assert_eq!(listed["tasks"].as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(project.run("tasks assign last/A ann").exit, 0);
    assert_eq!(project.run("tasks answer last/A ok=true --by ann").exit, 0);
    // Answered is answered.
    assert_eq!(project.run("tasks answer last/A ok=false").exit, 1);
    let ran = project.run("runs resume last --wait --json");
    assert_eq!(result(&ran)["output"], json!({ "ok": true }), "{}", ran.err);
}

#[test]
fn without_a_model_a_person_may_answer() {
    let project = bare();
    project.write("one.mmd", "graph TD\n A[Think]\n");
    let ran = project.run("workflow start one.mmd --wait");
    assert_eq!(ran.exit, 2, "{}", ran.err);
    assert!(
        ran.err.contains("No model or program is set up to answer"),
        "{}",
        ran.err
    );
    assert_eq!(project.run("tasks answer last/A thought").exit, 0);
    let ran = project.run("runs resume last --wait");
    assert_eq!(
        (ran.exit, ran.out.as_str()),
        (0, "thought\n"),
        "{}",
        ran.err
    );
}

#[test]
fn a_paused_run_waits_and_a_part_can_be_run_again() {
    let project = bare();
    project.write("m.mmd", MANUAL);
    assert_eq!(project.run("workflow start m.mmd what=x").exit, 0);
    assert_eq!(project.run("runs pause last --reason lunch").exit, 0);
    let listed = document(&project.run("runs list --status paused --json"));
    assert_eq!(listed["runs"][0]["reason"], "lunch");
    assert_eq!(project.run("runs resume last").exit, 0);
    assert_eq!(project.run("tasks answer last/A ok=true").exit, 0);
    assert_eq!(project.run("worker --until-idle").exit, 0);
    let ran = project.run("runs rerun last/B --wait --json");
    assert_eq!(result(&ran)["status"], "completed", "{}", ran.err);
    let shown = document(&project.run("runs show last --json"));
    let ids: Vec<&str> = shown["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| task["id"].as_str().unwrap())
        .collect();
    assert!(ids.iter().any(|id| id.ends_with("/B~2")), "{ids:?}");
}

#[test]
fn a_person_answers_in_sections_as_well_and_sees_all_layers() {
    let project = bare();
    project.write(
        "s.mmd",
        "graph TD\n A[Score it] --> Q{Good?}\n Q -->|\"output.score >= 80\"| B[Yes]\n Q -->|default| C[No]\n\
         %% === WORKFLOW_CONFIG ===\n%% @A: { \"prompt\": \"Score {{input.what}}.\" }\n\
         %% @B: { \"handler\": \"no_op\", \"config\": { \"output\": \"yes\" } }\n\
         %% @C: { \"handler\": \"no_op\", \"config\": { \"output\": \"no\" } }\n%% === END_CONFIG ===\n",
    );
    assert_eq!(project.run("workflow start s.mmd --wait what=it").exit, 2);
    let shown = project.run("tasks show last/A").out;
    for says in [
        "## Status",
        "Score it.",
        "## Task Context",
        "**Title:** Score it",
    ] {
        assert!(shown.contains(says), "{says}: {shown}");
    }
    project.write(
        "reply.md",
        "## Status\nSUCCESS\n\n## Summary\nIt is good.\n\n## Output\n{\"score\": 90}\n\n## Next Action\nCOMPLETE\n\n\
         ## Metadata\n{\"confidence\": 0.8, \"suggested_tags\": [\"fine\"]}\n",
    );
    let answered = project.run("tasks answer last/A @reply.md");
    assert_eq!(answered.exit, 0, "{}", answered.err);
    let shown = document(&project.run("tasks show last/A --json"));
    assert_eq!(shown["task"]["output"], json!({ "score": 90 }));
    assert_eq!(shown["calls"][0]["call"]["summary"], "It is good.");
    let ran = project.run("runs resume last --wait --json");
    assert_eq!(result(&ran)["output"], "yes", "{}", ran.err);
}

#[test]
fn a_paused_run_is_paused_for_machines_and_people_alike() {
    let project = bare();
    project.write(
        "p.mmd",
        "graph TD\n A[Fail] --> B[After]\n%% === WORKFLOW_CONFIG ===\n\
         %% @A: { \"handler\": \"command\", \"config\": { \"run\": \"exit 3\" } }\n%% === END_CONFIG ===\n",
    );
    let ran = project.run("workflow start p.mmd --wait --json");
    assert_eq!(ran.exit, 1, "{}", ran.err);
    assert_eq!(result(&ran)["status"], "paused", "{}", ran.out);
    let listed = document(&project.run("runs list --status paused --json"));
    assert_eq!(listed["runs"].as_array().unwrap().len(), 1, "{listed}");
}

#[test]
fn a_decision_has_no_task_to_run_again() {
    let project = bare();
    project.write(
        "d.mmd",
        "graph TD\n A[One] --> Q{?}\n Q -->|default| B[Two]\n%% === WORKFLOW_CONFIG ===\n\
         %% @A: { \"handler\": \"no_op\" }\n%% @B: { \"handler\": \"no_op\" }\n%% === END_CONFIG ===\n",
    );
    assert_eq!(project.run("workflow start d.mmd --wait").exit, 0);
    let ran = project.run("runs rerun last/Q");
    assert_eq!(ran.exit, 1);
    assert!(ran.err.contains("`Q` is a decision"), "{}", ran.err);
    assert!(ran.err.contains("/A`"), "{}", ran.err);
}
