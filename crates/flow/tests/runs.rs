//! Runs from their begin to their end, as data: a workflow, what happens to it, and what becomes of it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::too_many_lines,
    reason = "a test fails by panicking, and its tables are long"
)]

mod script;

use script::{check, check_with};
use serde_json::json;

/// A diagram with a config block.
fn with(diagram: &str, configs: &[(&str, &str)]) -> String {
    let mut text = format!("graph TD\n{diagram}\n%% === WORKFLOW_CONFIG ===\n");
    for (id, json) in configs {
        text.push_str(&format!("%% @{id}: {json}\n"));
    }
    text + "%% === END_CONFIG ===\n"
}

#[test]
fn a_chain_runs_step_by_step() {
    check(
        "graph TD\n A[One] --> B[Two] --> C(Three)",
        "done A {\"n\": 1}
         done B 2
         answer C \"yes\"
         expect result \"yes\"
         expect notices task_for_you run_completed",
        "A:completed B:completed C:completed run:completed",
    );
}

// Decisions.

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
        "A:on_hold run:running",
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

// Parallel paths and joins of branches.

const FORK: &str = "A[One] --> B[Left] & C[Right]\n B --> J[Join both]\n C --> J\n J --> D[Then]";

#[test]
fn several_edges_fan_out_and_a_run_ends_with_the_last_path() {
    check(
        "graph TD\n A[One] --> B[Left] & C[Right]",
        "done A 1\n done B 2",
        "A:completed B:completed C:pending run:running",
    );
    check(
        "graph TD\n A[One] --> B[Left] & C[Right]",
        "done A 1\n done B 2\n done C 3\n expect result 3",
        "A:completed B:completed C:completed run:completed",
    );
}

