//! Parts of a run that are run again, wherever they stand.

use serde_json::json;

use crate::script::{EACH, Stage, check, check_with, with};

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
         expect J output {\"results\": [5, 6], \"failed\": [], \"counts\": {\"total\": 2, \"succeeded\": 2, \"failed\": 0, \"skipped\": 0}}",
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

/// A body of two steps, a person among them, and a step behind the join.
fn body(join: &str) -> String {
    with(
        "A[List] --> C[[Each: x]]\n C --> B[Do] --> D(Approve) --> J[Join] --> Z[End]",
        &[("C", "{\"itemsPath\": \"output\"}"), ("J", join)],
    )
}

const BOTH: &str = "done A [\"a\", \"b\"]\n done C[0]/B 1\n done C[1]/B 2
    answer C[0]/D 10\n answer C[1]/D 20\n done Z 3\n";
const BOTH_DONE: &str = "C[0]/B:completed C[0]/D:completed C[1]/B:completed C[1]/D:completed";

#[test]
fn a_step_of_a_foreach_that_is_over_is_run_again_and_the_other_items_are_as_they_were() {
    let workflow = body("{}");
    check(
        &workflow,
        &format!(
            "{BOTH} rerun C[0]/D\n answer C~2[0]/D 11
             expect J~2 output {{\"results\": [11, 20], \"failed\": [], \"counts\": {{\"total\": 2, \"succeeded\": 2, \"failed\": 0, \"skipped\": 0}}}}
             expect J output {{\"results\": [10, 20], \"failed\": [], \"counts\": {{\"total\": 2, \"succeeded\": 2, \"failed\": 0, \"skipped\": 0}}}}
             done Z~2 4\n expect result 4"
        ),
        &format!(
            "A:completed C:completed C~2:completed J:completed J~2:completed Z:completed Z~2:completed
             {BOTH_DONE} C~2[0]/D:completed run:completed"
        ),
    );
    // From its first step: everything of the item is done again, and nothing of the others.
    check(
        &workflow,
        &format!("{BOTH} rerun C[1]/B\n done C~2[1]/B 5\n answer C~2[1]/D 21"),
        &format!(
            "A:completed C:completed C~2:completed J:completed J~2:completed Z:completed Z~2:pending
             {BOTH_DONE} C~2[1]/B:completed C~2[1]/D:completed run:running"
        ),
    );
    // Active tasks that followed from it are cancelled and do not count.
    check(
        &workflow,
        "done A [\"a\"]\n done C[0]/B 1\n answer C[0]/D 10\n claim Z\n rerun C[0]/B
         refused stale_fence late Z 1 1",
        "A:completed C:completed C~2:waiting J:completed Z:cancelled C[0]/B:completed C[0]/D:completed
         C~2[0]/B:pending run:running",
    );
}

#[test]
fn reruns_of_several_items_add_up() {
    check(
        &body("{}"),
        &format!(
            "{BOTH} rerun C[0]/D\n answer C~2[0]/D 11\n rerun C[1]/D\n answer C~3[1]/D 21
             expect J~3 output {{\"results\": [11, 21], \"failed\": [], \"counts\": {{\"total\": 2, \"succeeded\": 2, \"failed\": 0, \"skipped\": 0}}}}"
        ),
        &format!(
            "A:completed C:completed C~2:completed C~3:completed J:completed J~2:completed J~3:completed
             Z:completed Z~2:cancelled Z~3:pending {BOTH_DONE} C~2[0]/D:completed C~3[1]/D:completed
             run:running"
        ),
    );
}

#[test]
fn an_item_that_is_run_again_sees_what_its_steps_gave_before() {
    let workflow = with(
        "A[List] --> C[[Each: x]]\n C --> B[Do] --> D[More] --> J[Join]",
        &[
            ("C", "{\"itemsPath\": \"output\", \"itemVariable\": \"x\"}"),
            (
                "D",
                "{\"prompt\": \"{{x}} {{index}}/{{total}} {{output}} {{steps.B.output}} {{parentId}}\"}",
            ),
        ],
    );
    let mut stage = Stage::new(&[("main", &workflow)], json!({}));
    for line in [
        "done A [\"a\", \"b\"]",
        "done C[0]/B 1",
        "done C[1]/B 2",
        "done C[0]/D 3",
        "done C[1]/D 4",
        "rerun C[1]/D",
    ] {
        stage.line(line);
    }
    assert_eq!(stage.prompt("C~2[1]/D"), "b 1/2 2 2 r/C~2");
    for line in ["done C~2[1]/D 5", "rerun C~2[1]/D"] {
        stage.line(line);
    }
    assert_eq!(stage.prompt("C~3[1]/D"), "b 1/2 2 2 r/C~3");
}

#[test]
fn a_step_of_a_foreach_in_a_foreach_is_run_again_when_both_are_over() {
    let workflow = with(
        "A[List] --> C[[Each: x]]\n C --> I[[Each: y]]\n I --> P[Part] --> K[Join parts] --> J[Join]",
        &[
            ("C", "{\"itemsPath\": \"output\", \"itemVariable\": \"x\"}"),
            ("I", "{\"itemsPath\": \"x\", \"itemVariable\": \"y\"}"),
        ],
    );
    let done =
        "done A [[1, 2], [3]]\n done C[0]/I[0]/P 1\n done C[0]/I[1]/P 2\n done C[1]/I[0]/P 3\n";
    let before = "C[0]/I:completed C[0]/K:completed C[0]/I[0]/P:completed C[0]/I[1]/P:completed
        C[1]/I:completed C[1]/K:completed C[1]/I[0]/P:completed";
    let counts = |n: u32| {
        format!(
            "\"failed\": [], \"counts\": {{\"total\": {n}, \"succeeded\": {n}, \"failed\": 0, \"skipped\": 0}}"
        )
    };
    let (one, two) = (counts(1), counts(2));
    check(
        &workflow,
        &format!(
            "{done} rerun C[0]/I[1]/P\n done C~2[0]/I[1]/P 20
             expect J~2 output {{\"results\": [{{\"results\": [1, 20], {two}}}, {{\"results\": [3], {one}}}], {two}}}"
        ),
        &format!(
            "A:completed C:completed C~2:completed J:completed J~2:completed {before}
             C~2[0]/I:completed C~2[0]/K:completed C~2[0]/I[1]/P:completed run:completed"
        ),
    );
    // A foreach inside, as a whole: its items are read and begun again.
    check(
        &workflow,
        &format!("{done} rerun C[1]/I"),
        &format!(
            "A:completed C:completed C~2:waiting J:completed {before} C~2[1]/I:waiting
             C~2[1]/I[0]/P:pending run:running"
        ),
    );
    // Only the inner one is over: the outer one goes on as it is.
    check(
        &workflow,
        "done A [[1, 2], [3]]\n done C[0]/I[0]/P 1\n done C[0]/I[1]/P 2\n rerun C[0]/I[0]/P
         done C[0]/I~2[0]/P 10\n done C[1]/I[0]/P 3",
        "A:completed C:completed J:completed C[0]/I:completed C[0]/I~2:completed C[0]/K:completed
         C[0]/K~2:completed C[0]/I[0]/P:completed C[0]/I[1]/P:completed C[0]/I~2[0]/P:completed
         C[1]/I:completed C[1]/K:completed C[1]/I[0]/P:completed run:completed",
    );
}

#[test]
fn a_step_of_a_foreach_on_hold_is_run_again_where_it_is() {
    let workflow = with(
        EACH,
        &[(
            "C",
            "{\"itemsPath\": \"output\", \"prompt\": \"x\", \"retry\": {\"attempts\": 1}}",
        )],
    );
    let failed = "done A [1, 2, 3]\n fail C[0]/C failed\n done C[1]/C 2\n fail C[2]/C failed\n";
    check(
        &workflow,
        &format!(
            "{failed} expect C hold failed\n rerun C[0]/C\n done C[0]/C~2 1\n expect C hold failed
            expect C why 1 of 3 items of `C` failed."
        ),
        "A:completed C:on_hold C[0]/C:failed C[0]/C~2:completed C[1]/C:completed C[2]/C:failed
         run:paused",
    );
    check(
        &workflow,
        &format!("{failed} rerun C[0]/C\n done C[0]/C~2 1\n rerun C[2]/C\n done C[2]/C~2 3"),
        "A:completed C:completed J:completed Z:pending C[0]/C:failed C[0]/C~2:completed
         C[1]/C:completed C[2]/C:failed C[2]/C~2:completed run:running",
    );
}

#[test]
fn an_item_out_of_its_turn_keeps_none_from_beginning() {
    let workflow = with(
        EACH,
        &[(
            "C",
            "{\"itemsPath\": \"output\", \"prompt\": \"x\", \"retry\": {\"attempts\": 1}, \"maxConcurrency\": 1}",
        )],
    );
    check(
        &workflow,
        "done A [1, 2, 3]\n fail C[0]/C failed\n fail C[1]/C failed\n fail C[2]/C failed\n retry C
         rerun C[2]/C\n done C[2]/C~2 3\n done C[0]/C~2 1\n done C[1]/C~2 2",
        "A:completed C:completed J:completed Z:pending C[0]/C:failed C[0]/C~2:completed C[1]/C:failed
         C[1]/C~2:completed C[2]/C:failed C[2]/C~2:completed run:running",
    );
}

#[test]
fn a_join_that_was_content_early_is_asked_again() {
    let workflow = with(
        EACH,
        &[
            ("C", "{\"itemsPath\": \"output\", \"prompt\": \"x\"}"),
            ("J", "{\"policy\": \"any\"}"),
        ],
    );
    // The others never began or were stopped: they begin only if the one that is run again fails.
    check(
        &workflow,
        "done A [1, 2]\n done C[0]/C 1\n rerun C[0]/C\n done C~2[0]/C 2",
        "A:completed C:completed C~2:completed J:completed J~2:completed Z:cancelled Z~2:pending
         C[0]/C:completed C[1]/C:cancelled C~2[0]/C:completed run:running",
    );
    check(
        &workflow,
        "done A [1, 2]\n done C[0]/C 1\n rerun C[0]/C\n fail C~2[0]/C auth\n done C~2[1]/C 2",
        "A:completed C:completed C~2:completed J:completed J~2:completed Z:cancelled Z~2:pending
         C[0]/C:completed C[1]/C:cancelled C~2[0]/C:failed C~2[1]/C:completed run:running",
    );
}

#[test]
fn branches_beside_the_one_that_is_run_again_keep_what_they_gave() {
    let fork = "A[One] --> B[Left] & C[Right]\n B --> J[Join both]\n C --> J\n J --> D[Then]";
    let both = |results: &str| {
        format!(
            "{{\"results\": {results}, \"steps\": [\"B\", \"C\"], \"failed\": [], \"counts\": {{\"total\": 2, \"succeeded\": 2, \"failed\": 0, \"skipped\": 0}}}}"
        )
    };
    let workflow = format!("graph TD\n {fork}");
    check(
        &workflow,
        &format!(
            "done A 1\n done B 2\n done C 3\n done D 4\n rerun B\n done B~2 20\n expect J~2 output {}",
            both("[20, 3]")
        ),
        "A:completed B:completed B~2:completed C:completed D:completed D~2:pending J:completed
         J~2:completed run:running",
    );
    // Before the join has fired, and while the other branch is under way.
    check(
        &workflow,
        &format!(
            "done A 1\n done C 3\n claim B\n rerun B\n done B~2 20\n expect J output {}",
            both("[20, 3]")
        ),
        "A:completed B:cancelled B~2:completed C:completed D:pending J:completed run:running",
    );
    check(
        &workflow,
        "done A 1\n done B 2\n claim C\n rerun B\n late C 1 3\n done B~2 20",
        "A:completed B:completed B~2:completed C:completed D:pending J:cancelled J~2:completed
         run:running",
    );
    // In a loop every step lies behind every other; parallel steps are still parallel.
    check(
        &format!(
            "graph TD\n {fork}\n D --> Q{{again?}}\n Q -->|\"output.again\"| A\n Q -->|default| E[End]"
        ),
        "done A 1\n done B 2\n claim C\n rerun B\n late C 1 3\n done B~2 20\n done D {}",
        "A:completed B:completed B~2:completed C:completed D:completed E:pending J:cancelled
         J~2:completed run:running",
    );
}

#[test]
fn a_join_that_fired_early_fires_again_for_what_is_run_again() {
    let workflow = with(
        "A[One] --> B[Left] & C[Right]\n B --> J[Join both]\n C --> J\n J --> D[Then]",
        &[("J", "{\"policy\": \"any\"}")],
    );
    check(
        &workflow,
        "done A 1\n done B 2\n done D 4\n done C 3\n expect late 1\n rerun B\n done B~2 20\n done D~2 5
         expect result 5",
        "A:completed B:completed B~2:completed C:completed D:completed D~2:completed J:completed
         J~2:completed run:completed",
    );
    // The join itself, while another path is still on its way to it.
    check(
        &workflow,
        "done A 1\n done B 2\n claim C\n rerun J",
        "A:completed B:completed C:in_progress D:cancelled D~2:pending J:completed J~2:completed
         run:running",
    );
}

#[test]
fn a_person_may_run_a_step_again_however_often_it_was_visited() {
    let workflow = with(
        "A[Try] --> Q{ok?}\n Q -->|\"output.ok\"| B[End]\n Q -->|default| A",
        &[("A", "{\"maxVisits\": 1}")],
    );
    check(
        &workflow,
        "done A {\"ok\": 1}\n done B 1\n rerun A\n done A~2 {\"ok\": 1}\n done B~2 1",
        "A:completed A~2:completed B:completed B~2:completed run:completed",
    );
}

#[test]
fn after_an_approval_the_work_before_it_is_run_again_and_approved_again() {
    let workflow = "graph TD\n A[Write] --> B(Approve) --> C[Publish]";
    check(
        workflow,
        "done A 1\n answer B \"yes\"\n done C 1\n rerun A\n done A~2 2\n answer B~2 \"no\"
         expect B output \"yes\"\n expect notices task_for_you run_completed task_for_you",
        "A:completed A~2:completed B:completed B~2:completed C:completed C~2:pending run:running",
    );
}

#[test]
fn a_child_run_that_has_ended_is_run_again_by_its_parent() {
    check_with(
        &[
            ("main", "graph TD\n S[[Run: child]] --> B[Then]"),
            ("child", "graph TD\n X[Work]"),
        ],
        json!({}),
        "fire\n done @1/X 1\n refused wrong_status rerun @1/X\n fire\n rerun S\n fire\n done @2/X 2\n fire
         expect S~2 output 2",
        "B:cancelled B~2:pending S:completed S~2:completed run:running @1/X:completed @1/run:completed
         @2/X:completed @2/run:completed",
    );
}
