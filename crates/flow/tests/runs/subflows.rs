//! Subflows: child runs, their input, their ends, their depth.

use serde_json::json;

use crate::script::{Stage, check_with, with};

const CHILD: &str = "graph TD\n X[Work]";

fn parent(config: &str) -> String {
    with("A[One] --> S[[Run: child]] --> B[Then]", &[("S", config)])
}

#[test]
fn a_subflow_runs_as_a_child_with_mapped_input() {
    let workflow =
        parent("{\"inputMapping\": {\"n\": \"output.n + 1\", \"who\": \"{{input.who}}!\"}}");
    check_with(
        &[("main", &workflow), ("child", CHILD)],
        json!({ "who": "me" }),
        "done A {\"n\": 1}\n fire\n expect input {\"n\": 2, \"who\": \"me!\"}\n done @1/X 9\n fire\n expect S output 9",
        "A:completed B:pending S:completed run:running @1/X:completed @1/run:completed",
    );
}

#[test]
fn a_child_that_fails_follows_the_error_rule_of_its_step() {
    let workflow = parent("{}");
    let workflows = [("main", workflow.as_str()), ("child", CHILD)];
    check_with(
        &workflows,
        json!({}),
        "done A 1\n fire\n fail @1/X failed Broken.\n reject @1/X Broken.\n fire\n expect reason Broken.
         retry S\n fire\n done @2/X 5\n fire\n expect S output 5",
        "A:completed B:pending S:completed run:running @1/X:failed @1/run:failed @2/X:completed @2/run:completed",
    );
    check_with(
        &workflows,
        json!({}),
        "done A 1\n lost S There is no workflow `child`.",
        "A:completed S:on_hold run:paused",
    );
}

/// The settings of a step whose child failed, more of the diagram, the commands, and the expected
/// state.
const AFTER_A_FAILURE: &[(&str, &str, &str, &str)] = &[
    // Without a rule, both wait for a person, and resuming the parent goes on in the child.
    (
        "{}",
        "",
        "expect S hold child",
        "A:completed S:on_hold run:paused @1/X:on_hold @1/run:paused",
    ),
    (
        "{}",
        "",
        "resume\n fire\n done @1/X 5\n fire\n expect S output 5",
        "A:completed B:pending S:completed run:running @1/X:completed @1/run:completed",
    ),
    // Resuming the child resumes the parent.
    (
        "{}",
        "",
        "retry @1/X\n fire",
        "A:completed S:waiting run:running @1/X:pending @1/run:running",
    ),
    (
        "{}",
        "",
        "answer @1/X 7\n fire\n expect S output 7",
        "A:completed B:pending S:completed run:running @1/X:completed @1/run:completed",
    ),
    // A new child, or an answer in its place, ends the one that failed.
    (
        "{}",
        "",
        "retry S\n fire",
        "A:completed S:waiting run:running @1/X:cancelled @1/run:failed @2/X:pending @2/run:running",
    ),
    (
        "{}",
        "",
        "answer S 7\n fire",
        "A:completed B:pending S:completed run:running @1/X:cancelled @1/run:failed",
    ),
    (
        "{}",
        "\n S -->|onError| Y[Mend]",
        "expect S failure Exit 3.",
        "A:completed S:failed Y:pending run:running @1/X:cancelled @1/run:failed",
    ),
    (
        "{\"retry\": {\"attempts\": 2, \"delay\": \"1s\"}}",
        "",
        "wait 1000\n fire\n done @2/X 5\n fire\n expect S output 5",
        "A:completed B:pending S:completed run:running @1/X:cancelled @1/run:failed @2/X:completed @2/run:completed",
    ),
    (
        "{\"retry\": {\"attempts\": 2, \"delay\": \"1s\"}}",
        "",
        "wait 1000\n fire\n fail @2/X exit Exit 4.\n fire\n expect S hold child",
        "A:completed S:on_hold run:paused @1/X:cancelled @1/run:failed @2/X:on_hold @2/run:paused",
    ),
    (
        "{\"fallbackAssigneeId\": \"ann\"}",
        "",
        "expect S assignee ann\n expect S hold failed\n expect reason Exit 3.",
        "A:completed S:on_hold run:paused @1/X:cancelled @1/run:failed",
    ),
    (
        "{\"failFast\": true}",
        "",
        "expect reason Exit 3.",
        "A:completed S:failed run:failed @1/X:cancelled @1/run:failed",
    ),
    (
        "{}",
        "",
        "cancel\n fire",
        "A:completed S:cancelled run:cancelled @1/X:cancelled @1/run:cancelled",
    ),
];

#[test]
fn a_failure_in_a_child_reaches_the_step_that_started_it() {
    let failing = "done A 1\n fire\n fail @1/X exit Exit 3.\n fire";
    for (config, diagram, script, expected) in AFTER_A_FAILURE {
        let workflow = with(
            &format!("A[One] --> S[[Run: child]] --> B[Then]{diagram}"),
            &[("S", config)],
        );
        check_with(
            &[("main", &workflow), ("child", CHILD)],
            json!({}),
            &format!("{failing}\n {script}"),
            expected,
        );
    }
}

