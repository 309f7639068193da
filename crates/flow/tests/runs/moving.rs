//! Mending a run: another text, or other settings for one task.

use serde_json::json;

use crate::script::{Stage, check_with, with};

/// A run of the first text; `move new` goes to the second.
fn check(old: &str, new: &str, script: &str, expected: &str) {
    check_with(&[("main", old), ("new", new)], json!({}), script, expected);
}

#[test]
fn a_run_whose_condition_throws_goes_on_with_a_mended_text() {
    let old = with(
        "A[One] --> Q{?}\n Q -->|\"output.s.nosuch()\"| B[b]\n Q -->|default| C[c]",
        &[],
    );
    let new = with(
        "A[One] --> Q{?}\n Q -->|\"output.s == 1\"| B[b]\n Q -->|default| C[c]",
        &[],
    );
    check(
        &old,
        &new,
        "done A {\"s\": 1}\n expect A hold routing\n move new\n resume\n expect A attempt 1\n expect decided Q>B",
        "A:completed B:pending run:running",
    );
}

#[test]
fn a_foreach_with_too_many_items_goes_on_with_a_higher_limit() {
    let each = |max: u32| {
        let config =
            format!("{{\"itemsPath\": \"output\", \"maxItems\": {max}, \"prompt\": \"x\"}}");
        with(crate::script::EACH, &[("C", &config)])
    };
    check(
        &each(1),
        &each(3),
        "done A [1, 2, 3]\n move new\n resume",
        "A:completed C:waiting C[0]/C:pending C[1]/C:pending C[2]/C:pending run:running",
    );
}

#[test]
fn only_a_paused_run_moves_and_only_as_it_was_seen() {
    let (old, new) = (with("A[One]", &[]), with("A[Other]", &[]));
    check(
        &old,
        &new,
        "refused wrong_status move new",
        "A:pending run:running",
    );
    check(
        &old,
        &new,
        "pause\n refused not_ready move new late\n move new\n refused wrong_status move new\n resume\n done A 1",
        "A:completed run:completed",
    );
}

#[test]
fn what_is_under_way_must_fit_the_new_text() {
    let old = with("A[One] --> B[Two]", &[]);
    for new in [
        with("A[One] --> C[Two]", &[]),
        with("A[One] --> B(Two)", &[]),
        with("A[One] --> B[[Run: Two]]", &[]),
        with(
            "A[[Each: x]] --> B[Two] --> J[Join]",
            &[("A", "{\"itemsPath\": \"input\"}")],
        ),
    ] {
        check(
            &old,
            &new,
            "done A 1\n pause\n refused misfit move new",
            "A:completed B:pending run:paused",
        );
    }
}

#[test]
fn a_plan_says_what_differs_and_what_does_not_fit() {
    let old = with("A[One] --> B[Two] --> C[Three]", &[]);
    let new = with(
        "A[One] --> D[New]\n D --> C[Three]",
        &[("C", "{\"prompt\": \"x\"}")],
    );
    let mut stage = Stage::new(&[("main", &old), ("new", &new)], json!({}));
    for line in ["done A 1", "done B 2", "pause"] {
        stage.line(line);
    }
    let tasks: Vec<_> = stage
        .memory
        .tasks
        .values()
        .map(|row| (**row).clone())
        .collect();
    let plan = flow::plan_move(&stage.workflows["main"], &stage.workflows["new"], &tasks);
    let ids = |ids: &[flow::StepId]| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(ids(&plan.added), ["D"]);
    assert_eq!(ids(&plan.removed), ["B"]);
    assert_eq!(ids(&plan.changed), ["A", "C"]);
    assert_eq!(
        plan.misfits,
        ["`B` is completed, and is no step of the new text."]
    );
}

const FLAKY: (&str, &str) = (
    "A",
    "{ \"handler\": \"command\", \"config\": { \"run\": \"make\", \"okCodes\": [0] }, \"retry\": { \"attempts\": 1 } }",
);

#[test]
fn a_task_is_tried_again_with_other_settings_once() {
    let workflow = with("A[One]", &[FLAKY]);
    let mut stage = Stage::new(&[("main", &workflow)], json!({}));
    stage.line("fail A exit");
    stage.line(
        "retry A {\"config\": {\"run\": \"make -k\"}, \"retry\": {\"attempts\": 2, \"delay\": 0}}",
    );
    let task = "r/A".parse().unwrap();
    let row = stage.memory.tasks[&task].clone();
    let step = stage.workflows["main"].step_of(&row).unwrap().into_owned();
    let config = json!(step.config.config);
    assert_eq!(config, json!({ "run": "make -k", "okCodes": [0] }));
    // Its own attempts count, and then it is over.
    for line in [
        "fail A exit",
        "expect A attempt 1",
        "fail A exit",
        "expect A hold failed",
        "retry A",
    ] {
        stage.line(line);
    }
    assert_eq!(stage.memory.tasks[&task].with, None);
}

#[test]
fn settings_that_one_task_cannot_have_are_refused() {
    for with_ in [
        "{\"onError\": \"B\"}",
        "{\"nosuch\": 1}",
        "{\"timeout\": \"soon\"}",
        "{\"retry\": {\"attempts\": 0}}",
        "{\"config\": {\"run\": \"sh -c '{{output.x}}'\"}}",
    ] {
        let workflow = with("A[One]", &[FLAKY]);
        check_with(
            &[("main", &workflow)],
            json!({}),
            &format!("fail A exit\n refused bad_input retry A {with_}"),
            "A:on_hold run:paused",
        );
    }
    let manual = with("A(One)", &[("A", "{\"timeout\": \"1s\"}")]);
    check_with(
        &[("main", &manual)],
        json!({}),
        "wait 1000\n fire\n refused bad_input retry A {\"timeout\": \"1h\"}",
        "A:on_hold run:paused",
    );
}
