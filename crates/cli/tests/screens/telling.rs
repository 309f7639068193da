//! Runs looked at afterwards: their story, lists and filters; and every wrong use with a way on.

use serde_json::Value;

use crate::bare;
use crate::project::CliProject;

const LOOP: &str = r#"---
title: Round and round
---
graph TD
    A[[Each: Item]] --> J[Join items] --> L[Turn] --> D{Again?}
    D -->|"run.depth > 9"| L
    D -->|"input.n > 5"| X[Much]
    D -->|default| H(Ask)
    H --> E[End]
%% === WORKFLOW_CONFIG ===
%% @A: { "itemsPath": "input.xs", "itemVariable": "x", "handler": "command", "config": { "run": "test {{x}} != 3" }, "retry": {"attempts": 1} }
%% @J: { "policy": "allTerminal", "handler": "no_op" }
%% @L: { "handler": "no_op" }
%% @X: { "handler": "no_op" }
%% @H: { "prompt": "Go on with {{input.n}}?" }
%% @E: { "handler": "no_op" }
%% === END_CONFIG ===
"#;

fn project() -> CliProject {
    let project = bare();
    project.write("loop.mmd", LOOP);
    project.write("one.mmd", "graph TD\n A(Say yes) --> B(And then)\n");
    project
}

#[track_caller]
fn has(text: &str, pieces: &[&str]) {
    let mut rest = text;
    for piece in pieces {
        let at = rest.find(piece);
        let at = at.unwrap_or_else(|| panic!("{piece:?} is not where it should be in\n{text}"));
        rest = &rest[at + piece.len()..];
    }
}

#[test]
fn a_run_says_which_way_it_went_and_why_and_what_it_waits_for() {
    let project = project();
    let ran = project.run("workflow start loop.mmd --wait n=4 xs='[1,2,3,4,5,6,7,8]'");
    assert_eq!(ran.exit, 2, "{}", ran.err);
    let shown = project.run("runs show last");
    assert_eq!(shown.exit, 0, "{}", shown.err);
    has(
        &shown.out,
        &[
            " of Round and round is running",
            "begun 20",
            "input {\"n\":4,",
            "◷ Ask",
            "…/A",
            "7 completed",
            "A[2]/A",
            "failed",
            "attempt 1",
            "⧉ A Item: 8 items",
            "✗ A[2]/A Item failed",
            "◇ D Again? → H: not ",
            "not input.n > 5 (input.n = 4), so the default",
            "H Ask waits for a person",
            "Go on with 4?",
            "answer: drawloom tasks answer ",
            "/H '…'",
            "then: drawloom runs resume ",
        ],
    );
    assert!(!shown.out.contains("A[0]/A"), "{}", shown.out);
    let all = project.run("runs show last --events").out;
    has(&all, &["A[0]/A", "completed", "✓ A[0]/A Item"]);
}

#[test]
fn runs_are_found_by_what_they_are() {
    let project = project();
    for line in ["loop.mmd n=9 xs=[] --tag nightly", "one.mmd", "one.mmd"] {
        assert_eq!(project.run(&format!("workflow start {line}")).exit, 0);
    }
    assert_eq!(project.run("runs cancel last").exit, 0);
    for (filter, expected) in [
        ("", 3),
        ("--status running", 2),
        ("--status cancelled", 1),
        ("--workflow 'round AND'", 1),
        ("--workflow nothing", 0),
        ("--tag nightly", 1),
        ("--since 1h", 3),
        ("--since 1h --limit 2", 2),
        ("--top", 3),
    ] {
        let listed = project.run(&format!("runs list --json {filter}"));
        let listed: Value = serde_json::from_str(&listed.out).unwrap();
        assert_eq!(
            listed["runs"].as_array().unwrap().len(),
            expected,
            "{filter}"
        );
    }
    assert_eq!(project.run("runs list --since yesterday").exit, 64);
}

/// What is written, the exit code, and what is said.
const WRONG: &[(&str, i32, &[&str])] = &[
    (
        "workflow start onee.mmd",
        1,
        &["`onee.mmd`", "did you mean `one.mmd`?"],
    ),
    (
        "workflow start handler.mmd",
        1,
        &["no_opp", "handler.mmd:4:", "did you mean `no_op`"],
    ),
    (
        "workflow start json.mmd",
        1,
        &["config of `A`", "json.mmd:4:"],
    ),
    (
        "workflow start one.mmd --input '{'",
        1,
        &["not JSON", "line 1", "name=value"],
    ),
    (
        "runs show nothing",
        1,
        &["no run `nothing`", "drawloom runs list"],
    ),
    ("runs rerun last/B", 1, &["no task", "has not reached `B`"]),
    (
        "runs rerun last/AA",
        1,
        &["no task", "did you mean `", "/A`?"],
    ),
    (
        "runs rerun last",
        64,
        &["RUN/STEP", "tasks list --run last"],
    ),
    (
        "tasks retry last/A",
        1,
        &["error[E_CONFLICT]", "drawloom tasks show"],
    ),
    (
        "tasks answer last/A yes",
        0,
        &["is answered", "runs resume"],
    ),
    (
        "tasks answer last/A no",
        1,
        &["is completed", "drawloom tasks show"],
    ),
    ("runs cancel last", 0, &["cancelled"]),
    (
        "runs cancel last",
        1,
        &["is cancelled", "drawloom runs show", "runs rerun"],
    ),
    (
        "runs resume last",
        1,
        &["is cancelled", "drawloom runs show"],
    ),
    (
        "runs pause last",
        1,
        &["is cancelled", "drawloom runs show"],
    ),
    (
        "workflow start input.mmd --wait",
        1,
        &[
            "warning: the workflow reads `input.who`",
            "who=VALUE",
            "on hold",
            "start it again with the value",
        ],
    ),
    (
        "worker --until-idle",
        0,
        &["worker ", "nothing is left to do"],
    ),
    ("worker --lease 1ms", 64, &["at least 100ms"]),
    (
        "runs list --database sqlite:/proc/none/x.db",
        1,
        &["E_DATABASE", "/proc/none"],
    ),
    (
        "runs list --database mysql://x",
        64,
        &["mysql", "sqlite:PATH"],
    ),
];

#[test]
fn every_wrong_use_says_what_to_do_next() {
    let project = project();
    assert_eq!(project.run("workflow start one.mmd").exit, 0);
    let misspelt = "graph TD\n A[Do]\n%% === WORKFLOW_CONFIG ===\n%% @A: { \"handler\": \"no_opp\" }\n%% === END_CONFIG ===\n";
    project.write("handler.mmd", misspelt);
    project.write("json.mmd", &misspelt.replace(": \"no_opp\"", " \"no_op\""));
    project.write("input.mmd", "graph TD\n A[Do]\n%% === WORKFLOW_CONFIG ===\n%% @A: { \"handler\": \"command\", \"config\": { \"run\": \"echo {{input.who}}\" } }\n%% === END_CONFIG ===\n");
    for (line, exit, says) in WRONG {
        let ran = project.run(line);
        assert_eq!(ran.exit, *exit, "{line}: {}", ran.err);
        has(&ran.err, says);
    }
}
