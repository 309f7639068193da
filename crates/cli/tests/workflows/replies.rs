//! What a reply leads to, word by word.

use serde_json::{Value, json};

use crate::model::{ModelScript, ScriptedFormat, ScriptedLine};
use crate::project::CliProject;
use crate::workflow_fixture::{diagram, document, enveloped, lines, result, said, standing, task};
use crate::workflow_fixture::{with_model, with_settings};

fn one(config: Value) -> String {
    diagram(
        "A[One] --> B[After]",
        &[("A", config), ("B", json!({ "handler": "no_op" }))],
    )
}

/// The tasks that wait for a person.
#[track_caller]
fn inbox(project: &CliProject) -> Vec<Value> {
    let listed = document(&project.run("tasks list --mine --json"));
    listed["tasks"].as_array().unwrap().clone()
}

#[test]
fn what_a_person_must_decide_waits_for_one() {
    let never = json!({ "retry": { "attempts": 1 } });
    let unsure = json!({ "confidence": 0.95 });
    for (status, next, config, kind, says) in [
        (
            "BLOCKED",
            "COMPLETE",
            &never,
            "asked",
            "BLOCKED: for a reason",
        ),
        (
            "SUCCESS",
            "ESCALATE",
            &never,
            "asked",
            "ESCALATE: for a reason",
        ),
        ("SUCCESS", "HOLD", &never, "asked", "HOLD: for a reason"),
        (
            "SUCCESS",
            "COMPLETE",
            &unsure,
            "review",
            "a confidence of 0.9, and the step asks for 0.95",
        ),
    ] {
        let script: ModelScript = vec![("", vec![enveloped(status, json!("so far"), next)])];
        let (project, model) = with_model(script);
        project.write("one.mmd", &one(config.clone()));
        let ran = project.run("workflow start one.mmd --wait --json");
        assert_eq!(ran.exit, 2, "{status} {next}: {}{}", ran.out, ran.err);
        let waiting = inbox(&project);
        assert_eq!(waiting.len(), 1, "{waiting:?}");
        let hold = &waiting[0]["hold"];
        assert_eq!(hold["kind"], kind, "{status} {next}: {hold}");
        assert!(
            hold["reason"].as_str().unwrap().contains(says),
            "{says}: {hold}"
        );
        assert_eq!(waiting[0]["status"], "on_hold");
        assert_eq!(
            waiting[0]["output"], "so far",
            "it is shown to whoever decides"
        );
        assert_eq!(project.run("tasks answer last/A --accept").exit, 0);
        let ran = project.run("runs resume last --wait --json");
        assert_eq!(result(&ran)["output"], "so far", "{}", ran.err);
        assert_eq!(model.received().len(), 1);
    }
}

#[test]
fn a_partial_result_is_flagged_and_tags_are_copied() {
    let script: ModelScript = vec![("", vec![enveloped("PARTIAL", json!("half"), "COMPLETE")])];
    let (project, _model) = with_model(script);
    project.write("one.mmd", &one(json!({ "tags": ["mine"] })));
    let ran = project.run("workflow start one.mmd --wait --json");
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
    let task = task(&project, "A");
    assert_eq!(task["partial"], true, "{task}");
    assert_eq!(task["status"], "completed");
    let tags = task["tags"].as_array().unwrap();
    assert!(
        tags.contains(&json!("mine")) && tags.contains(&json!("tagged")),
        "{task}"
    );
}

#[test]
fn failed_is_failed_and_is_not_asked_again() {
    let script: ModelScript = vec![("", vec![enveloped("FAILED", json!(""), "COMPLETE")])];
    let (project, model) = with_model(script);
    project.write("one.mmd", &one(json!({})));
    let ran = project.run("workflow start one.mmd --wait");
    assert_ne!(ran.exit, 0, "{}", ran.err);
    let (status, reason) = standing(&project);
    assert_eq!(status, "paused");
    assert!(reason.contains("FAILED: for a reason"), "{reason}");
    assert_eq!(task(&project, "A")["failure"]["class"], "failed");
    assert_eq!(model.received().len(), 1);
}

