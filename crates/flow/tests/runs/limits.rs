//! Concurrency limits, and the order of those that wait.

use serde_json::json;

use crate::script::{Stage, check_with, with};

/// The runs of a workflow are started one after the other, the first one by the stage.
fn check(configs: &[(&str, &str)], script: &str, expected: &str) {
    let workflow = with("A[One] --> B[Two]", configs);
    let input = json!({ "repo": "x" });
    check_with(&[("main", &workflow)], input, script, expected);
}

const ONE_RUN: (&str, &str) = ("concurrency", "{ \"max\": 1 }");

#[test]
fn a_run_waits_until_another_of_its_workflow_has_ended() {
    check(
        &[ONE_RUN],
        "start s 0\n start t 0\n expect room r (s) (t)",
        "A:pending run:running @1/run:running @2/run:running",
    );
    check(
        &[ONE_RUN],
        "start s 0\n start t 0\n done A 1\n done B 1\n fire\n expect room s (t)",
        "A:completed B:completed run:completed @1/A:pending @1/run:running @2/run:running",
    );
    // However the one before has ended.
    check(
        &[ONE_RUN],
        "start s 0\n cancel\n fire\n expect room s",
        "A:cancelled run:cancelled @1/A:pending @1/run:running",
    );
    // One that is cancelled while it waits gives way to the next.
    check(
        &[ONE_RUN],
        "start s 0\n start t 0\n cancel @1\n cancel\n fire\n expect room t",
        "A:cancelled run:cancelled @1/run:cancelled @2/A:pending @2/run:running",
    );
}

#[test]
fn runs_with_different_keys_do_not_wait_for_each_other() {
    let key = ("concurrency", "{ \"key\": \"{{input.repo}}\" }");
    check(
        &[key],
        "start s 0 {\"repo\": \"y\"}\n start t 0 {\"repo\": \"x\"}\n expect room r (t) s",
        "A:pending run:running @1/A:pending @1/run:running @2/run:running",
    );
    // Unknown fields are reported.
    check(
        &[("concurrency", "{ \"key\": \"{{input.nowhere}}\" }")],
        "start s 0\n expect room r (s)",
        "A:pending run:running @1/run:running",
    );
}

#[test]
fn a_run_for_which_there_is_no_room_is_left_out_or_takes_the_place_of_the_oldest() {
    check(
        &[("concurrency", "{ \"onLimit\": \"skip\" }")],
        "start s 0\n expect room r",
        "A:pending run:running @1/run:cancelled",
    );
    check(
        &[("concurrency", "{ \"onLimit\": \"cancel_oldest\" }")],
        "start s 0\n fire\n expect room s\n expect reason The run `s` took its place.",
        "A:cancelled run:cancelled @1/A:pending @1/run:running",
    );
    check(
        &[(
            "concurrency",
            "{ \"max\": 2, \"onLimit\": \"cancel_oldest\" }",
        )],
        "start s 0\n wait 1\n start t 0\n fire\n expect room s t",
        "A:cancelled run:cancelled @1/A:pending @1/run:running @2/A:pending @2/run:running",
    );
}

#[test]
fn a_run_that_waits_for_room_can_be_paused_and_goes_on_later() {
    let workflow = with("A[One]", &[ONE_RUN]);
    let mut stage = Stage::new(&[("main", &workflow)], json!({}));
    for line in [
        "start s 0",
        "done A 1",
        "fire",
        "expect room s",
        "done @1/A 2",
    ] {
        stage.line(line);
    }
    assert!(stage.memory.slots.is_empty());
    assert!(stage.memory.timers.is_empty());
}

const ONE_TASK: (&str, &str) = ("A", "{ \"concurrency\": { \"max\": 1 } }");

#[test]
fn a_task_waits_until_another_of_its_step_has_left_its_worker() {
    check(
        &[ONE_TASK],
        "start s 0\n expect ready r/A s/A\n claim A\n expect ready \n refused no_room take @1/A\n expect room r/A",
        "A:in_progress run:running @1/A:pending @1/run:running",
    );
    for ending in [
        "done A 1",
        "fail invalid",
        "back A",
        "ask A why",
        "cancel",
        "continue A on",
    ] {
        let ending = match ending.split_once(' ') {
            Some(("fail", class)) => format!("fail A {class}"),
            _ => ending.to_owned(),
        };
        let workflow = with("A[One] --> B[Two]", &[ONE_TASK]);
        let mut stage = Stage::new(&[("main", &workflow)], json!({}));
        for line in [
            "start s 0",
            "claim A",
            &ending,
            "expect room ",
            "claim @1/A",
        ] {
            stage.line(line);
        }
    }
    check(
        &[ONE_TASK],
        "start s 0\n claim A\n wait 60001\n expire\n expect room \n claim @1/A\n expect room s/A",
        "A:pending run:running @1/A:in_progress @1/run:running",
    );
}

#[test]
fn tasks_with_one_key_share_room_whatever_their_steps_are() {
    check(
        &[
            ("A", "{ \"concurrency\": { \"key\": \"db\", \"max\": 2 } }"),
            ("B", "{ \"concurrency\": { \"key\": \"db\", \"max\": 2 } }"),
        ],
        "done A 1\n start s 0\n start t 0\n claim B\n claim @1/A\n refused no_room take @2/A",
        "A:completed B:in_progress run:running @1/A:in_progress @1/run:running @2/A:pending @2/run:running",
    );
}

#[test]
fn a_task_for_which_there_is_no_room_is_left_out_or_takes_the_place_of_the_oldest() {
    check(
        &[("A", "{ \"concurrency\": { \"onLimit\": \"skip\" } }")],
        "start s 0\n claim A\n take @1/A\n expect @1/A output {\"skipped\": true}\n expect room r/A",
        "A:in_progress run:running @1/A:completed @1/B:pending @1/run:running",
    );
    check(
        &[(
            "A",
            "{ \"concurrency\": { \"onLimit\": \"cancel_oldest\" } }",
        )],
        "start s 0\n claim A\n take @1/A\n fire\n wait 250\n take @1/A\n expect room s/A\n expect A why `s/A` took its place.",
        "A:on_hold run:paused @1/A:in_progress @1/run:running",
    );
}

#[test]
fn tasks_of_runs_with_a_higher_priority_come_first() {
    check(
        &[],
        "wait 5\n start low -5\n start high 7\n expect ready high/A r/A low/A\n done @2/A 1\n expect ready high/B r/A low/A",
        "A:pending run:running @1/A:pending @1/run:running @2/A:completed @2/B:pending @2/run:running",
    );
}