#[test]
fn cancelling_reaches_the_child() {
    let workflow = parent("{}");
    let workflows = [("main", workflow.as_str()), ("child", CHILD)];
    check_with(
        &workflows,
        json!({}),
        "done A 1\n fire\n cancel\n fire",
        "A:completed S:cancelled run:cancelled @1/X:cancelled @1/run:cancelled",
    );
    check_with(
        &workflows,
        json!({}),
        "done A 1\n cancel\n fire",
        "A:completed S:cancelled run:cancelled",
    );
}

#[test]
fn runs_are_not_nested_deeper_than_the_limit() {
    let workflow = with("S[[Run: main]] --> B[Then]", &[("S", "{\"maxDepth\": 2}")]);
    check_with(
        &[("main", &workflow)],
        json!({}),
        "fire",
        "S:on_hold run:paused @1/S:on_hold @1/run:paused @2/S:on_hold @2/run:paused",
    );
}

#[test]
fn runs_are_nested_five_deep_by_default() {
    let workflow = "graph TD\n S[[Run: main]] --> B[Then]";
    let mut stage = Stage::new(&[("main", workflow)], json!({}));
    stage.line("fire");
    let shown = stage.shown();
    assert!(shown.ends_with("@5/S:on_hold @5/run:paused"), "{shown}");
}

#[test]
fn a_child_that_fails_or_is_cancelled_takes_the_error_edge() {
    let workflow = with(
        "A[One] --> S[[Run: child]] --> B[Then]\n S -->|onError| X[Mend]",
        &[],
    );
    let workflows = [("main", workflow.as_str()), ("child", CHILD)];
    check_with(
        &workflows,
        json!({}),
        "done A 1\n fire\n fail @1/X auth Who?\n fire
         expect S output {\"error\": {\"class\": \"child\", \"message\": \"Who?\", \"step\": \"S\", \"attempts\": 0}, \"output\": null}",
        "A:completed S:failed X:pending run:running @1/X:cancelled @1/run:failed",
    );
    check_with(
        &workflows,
        json!({}),
        "done A 1\n fire\n cancel @1\n fire",
        "A:completed S:failed X:pending run:running @1/X:cancelled @1/run:cancelled",
    );
}

#[test]
fn a_subflow_without_a_mapping_gets_what_came_before() {
    let workflow = parent("{}");
    check_with(
        &[("main", &workflow), ("child", CHILD)],
        json!({ "who": "me" }),
        "done A {\"n\": 1}\n fire\n expect input {\"n\": 1}",
        "A:completed S:waiting run:running @1/X:pending @1/run:running",
    );
    check_with(
        &[("main", "graph TD\n S[[Run: child]]"), ("child", CHILD)],
        json!({ "who": "me" }),
        "fire\n expect input {\"who\": \"me\"}",
        "S:waiting run:running @1/X:pending @1/run:running",
    );
}

#[test]
fn handling_an_earlier_child_does_not_cancel_the_next() {
    let workflow = parent("{}");
    let mut stage = Stage::new(&[("main", &workflow), ("child", CHILD)], json!({}));
    stage.line("done A 1");
    let first = stage.memory.timers.values().next().unwrap().clone();
    for line in ["lost S There is no workflow `child`.", "retry S"] {
        stage.line(line);
    }
    // They come back after the step was tried again: with the child they knew, and its timer.
    let flow::engine::TimerPurpose::StartChild { child } = first.due.clone() else {
        panic!("{first:?}");
    };
    let start = flow::engine::EngineCommand::Start(flow::engine::RunStart {
        parent: Some(child.parent.clone()),
        depth: child.depth,
        ..flow::engine::RunStart::new(child.run, child.input)
    });
    let refusal = stage.execute(&start).unwrap_err();
    assert_eq!(json!(refusal.kind), "wrong_status", "{refusal}");
    let fire = flow::engine::EngineCommand::Fire {
        run: first.run.clone(),
        key: first.key.clone(),
    };
    let refusal = stage.execute(&fire).unwrap_err();
    assert_eq!(json!(refusal.kind), "no_such_timer", "{refusal}");
    for line in ["fire", "done @1/X 5", "fire", "expect S output 5"] {
        stage.line(line);
    }
}

#[test]
fn the_end_of_an_earlier_child_is_not_that_of_the_next() {
    let workflow = parent("{}");
    // One worker could not start the child, another had started it.
    check_with(
        &[("main", &workflow), ("child", CHILD)],
        json!({}),
        "done A 1\n fire\n lost S There is no workflow `child`.\n retry S\n fire
         done @1/X 1\n done @2/X 5\n fire\n expect S output 5",
        "A:completed B:pending S:completed run:running @1/X:completed @1/run:completed @2/X:completed @2/run:completed",
    );
    check_with(
        &[("main", &workflow), ("child", CHILD)],
        json!({}),
        "done A 1\n fire\n lost S There is no workflow `child`.\n retry S\n fire\n done @1/X 1\n fire",
        "A:completed S:waiting run:running @1/X:completed @1/run:completed @2/X:pending @2/run:running",
    );
}
