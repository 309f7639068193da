//! Texts to and from agents: filled-in texts, prompts, replies, exchange files.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::too_many_lines,
    reason = "a test fails by panicking, and its tables are long"
)]

use std::collections::BTreeSet;

use flow::engine::{AttemptOutcome, FailureClass};
use flow::export::{ExportedAgent, export, import};
use flow::expression::{condition, fill, value};
use flow::layers::{PromptParts, ReplyForm, assemble, envelope};
use flow::response::{NextAction, ReplyStatus, read, report, violations};
use serde_json::{Map, Value, json};

const SEED: &str = include_str!("pr-review.mmd");

fn state() -> Map<String, Value> {
    let state = json!({
        "input": { "prNumber": 7 },
        "output": { "score": 80, "status": "approved", "items": [1, { "path": "a.rs" }], "big": 9_007_199_254_740_993_u64 },
    });
    state.as_object().unwrap().clone()
}

#[test]
fn conditions_are_expressions_and_unknown_paths_are_undefined() {
    for (source, expected) in [
        ("output.score >= 80", true),
        ("output.status === 'approved'", true),
        ("output.status === \"approved\"", true),
        ("output.items.length > 0", true),
        ("output.nothing.at.all > 0", false),
        ("!output.nothing", true),
        (
            "output.items.some(i => i.path === 'a.rs') && output.score < 100",
            true,
        ),
        ("nobody.knows", false),
        ("output.status.startsWith('app')", true),
        ("input.prNumber == '7'", true),
    ] {
        assert_eq!(condition(source, &state()).unwrap(), expected, "{source}");
    }
    assert!(condition("output.score.nope()", &state()).is_err());
    assert!(condition("'x'.repeat(1e9)", &state()).is_err());
}

#[test]
fn a_path_gives_what_is_there_to_the_last_digit() {
    let found = value("output.big", &state()).unwrap();
    assert_eq!(found, Some(json!(9_007_199_254_740_993_u64)));
    assert_eq!(
        value("output.items.length", &state()).unwrap(),
        Some(json!(2))
    );
    assert_eq!(value("output.no", &state()).unwrap(), None);
}

#[test]
fn texts_are_filled_in_and_what_is_unknown_stays() {
    for (text, expected, unknown) in [
        ("PR #{{input.prNumber}}", "PR #7", ""),
        ("{{ output.score + 1 }}!", "81!", ""),
        (
            "{{output.items}}",
            "[\n  1,\n  {\n    \"path\": \"a.rs\"\n  }\n]",
            "",
        ),
        (
            "{{input.score}} and {{ nobody }}",
            "{{input.score}} and {{ nobody }}",
            "input.score nobody",
        ),
        ("{{output.items[1].path}} {{output.items.1.path}}", "", "!"),
        ("no braces { } here", "no braces { } here", ""),
        ("{{null}}", "null", ""),
    ] {
        match fill(text, &state()) {
            Ok(filled) => {
                assert_eq!(
                    (filled.text.as_str(), filled.unknown.join(" ").as_str()),
                    (expected, unknown)
                );
            }
            Err(_) => assert_eq!(unknown, "!", "{text}"),
        }
    }
    // In a prompt, a step's input is what came before it, where the run's own input has no such name.
    let seen = json!({ "input": { "a": 1 }, "output": { "a": 2, "score": 60 } });
    let seen = seen.as_object().unwrap();
    let text = "{{input.a}} {{input.score}}/100 {{input.gone}} {{input.score + 1}}";
    let filled = flow::expression::fill_prompt(text, seen).unwrap();
    assert_eq!(filled.text, "1 60/100 {{input.gone}} null");
    assert_eq!(filled.unknown, ["input.gone"]);
    let filled = fill(text, seen).unwrap();
    assert_eq!(filled.text, "1 {{input.score}}/100 {{input.gone}} null");
    let long = json!({ "output": "é".repeat(40_000) });
    let filled = fill("{{output}}", long.as_object().unwrap()).unwrap();
    assert!(filled.text.len() < 33_000 && filled.text.contains("REFERENCE_BYTES_MAX = 32768"));
    assert_eq!(filled.cut, ["output"]);
}

