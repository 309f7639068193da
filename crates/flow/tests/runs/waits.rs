//! Waits: for a time, until a time, for a signal; and people who are reminded.

use serde_json::json;

use crate::script::{Stage, check, check_with, with};

#[test]
fn a_wait_takes_its_time_and_hands_on_what_came_before() {
    for workflow in [
        with("A[One] --> W[Wait: 2h] --> B[Then]", &[]),
        with(
            "A[One] --> W[Rest] --> B[Then]",
            &[("W", "{\"stepType\": \"wait\", \"for\": \"2h\"}")],
        ),
        with(
            "A[One] --> W[Wait: a while] --> B[Then]",
            &[("W", "{\"for\": 7200}")],
        ),
        with(
            "A[One] --> W\n W@{ shape: delay, label: \"2h\" }\n W --> B[Then]",
            &[],
        ),
    ] {
        check(
            &workflow,
            "done A 5\n wait 7199999\n fire",
            "A:completed W:waiting run:running",
        );
        check(
            &workflow,
            "done A 5\n wait 7200000\n fire\n expect W output 5",
            "A:completed B:pending W:completed run:running",
        );
        check(
            &workflow,
            "done A 5\n cancel",
            "A:completed W:cancelled run:cancelled",
        );
    }
}

#[test]
fn a_wait_may_be_until_a_time_that_a_step_gave() {
    let workflow = with(
        "A[One] --> W[Wait: it] --> B[Then]",
        &[("W", "{\"until\": \"output.at\"}")],
    );
    for at in ["\"1970-01-01T00:01:00Z\"", "60000"] {
        check(
            &workflow,
            &format!("done A {{\"at\": {at}}}\n wait 58999\n fire"),
            "A:completed W:waiting run:running",
        );
        check(
            &workflow,
            &format!("done A {{\"at\": {at}}}\n wait 59000\n fire"),
            "A:completed B:pending W:completed run:running",
        );
    }
    // A time in the past ends the wait at once; a value that is no time is reported.
    check(
        &workflow,
        "done A {\"at\": 1}\n fire",
        "A:completed B:pending W:completed run:running",
    );
    check(
        &workflow,
        "done A {\"at\": \"soon\"}\n expect reason `until` of `W`: `output.at` is no time.",
        "A:completed W:on_hold run:paused",
    );
}

#[test]
fn a_signal_ends_the_wait_for_it_and_is_kept_where_it_comes_early() {
    let workflow = with(
        "A[One] --> W[Wait: it] --> B[Then]",
        &[("W", "{\"signal\": \"deployed\"}")],
    );
    check(
        &workflow,
        "done A 1\n signal deployed {\"url\": \"x\"}\n expect W output {\"url\": \"x\"}",
        "A:completed B:pending W:completed run:running",
    );
    check(
        &workflow,
        "signal deployed 7\n done A 1\n expect W output 7",
        "A:completed B:pending W:completed run:running",
    );
    check(
        &workflow,
        "done A 1\n refused wrong_status signal other 1",
        "A:completed W:waiting run:running",
    );
    check(
        &workflow,
        "done A 1\n signal deployed 1\n done B 1\n refused wrong_status signal deployed 2",
        "A:completed B:completed W:completed run:completed",
    );
    let long = "x".repeat(70_000);
    check(
        &workflow,
        &format!("refused limit signal deployed \"{long}\""),
        "A:pending run:running",
    );
    // Two waits for one name take one signal each, the first one first.
    let two = with(
        "A[One] --> V[Wait: v] & W[Wait: w]\n V --> B[b]\n W --> C[c]",
        &[("V", "{\"signal\": \"go\"}"), ("W", "{\"signal\": \"go\"}")],
    );
    check(
        &two,
        "done A 1\n signal go 1",
        "A:completed B:pending V:completed W:waiting run:running",
    );
}

#[test]
fn a_signal_that_does_not_come_in_time_holds_fails_or_is_done_without() {
    for (rule, script, expected) in [
        ("hold", "", "A:completed W:on_hold run:paused"),
        (
            "hold",
            "signal go 7\n expect W output 7",
            "A:completed B:pending W:completed run:running",
        ),
        ("fail", "", "A:completed W:failed X:pending run:running"),
        (
            "continue",
            "expect W output {\"timedOut\": true}",
            "A:completed B:pending W:completed run:running",
        ),
    ] {
        let config =
            format!("{{\"signal\": \"go\", \"timeout\": \"1h\", \"onTimeout\": \"{rule}\"}}");
        let workflow = with(
            "A[One] --> W[Wait: it] --> B[Then]\n W -->|onError| X[Tell]",
            &[("W", &config)],
        );
        check(
            &workflow,
            &format!("done A 1\n wait 3600000\n fire\n {script}"),
            expected,
        );
    }
}

#[test]
fn a_person_is_reminded_and_then_another_is_asked_before_the_timeout() {
    let workflow = with(
        "A(Approve) --> B[Then]",
        &[(
            "A",
            "{\"defaultAssigneeId\": \"ann\", \"remind\": \"1h\", \"timeout\": \"3h\", \"escalateTo\": \"bob\"}",
        )],
    );
    check(
        &workflow,
        "wait 3600000\n fire\n expect notices task_for_you reminder\n wait 3600000\n fire
         expect notices task_for_you reminder reminder",
        "A:pending run:running",
    );
    check(
        &workflow,
        "wait 10800000\n fire\n expect A assignee bob\n answer A 1",
        "A:completed B:pending run:running",
    );
    check(
        &workflow,
        "wait 10800000\n fire\n wait 10800000\n fire\n expect A hold timeout",
        "A:on_hold run:paused",
    );
    let mut stage = Stage::new(&[("main", &workflow)], json!({}));
    stage.line("answer A 1");
    assert!(stage.memory.timers.is_empty(), "{:?}", stage.memory.timers);
}

#[test]
fn an_input_is_checked_and_its_defaults_are_filled_in() {
    let workflow = with(
        "A[One]",
        &[(
            "input",
            "{\"type\": \"object\", \"required\": [\"repo\"], \"properties\": {\"repo\": {\"type\": \"string\"}, \"depth\": {\"type\": \"integer\", \"default\": 3}}}",
        )],
    );
    check_with(
        &[("main", &workflow)],
        json!({ "repo": "x" }),
        "",
        "A:pending run:running",
    );
    let parsed = flow::parse(&workflow).unwrap();
    assert_eq!(
        parsed.checked_input(json!({ "repo": "x" })).unwrap(),
        json!({ "repo": "x", "depth": 3 })
    );
    for (input, says) in [
        (json!({}), "\"repo\" is a required property"),
        (json!({ "repo": 1 }), "/repo: 1 is not of type \"string\""),
        (json!(null), "required"),
    ] {
        let wrong = parsed.checked_input(input).unwrap_err();
        assert!(wrong.contains(says), "{wrong}");
    }
    let start = flow::engine::EngineCommand::Start(flow::engine::RunStart::new("x", json!({})));
    let refusal = flow::MemoryRows::new()
        .execute(&parsed, &start, 1)
        .unwrap_err();
    assert_eq!(json!(refusal.kind), "bad_input", "{refusal}");
}
