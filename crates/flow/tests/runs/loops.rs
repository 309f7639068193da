//! Loops, and how often a step may be visited.

use serde_json::json;

use crate::script::{Stage, check, with};

#[test]
fn a_loop_goes_round_until_its_visits_are_used_up() {
    let workflow = with(
        "A[Try] --> Q{ok?}\n Q -->|\"output.ok\"| B[End]\n Q -->|default| A",
        &[("A", "{\"maxVisits\": 2}")],
    );
    check(
        &workflow,
        "done A {}\n done A~2 {\"ok\": true}\n done B 1",
        "A:completed A~2:completed B:completed run:completed",
    );
    check(
        &workflow,
        "done A {}\n done A~2 {}\n expect A~3 hold loop_exhausted
         expect reason LoopExhausted: the step `A` was visited maxVisits = 2 times.",
        "A:completed A~2:completed A~3:on_hold run:paused",
    );
    check(
        &workflow,
        "done A {}\n done A~2 {}\n resume\n done A~3 {\"ok\": 1}",
        "A:completed A~2:completed A~3:completed B:pending run:running",
    );
}

#[test]
fn visits_are_counted_in_each_item() {
    let workflow = with(
        "A[List] --> C[[Each: x]]\n C --> B[Try]\n B --> Q{ok?}\n Q -->|\"output.ok\"| J[Join]\n Q -->|default| B",
        &[
            ("C", "{\"itemsPath\": \"output\"}"),
            ("B", "{\"maxVisits\": 2}"),
        ],
    );
    check(
        &workflow,
        "done A [1,2]\n done C[0]/B {}\n done C[1]/B {}\n done C[0]/B~2 {\"ok\": 1}\n done C[1]/B~2 {\"ok\": 1}",
        "A:completed C:completed J:completed C[0]/B:completed C[0]/B~2:completed C[1]/B:completed
         C[1]/B~2:completed run:completed",
    );
}

#[test]
fn a_step_is_visited_25_times_by_default() {
    let workflow = "graph TD\n A[Try] --> Q{ok?}\n Q -->|\"output.ok\"| B[End]\n Q -->|default| A";
    let rounds = |count: u32| {
        let rounds = (1..=count).map(|visit| match visit {
            1 => "done A {}\n".to_owned(),
            visit => format!("done A~{visit} {{}}\n"),
        });
        rounds.collect::<String>()
    };
    let mut stage = Stage::new(&[("main", workflow)], json!({}));
    rounds(24).lines().for_each(|line| stage.line(line));
    assert!(
        stage.shown().ends_with("A~25:pending run:running"),
        "{}",
        stage.shown()
    );
    stage.line("done A~25 {}");
    assert!(
        stage.shown().ends_with("A~26:on_hold run:paused"),
        "{}",
        stage.shown()
    );
    stage.line("expect notices on_hold run_paused");
}
