//! People: manual tasks, tasks on hold, what a reply may ask of them.

use serde_json::json;

use crate::script::{Stage, check, with};

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
        ("hold", "A:on_hold run:paused"),
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

#[test]
fn a_budget_that_is_used_up_pauses_and_loses_nothing() {
    let workflow = "graph TD\n A[Try] --> B[Then]";
    check(
        workflow,
        "budget A\n expect A hold budget\n expect reason Too dear.\n refused wrong_status take A",
        "A:on_hold run:paused",
    );
    check(
        workflow,
        "budget A\n retry A\n done A 1",
        "A:completed B:pending run:running",
    );
}

#[test]
fn what_a_reply_says_besides_is_kept_with_its_task() {
    let workflow = with("A[Try] --> B[Then]", &[("A", "{\"tags\": [\"mine\"]}")]);
    let mut stage = Stage::new(&[("main", &workflow)], json!({}));
    stage.line("claim A");
    let task: flow::TaskId = "r/A".parse().unwrap();
    let outcome = flow::engine::AttemptOutcome::Completed {
        output: json!(1),
        partial: true,
    };
    let spent = flow::engine::SpentAmount {
        tokens: 7,
        micros: 9,
    };
    let report = flow::engine::AttemptReport {
        tags: vec!["new".to_owned(), "mine".to_owned()],
        spent,
        warnings: vec!["`{{nobody}}` leads nowhere.".to_owned()],
        ..flow::engine::AttemptReport::of(outcome)
    };
    let fence = stage.memory.tasks[&task].fence;
    let report = flow::engine::EngineCommand::Report {
        task: task.clone(),
        fence,
        report,
    };
    stage.execute(&report).unwrap();
    let row = &stage.memory.tasks[&task];
    assert!(row.partial, "PARTIAL is flagged");
    assert_eq!(row.tags, ["mine", "new"]);
    assert_eq!(row.spent, spent);
    assert_eq!(stage.memory.runs[&task.run].spent, spent);
    let warned = stage.memory.events[&task.run].iter().any(|event| {
        matches!(&event.what, flow::engine::EventKind::Warned { task: Some(of), message }
            if *of == task && message == "`{{nobody}}` leads nowhere.")
    });
    assert!(warned, "a path that leads nowhere is a warning on the task");
}

#[test]
fn a_persons_time_limit_takes_the_error_edge_only_where_it_says_so_and_never_approves() {
    for (rule, script, expected) in [
        ("{\"timeout\": \"2s\"}", "", "P:on_hold run:paused"),
        (
            "{\"timeout\": \"2s\", \"onTimeout\": \"fail\"}",
            "expect P failure `P` was not answered within its timeout.",
            "P:failed X:pending run:running",
        ),
        (
            "{\"timeout\": \"2s\", \"onTimeout\": \"continue\"}",
            "expect P output {\"timedOut\": true}\n expect decided Q>N",
            "N:pending P:completed run:running",
        ),
        // A person who is late may answer all the same.
        (
            "{\"timeout\": \"2s\"}",
            "answer P {\"approved\": true}",
            "M:pending P:completed run:running",
        ),
    ] {
        let workflow = with(
            "P(Approve) --> Q{?}\n Q -->|\"output.approved\"| M[Merge]\n Q -->|default| N[Not]\n P -->|onError| X[Tell]",
            &[("P", rule)],
        );
        check(&workflow, &format!("wait 2000\n fire\n {script}"), expected);
    }
}

#[test]
fn what_took_too_long_pauses_the_run_when_nothing_else_is_left() {
    let workflow = with(
        "A(Approve) --> B[Then]\n C[Other] --> D[More]",
        &[("A", "{\"timeout\": \"1s\"}")],
    );
    check(
        &workflow,
        "wait 1000\n fire",
        "A:on_hold C:pending run:running",
    );
    check(
        &workflow,
        "wait 1000\n fire\n done C 1\n done D 1\n expect reason `A` was not answered within its timeout.",
        "A:on_hold C:completed D:completed run:paused",
    );
    check(
        &workflow,
        "wait 1000\n fire\n done C 1\n done D 1\n answer A 1",
        "A:completed B:pending C:completed D:completed run:running",
    );
    check(
        &workflow,
        "wait 1000\n fire\n done C 1\n done D 1\n resume",
        "A:pending C:completed D:completed run:running",
    );
    // One of two is answered: what follows is worked on.
    let two = with(
        "A(a) --> B[Then]\n C(c) --> D[More]",
        &[
            ("A", "{\"timeout\": \"1s\"}"),
            ("C", "{\"timeout\": \"1s\"}"),
        ],
    );
    check(
        &two,
        "wait 1000\n fire\n answer C 1\n done D 1",
        "A:on_hold C:completed D:completed run:paused",
    );
}

#[test]
fn both_forms_of_a_reply_are_read_from_people_and_everything_else_is_the_output() {
    let workflow = "graph TD\n A(Say) --> B[Then]";
    let sections = |status: &str, next: &str| {
        format!(
            "## Status\\n{status}\\n## Summary\\nSo.\\n## Output\\n{{\\\"n\\\": 1}}\\n## Next Action\\n{next}"
        )
    };
    for (answer, script, expected) in [
        (
            format!("\"{}\"", sections("SUCCESS", "COMPLETE")),
            "expect A output {\"n\": 1}",
            "A:completed B:pending run:running",
        ),
        (
            format!("\"{}\"", sections("FAILED", "COMPLETE")),
            "expect reason FAILED: So.",
            "A:failed run:failed",
        ),
        (
            format!("\"{}\"", sections("BLOCKED", "COMPLETE")),
            "expect A hold asked",
            "A:on_hold run:running",
        ),
        (
            "{\"status\": \"SUCCESS\", \"output\": 7, \"next_action\": \"COMPLETE\"}".to_owned(),
            "expect A output 7",
            "A:completed B:pending run:running",
        ),
        (
            "{\"status\": \"approved\", \"output\": 7}".to_owned(),
            "expect A output {\"status\": \"approved\", \"output\": 7}",
            "A:completed B:pending run:running",
        ),
        (
            "\"## Status\\nfine\"".to_owned(),
            "expect A output ## Status\nfine",
            "A:completed B:pending run:running",
        ),
    ] {
        let mut stage = Stage::new(&[("main", workflow)], json!({}));
        stage.line(&format!("answer A {answer}"));
        if !script.contains('\n') {
            stage.line(script);
        }
        assert_eq!(stage.shown(), expected, "{answer}");
    }
    check(
        workflow,
        "refused bad_output answer A \"## Status\\nWELL\\n## Output\\n1\\n## Next Action\\nCOMPLETE\"",
        "A:pending run:running",
    );
}
