//! Foreach: its items, its limits, and what their body may be.

use serde_json::json;

use crate::script::{EACH, Stage, check, with};

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
            "`output.x` has 3 items, more than maxItems = 2 of `C`; none was started.",
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
fn a_foreach_without_work_gives_its_items() {
    check(
        &with(EACH, &[("C", "{\"itemsPath\": \"output\"}")]),
        "done A [3,1,2]
         expect J output {\"results\": [3, 1, 2], \"failed\": [], \"counts\": {\"total\": 3, \"succeeded\": 3, \"failed\": 0, \"skipped\": 0}}",
        "A:completed C:completed J:completed Z:pending run:running",
    );
}

/// Returns how many items of a list are in progress at once, or why none is.
fn begun(config: &str, items: usize) -> String {
    let workflow = with(EACH, &[("C", config)]);
    let list: Vec<usize> = (0..items).collect();
    let mut stage = Stage::new(&[("main", &workflow)], json!({}));
    stage.line(&format!("done A {}", json!(list)));
    let shown = stage.shown();
    match shown.contains("C:on_hold") {
        true => "none".to_owned(),
        false => shown.matches("/C:pending").count().to_string(),
    }
}

#[test]
fn items_have_default_limits() {
    let works = "{\"itemsPath\": \"output\", \"prompt\": \"x\"}";
    for (config, items, expected) in [
        (works, 100, "10"),
        (works, 101, "none"),
        (
            "{\"itemsPath\": \"output\", \"prompt\": \"x\", \"maxItems\": 101, \"maxConcurrency\": 101}",
            101,
            "101",
        ),
    ] {
        assert_eq!(begun(config, items), expected, "{items} items of {config}");
    }
}

#[test]
fn a_foreach_that_fails_as_a_whole_follows_its_own_edge_or_that_of_its_join() {
    for edge in ["C -->|onError| X[Mend]", "J -->|onError| X[Mend]"] {
        let workflow = with(
            &format!("{EACH}\n {edge}"),
            &[("C", "{\"itemsPath\": \"output\", \"prompt\": \"x\"}")],
        );
        check(
            &workflow,
            "done A 5",
            "A:completed C:failed X:pending run:running",
        );
        check(
            &workflow,
            "done A [1]\n fail C[0]/C auth",
            "A:completed C:failed X:pending C[0]/C:failed run:running",
        );
    }
}