#[test]
fn four_layers_keep_their_order() {
    let workflow = flow::parse(SEED).unwrap();
    let step = workflow.step(&"F".into()).unwrap();
    let tags = ["pr".to_owned()];
    let schema = json!({ "type": "object" });
    let prompt = assemble(
        step,
        &PromptParts {
            agent: Some("You review code."),
            step: step.config.prompt.as_deref(),
            instructions: Some("Be brief."),
            title: "PR: Auto Approve",
            tags: &tags,
            output_schema: Some(&schema),
            ..PromptParts::default()
        },
    );
    let layers: Vec<&str> = prompt.split("\n\n---\n\n").collect();
    let begins = [
        "You carry out",
        "## Agent Context\nYou",
        "## Workflow Step: Auto Approve\nGenerate approval",
        "## Task Instructions\nBe brief.",
        "## Task Context\n**Title:** PR: Auto Approve\n**Summary:** N/A\n**Tags:** pr\n**Additional Info:** None",
    ];
    assert_eq!(layers.len(), begins.len());
    for (layer, begin) in layers.iter().zip(begins) {
        assert!(layer.starts_with(begin), "{layer}");
    }
    for section in [
        "## Status",
        "## Summary",
        "## Output",
        "## Next Action",
        "## Metadata",
    ] {
        assert!(layers[0].contains(section));
    }
    assert!(layers[2].contains("JSON Schema"));
    let long = "x".repeat(200_000);
    let prompt = assemble(
        step,
        &PromptParts {
            agent: Some(&long),
            ..PromptParts::default()
        },
    );
    assert!(prompt.len() < 140_000 && prompt.contains("LAYER_BYTES_MAX = 131072"));
    assert_eq!(envelope(Some(&schema))["properties"]["output"], schema);
}

#[test]
fn an_envelope_is_asked_for_in_its_own_words() {
    let workflow = flow::parse(SEED).unwrap();
    let step = workflow.step(&"F".into()).unwrap();
    let schema = json!({ "type": "object" });
    let parts = PromptParts {
        output_schema: Some(&schema),
        form: ReplyForm::Envelope,
        ..PromptParts::default()
    };
    let prompt = assemble(step, &parts);
    for name in envelope(None)["required"].as_array().unwrap() {
        let field = format!("`{}`", name.as_str().unwrap());
        assert!(prompt.contains(&field), "{field}");
    }
    assert!(prompt.contains("`output` is JSON that this JSON Schema accepts"));
    assert!(!prompt.contains("## Status"), "one form at a time");
}

#[test]
fn a_schema_means_the_same_inside_the_envelope() {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://example.org/tree",
        "type": "object",
        "required": ["kind"],
        "properties": {
            "kind": { "$ref": "#/$defs/kind" },
            "next": { "$ref": "#" },
            "same": { "$ref": "#/properties/kind" },
            "data": { "enum": [{ "$ref": "#" }, null] },
        },
        "$defs": { "kind": { "enum": ["leaf", "twig"] }, "tree": { "$ref": "#" } },
    });
    let whole = envelope(Some(&schema));
    let reply = |output: Value| {
        json!({
            "status": "SUCCESS", "summary": "s", "output": output, "next_action": "COMPLETE",
            "next_action_reason": null,
            "metadata": {
                "confidence": 0.5, "suggested_tags": [], "suggested_next_stage": null,
            },
        })
    };
    for output in [
        json!({ "kind": "leaf" }),
        json!({ "kind": "leaf", "next": { "kind": "twig", "same": "leaf" } }),
        json!({ "kind": "leaf", "data": { "$ref": "#" } }),
        json!({ "kind": "stone" }),
        json!({ "kind": "leaf", "next": {} }),
        json!({ "kind": "leaf", "same": "stone" }),
        json!({ "kind": "leaf", "data": { "$ref": "#/properties/output" } }),
        json!("leaf"),
    ] {
        let fits = violations(&schema, &output).is_empty();
        let reply = reply(output.clone());
        let fits_inside = violations(&whole, &reply);
        assert_eq!(fits_inside.is_empty(), fits, "{output}: {fits_inside:?}");
        assert_eq!(
            read(&reply.to_string(), Some(&schema)).is_ok(),
            fits,
            "{output}"
        );
    }
    let anything = envelope(Some(&json!(true)));
    assert_eq!(
        anything["properties"]["output"],
        json!({ "type": "string" })
    );
}

