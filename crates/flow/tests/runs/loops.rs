//! Loops, and how often a step may be visited.

use crate::script::{check, with};

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
