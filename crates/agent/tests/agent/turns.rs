//! How a run goes: calls, results, errors that are told, and what the model is sent.

use agent::{AgentErrorKind, ToolAction};
use llm::{MessagePart, WireFormat};
use serde_json::{Value, json};

use crate::agent_fixture::TestAgent;
use crate::scripted::{FORMATS, ScriptedStop, ServerAct, calls, raw_calls, says};

#[tokio::test]
async fn a_file_is_written_and_the_model_gets_the_last_word() {
    for format in FORMATS {
        let script = vec![
            calls(&[(
                "write_file",
                json!({"path": "src/a.txt", "content": "hello"}),
            )]),
            says("Done."),
        ];
        let mut stage = TestAgent::new(format, script);
        let finished = stage.run().await.unwrap();
        assert_eq!(finished.text, "Done.");
        assert_eq!(
            stage.file("src/a.txt").as_deref(),
            Some("hello\n"),
            "{format:?}"
        );
        assert_eq!(stage.server.sent(0), ["user: Do it."]);
        let last = stage.last_sent();
        assert_eq!(last.len(), 2, "{last:?}");
        assert_eq!(
            last[0],
            r#"call write_file {"path":"src/a.txt","content":"hello"}"#
        );
        assert_eq!(
            last[1], r#"result: {"path":"src/a.txt","change":"created","lines":1,"bytes":6}"#,
            "{format:?}"
        );
        let totals = &finished.totals;
        assert_eq!(
            (totals.turns, totals.all.calls, totals.all.usage.input),
            (2, 2, 200)
        );
        assert_eq!(totals.all.micro_usd, 2 * (100 + 10 * 10));
        assert_eq!(totals.phases["generate"], totals.all);
    }
}