#[test]
fn an_output_that_is_to_be_a_text_stays_one() {
    let text = json!({ "type": "string" });
    for output in ["42", "{\"a\": 1}", "plain", "[1]"] {
        let json = json!({
            "status": "SUCCESS", "summary": "", "output": output, "next_action": "COMPLETE",
        });
        let sections =
            format!("## Status\nSUCCESS\n## Output\n{output}\n## Next Action\nCOMPLETE\n");
        for reply in [json.to_string(), sections] {
            let read = read(&reply, Some(&text)).unwrap();
            assert_eq!(read.output, json!(output), "{reply}");
        }
    }
}

/// `STATUS NEXT output`, or `!` and the first problem.
fn shown(reply: &str, schema: Option<&Value>) -> String {
    match read(reply, schema) {
        Ok(reply) => format!("{:?} {:?} {}", reply.status, reply.next, reply.output),
        Err(error) => format!("! {}", error.problems[0]),
    }
}

const MARKDOWN: &str = "## Status\nSUCCESS\n\n## Summary\nDone.\n\n## Output\nOUTPUT\n\n## Next Action\nCOMPLETE\n\n## Metadata\n```json\n{\"confidence\": 0.9, \"suggested_tags\": [\"a\"], \"suggested_next_stage\": \"merge\"}\n```\n";

#[test]
fn replies_are_read_in_every_form_they_come_in() {
    for (reply, expected) in [
        (MARKDOWN.replace("OUTPUT", "{\"score\": 5}"), "Success Complete {\"score\":5}"),
        (MARKDOWN.replace("OUTPUT", "```json\n{\"score\": 5,}\n```"), "Success Complete {\"score\":5}"),
        (MARKDOWN.replace("OUTPUT", "Plain words."), "Success Complete \"Plain words.\""),
        (MARKDOWN.replace("OUTPUT", "42"), "Success Complete 42"),
        (MARKDOWN.replace("OUTPUT", "## Plan\nfirst\n## Summary\nof the plan\n```\n## Status\n```"), "Success Complete \"## Plan\\nfirst\\n## Summary\\nof the plan\\n```\\n## Status\\n```\""),
        (MARKDOWN.replace("## Status\nSUCCESS", "Sure!\n\n# Status: \n**[PARTIAL]**"), "Partial Complete \"OUTPUT\""),
        (MARKDOWN.replace("COMPLETE", "CONTINUE\nRead the rest."), "Success Continue \"OUTPUT\""),
        (MARKDOWN.replace("COMPLETE", "ESCALATE: who pays?"), "Success Escalate \"OUTPUT\""),
        ("{\"status\": \"SUCCESS\", \"summary\": \"s\", \"output\": {\"a\": 1}, \"next_action\": \"COMPLETE\", \"metadata\": {\"confidence\": 1}}".to_owned(), "Success Complete {\"a\":1}"),
        ("```json\n{\"status\": \"failed\", \"output\": null, \"nextAction\": \"HOLD\"}\n```".to_owned(), "Failed Hold null"),
        ("Here you are: {\"status\": \"SUCCESS\", \"output\": \"[1]\", \"nextAction\": \"COMPLETE\"} Bye.".to_owned(), "Success Complete [1]"),
        (String::new(), "! The reply is empty."),
        ("I did it.".to_owned(), "! There is neither a `## Status` section nor a JSON object with `status`."),
        ("{\"result\": 1}".to_owned(), "! There is neither a `## Status` section nor a JSON object with `status`."),
        (MARKDOWN.replace("SUCCESS", "[SUCCESS | PARTIAL | BLOCKED | FAILED]"), "! `## Status` has more than one of SUCCESS, PARTIAL, BLOCKED, FAILED."),
        (MARKDOWN.replace("SUCCESS", "FINE"), "! `## Status` must be one of SUCCESS, PARTIAL, BLOCKED, FAILED."),
        (MARKDOWN.replace("## Next Action\nCOMPLETE", ""), "! `## Next Action` is missing: it is one of COMPLETE, CONTINUE, ESCALATE, HOLD."),
        (MARKDOWN.replace("## Output\nOUTPUT", ""), "! The section `## Output` is missing."),
        (MARKDOWN.replace("0.9", "90"), "! `confidence` is no number from 0 to 1."),
        ("x".repeat(5 << 20), "! The reply has 5242880 bytes, more than REPLY_BYTES_MAX = 4194304."),
    ] {
        assert_eq!(shown(&reply, None), expected, "{}", reply.chars().take(200).collect::<String>());
    }
}

