//! Joins of items: policies, thresholds, time limits, latecomers.

use serde_json::json;

use crate::script::{EACH, Stage, check, with};

/// Returns the states of the tasks outside of items.
fn top(stage: &Stage) -> String {
    let shown = stage.shown();
    let outside = shown.split(' ');
    let outside = outside.filter(|task| !task.contains('[') && !task.contains("run"));
    outside.collect::<Vec<_>>().join(" ")
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
            "{\"policy\": \"all\"}",
            "done C[0]/C 1\n done C[1]/C 1",
            "C:waiting",
        ),
        (
            "{\"policy\": \"all\"}",
            "done C[0]/C 1\n done C[1]/C 1\n done C[2]/C 1",
            "C:completed J:completed Z:pending",
        ),
        (
            "{\"policy\": \"allTerminal\"}",
            "fail C[0]/C failed\n fail C[1]/C failed",
            "C:waiting",
        ),
        (
            "{\"policy\": \"any\"}",
            "fail C[0]/C failed\n done C[2]/C 1",
            "C:completed J:completed Z:pending",
        ),
        (
            "{\"policy\": \"any\"}",
            "fail C[0]/C failed\n fail C[1]/C failed\n fail C[2]/C failed",
            "C:on_hold",
        ),
        // More than half, where no threshold is set.
        (
            "{\"policy\": \"quorum\"}",
            "done C[0]/C 1\n done C[2]/C 1",
            "C:completed J:completed Z:pending",
        ),
        ("{\"policy\": \"quorum\"}", "done C[0]/C 1", "C:waiting"),
        (
            "{\"policy\": \"quorum\", \"minSuccessPercent\": 100}",
            "done C[0]/C 1\n done C[2]/C 1",
            "C:waiting",
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
        let mut stage = Stage::new(&[("main", &workflow)], json!({}));
        for line in format!("done A [1,2,3]\n{script}").lines() {
            stage.line(line.trim());
        }
        assert_eq!(top(&stage), format!("A:completed {expected}"), "{policy}");
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
        let mut stage = Stage::new(&[("main", &workflow)], json!({}));
        for line in [
            "done A [1,2]",
            "done C[0]/C 1",
            "fire",
            "wait 10000",
            "fire",
        ] {
            stage.line(line);
        }
        assert_eq!(top(&stage), format!("A:completed {expected}"), "{rule}");
    }
    // A foreach on hold because of its timeout resumes by itself when all items have ended after
    // all.
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
fn a_foreach_that_waits_again_has_its_time_again() {
    let workflow = with(
        EACH,
        &[
            ("C", "{\"itemsPath\": \"output\", \"prompt\": \"x\"}"),
            ("J", "{\"timeout\": \"10s\", \"onTimeout\": \"hold\"}"),
        ],
    );
    let held = "A:completed C:on_hold C[0]/C:pending run:running";
    check(&workflow, "done A [1]\n wait 10000\n fire", held);
    check(
        &workflow,
        "done A [1]\n wait 10000\n fire\n retry C\n wait 9999\n fire",
        "A:completed C:waiting C[0]/C:pending run:running",
    );
    check(
        &workflow,
        "done A [1]\n wait 10000\n fire\n retry C\n wait 10000\n fire",
        held,
    );
}

#[test]
fn what_comes_late_leads_nowhere() {
    let workflow = with(
        "A[List] --> C[[Each: x]] --> B[Do] --> D[More] --> J[Join] --> Z[End]",
        &[
            ("C", "{\"itemsPath\": \"output\"}"),
            ("J", "{\"policy\": \"any\"}"),
        ],
    );
    check(
        &workflow,
        "done A [1, 2]\n claim C[1]/B\n done C[0]/B 1\n done C[0]/D 1\n done C[1]/B 2\n done Z 3",
        "A:completed C:completed J:completed Z:completed C[0]/B:completed C[0]/D:completed
         C[1]/B:completed run:completed",
    );
    // A late failure has no effect any more.
    check(
        &workflow,
        "done A [1, 2]\n claim C[1]/B\n done C[0]/B 1\n done C[0]/D 1\n fail C[1]/B timeout\n done Z 3",
        "A:completed C:completed J:completed Z:completed C[0]/B:completed C[0]/D:completed
         C[1]/B:failed run:completed",
    );
}