#[test]
fn turns_come_to_an_end() {
    let script: ModelScript = vec![("", vec![said("PARTIAL", "half", "CONTINUE")])];
    let (project, model) = with_model(script);
    project.write("one.mmd", &one(json!({})));
    let ran = project.run("workflow start one.mmd --wait");
    assert_eq!(ran.exit, 2, "{}", ran.err);
    assert!(ran.err.contains("TURNS_MAX = 5"), "{}", ran.err);
    assert_eq!(model.received().len(), 6, "the first, and five more");
    assert_eq!(inbox(&project)[0]["output"], "half");
}

#[test]
fn a_reply_that_cannot_be_read_is_quoted_twice_and_never_taken() {
    let schema = json!({ "type": "object", "required": ["score"] });
    for (reply, says) in [
        (
            "I did it!",
            "There is neither a `## Status` section nor a JSON object",
        ),
        (
            r#"{"status": "DONE", "summary": "", "output": "", "next_action": "COMPLETE"}"#,
            "`status` must be one of SUCCESS",
        ),
        (
            r#"{"status": "SUCCESS", "output": {"sore": 1}, "next_action": "COMPLETE"}"#,
            "does not fit its schema",
        ),
        (
            r#"{"status": "SUCCESS", "output": {"score": 1}}"#,
            "`next_action` is missing",
        ),
    ] {
        let settings = "";
        let script: ModelScript = vec![("", vec![ScriptedLine::Text(reply)])];
        let (project, model) = with_settings(ScriptedFormat::OpenAi, script, settings);
        let config = json!({ "retry": { "attempts": 1 }, "outputSchema": schema });
        project.write("one.mmd", &one(config));
        let ran = project.run("workflow start one.mmd --wait --json");
        assert_eq!(ran.exit, 1, "{}{}", ran.out, ran.err);
        let failure = task(&project, "A")["failure"].clone();
        assert_eq!(failure["class"], "unparsable_reply", "{failure}");
        let received = model.received();
        assert_eq!(received.len(), 3, "{says}");
        let messages = received[2]["messages"].as_array().unwrap();
        assert_eq!(messages.len(), 5, "the whole talk is sent");
        for correction in [&messages[2], &messages[4]] {
            assert!(
                correction.to_string().contains(says),
                "{says}: {correction}"
            );
        }
        assert!(
            messages[1].to_string().contains(&reply[2..6]),
            "with what was said"
        );
        let ended = lines(&ran);
        let ended = ended.iter().filter(|line| line["by"] == "complete");
        assert_eq!(ended.count(), 0, "it is never a result");
    }
}

#[test]
fn an_unreadable_reply_is_tried_anew() {
    // A new attempt is told how the one before failed.
    let script: ModelScript = vec![
        (
            "The attempt before failed",
            vec![enveloped("SUCCESS", json!("fine"), "COMPLETE")],
        ),
        ("", vec![ScriptedLine::Text("I did it!")]),
    ];
    let (project, model) = with_model(script);
    let config = json!({ "retry": { "attempts": 2, "delay": "10ms" } });
    project.write("one.mmd", &one(config));
    let ran = project.run("workflow start one.mmd --wait --json");
    assert_eq!(result(&ran)["output"], "fine", "{}", ran.err);
    assert_eq!(model.received().len(), 4);
}

#[test]
fn what_a_model_suggests_chooses_no_edge() {
    let reply = json!({
        "status": "SUCCESS", "summary": "", "output": { "score": 1 }, "next_action": "COMPLETE",
        "metadata": { "confidence": 1, "suggested_next_stage": "Y" },
    });
    let (project, _model) = with_model(vec![(
        "",
        vec![ScriptedLine::Text(reply.to_string().leak())],
    )]);
    let no_op = json!({ "handler": "no_op" });
    let source = diagram(
        "A[One] --> D{Which}\n D -->|\"output.score > 5\"| Y[Yes]\n D -->|default| N[No]",
        &[("Y", no_op.clone()), ("N", no_op)],
    );
    project.write("one.mmd", &source);
    let ran = project.run("workflow start one.mmd --wait --json");
    assert_eq!(crate::workflow_fixture::way(&ran), "A D>N N", "{}", ran.err);
}