#[test]
fn an_output_is_held_against_its_schema() {
    let schema = json!({ "type": "object", "required": ["score"], "properties": { "score": { "type": "integer" } } });
    for (output, expected) in [
        ("{\"score\": 5}", "Success Complete {\"score\":5}"),
        (
            "It is {\"score\": 5} then.",
            "Success Complete {\"score\":5}",
        ),
        (
            "{\"score\": \"5\"}",
            "! The output does not fit its schema: /score: \"5\" is not of type \"integer\".",
        ),
        (
            "{}",
            "! The output does not fit its schema: \"score\" is a required property.",
        ),
    ] {
        assert_eq!(
            shown(&MARKDOWN.replace("OUTPUT", output), Some(&schema)),
            expected
        );
    }
    let text = json!({ "type": "string" });
    assert_eq!(
        shown(&MARKDOWN.replace("OUTPUT", "42"), Some(&text)),
        "Success Complete \"42\""
    );
    // An output that is not used need not fit the schema.
    let blocked = MARKDOWN.replace("SUCCESS", "BLOCKED");
    assert_eq!(
        shown(&blocked, Some(&schema)),
        "Blocked Complete \"OUTPUT\""
    );
}

#[test]
fn what_a_reply_means_follows_the_table() {
    let outcome = |status, next, confidence, least| {
        let mut reply = read(MARKDOWN, None).unwrap();
        (reply.status, reply.next, reply.confidence) = (status, next, confidence);
        let report = report(reply, least);
        assert_eq!(report.tags, ["a"]);
        match report.outcome {
            AttemptOutcome::Completed { partial: false, .. } => "completed",
            AttemptOutcome::Completed { partial: true, .. } => "completed partly",
            AttemptOutcome::Failed(failure) if failure.class == FailureClass::Failed => "failed",
            AttemptOutcome::Failed(_) => "failed otherwise",
            AttemptOutcome::Asked { .. } => "asked",
            AttemptOutcome::Unsure { .. } => "unsure",
            AttemptOutcome::Continue { .. } => "continue",
            AttemptOutcome::OverBudget { .. } => "budget",
            AttemptOutcome::GivenBack => "given back",
        }
    };
    for (status, next, expected) in [
        (ReplyStatus::Success, NextAction::Complete, "completed"),
        (
            ReplyStatus::Partial,
            NextAction::Complete,
            "completed partly",
        ),
        (ReplyStatus::Success, NextAction::Continue, "continue"),
        (ReplyStatus::Success, NextAction::Escalate, "asked"),
        (ReplyStatus::Partial, NextAction::Hold, "asked"),
        (ReplyStatus::Blocked, NextAction::Complete, "asked"),
        (ReplyStatus::Blocked, NextAction::Continue, "asked"),
        (ReplyStatus::Failed, NextAction::Complete, "failed"),
        (ReplyStatus::Failed, NextAction::Continue, "failed"),
    ] {
        assert_eq!(outcome(status, next, Some(0.9), Some(0.5)), expected);
    }
    assert_eq!(
        outcome(
            ReplyStatus::Success,
            NextAction::Complete,
            Some(0.4),
            Some(0.5)
        ),
        "unsure"
    );
    assert_eq!(
        outcome(ReplyStatus::Success, NextAction::Complete, None, Some(0.5)),
        "unsure"
    );
    assert_eq!(
        outcome(ReplyStatus::Success, NextAction::Complete, None, None),
        "completed"
    );
    let unreadable = read("nonsense", None).unwrap_err();
    let failed = flow::response::unreadable(&unreadable);
    assert!(
        matches!(failed.outcome, AttemptOutcome::Failed(f) if f.class == FailureClass::UnparsableReply)
    );
    assert!(
        flow::response::correction(&unreadable, ReplyForm::Sections).contains("- There is neither")
    );
}