#[test]
fn a_step_that_two_paths_reach_runs_once_for_each() {
    check(
        "graph TD\n A[One] --> B[Left] & C[Right]\n B --> D[Both]\n C --> D",
        "done A 1\n done B 2\n done C 3\n done D 4\n done D~2 5",
        "A:completed B:completed C:completed D:completed D~2:completed run:completed",
    );
}

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
         expect J output {\"results\": [2, 3], \"failed\": [], \"counts\": {\"total\": 2, \"succeeded\": 2, \"failed\": 0, \"skipped\": 0}}
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
         expect J output {\"error\": {\"class\": \"child\", \"message\": \"1 of 2 branches of `J` failed.\", \"step\": \"J\", \"attempts\": 0}, \"output\": {\"results\": [1], \"failed\": [{\"step\": \"B\", \"error\": \"No luck.\"}], \"counts\": {\"total\": 2, \"succeeded\": 1, \"failed\": 1, \"skipped\": 0}}}",
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
        "done A 1\n done B 2\n done C 3\n expect J output {\"results\": [2, 3], \"failed\": [], \"counts\": {\"total\": 2, \"succeeded\": 2, \"failed\": 0, \"skipped\": 0}}
         done J {\"sum\": 5}\n expect J output {\"sum\": 5}",
        "A:completed B:completed C:completed D:pending J:completed run:running",
    );
}

// Foreach.

const EACH: &str = "A[List] --> C[[Each: Thing]]\n C --> J[Join all]\n J --> Z[End]";

#[test]
fn a_foreach_runs_its_own_work_for_every_item() {
    let workflow = with(
        EACH,
        &[("C", "{\"itemsPath\": \"output.files\", \"prompt\": \"x\"}")],
    );
    check(
        &workflow,
        "done A {\"files\": [\"a\", \"b\"]}\n done C[1]/C 2\n done C[0]/C 1
         expect J output {\"results\": [1, 2], \"failed\": [], \"counts\": {\"total\": 2, \"succeeded\": 2, \"failed\": 0, \"skipped\": 0}}",
        "A:completed C:completed J:completed Z:pending C[0]/C:completed C[1]/C:completed run:running",
    );
}

#[test]
fn lists_of_none_and_of_one_come_through() {
    let workflow = with(
        EACH,
        &[("C", "{\"itemsPath\": \"output\", \"prompt\": \"x\"}")],
    );
    check(
        &workflow,
        "done A []\n expect J output {\"results\": [], \"failed\": [], \"counts\": {\"total\": 0, \"succeeded\": 0, \"failed\": 0, \"skipped\": 0}}",
        "A:completed C:completed J:completed Z:pending run:running",
    );
    check(
        &workflow,
        "done A [7]\n done C[0]/C 8",
        "A:completed C:completed J:completed Z:pending C[0]/C:completed run:running",
    );
}

#[test]
fn what_is_no_list_or_too_long_a_list_fails_before_anything_begins() {
    let workflow = with(
        EACH,
        &[(
            "C",
            "{\"itemsPath\": \"output.x\", \"prompt\": \"x\", \"maxItems\": 2}",
        )],
    );
    for (output, why) in [
        ("{}", "`itemsPath` of `C`: there is no `output.x`."),
        (
            "{\"x\": {}}",
            "`itemsPath` of `C`: `output.x` is an object, not an array.",
        ),
        (
            "{\"x\": null}",
            "`itemsPath` of `C`: `output.x` is null, not an array.",
        ),
        (
            "{\"x\": [1,2,3]}",
            "`output.x` has 3 items, more than maxItems = 2 of `C`; none was begun.",
        ),
    ] {
        check(
            &workflow,
            &format!(
                "done A {output}\n expect C why {why}\n expect C hold failed\n expect reason {why}"
            ),
            "A:completed C:on_hold run:paused",
        );
    }
}

#[test]
fn items_begin_a_few_at_a_time() {
    let workflow = with(
        EACH,
        &[(
            "C",
            "{\"itemsPath\": \"output\", \"prompt\": \"x\", \"maxConcurrency\": 2}",
        )],
    );
    check(
        &workflow,
        "done A [1,2,3,4]",
        "A:completed C:waiting C[0]/C:pending C[1]/C:pending run:running",
    );
    check(
        &workflow,
        "done A [1,2,3,4]\n done C[1]/C 1",
        "A:completed C:waiting C[0]/C:pending C[1]/C:completed C[2]/C:pending run:running",
    );
}

#[test]
fn a_body_may_have_steps_decisions_people_and_another_foreach() {
    let workflow = with(
        "A[List] --> C[[Each: Thing]]\n C --> S[Size it]\n S --> Q{big?}\n Q -->|\"output.n > thing.max\"| H(Look)\n Q -->|default| I[[Each: Part]]\n I --> P[Part]\n P --> K[Join parts]\n H --> J[Join all]\n K --> J\n J --> Z[End]",
        &[
            (
                "C",
                "{\"itemsPath\": \"output\", \"itemVariable\": \"thing\"}",
            ),
            ("I", "{\"itemsPath\": \"output.parts\"}"),
        ],
    );
    check(
        &workflow,
        "done A [{\"max\": 1}, {\"max\": 9}]
         done C[0]/S {\"n\": 5}
         done C[1]/S {\"n\": 5, \"parts\": [\"x\", \"y\"]}
         done C[1]/I[0]/P 1
         answer C[0]/H \"ok\"
         done C[1]/I[1]/P 2
         expect C output {\"results\": [\"ok\", {\"results\": [1, 2], \"failed\": [], \"counts\": {\"total\": 2, \"succeeded\": 2, \"failed\": 0, \"skipped\": 0}}], \"failed\": [], \"counts\": {\"total\": 2, \"succeeded\": 2, \"failed\": 0, \"skipped\": 0}}",
        "A:completed C:completed J:completed Z:pending C[0]/H:completed C[0]/S:completed
         C[1]/I:completed C[1]/K:completed C[1]/S:completed C[1]/I[0]/P:completed
         C[1]/I[1]/P:completed run:running",
    );
}

#[test]
fn one_failed_item_is_named_and_never_waited_for() {
    let workflow = with(
        EACH,
        &[(
            "C",
            "{\"itemsPath\": \"output\", \"prompt\": \"x\", \"retry\": {\"attempts\": 1}}",
        )],
    );
    check(
        &workflow,
        "done A [\"a\", \"b\"]\n fail C[0]/C failed No luck.\n done C[1]/C 2
         expect C why 1 of 2 items of `C` failed.
         expect C output {\"results\": [2], \"failed\": [{\"index\": 0, \"item\": \"a\", \"error\": \"No luck.\"}], \"counts\": {\"total\": 2, \"succeeded\": 1, \"failed\": 1, \"skipped\": 0}}",
        "A:completed C:on_hold C[0]/C:failed C[1]/C:completed run:paused",
    );
    // A person accepts what is there, or lets the failed ones be tried again.
    check(
        &workflow,
        "done A [\"a\", \"b\"]\n fail C[0]/C failed\n done C[1]/C 2\n accept C",
        "A:completed C:completed J:completed Z:pending C[0]/C:failed C[1]/C:completed run:running",
    );
    check(
        &workflow,
        "done A [\"a\", \"b\"]\n fail C[0]/C failed\n done C[1]/C 2\n retry C\n done C[0]/C~2 1",
        "A:completed C:completed J:completed Z:pending C[0]/C:failed C[0]/C~2:completed
         C[1]/C:completed run:running",
    );
}

#[test]
fn joins_of_items_have_policies() {
    for (policy, script, expected) in [
        (
            "{\"policy\": \"allTerminal\"}",
            "fail C[0]/C failed\n fail C[1]/C failed\n done C[2]/C 1",
            "C:completed J:completed Z:pending",
        ),
        (
            "{\"minSuccessPercent\": 60}",
            "fail C[0]/C failed\n done C[1]/C 1\n done C[2]/C 1",
            "C:completed J:completed Z:pending",
        ),
        (
            "{\"minCount\": 3}",
            "fail C[0]/C failed\n done C[1]/C 1\n done C[2]/C 1",
            "C:on_hold",
        ),
    ] {
        let workflow = with(
            EACH,
            &[
                ("C", "{\"itemsPath\": \"output\", \"prompt\": \"x\"}"),
                ("J", policy),
            ],
        );
        let mut stage = script::Stage::new(&[("main", &workflow)], json!({}));
        for line in format!("done A [1,2,3]\n{script}").lines() {
            stage.line(line.trim());
        }
        let shown = stage.shown();
        let top: Vec<&str> = shown
            .split(' ')
            .filter(|t| !t.contains('[') && !t.contains("run"))
            .collect();
        assert_eq!(top.join(" "), format!("A:completed {expected}"), "{policy}");
    }
}

#[test]
fn an_early_join_stops_what_has_not_begun_and_keeps_what_comes_late() {
    let workflow = with(
        EACH,
        &[
            (
                "C",
                "{\"itemsPath\": \"output\", \"prompt\": \"x\", \"maxConcurrency\": 3}",
            ),
            ("J", "{\"policy\": \"any\"}"),
        ],
    );
    check(
        &workflow,
        "done A [1,2,3,4,5]\n claim C[1]/C\n done C[0]/C 1
         expect J output {\"results\": [1], \"failed\": [], \"counts\": {\"total\": 5, \"succeeded\": 1, \"failed\": 0, \"skipped\": 4}}
         done Z 1\n done C[1]/C \"late\"\n expect C[1]/C output \"late\"",
        "A:completed C:completed J:completed Z:completed C[0]/C:completed C[1]/C:completed
         C[2]/C:cancelled run:completed",
    );
}

#[test]
fn a_join_has_a_time_limit_that_survives() {
    for (rule, expected) in [
        ("hold", "C:on_hold"),
        ("fail", "C:on_hold"),
        ("continue", "C:completed J:completed Z:pending"),
    ] {
        let workflow = with(
            EACH,
            &[
                ("C", "{\"itemsPath\": \"output\", \"prompt\": \"x\"}"),
                (
                    "J",
                    &format!("{{\"timeout\": \"10s\", \"onTimeout\": \"{rule}\"}}"),
                ),
            ],
        );
        let mut stage = script::Stage::new(&[("main", &workflow)], json!({}));
        for line in [
            "done A [1,2]",
            "done C[0]/C 1",
            "fire",
            "wait 10000",
            "fire",
        ] {
            stage.line(line);
        }
        let shown = stage.shown();
        let top: Vec<&str> = shown
            .split(' ')
            .filter(|t| !t.contains('[') && !t.contains("run"))
            .collect();
        assert_eq!(top.join(" "), format!("A:completed {expected}"), "{rule}");
    }
    // What is held for its time goes on by itself when everything is there after all.
    let workflow = with(
        EACH,
        &[
            ("C", "{\"itemsPath\": \"output\", \"prompt\": \"x\"}"),
            ("J", "{\"timeout\": 10}"),
        ],
    );
    check(
        &workflow,
        "done A [1]\n wait 10000\n fire\n expect C hold timeout\n done C[0]/C 1",
        "A:completed C:completed J:completed Z:pending C[0]/C:completed run:running",
    );
}

#[test]
fn a_foreach_without_work_gives_its_items() {
    check(
        &with(EACH, &[("C", "{\"itemsPath\": \"output\"}")]),
        "done A [3,1,2]
         expect J output {\"results\": [3, 1, 2], \"failed\": [], \"counts\": {\"total\": 3, \"succeeded\": 3, \"failed\": 0, \"skipped\": 0}}",
        "A:completed C:completed J:completed Z:pending run:running",
    );
}

// Loops.

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

// Failure.

#[test]
fn retryable_failures_are_tried_again_after_a_while() {
    let workflow = "graph TD\n A[Try] --> B[Then]";
    check(
        workflow,
        "fail A timeout\n refused not_ready take A\n wait 5000\n fail A rate_limited\n wait 10000\n done A 1\n expect A attempt 3",
        "A:completed B:pending run:running",
    );
    check(
        workflow,
        "fail A timeout\n wait 5000\n fail A unavailable\n wait 10000\n fail A unparsable_reply No sense in it.
         expect A hold failed\n expect reason No sense in it.\n expect notices on_hold run_paused",
        "A:on_hold run:paused",
    );
    check(
        workflow,
        "fail A auth Who are you?\n expect A attempt 1",
        "A:on_hold run:paused",
    );
}

#[test]
fn after_the_last_attempt_come_the_error_edge_and_the_fallback() {
    let workflow = "graph TD\n A[Try] --> B[Then]\n A -->|onError| C[Mend]";
    check(
        workflow,
        "fail A auth Who are you?
         expect A output {\"error\": {\"class\": \"auth\", \"message\": \"Who are you?\", \"step\": \"A\", \"attempts\": 1}, \"output\": null}
         done C 1",
        "A:failed C:completed run:completed",
    );
    let fallback = with(
        "A[Try] --> B[Then]",
        &[("A", "{\"fallbackAssigneeId\": \"bob\"}")],
    );
    check(
        &fallback,
        "fail A failed\n expect A assignee bob\n done A 1",
        "A:completed B:pending run:running",
    );
    check(
        &fallback,
        "fail A failed\n fail A failed Again.\n expect reason Again.",
        "A:on_hold run:paused",
    );
    let fast = with(
        "A[Try] --> B[Then]\n X[Other]",
        &[("A", "{\"failFast\": true}")],
    );
    check(
        &fast,
        "fail A failed Gone.\n expect reason Gone.",
        "A:failed X:cancelled run:failed",
    );
}

#[test]
fn a_held_task_is_retried_answered_or_given_up() {
    let workflow = "graph TD\n A[Try] --> B[Then]";
    check(
        workflow,
        "fail A failed\n retry A\n done A 1",
        "A:completed B:pending run:running",
    );
    check(
        workflow,
        "fail A failed\n resume\n done A 1",
        "A:completed B:pending run:running",
    );
    check(
        workflow,
        "fail A failed\n answer A 5\n expect A output 5",
        "A:completed B:pending run:running",
    );
    check(
        workflow,
        "fail A failed\n reject A No way.\n expect reason No way.",
        "A:failed run:failed",
    );
    check(
        workflow,
        "fail A failed\n refused bad_output accept A",
        "A:on_hold run:paused",
    );
}

// What a reply may ask for.

#[test]
fn a_reply_may_ask_for_a_person_for_a_look_or_for_another_turn() {
    let workflow = "graph TD\n A[Try] --> B[Then]";
    check(
        workflow,
        "ask A BLOCKED: no key\n expect A hold asked",
        "A:on_hold run:running",
    );
    check(
        workflow,
        "unsure A {\"x\": 1}\n expect A hold review\n accept A\n expect A output {\"x\": 1}",
        "A:completed B:pending run:running",
    );
    let turns = "continue A more\n".repeat(5);
    check(
        workflow,
        &format!("{turns} done A 1"),
        "A:completed B:pending run:running",
    );
    check(
        workflow,
        &format!(
            "{turns} continue A more\n expect A why It asked for more than TURNS_MAX = 5 turns: more"
        ),
        "A:on_hold run:running",
    );
    check(
        workflow,
        "budget A\n expect A hold budget\n resume",
        "A:pending run:running",
    );
}

// Leases.

#[test]
fn a_lost_lease_is_another_attempt_and_the_old_fence_is_refused() {
    check(
        "graph TD\n A[Try] --> B[Then]",
        "claim A\n refused wrong_status take A\n wait 60000\n expire\n refused stale_fence late A 1 1
         refused stale_fence beat A 1\n wait 5000\n claim A\n refused stale_fence late A 1 1
         beat A 2\n wait 59999\n expire\n late A 2 7\n refused stale_fence late A 2 7\n expect A output 7",
        "A:completed B:pending run:running",
    );
}

// People.

#[test]
fn a_persons_answer_must_fit_the_schema() {
    let workflow = with(
        "A(Say) --> B[Then]",
        &[(
            "A",
            "{\"outputSchema\": {\"type\": \"object\", \"required\": [\"ok\"]}}",
        )],
    );
    check(
        &workflow,
        "refused bad_output answer A {}\n refused wrong_status take A\n assign A ann\n answer A {\"ok\": true}",
        "A:completed B:pending run:running",
    );
}

#[test]
fn a_persons_task_has_a_time_limit_too() {
    for (rule, expected) in [
        ("hold", "A:on_hold run:running"),
        ("fail", "A:on_hold run:paused"),
        ("continue", "A:completed B:pending run:running"),
    ] {
        let workflow = with(
            "A(Say) --> B[Then]",
            &[(
                "A",
                &format!("{{\"timeout\": \"1h\", \"onTimeout\": \"{rule}\"}}"),
            )],
        );
        check(&workflow, "wait 3600000\n fire", expected);
        check(
            &workflow,
            "answer A 1\n wait 3600000\n fire",
            "A:completed B:pending run:running",
        );
    }
}

// Steering.

#[test]
fn cancelling_stops_everything_and_refuses_what_comes_after() {
    let workflow = with(
        EACH,
        &[
            ("C", "{\"itemsPath\": \"output\", \"prompt\": \"x\"}"),
            ("J", "{\"timeout\": 10}"),
        ],
    );
    check(
        &workflow,
        "done A [1,2,3]\n claim C[0]/C\n fail C[1]/C timeout\n cancel\n refused stale_fence late C[0]/C 1 1
         refused stale_fence beat C[0]/C 1\n refused wrong_status cancel\n wait 100000\n fire
         expect reason Enough.",
        "A:completed C:cancelled C[0]/C:cancelled C[1]/C:cancelled C[2]/C:cancelled run:cancelled",
    );
}

#[test]
fn a_paused_run_is_not_claimed_from_and_ends_what_is_under_way() {
    check(
        "graph TD\n A[One] --> B[Two]",
        "claim A\n pause\n late A 1 1\n refused not_ready take B\n refused wrong_status retry A\n resume\n refused wrong_status resume\n done B 1",
        "A:completed B:completed run:completed",
    );
}

#[test]
fn a_part_is_run_again_and_what_it_gave_is_kept() {
    let workflow = "graph TD\n A[One] --> B[Two] --> C[Three]";
    check(
        workflow,
        "done A 1\n done B 2\n done C 3\n rerun B\n done B~2 20\n done C~2 30\n expect B output 2\n expect result 30",
        "A:completed B:completed B~2:completed C:completed C~2:completed run:completed",
    );
    check(
        workflow,
        "done A 1\n claim B\n rerun A\n refused stale_fence late B 1 2\n done A~2 1",
        "A:completed A~2:completed B:cancelled B~2:pending run:running",
    );
}

#[test]
fn a_step_of_an_item_is_run_again_while_the_foreach_goes_on() {
    let workflow = with(
        "A[List] --> C[[Each: x]]\n C --> B[Do] --> D(Approve) --> J[Join]",
        &[("C", "{\"itemsPath\": \"output\"}")],
    );
    check(
        &workflow,
        "done A [1,2]\n done C[0]/B 1\n answer C[0]/D 1\n rerun C[0]/B\n done C[0]/B~2 2\n answer C[0]/D~2 5
         done C[1]/B 1\n answer C[1]/D 6
         expect J output {\"results\": [5, 6], \"failed\": [], \"counts\": {\"total\": 2, \"succeeded\": 2, \"failed\": 0, \"skipped\": 0}}
         refused wrong_status rerun C[0]/B",
        "A:completed C:completed J:completed C[0]/B:completed C[0]/B~2:completed C[0]/D:completed
         C[0]/D~2:completed C[1]/B:completed C[1]/D:completed run:completed",
    );
    check(
        &workflow,
        "done A [1]\n done C[0]/B 1\n answer C[0]/D 1\n rerun C\n done C~2[0]/B 1\n answer C~2[0]/D 1",
        "A:completed C:completed C~2:completed J:completed J~2:completed C[0]/B:completed
         C[0]/D:completed C~2[0]/B:completed C~2[0]/D:completed run:completed",
    );
}

// Subflows.

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
fn runs_do_not_stand_deeper_than_they_may() {
    let workflow = with("S[[Run: main]] --> B[Then]", &[("S", "{\"maxDepth\": 2}")]);
    check_with(
        &[("main", &workflow)],
        json!({}),
        "fire",
        "S:waiting run:running @1/S:waiting @1/run:running @2/S:on_hold @2/run:paused",
    );
}

// The workflow of the seed.

#[test]
fn the_review_of_a_pull_request_comes_to_each_of_its_ends() {
    let source = include_str!("pr-review.mmd");
    let begin = "done A {\"title\": \"t\"}\n done B {\"files\": [{\"path\": \"a.rs\"}, {\"path\": \"b.rs\"}]}
        done C[0]/C {\"score\": 90}\n done C[1]/C {\"score\": 70}\n";
    let done = "A:completed B:completed C:completed D:completed";
    let items = "C[0]/C:completed C[1]/C:completed";
    check(
        source,
        &format!("{begin} done D {{\"score\": 85}}\n expect decided E>F\n done F 1\n done I 1"),
        &format!("{done} F:completed I:completed {items} run:completed"),
    );
    check(
        source,
        &format!(
            "{begin} done D {{\"score\": 50}}\n answer G \"approve\"\n done I 1\n expect decided E>G"
        ),
        &format!("{done} G:completed I:completed {items} run:completed"),
    );
    check(
        source,
        &format!(
            "{begin} done D {{\"score\": 10}}\n done H {{}}\n done K 1\n expect decided E>H J>K"
        ),
        &format!("{done} H:completed K:completed {items} run:completed"),
    );
    check(
        source,
        &format!(
            "{begin} done D {{\"score\": 10}}\n done H {{\"shouldRetry\": true}}\n done A~2 {{}}\n done B~2 {{\"files\": []}}
             done D~2 {{\"score\": 99}}\n done F 1\n done I 1\n expect decided E>H J>A E>F"
        ),
        &format!(
            "A:completed A~2:completed B:completed B~2:completed C:completed C~2:completed D:completed
             D~2:completed F:completed H:completed I:completed {items} run:completed"
        ),
    );
}

// What is seen and said.

/// What the prompt of a task reads as.
fn prompt(stage: &mut script::Stage, task: &str) -> String {
    let task: flow::TaskId = format!("r/{task}").parse().unwrap();
    let workflow = stage.workflows["main"].clone();
    let step = workflow.step(&task.step).unwrap();
    let text = step.config.prompt.clone().unwrap();
    let reads = flow::expression::text_reads(&text);
    let state = flow::engine::view(&workflow, &mut stage.memory, &task, &reads).unwrap();
    flow::layers::prompt(step, &state).unwrap().text
}

#[test]
fn a_prompt_sees_what_the_table_says_and_nothing_else() {
    let workflow = with(
        "A[List] --> C[[Each: File]]\n C --> B[Do] --> D[More] --> J[Join] --> Z[End]",
        &[
            (
                "A",
                "{\"prompt\": \"{{input.who}} {{output}} {{run.id}} {{index}}\"}",
            ),
            (
                "C",
                "{\"itemsPath\": \"output.files\", \"itemVariable\": \"file\", \"prompt\": \"{{file.path}} {{index}}/{{total}} {{parentId}} {{output.n}}\"}",
            ),
            (
                "B",
                "{\"prompt\": \"{{file.path}} {{output.score}} {{steps.C.output.score}} {{steps.A.output.n}}\"}",
            ),
            (
                "D",
                "{\"prompt\": \"{{output}} {{steps.B.output}} {{agent.id}}\", \"defaultAssigneeId\": \"ann\"}",
            ),
            (
                "Z",
                "{\"prompt\": \"{{output.results.length}} {{steps.B.output}} {{steps.A.output.n + 1}}\"}",
            ),
        ],
    );
    let mut stage = script::Stage::new(&[("main", &workflow)], json!({ "who": "you" }));
    assert_eq!(prompt(&mut stage, "A"), "you {{output}} r {{index}}");
    stage.line("done A {\"n\": 4, \"files\": [{\"path\": \"a\"}, {\"path\": \"b\"}]}");
    assert_eq!(prompt(&mut stage, "C[1]/C"), "b 1/2 r/C 4");
    stage.line("done C[1]/C {\"score\": 9}");
    stage.line("done C[0]/C {\"score\": 1}");
    assert_eq!(prompt(&mut stage, "C[1]/B"), "b 9 9 4");
    stage.line("done C[1]/B \"x\"");
    stage.line("done C[0]/B \"y\"");
    assert_eq!(prompt(&mut stage, "C[1]/D"), "x x ann");
    stage.line("done C[1]/D 1");
    stage.line("done C[0]/D 1");
    assert_eq!(prompt(&mut stage, "Z"), "2 {{steps.B.output}} 5");
}

#[test]
fn a_taken_branch_says_what_every_condition_came_to() {
    let mut stage = script::Stage::new(&[("main", GATE)], json!({}));
    stage.line("done A {\"score\": 10, \"status\": \"approved\", \"items\": []}");
    let events = &stage.memory.events[&"r".into()];
    let decided = events.iter().find_map(|event| match &event.what {
        flow::engine::What::Decided {
            evaluated,
            to,
            after,
            ..
        } => Some(json!([evaluated, to, after])),
        _ => None,
    });
    let expected = json!([
        [
            { "condition": "output.score >= 80", "result": false, "values": [["output.score", 10]] },
            { "condition": "output.status === 'approved'", "result": true, "values": [["output.status", "approved"]] },
        ],
        "C",
        "r/A",
    ]);
    assert_eq!(decided, Some(expected));
}

#[test]
fn a_run_is_pinned_to_its_text() {
    let mut stage = script::Stage::new(&[("main", "graph TD\n A[x] --> B[y]")], json!({}));
    let other = flow::parse("graph TD\n A[x] --> C[z]").unwrap();
    let claim = flow::engine::Command::Claim {
        task: "r/A".parse().unwrap(),
        worker: "w".to_owned(),
        lease_ms: 1,
    };
    let refusal = stage.memory.execute(&other, &claim, 2_000).unwrap_err();
    assert_eq!(refusal.kind, flow::engine::RefusalKind::WrongWorkflow);
}

#[test]
fn the_same_attempt_waits_the_same_time_everywhere() {
    let retry = flow::Retry::default();
    let task: flow::TaskId = "r/A".parse().unwrap();
    let waits: Vec<u64> = (1..=9)
        .map(|n| flow::engine::backoff_ms(&retry, &task, n))
        .collect();
    assert_eq!(
        waits,
        (1..=9)
            .map(|n| flow::engine::backoff_ms(&retry, &task, n))
            .collect::<Vec<_>>()
    );
    for (n, wait) in (0_u32..).zip(&waits) {
        let full = (5_000 << n).min(300_000);
        assert!((full / 2..=full).contains(wait), "{n}: {wait}");
    }
    let other: flow::TaskId = "r/B".parse().unwrap();
    assert_ne!(waits[3], flow::engine::backoff_ms(&retry, &other, 4));
}

#[test]
fn a_second_start_is_refused_and_so_is_what_is_not_there() {
    let mut stage = script::Stage::new(&[("main", "graph TD\n A[x]")], json!({}));
    let start = flow::engine::Command::Start(flow::engine::Start::new("r", json!({})));
    let refusal = stage.execute(&start).unwrap_err();
    assert_eq!(json!(refusal.kind), "already_started");
    for line in [
        "refused no_such_task take Nowhere",
        "refused no_such_task retry A~2",
        "refused stale_fence late A 0 1",
        "refused wrong_status answer A 1",
    ] {
        stage.line(line);
    }
}

#[test]
fn every_row_and_event_is_read_back_as_it_was_written() {
    let mut stage = script::Stage::new(&[("main", include_str!("pr-review.mmd"))], json!({}));
    for line in [
        "done A {}",
        "done B {\"files\": [1, 2]}",
        "fail C[0]/C timeout",
        "claim C[1]/C",
    ] {
        stage.line(line);
    }
    fn same<T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug>(
        row: &T,
    ) {
        let text = serde_json::to_string(row).unwrap();
        assert_eq!(serde_json::from_str::<T>(&text).unwrap(), *row);
    }
    let memory = &stage.memory;
    memory.runs.values().for_each(same);
    memory.tasks.values().for_each(same);
    memory.groups.values().for_each(same);
    memory.items.values().for_each(same);
    memory.events.values().flatten().for_each(same);
    memory.outbox.iter().for_each(same);
}

#[test]
fn commands_in_one_transaction_see_each_other_and_what_is_stored() {
    let source = "graph TD\n A[a] --> B[b] & C[c] & E[e]\n B --> D[d]\n C --> D\n E --> D";
    let mut stage = script::Stage::new(&[("main", source)], json!({}));
    for line in ["done A 1", "done B 1", "done C 1", "claim D", "claim E"] {
        stage.line(line);
    }
    let workflow = stage.workflows["main"].clone();
    let mut batch = flow::engine::Batch::new();
    for task in ["r/D", "r/E"] {
        let command = flow::engine::Command::Report {
            task: task.parse().unwrap(),
            fence: 1,
            report: flow::engine::Report::completed(json!(1)),
        };
        for lookup in flow::engine::likely(&workflow, &command) {
            stage.memory.teach(&mut batch, lookup);
        }
        loop {
            match flow::engine::decide(&workflow, &mut batch, &command, 2_000) {
                Ok(decision) => break batch.commit(decision),
                Err(flow::engine::Stop::Rows(lookup)) => stage.memory.teach(&mut batch, lookup),
                Err(stop) => panic!("{stop:?}"),
            }
        }
    }
    let changes = batch.changes();
    assert_eq!(
        changes.runs.len(),
        1,
        "a row that changes twice is written once"
    );
    stage.memory.commit(changes);
    assert_eq!(
        stage.shown(),
        "A:completed B:completed C:completed D:completed D~2:pending D~3:pending E:completed run:running"
    );
}
