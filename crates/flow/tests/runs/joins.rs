//! Joins of branches: whom they wait for, and when they fire.

use crate::script::{check, with};

const FORK: &str = "A[One] --> B[Left] & C[Right]\n B --> J[Join both]\n C --> J\n J --> D[Then]";

#[test]
fn a_join_waits_for_every_path_that_can_come() {
    check(
        &format!("graph TD\n {FORK}"),
        "done A 1\n done C 3",
        "A:completed B:pending C:completed J:waiting run:running",
    );
    check(
        &format!("graph TD\n {FORK}"),
        "done A 1\n done C 3\n done B 2
         expect J output {\"results\": [2, 3], \"steps\": [\"B\", \"C\"], \"failed\": [], \"counts\": {\"total\": 2, \"succeeded\": 2, \"failed\": 0, \"skipped\": 0}}
         done D 4",
        "A:completed B:completed C:completed D:completed J:completed run:completed",
    );
}

#[test]
fn a_join_does_not_wait_for_a_path_that_a_decision_took_away() {
    check(
        "graph TD\n A[One] --> B[Left] & C[Right]\n B --> Q{?}\n Q -->|\"output.go\"| J[Join both]\n Q -->|default| X[Elsewhere]\n C --> J\n J --> D[Then]",
        "done A 1\n done C 3\n done B {\"go\": false}",
        "A:completed B:completed C:completed D:pending J:completed X:pending run:running",
    );
}

#[test]
fn joins_may_fire_early_and_late_paths_are_noted() {
    let any = with(FORK, &[("J", "{\"policy\": \"any\"}")]);
    check(
        &any,
        "done A 1\n done C 3\n done D 4\n done B 2\n expect late 1\n expect result 4",
        "A:completed B:completed C:completed D:completed J:completed run:completed",
    );
    let quorum = with(
        "A[One] --> B[b] & C[c] & E[e]\n B --> J[Join]\n C --> J\n E --> J\n J --> D[Then]",
        &[("J", "{\"policy\": \"quorum\", \"minCount\": 2}")],
    );
    check(
        &quorum,
        "done A 1\n done B 1\n done E 3",
        "A:completed B:completed C:pending D:pending E:completed J:completed run:running",
    );
}

#[test]
fn a_join_in_a_loop_begins_a_new_round() {
    let workflow = with(
        "A[One] --> B[b] & C[c]\n B --> J[Join]\n C --> J\n J --> D[Check]\n D --> Q{again?}\n Q -->|\"output.again\"| A\n Q -->|default| E[End]",
        &[("J", "{\"policy\": \"any\"}")],
    );
    check(
        &workflow,
        "done A 1\n done B 1\n done D {\"again\": true}\n done A~2 1\n done C 2\n expect late 1
         done C~2 3\n done D~2 {}\n done B~2 1\n expect late 2\n done E 1",
        "A:completed A~2:completed B:completed B~2:completed C:completed C~2:completed D:completed
         D~2:completed E:completed J:completed J~2:completed run:completed",
    );
}

#[test]
fn a_failed_branch_fails_the_join_that_wants_all() {
    let workflow = with(
        "A[One] --> B[b] & C[c]\n B --> J[Join]\n B -->|onError| J\n C --> J\n J --> D[Then]\n J -->|onError| X[Mend]",
        &[("B", "{\"retry\": {\"attempts\": 1}}")],
    );
    check(
        &workflow,
        "done A 1\n fail B failed No luck.\n done C 1\n expect X output null
         expect J output {\"error\": {\"class\": \"child\", \"message\": \"1 of 2 branches of `J` failed.\", \"step\": \"J\", \"attempts\": 0}, \"output\": {\"results\": [1], \"steps\": [\"C\"], \"failed\": [{\"step\": \"B\", \"error\": \"No luck.\"}], \"counts\": {\"total\": 2, \"succeeded\": 1, \"failed\": 1, \"skipped\": 0}}}",
        "A:completed B:failed C:completed J:failed X:pending run:running",
    );
}

#[test]
fn a_join_may_have_work_on_what_came_together() {
    let workflow = with(
        FORK,
        &[("J", "{\"prompt\": \"Sum up {{output.results}}\"}")],
    );
    check(
        &workflow,
        "done A 1\n done B 2\n done C 3\n expect J output {\"results\": [2, 3], \"steps\": [\"B\", \"C\"], \"failed\": [], \"counts\": {\"total\": 2, \"succeeded\": 2, \"failed\": 0, \"skipped\": 0}}
         done J {\"sum\": 5}\n expect J output {\"sum\": 5}",
        "A:completed B:completed C:completed D:pending J:completed run:running",
    );
}

#[test]
fn a_join_of_branches_has_a_time_limit_too() {
    for (rule, expected) in [
        ("hold", "J:on_hold run:running"),
        ("fail", "J:on_hold run:paused"),
        ("continue", "D:pending J:completed run:running"),
    ] {
        let config = format!("{{\"timeout\": \"10s\", \"onTimeout\": \"{rule}\"}}");
        let workflow = with(FORK, &[("J", &config)]);
        let before = "A:completed B:completed C:pending";
        check(
            &workflow,
            "done A 1\n done B 2\n wait 10000\n fire",
            &format!("{before} {expected}"),
        );
        check(
            &workflow,
            "done A 1\n done B 2\n wait 9999\n fire",
            &format!("{before} J:waiting run:running"),
        );
    }
    // A path that arrives after the timeout lets the join resume; one that arrives after that is
    // late.
    let held = with(FORK, &[("J", "{\"timeout\": \"10s\"}")]);
    check(
        &held,
        "done A 1\n done B 2\n wait 10000\n fire\n done C 3
         expect J output {\"results\": [2, 3], \"steps\": [\"B\", \"C\"], \"failed\": [], \"counts\": {\"total\": 2, \"succeeded\": 2, \"failed\": 0, \"skipped\": 0}}",
        "A:completed B:completed C:completed D:pending J:completed run:running",
    );
    let gone = with(
        FORK,
        &[("J", "{\"timeout\": \"10s\", \"onTimeout\": \"continue\"}")],
    );
    check(
        &gone,
        "done A 1\n done B 2\n wait 10000\n fire\n done C 3\n expect late 1\n done D 4",
        "A:completed B:completed C:completed D:completed J:completed run:completed",
    );
}

#[test]
fn a_join_in_an_item_joins_the_branches_of_that_item() {
    let workflow = with(
        "A[List] --> C[[Each: x]] --> B[Do] --> D[d] & E[e]\n D --> J[Join]\n E --> J\n J --> K[Join all]",
        &[
            ("C", "{\"itemsPath\": \"output\"}"),
            ("J", "{\"awaitStepId\": \"B\"}"),
        ],
    );
    check(
        &workflow,
        "done A [1, 2]\n done C[0]/B 1\n done C[0]/D 2\n done C[0]/E 3\n done C[1]/B 1\n done C[1]/D 2",
        "A:completed C:waiting C[0]/B:completed C[0]/D:completed C[0]/E:completed C[0]/J:completed
         C[1]/B:completed C[1]/D:completed C[1]/E:pending C[1]/J:waiting run:running",
    );
}

#[test]
fn a_join_that_names_a_step_of_the_body_joins_the_items() {
    let workflow = with(
        "A[List] --> C[[Each: x]] --> B[Do] --> J[Join all] --> Z[End]",
        &[
            ("C", "{\"itemsPath\": \"output\"}"),
            ("J", "{\"awaitStepId\": \"B\"}"),
        ],
    );
    check(
        &workflow,
        "done A [1, 2]\n done C[0]/B 5",
        "A:completed C:waiting C[0]/B:completed C[1]/B:pending run:running",
    );
    check(
        &workflow,
        "done A [1, 2]\n done C[0]/B 5\n done C[1]/B 6",
        "A:completed C:completed J:completed Z:pending C[0]/B:completed C[1]/B:completed run:running",
    );
}

#[test]
fn results_come_in_the_order_of_the_branches_whatever_lies_between() {
    let workflows = [
        "A[One] --> B[b] & C[c]\n B --> J[Join]\n C --> Q{?}\n Q -->|default| J\n J --> D[Then]",
        "A[One] --> B[b] & C[c]\n C --> J[Join]\n B --> Q{?}\n Q -->|default| J\n J --> D[Then]",
        "A[One] --> B[b] & C[c]\n B --> P{?}\n C --> Q{?}\n Q -->|default| J[Join]\n P -->|default| J\n J --> D[Then]",
        "A[One] --> B[b]\n A --> C[c]\n C --> J[Join]\n B --> J\n J --> D[Then]",
    ];
    for workflow in workflows {
        for order in ["done B \"b\"\n done C \"c\"", "done C \"c\"\n done B \"b\""] {
            check(
                &format!("graph TD\n {workflow}"),
                &format!(
                    "done A 1\n {order}
                     expect J output {{\"results\": [\"b\", \"c\"], \"steps\": [\"B\", \"C\"], \"failed\": [], \"counts\": {{\"total\": 2, \"succeeded\": 2, \"failed\": 0, \"skipped\": 0}}}}"
                ),
                "A:completed B:completed C:completed D:pending J:completed run:running",
            );
        }
    }
}

#[test]
fn a_held_join_goes_on_when_what_it_waited_for_has_come() {
    let late = with(
        "A[One] --> B[b] & C(c)\n B --> J[Join]\n C --> J\n J --> D[Then]",
        &[("J", "{\"timeout\": \"1s\"}")],
    );
    check(
        &late,
        "done A 1\n done B 2\n wait 1000\n fire\n expect J hold timeout\n answer C 3",
        "A:completed B:completed C:completed D:pending J:completed run:running",
    );
    // The same where the join has work, and where what comes is too little.
    let working = with(
        "A[One] --> B[b] & C(c)\n B --> J[Join]\n C --> J\n J --> D[Then]",
        &[("J", "{\"timeout\": \"1s\", \"prompt\": \"Sum up\"}")],
    );
    check(
        &working,
        "done A 1\n done B 2\n wait 1000\n fire\n answer C 3\n expect J hold null\n done J 5",
        "A:completed B:completed C:completed D:pending J:completed run:running",
    );
}

#[test]
fn joins_tolerate_failed_branches_as_they_do_failed_items() {
    let three = "A[One] --> B[b] & C[c] & E[e]\n B --> J[Join]\n C --> J\n E --> J\n J --> D[Then]";
    for (config, script, expected) in [
        (
            "{\"policy\": \"allTerminal\"}",
            "fail B failed No.\n done C 2\n fail E failed Nor.",
            "A:completed B:failed C:completed D:pending E:failed J:completed run:running",
        ),
        (
            "{\"policy\": \"any\"}",
            "fail B failed No.\n done C 2",
            "A:completed B:failed C:completed D:pending E:pending J:completed run:running",
        ),
        (
            "{\"policy\": \"quorum\"}",
            "fail B failed No.\n done C 2\n done E 3",
            "A:completed B:failed C:completed D:pending E:completed J:completed run:running",
        ),
        (
            "{\"minSuccessPercent\": 60}",
            "done C 2\n fail B failed No.\n done E 3",
            "A:completed B:failed C:completed D:pending E:completed J:completed run:running",
        ),
        (
            "{\"policy\": \"quorum\"}",
            "fail B failed No.\n fail C failed Nor.\n done E 3\n expect reason 2 of 3 branches of `J` failed.",
            "A:completed B:failed C:failed E:completed J:on_hold run:paused",
        ),
        // Where all branches must succeed, a failed task is on hold and can be retried.
        (
            "{}",
            "fail B failed No.\n expect reason No.",
            "A:completed B:on_hold C:pending E:pending run:paused",
        ),
    ] {
        let workflow = with(three, &[("J", config)]);
        check(&workflow, &format!("done A 1\n {script}"), expected);
    }
    // Only what lies in a branch counts as one.
    let any = with(three, &[("J", "{\"policy\": \"any\"}")]);
    check(&any, "fail A failed No.", "A:on_hold run:paused");
    let after = with(
        "A[One] --> B[b] & C[c]\n B --> J[Join]\n C --> J\n J --> D[d] & E[e]\n D --> K[Join]\n E --> K\n K --> F[f]",
        &[("J", "{\"prompt\": \"x\"}"), ("K", "{\"policy\": \"any\"}")],
    );
    check(
        &after,
        "done A 1\n done B 1\n done C 1\n fail J failed No.",
        "A:completed B:completed C:completed J:on_hold run:paused",
    );
    check(
        &after,
        "done A 1\n done B 1\n done C 1\n done J 1\n fail D failed No.\n done E 1",
        "A:completed B:completed C:completed D:failed E:completed F:pending J:completed K:completed run:running",
    );
    // Branches that meet at one join are one branch of the next.
    let nested = with(
        "A[One] --> B[b] & C[c] & E[e]\n B --> J[Join]\n C --> J\n J --> K[Join]\n E --> K\n K --> F[f]",
        &[("J", "{\"prompt\": \"x\"}"), ("K", "{\"policy\": \"any\"}")],
    );
    check(
        &nested,
        "done A 1\n done B 1\n done C 1\n fail J failed No.\n done E 1",
        "A:completed B:completed C:completed E:completed F:pending J:failed K:completed run:running",
    );
}

#[test]
fn a_join_says_how_many_branches_it_lacks() {
    let workflow = with(FORK, &[("J", "{\"policy\": \"quorum\", \"minCount\": 3}")]);
    check(
        &workflow,
        "done A 1\n done B 2\n done C 3\n expect reason `J` wants 3 branches to succeed, and only 2 came.",
        "A:completed B:completed C:completed J:on_hold run:paused",
    );
}