#[test]
fn a_workflow_travels_as_a_file_and_comes_back_as_it_was() {
    let workflow = flow::parse(SEED).unwrap();
    let agents = [ExportedAgent {
        id: "code-reviewer".to_owned(),
        display_name: "Code Review Agent".to_owned(),
        agent_prompt: "You review.".to_owned(),
    }];
    let file = export(
        &workflow,
        ("PR Review", Some("d")),
        &agents,
        "2025-01-15T10:00:00Z",
    );
    assert_eq!(file["exportVersion"], "2.0");
    assert_eq!(file["exportedAt"], "2025-01-15T10:00:00Z");
    assert_eq!(file["workflow"]["steps"][6]["execution"], "manual");
    let known = BTreeSet::new();
    let back = import(&file.to_string(), &known).unwrap();
    assert_eq!(back.workflow.source(), SEED);
    assert_eq!(
        (back.name.as_str(), back.agents.as_slice()),
        ("PR Review", agents.as_slice())
    );
    let bare = import(SEED, &known).unwrap();
    assert_eq!(
        (bare.name.as_str(), bare.workflow.source()),
        ("workflow", SEED)
    );
}

#[test]
fn what_cannot_be_imported_says_why() {
    let known = BTreeSet::from(["ann".to_owned()]);
    let file = |source: &str, steps: Value, version: &str| {
        json!({ "workflow": { "name": "w", "mermaidSource": source, "steps": steps }, "exportVersion": version }).to_string()
    };
    for (text, expected) in [
        (
            "{\"workflow\": {}}".to_owned(),
            "The file is no exported workflow",
        ),
        (
            file("graph TD\n A[x]", json!([]), "3.0"),
            "The file has exportVersion 3.0; this program reads 2.0.",
        ),
        (
            file("graph TD\n A[x", json!([]), "2.0"),
            "The workflow's text cannot be used: line 2",
        ),
        (
            file("graph TD\n A[x]", json!([{ "id": "B" }]), "2.0"),
            "`steps` has `B`, which the diagram does not have.",
        ),
        (
            "nothing of the kind".to_owned(),
            "The workflow's text cannot be used",
        ),
    ] {
        let error = import(&text, &known).unwrap_err();
        assert!(error.message.starts_with(expected), "{}", error.message);
    }
    // Configs that only `steps` has are added to the text; where both have one, they must agree.
    let steps = json!([{ "id": "A", "name": "x", "stepType": "task", "execution": "manual", "prompt": "Look.", "defaultAssigneeId": "bob" }]);
    let filled = import(&file("graph TD\n A[x]", steps.clone(), "2.0"), &known).unwrap();
    let step = &filled.workflow.steps()[0];
    assert_eq!(step.config.prompt.as_deref(), Some("Look."));
    assert_eq!(step.execution, flow::ExecutionMode::Manual);
    assert_eq!(filled.unknown_agents, ["bob"]);
    let both = "graph TD\n A[x]\n%% === WORKFLOW_CONFIG ===\n%% @A: { \"prompt\": \"Else.\" }\n%% === END_CONFIG ===\n";
    let error = import(&file(both, steps, "2.0"), &known).unwrap_err();
    assert_eq!(
        error.message,
        "`prompt` of the step `A` is one thing in `steps` and another in the diagram."
    );
}
