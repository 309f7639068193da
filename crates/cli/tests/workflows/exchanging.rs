//! Workflows that go elsewhere and come back: nothing lost, nothing half written.

use serde_json::{Value, json};

use crate::project::ExpectedText::{Anything, Has};
use crate::project::{CliProject, ExpectedRun, check};
use crate::workflow_fixture::{bare, document};

/// Two agents, one of them only for when the other fails, and a person.
const REVIEW: &str = "---\ntitle: PR Review\ndescription: \"Looks at it: twice\"\n---\ngraph TD\n A[Review] --> B(Agree)\n\
    %% === WORKFLOW_CONFIG ===\n\
    %% @A: { \"handler\": \"no_op\", \"defaultAssigneeId\": \"code-reviewer\", \"fallbackAssigneeId\": \"senior\" }\n\
    %% @B: { \"defaultAssigneeId\": \"ann\" }\n\
    %% === END_CONFIG ===\n";

/// A project with the workflow and its agents, and what it exports.
fn exported() -> (CliProject, Value) {
    let project = bare();
    project.write("PR Review.mmd", REVIEW);
    for (slug, prompt) in [
        ("code-reviewer", "You review."),
        ("senior", "You know\nbetter."),
    ] {
        let line = format!("agents add {slug} --name 'The {slug}' --prompt '{prompt}'");
        assert_eq!(project.run(&line).exit, 0);
    }
    let json = document(&project.run("workflow export 'PR Review.mmd'"));
    (project, json)
}

fn without_time(mut exported: Value) -> Value {
    exported.as_object_mut().unwrap().remove("exportedAt");
    exported
}

#[track_caller]
fn refused(project: &CliProject, line: &str, says: &[&str]) {
    let before = project.tree();
    let expect = ExpectedRun {
        exit: 1,
        out: Anything,
        err: Has(says),
    };
    check(project, line, expect);
    // The database may be made to be looked into; nothing is in it.
    let files = |project: &CliProject| -> Vec<_> {
        let files = project.tree().into_keys();
        files
            .filter(|path| !path.to_string_lossy().contains("drawloom.db"))
            .collect()
    };
    let is_same = before
        .keys()
        .filter(|path| !path.to_string_lossy().contains("drawloom.db"));
    assert_eq!(files(project), is_same.cloned().collect::<Vec<_>>());
}

#[test]
fn an_exported_workflow_is_imported_unchanged() {
    let (_, first) = exported();
    assert_eq!(first["exportVersion"], "2.0");
    assert_eq!(first["workflow"]["name"], "PR Review");
    assert_eq!(first["workflow"]["description"], "Looks at it: twice");
    assert_eq!(first["agents"][0]["agentPrompt"], "You review.");
    assert_eq!(first["agents"][1]["id"], "senior");

    let other = bare();
    other.write("in.json", &first.to_string());
    refused(
        &other,
        "workflow import in.json",
        &["`code-reviewer`", "--create-agents"],
    );
    let shown = other.run("workflow import in.json --create-agents --dry-run --json");
    let shown = document(&shown);
    assert_eq!(shown["written"], false);
    assert_eq!(shown["agents"].as_array().unwrap().len(), 2, "{shown}");
    assert!(!other.path().join(".drawloom").exists());

    let done = other.run("workflow import in.json --create-agents");
    assert_eq!(done.exit, 0, "{}", done.err);
    for said in [
        "wrote .drawloom/workflows/PR Review.mmd",
        "added the agent senior",
    ] {
        assert!(done.err.contains(said), "{}", done.err);
    }
    // Also under a name that is easier to type.
    for name in ["'PR Review'", "pr-review"] {
        let again = document(&other.run(&format!("workflow export {name}")));
        assert_eq!(without_time(again), without_time(first.clone()));
    }
    assert_eq!(other.run("workflow check pr-review").exit, 0);
    // Once more changes nothing, and needs nothing.
    let done = other.run("workflow import in.json");
    assert_eq!(done.exit, 0, "{}", done.err);
    assert!(done.err.contains("is unchanged"), "{}", done.err);
}

#[test]
fn a_bare_diagram_and_the_seeds_form_are_taken_as_well() {
    let project = bare();
    let text = include_str!("data/pr-review.mmd");
    project.write("pr.mmd", text);
    assert_eq!(project.run("workflow import pr.mmd").exit, 0);
    assert_eq!(project.read(".drawloom/workflows/pr.mmd"), text);
    let seed = json!({
        "workflow": {
            "name": "PR: Pipeline", "description": "Automated", "mermaidSource": "graph TD\n A[Fetch PR]\n",
            "steps": [{"id": "A", "name": "Fetch PR", "stepType": "task", "execution": "automated",
                "prompt": "Fetch PR #{{input.prNumber}}"}],
        },
        "agents": [{"id": "code-reviewer", "displayName": "Code Review Agent", "agentPrompt": "You review."}],
        "exportVersion": "2.0", "exportedAt": "2025-01-15T10:00:00Z",
    });
    project.write("seed.json", &seed.to_string());
    let done = project.run("workflow import seed.json --create-agents");
    assert_eq!(done.exit, 0, "{}", done.err);
    let back = document(&project.run("workflow export pr-pipeline"));
    assert_eq!(back["workflow"]["name"], "PR: Pipeline");
    assert_eq!(back["workflow"]["description"], "Automated");
    assert_eq!(
        back["workflow"]["steps"][0]["prompt"],
        "Fetch PR #{{input.prNumber}}"
    );
    let agents = document(&project.run("agents list --json"));
    assert_eq!(agents["agents"][0]["displayName"], "Code Review Agent");
}