#[tokio::test]
async fn several_calls_in_one_reply_are_made_in_order_and_each_has_its_result() {
    for format in FORMATS {
        let script = vec![
            calls(&[
                ("write_file", json!({"path": "a.txt", "content": "one\n"})),
                (
                    "modify_file",
                    json!({"path": "a.txt", "edits": [{"old": "one", "new": "two"}]}),
                ),
                ("read_file", json!({"path": "a.txt"})),
            ])
            .saying("Three things."),
            says("Done."),
        ];
        let mut stage = TestAgent::new(format, script);
        stage.run().await.unwrap();
        assert_eq!(stage.file("a.txt").as_deref(), Some("two\n"));
        let last = stage.last_sent();
        assert_eq!(last[0], "assistant: Three things.");
        let results: Vec<_> = last
            .iter()
            .filter(|line| line.starts_with("result: "))
            .collect();
        assert_eq!(results.len(), 3, "{format:?} {last:?}");
        assert!(
            results[2].contains(r#""content":"1 | two\n""#),
            "{}",
            results[2]
        );
    }
}

/// One call that cannot be made: the model is told, and the run goes on.
async fn check_told(format: WireFormat, act: ServerAct, sentences: &[&str]) -> TestAgent {
    let mut stage = TestAgent::new(format, vec![act, says("I see.")])
        .with_file(".env", "SECRET=1\n")
        .with_file("a.txt", "alpha\nbeta\n");
    let finished = stage
        .run()
        .await
        .unwrap_or_else(|stopped| panic!("{format:?}: {stopped}"));
    assert_eq!(finished.text, "I see.");
    let last = stage.last_sent().pop().unwrap();
    assert!(last.starts_with("failed: "), "{format:?}: {last}");
    for sentence in sentences {
        assert!(last.contains(sentence), "{format:?}: {last}");
    }
    stage
}

#[tokio::test]
async fn an_unknown_tool_is_told_with_the_nearest_name() {
    for format in FORMATS {
        let act = calls(&[("write_to_file", json!({"path": "a"}))]);
        let sentences = [
            "There is no tool `write_to_file`; did you mean `write_file`?",
            "list_files",
        ];
        check_told(format, act, &sentences).await;
    }
}

#[tokio::test]
async fn malformed_arguments_are_told_with_what_is_expected() {
    // Gemini's calls are JSON already.
    for format in [WireFormat::Anthropic, WireFormat::OpenAi] {
        let act = raw_calls(&[("write_file", r#"{"path": "b.txt", "content": "x"#)]);
        let sentences = [
            "was not made: the arguments are not JSON",
            r#"required: [\"path\",\"content\"]"#,
        ];
        let stage = check_told(format, act, &sentences).await;
        assert_eq!(stage.file("b.txt"), None);
    }
}

#[tokio::test]
async fn wrong_missing_and_unknown_arguments_are_told_with_the_schemas_line() {
    for format in FORMATS {
        let act = calls(&[("write_file", json!({"path": 7, "contents": "x"}))]);
        let sentences = [
            "The call of `write_file` was not made.",
            "`content` is missing",
            "There is no argument `contents`",
            "`path`: 7 is not of type",
            r#"The file, relative to the project's root."#,
        ];
        check_told(format, act, &sentences).await;
    }
}

#[tokio::test]
async fn denied_paths_are_told_and_nothing_is_read_or_written() {
    for format in FORMATS {
        for (path, sentence) in [
            (".env", ".env"),
            ("../x", "`..`"),
            ("/etc/passwd", "absolute"),
            (".git/config", ".git"),
        ] {
            let act = calls(&[("write_file", json!({"path": path, "content": "x"}))]);
            let stage = check_told(format, act, &[sentence]).await;
            assert_eq!(stage.file(".env").as_deref(), Some("SECRET=1\n"));
            let act = calls(&[("read_file", json!({"path": path}))]);
            let stage = check_told(format, act, &[sentence]).await;
            let everything = serde_json::to_string(&stage.server.bodies()).unwrap();
            assert!(!everything.contains("SECRET=1"));
        }
    }
}

#[tokio::test]
async fn half_a_write_cut_off_at_the_limit_is_not_made() {
    for format in FORMATS {
        let half = match format {
            WireFormat::Gemini => r#"{"path":"a.txt","content":"half of"}"#,
            _ => r#"{"path":"a.txt","content":"half of"#,
        };
        let script = vec![
            raw_calls(&[("read_file", r#"{"path":"b.txt"}"#), ("write_file", half)])
                .stopping(ScriptedStop::Length),
            calls(&[("write_file", json!({"path": "a.txt", "content": "whole"}))]),
            says("Done."),
        ];
        let mut stage = TestAgent::new(format, script).with_file("b.txt", "b\n");
        stage.run().await.unwrap();
        assert_eq!(stage.file("a.txt").as_deref(), Some("whole\n"));
        let told = stage.server.sent(1);
        let failed: Vec<_> = told
            .iter()
            .filter(|line| line.starts_with("failed: "))
            .collect();
        assert_eq!(failed.len(), 2, "not one of its calls is made: {told:?}");
        for line in failed {
            assert!(
                line.contains("cut off at its limit (max_tokens = 1000)"),
                "{line}"
            );
        }
    }
}

#[tokio::test]
async fn a_text_cut_off_at_the_limit_is_gone_on_with() {
    for format in FORMATS {
        let script = vec![says("One, ").stopping(ScriptedStop::Length), says("two.")];
        let mut stage = TestAgent::new(format, script);
        assert_eq!(stage.run().await.unwrap().text, "One, two.");
        let last = stage.last_sent();
        assert_eq!(last[0], "assistant: One, ");
        assert!(
            last[1].starts_with("user: Your reply was cut off"),
            "{last:?}"
        );
    }
}

#[tokio::test]
async fn an_empty_reply_is_told_once_and_is_no_message() {
    for format in FORMATS {
        let mut stage = TestAgent::new(format, vec![says(""), says("Here.")]);
        assert_eq!(stage.run().await.unwrap().text, "Here.");
        let sent = stage.server.sent(1).join("\n");
        assert!(
            sent.contains("Do it.") && sent.contains("Your reply was empty."),
            "{sent}"
        );
        assert!(!sent.contains("assistant:"), "{sent}");

        let mut stage = TestAgent::new(format, vec![says("")]);
        let stopped = stage.run().await.unwrap_err();
        assert_eq!(stopped.kind(), AgentErrorKind::EmptyReply);
        assert_eq!((stage.server.asked(), stopped.totals.turns), (2, 2));
    }
}

#[tokio::test]
async fn a_refusal_stops_and_is_not_kept_in_the_conversation() {
    for format in FORMATS {
        let mut stage = TestAgent::new(
            format,
            vec![says("No.").stopping(ScriptedStop::Refusal), says("Yes.")],
        );
        let stopped = stage.run().await.unwrap_err();
        assert_eq!(stopped.kind(), AgentErrorKind::Refused, "{stopped}");
        assert_eq!(stage.run().await.unwrap().text, "Yes.");
        assert_eq!(stage.server.sent(1), ["user: Do it."]);
    }
}

#[tokio::test]
async fn a_result_of_50_megabytes_is_cut_in_the_middle_with_counts() {
    let command = "head -c 52428800 /dev/zero | tr '\\0' x; echo; echo last words";
    let script = vec![
        calls(&[("execute_command", json!({"command": command}))]),
        calls(&[("read_file", json!({"path": "big.txt"}))]),
        calls(&[("read_file", json!({"path": "long.txt"}))]),
        says("Long."),
    ];
    let mut stage = TestAgent::new(WireFormat::Anthropic, script);
    let big: String = (1..=1_000_000)
        .map(|n| format!("this is line number {n:08} of a long file\n"))
        .collect();
    let long = "y".repeat(50 << 20);
    std::fs::write(stage.dir.path().join("big.txt"), big).unwrap();
    std::fs::write(stage.dir.path().join("long.txt"), long).unwrap();
    stage.run().await.unwrap();
    for at in 1..=3 {
        let result = stage.server.sent(at).pop().unwrap();
        assert!(result.len() < 49 * 1024 + 200, "{at}: {}", result.len());
    }
    let result = stage.server.sent(1).pop().unwrap();
    assert!(
        result.contains("last words") && result.contains("left out"),
        "{}",
        &result[result.len() - 300..]
    );
    let result = stage.server.sent(2).pop().unwrap();
    assert!(
        result.contains(r#""total_lines":1000000"#)
            && result.contains("ask for them with start_line")
    );
    let result = stage.server.sent(3).pop().unwrap();
    assert!(
        result.contains("bytes (0 line breaks) left out: agent.output_bytes_max = 49152"),
        "{}",
        &result[..200]
    );
}

#[tokio::test]
async fn a_command_gives_its_code_and_both_outputs_and_its_lines_are_seen() {
    for format in FORMATS {
        let script = vec![
            calls(&[(
                "execute_command",
                json!({"command": "echo out; echo err >&2; exit 3"}),
            )]),
            says("It failed."),
        ];
        let mut stage = TestAgent::new(format, script);
        stage.run().await.unwrap();
        let last = stage.last_sent().pop().unwrap();
        assert_eq!(
            last,
            r#"result: {"exit_code":3,"stdout":"out\n","stderr":"err\n","timed_out":false}"#
        );
        let lines: Vec<_> = stage
            .recorder
            .all("command_line")
            .iter()
            .map(|event| event["line"].clone())
            .collect();
        assert_eq!(lines.len(), 2, "{lines:?}");
        let did = &stage.recorder.all("did")[0]["deed"];
        assert_eq!((&did["did"], &did["exit_code"]), (&json!("ran"), &json!(3)));
    }
}

#[tokio::test]
async fn who_watches_sees_what_is_read_written_and_run_in_order() {
    let script = vec![
        calls(&[
            ("read_file", json!({"path": "a.txt"})),
            (
                "apply_diff",
                json!({"diff": "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-alpha\n+ALPHA\n"}),
            ),
            ("nothing", json!({})),
        ])
        .saying("Let me see."),
        says("Done."),
    ];
    let mut stage = TestAgent::new(WireFormat::Anthropic, script).with_file("a.txt", "alpha\n");
    stage.recorder.streamed = true;
    stage.run().await.unwrap();
    let names = stage.recorder.names();
    assert_eq!(
        names,
        [
            "turn_started",
            "text",
            "tool_announced",
            "tool_announced",
            "tool_announced",
            "spent",
            "tool_started",
            "did",
            "tool_finished",
            "tool_started",
            "did",
            "tool_finished",
            "tool_started",
            "tool_finished",
            "committed",
            "turn_started",
            "text",
            "spent",
            "committed",
            "finished",
        ]
    );
    let wrote = &stage.recorder.all("did")[1]["deed"];
    assert_eq!(
        *wrote,
        json!({"did": "wrote", "path": "a.txt", "change": "modified", "lines_added": 1, "lines_removed": 1, "bytes": 6})
    );
    let spent = stage.recorder.all("spent")[1];
    assert_eq!(spent["totals"]["micro_usd"], 400);
    assert_eq!(
        spent["usage"],
        json!({"input": 100, "output": 10, "cache_read": 0, "cache_write": 0, "reasoning": 0})
    );
}

#[tokio::test]
async fn completed_calls_are_known_afterwards() {
    let script = vec![
        calls(&[("write_file", json!({"path": "a.txt", "content": "x"}))]),
        says("Done."),
    ];
    let mut stage = TestAgent::new(WireFormat::OpenAi, script);
    stage.run().await.unwrap();
    let conversation = stage.conversation().await;
    assert!(matches!(
        &conversation.deeds()[0],
        ToolAction::Wrote { bytes: 2, .. }
    ));
    let ledger = conversation.ledger();
    assert_eq!((ledger.created.len(), ledger.bytes), (1, 2));
    assert_eq!(conversation.answer(), Some("Done."));
}

#[tokio::test]
async fn a_second_run_goes_on_in_the_same_conversation() {
    for format in FORMATS {
        let mut stage = TestAgent::new(format, vec![says("First."), says("Second.")]);
        stage.run().await.unwrap();
        let mut conversation = stage.conversation().await;
        conversation.say("The tests fail.");
        let finished = stage.go_on(&mut conversation).await.unwrap();
        assert_eq!(
            (finished.text.as_str(), finished.totals.turns),
            ("Second.", 2)
        );
        assert_eq!(
            stage.server.sent(1),
            ["user: Do it.", "assistant: First.", "user: The tests fail."]
        );
    }
}

#[tokio::test]
async fn the_prefix_that_stays_is_marked_for_the_providers_cache() {
    let read = || calls(&[("list_files", json!({}))]);
    let mut stage = TestAgent::new(
        WireFormat::Anthropic,
        vec![
            read(),
            calls(&[("read_file", json!({"path": "a"}))]),
            says("Done."),
        ],
    );
    stage.run().await.unwrap();
    for body in stage.server.bodies() {
        let messages = body["messages"].as_array().unwrap();
        let marked: Vec<bool> = messages
            .iter()
            .map(|message| message.to_string().contains("cache_control"))
            .collect();
        let (last, others) = marked.split_last().unwrap();
        assert!(*last && !others.contains(&true), "{marked:?}");
    }
}

#[tokio::test]
async fn tools_are_declared_with_their_schemas() {
    let mut stage = TestAgent::new(WireFormat::Anthropic, vec![says("Hi.")]);
    stage.run().await.unwrap();
    let body = stage.server.bodies().remove(0);
    let names: Vec<&Value> = body["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| &tool["name"])
        .collect();
    assert_eq!(
        names,
        [
            "read_file",
            "write_file",
            "modify_file",
            "apply_diff",
            "insert_content",
            "search_files",
            "list_files",
            "execute_command"
        ]
    );
    assert_eq!(
        body["tools"][1]["input_schema"]["required"],
        json!(["path", "content"])
    );
    let conversation = stage.conversation().await;
    assert!(
        matches!(&conversation.messages()[1].parts[0], MessagePart::Text(text) if text == "Hi.")
    );
}
