//! Conditions and decisions: which edge is taken, and what happens where none can be.

use serde_json::json;

use crate::script::{Stage, check};

const GATE: &str = "graph TD
 A[Work] --> D{Good?}
 D -->|\"output.score >= 80\"| B[Fine]
 D -->|\"output.status === 'approved'\"| C[Approved]
 D -->|\"output.items.length > 0 && !output.empty\"| E[Items]
 D -->|default| F[Rest]";

#[test]
fn a_decision_takes_the_first_edge_that_holds() {
    for (output, to) in [
        ("{\"score\": 80}", "B"),
        ("{\"score\": 90, \"status\": \"approved\"}", "B"),
        ("{\"score\": 10, \"status\": \"approved\"}", "C"),
        ("{\"items\": [1]}", "E"),
        ("{\"items\": [1], \"empty\": true}", "F"),
        ("{}", "F"),
        ("null", "F"),
        ("\"score: 99\"", "F"),
    ] {
        check(
            GATE,
            &format!("done A {output}\n expect decided D>{to}"),
            &match to {
                "B" => "A:completed B:pending run:running".to_owned(),
                to => format!("A:completed {to}:pending run:running"),
            },
        );
    }
}

#[test]
fn a_condition_that_fails_holds_the_task_before_it_with_its_output() {
    let workflow = "graph TD\n A[Work] --> D{?}\n D -->|\"output.list.map(x => x.y.z()).length\"| B[x]\n D -->|default| C[y]";
    check(
        workflow,
        "done A {\"list\": [{\"y\": {}}]}
         expect A hold routing
         expect A output {\"list\": [{\"y\": {}}]}",
        "A:on_hold run:paused",
    );
    // Trying it again looks for the way on, and does not do the work again.
    check(
        workflow,
        "done A {\"list\": [{\"y\": {}}]}\n retry A\n expect A attempt 1",
        "A:on_hold run:paused",
    );
    check(
        workflow,
        "done A {\"list\": [{\"y\": {}}]}
         answer A {\"list\": []}",
        "A:completed C:pending run:running",
    );
}

#[test]
fn a_decision_without_a_way_on_holds_the_task_before_it() {
    check(
        "graph TD\n A[Work] --> D{?}\n D -->|\"output.a\"| B[x]\n D -->|\"output.b\"| C[y]",
        "done A {}
         expect A why No condition of the decision `D` holds, and it has no default branch.
         answer A {\"b\": true}",
        "A:completed C:pending run:running",
    );
}

#[test]
fn decisions_follow_each_other_without_a_task() {
    check(
        "graph TD\n A[Work] --> D{?}\n D -->|\"output.a\"| E{?}\n D -->|default| B[x]\n E -->|\"output.b\"| C[y]\n E -->|default| B",
        "done A {\"a\": 1, \"b\": 1}\n expect decided D>E E>C",
        "A:completed C:pending run:running",
    );
}

#[test]
fn a_taken_branch_says_what_every_condition_came_to() {
    let score = |score: serde_json::Value, result: bool| json!({ "condition": "output.score >= 80", "result": result, "values": [["output.score", score]] });
    let status = |status: serde_json::Value, result: bool| json!({ "condition": "output.status === 'approved'", "result": result, "values": [["output.status", status]] });
    for (output, to, evaluated) in [
        (
            "{\"score\": 10, \"status\": \"approved\", \"items\": []}",
            "C",
            json!([score(json!(10), false), status(json!("approved"), true)]),
        ),
        (
            "{\"items\": [1, 2]}",
            "E",
            json!([
                score(json!(null), false),
                status(json!(null), false),
                { "condition": "output.items.length > 0 && !output.empty", "result": true,
                  "values": [["output.items.length", 2], ["output.empty", null]] },
            ]),
        ),
    ] {
        let mut stage = Stage::new(&[("main", GATE)], json!({}));
        stage.line(&format!("done A {output}"));
        let events = &stage.memory.events[&"r".into()];
        let decided = events.iter().find_map(|event| match &event.what {
            flow::engine::EventKind::Decided {
                evaluated,
                to,
                after,
                ..
            } => Some(json!([evaluated, to, after])),
            _ => None,
        });
        assert_eq!(decided, Some(json!([evaluated, to, "r/A"])), "{output}");
    }
}