#[test]
fn an_agent_of_which_only_the_name_is_known_is_said_to_need_a_prompt() {
    let project = bare();
    let text = "graph TD\n A[Do]\n%% === WORKFLOW_CONFIG ===\n\
        %% @A: { \"defaultAssigneeId\": \"doer\" }\n%% === END_CONFIG ===\n";
    project.write("do.mmd", text);
    refused(
        &project,
        "workflow import do.mmd",
        &["`doer`", "agents add doer"],
    );
    let done = project.run("workflow import do.mmd --create-agents");
    assert_eq!(done.exit, 0, "{}", done.err);
    assert!(
        done.err.contains("agents edit doer --prompt"),
        "{}",
        done.err
    );
}

#[test]
fn known_workflows_stay_and_no_text_is_replaced_unasked() {
    let (_, first) = exported();
    let other = bare();
    other.write("in.json", &first.to_string());
    assert_eq!(other.run("agents add code-reviewer --prompt Mine.").exit, 0);
    let done = other.run("workflow import in.json --create-agents");
    assert!(
        done.err.contains("code-reviewer has another prompt"),
        "{}",
        done.err
    );
    let agents = document(&other.run("agents list --json"));
    assert_eq!(agents["agents"][0]["agentPrompt"], "Mine.");

    other.write("new.mmd", &REVIEW.replace("[Review]", "[Look]"));
    let line = "workflow import new.mmd --name 'PR Review'";
    refused(&other, line, &["exists already", "--force"]);
    let shown = other.run(&format!("{line} --dry-run"));
    assert!(
        shown.out.contains("+ A[Look]"),
        "{}{}",
        shown.out,
        shown.err
    );
    assert_eq!(other.read(".drawloom/workflows/PR Review.mmd"), REVIEW);
    assert_eq!(other.run(&format!("{line} --force")).exit, 0);
    assert!(
        other
            .read(".drawloom/workflows/PR Review.mmd")
            .contains("Look")
    );
}

#[test]
fn where_one_thing_is_wrong_nothing_is_written() {
    let (_, first) = exported();
    let other = bare();
    let wrong = |change: fn(&mut Value)| {
        let mut json = first.clone();
        change(&mut json);
        json.to_string()
    };
    for (text, says) in [
        (
            "{ \"workflow\": ".to_owned(),
            &["in.json", "line 1 column"][..],
        ),
        (
            wrong(|json| json["exportVersion"] = json!("9")),
            &["exportVersion 9", "2.0"],
        ),
        (
            wrong(|json| json["workflow"]["mermaidSource"] = json!("graph TD\n A[Do\n")),
            &["mermaidSource", "A[Do"],
        ),
        (
            wrong(|json| json["agents"][1]["id"] = json!("Not A Slug")),
            &["Not A Slug", "small letters"],
        ),
        (
            wrong(|json| json["agents"][1]["displayName"] = json!("a\nb")),
            &["senior", "one line"],
        ),
        (
            wrong(|json| json["workflow"]["steps"][0]["id"] = json!("X")),
            &["`X`", "does not have"],
        ),
    ] {
        other.write("in.json", &text);
        refused(&other, "workflow import in.json --create-agents", says);
        let agents = document(&other.run("agents list --json"));
        assert_eq!(agents["agents"], json!([]), "{text}");
    }
    // A taken name is detected last; the file is removed again.
    other.write("in.json", &first.to_string());
    assert_eq!(other.run("users add senior --email s@example.org").exit, 0);
    refused(
        &other,
        "workflow import in.json --create-agents",
        &["a user `senior` already"],
    );
    let agents = document(&other.run("agents list --json"));
    assert_eq!(agents["agents"], json!([]));
}

#[test]
fn an_imported_workflow_runs_and_is_drawn() {
    let project = bare();
    project.write("pr.mmd", include_str!("data/pr-review.mmd"));
    assert_eq!(project.run("workflow import pr.mmd --name review").exit, 0);
    let odd = project.run("workflow start review prNumber=1 && true");
    assert_eq!(odd.exit, 64, "words that are no values are refused");
    assert_eq!(project.run("workflow start review prNumber=1").exit, 0);
    let picture = project.run("workflow render --run last");
    assert!(picture.out.starts_with("<svg"), "{}", picture.err);
}