#[test]
fn the_conversation_of_an_attempt_is_stored_and_shown() {
    let script: ModelScript = vec![(
        "",
        vec![enveloped("SUCCESS", json!({ "n": 1 }), "COMPLETE")],
    )];
    let (project, _model) = with_model(script);
    project.write(
        "one.mmd",
        &one(json!({ "prompt": "Count {{input.what}}." })),
    );
    let ran = project.run("workflow start one.mmd --wait what=sheep");
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
    let shown = document(&project.run("tasks show last/A --json"));
    let call = &shown["calls"][0]["call"];
    assert_eq!(call["summary"], "Done.", "{shown}");
    assert_eq!(call["confidence"], 0.9);
    assert_eq!(call["suggested_tags"], json!(["tagged"]));
    assert!(call["usage"]["output_tokens"].as_u64() > Some(0), "{call}");
    assert!(
        call["ended_ms"].as_u64() >= call["begun_ms"].as_u64(),
        "{call}"
    );
    let layers = call["layers"].as_array().unwrap();
    let names: Vec<&str> = layers
        .iter()
        .filter_map(|one| one["name"].as_str())
        .collect();
    assert_eq!(names, ["base", "step", "task"]);
    assert!(
        layers[1]["text"].as_str().unwrap().contains("Count sheep."),
        "{call}"
    );
    assert!(
        call["replies"][0].as_str().unwrap().contains("SUCCESS"),
        "{call}"
    );
    let text = project.run("tasks show last/A").out;
    for says in [
        "summary: Done.",
        "confidence: 0.9",
        "Count sheep.",
        "suggested tags: tagged",
    ] {
        assert!(text.contains(says), "{says}: {text}");
    }
}

#[test]
fn what_came_before_is_shown_whole_or_by_whole_items_whatever_the_prompt_mentions() {
    let reviews: Vec<Value> = (0..80)
        .map(|n| json!({ "n": n, "review": format!("{n}-").repeat(140) }))
        .collect();
    for (more, is_whole) in [
        (json!({}), true),
        (json!({ "contextTokensMax": 2_000 }), false),
    ] {
        let script: ModelScript = vec![("", vec![enveloped("SUCCESS", json!("ok"), "COMPLETE")])];
        let (project, model) = with_model(script);
        let mut config = json!({ "prompt": "Join {{output.counts.total}} reviews." });
        config
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let workflow = diagram(
            "A[List] --> B[Join them]",
            &[
                (
                    "A",
                    json!({ "handler": "no_op", "config": { "output": {
                    "results": reviews, "failed": [], "counts": { "total": 80 } } } }),
                ),
                (
                    "B",
                    json!({ "stepType": "task", "prompt": config["prompt"],
                    "contextTokensMax": config["contextTokensMax"] }),
                ),
            ],
        );
        project.write(
            "one.mmd",
            &workflow.replace(",\"contextTokensMax\":null", ""),
        );
        let ran = project.run("workflow start one.mmd --wait");
        assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
        let sent = model.received()[0].to_string();
        assert!(sent.contains("Join 80 reviews."), "{sent}");
        assert!(
            sent.contains("0-0-0-"),
            "the context is there whatever the prompt mentions"
        );
        assert_eq!(sent.contains("79-79-79-"), is_whole, "{}", sent.len());
        let shown = document(&project.run("tasks show last/B --json"));
        let warnings = shown["warnings"].as_array().unwrap();
        assert_eq!(warnings.is_empty(), is_whole, "{warnings:?}");
        if !is_whole {
            let says = warnings[0].as_str().unwrap();
            assert!(says.contains("of 80 items of `results` left out"), "{says}");
            assert!(says.contains("contextTokensMax = 2000"), "{says}");
            assert!(sent.contains("items of `results` left out here"), "{sent}");
        }
    }
}
