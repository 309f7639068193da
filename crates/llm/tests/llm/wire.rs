//! What each format's answers are read as, and that a cut one never passes for a whole one.

use llm::{AiErrorCode, MessagePart, ModelRequest, Provider};

use crate::scripted::{ScriptedProvider, hello, json, stream, stream_cut, stream_dripping};
use crate::support::{FORMATS, ModelWatcher, StreamMode, ask, client, show};

/// One answer of a provider, and what it is read as.
async fn check(provider: Provider, mode: StreamMode, answer: &str, expected: &str) {
    let acts = match mode {
        StreamMode::Whole => json(answer),
        StreamMode::Streamed => stream(answer),
    };
    let server = ScriptedProvider::start(vec![acts]);
    let mut watcher = ModelWatcher::new(mode);
    let response = ask(
        &client(provider, &server.url),
        &ModelRequest::ask("m", "q"),
        &mut watcher,
    )
    .await
    .unwrap();
    assert_eq!(show(&response), expected, "{provider:?} {mode:?}");
    assert_eq!(
        watcher.text(),
        response.text(),
        "the observer sees the text of the answer"
    );
}

/// Events as a stream, one line of JSON each.
fn events(lines: &[&str]) -> String {
    lines
        .iter()
        .map(|line| format!("data: {line}\n\n"))
        .collect()
}

#[tokio::test]
async fn the_simplest_answer_is_the_same_in_all_formats_and_modes() {
    for provider in FORMATS {
        let (whole, streamed) = hello(provider);
        let expected = "text Hello.\nEndTurn in 3 out 2 read 0 write 0 thinking 0\nm m1";
        check(provider, StreamMode::Whole, whole, expected).await;
        check(provider, StreamMode::Streamed, streamed, expected).await;
    }
}

#[tokio::test]
async fn anthropic_tools_thoughts_and_caches() {
    let expected = "thought hm {\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"sig==\"}\n\
                    thought  {\"type\":\"redacted_thinking\",\"data\":\"xx\"}\n\
                    text Let me see.\n\
                    call t1 read_file {\"path\":\"a\"}\n\
                    call t2 list_files {}\n\
                    ToolUse in 5 out 30 read 100 write 20 thinking 12\n\
                    claude-x m1";
    let whole = r#"{"id":"m1","type":"message","model":"claude-x","content":[
        {"type":"thinking","thinking":"hm","signature":"sig=="},
        {"type":"redacted_thinking","data":"xx"},
        {"type":"text","text":"Let me see."},
        {"type":"tool_use","id":"t1","name":"read_file","input":{"path":"a"}},
        {"type":"tool_use","id":"t2","name":"list_files","input":{}}],
        "stop_reason":"tool_use","usage":{"input_tokens":5,"output_tokens":30,"cache_read_input_tokens":100,
        "cache_creation_input_tokens":20,"output_tokens_details":{"thinking_tokens":12}}}"#;
    // An empty object is written as no arguments, which is what the stream says too.
    check(
        Provider::Anthropic,
        StreamMode::Whole,
        whole,
        &expected.replace("list_files {}", "list_files "),
    )
    .await;
    let streamed = events(&[
        r#"{"type":"message_start","message":{"id":"m1","type":"message","model":"claude-x","content":[],"usage":{"input_tokens":5,"cache_read_input_tokens":100,"cache_creation_input_tokens":20,"output_tokens":1}}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"h"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"m"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig=="}}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"xx"}}"#,
        r#"{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Let me "}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"see."}}"#,
        r#"{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"t1","name":"read_file","input":{}}}"#,
        r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"path\""}}"#,
        r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":":\"a\"}"}}"#,
        r#"{"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"t2","name":"list_files","input":{}}}"#,
        r#"{"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":"{}"}}"#,
        r#"{"type":"something_new","index":4}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":30,"output_tokens_details":{"thinking_tokens":12}}}"#,
        r#"{"type":"message_stop"}"#,
    ]);
    check(
        Provider::Anthropic,
        StreamMode::Streamed,
        &streamed,
        expected,
    )
    .await;
}

#[tokio::test]
async fn openai_tools_come_in_pieces_and_by_index() {
    let expected = "text Look.\n\
                    call c1 read_file {\"path\":\"a\"}\n\
                    call c2 list_files {}\n\
                    ToolUse in 60 out 9 read 30 write 10 thinking 4\n\
                    gpt-x m1";
    let whole = r#"{"id":"m1","model":"gpt-x","choices":[{"message":{"role":"assistant","content":"Look.","tool_calls":[
        {"id":"c1","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}},
        {"id":"c2","type":"function","function":{"name":"list_files","arguments":{}}}]},"finish_reason":"tool_calls"}],
        "usage":{"prompt_tokens":100,"completion_tokens":9,"prompt_tokens_details":{"cached_tokens":30,
        "cache_write_tokens":10},"completion_tokens_details":{"reasoning_tokens":4}}}"#;
    check(Provider::OpenAi, StreamMode::Whole, whole, expected).await;
    let streamed = events(&[
        r#"{"id":"m1","model":"gpt-x","choices":[{"delta":{"role":"assistant","content":"Look."}}]}"#,
        r#"{"id":"m1","model":"gpt-x","choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read_file","arguments":""}}]}}]}"#,
        r#"{"id":"m1","model":"gpt-x","choices":[{"delta":{"tool_calls":[{"index":1,"id":"c2","function":{"name":"list_files","arguments":"{"}}]}}]}"#,
        r#"{"id":"m1","model":"gpt-x","choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\":"}}]}}]}"#,
        r#"{"id":"m1","model":"gpt-x","choices":[{"delta":{"tool_calls":[{"index":1,"function":{"arguments":"}"}},{"index":0,"function":{"arguments":"\"a\"}"}}]}}]}"#,
        // Some servers say "stop" although they call.
        r#"{"id":"m1","model":"gpt-x","choices":[{"delta":{},"finish_reason":"stop"}]}"#,
        r#"{"id":"m1","model":"gpt-x","choices":[],"usage":{"prompt_tokens":100,"completion_tokens":9,"prompt_tokens_details":{"cached_tokens":30,"cache_write_tokens":10},"completion_tokens_details":{"reasoning_tokens":4}}}"#,
    ]) + "data: [DONE]\n\n";
    check(Provider::OpenAi, StreamMode::Streamed, &streamed, expected).await;
}

#[tokio::test]
async fn openai_servers_that_number_badly_are_understood() {
    // The same index for every call, whole calls in one piece.
    let streamed = events(&[
        r#"{"model":"m","choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"n\":1}"}}]}}]}"#,
        r#"{"model":"m","choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"f","arguments":"{\"n\":2}"}}]}}]}"#,
        r#"{"model":"m","choices":[{"delta":{"tool_calls":[{"id":"c","function":{"name":"g","arguments":"{"}}]}}]}"#,
        r#"{"model":"m","choices":[{"delta":{"tool_calls":[{"function":{"arguments":"}"}}]}}]}"#,
        r#"{"model":"m","choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
    ]);
    let expected = "call a f {\"n\":1}\ncall b f {\"n\":2}\ncall c g {}\n\
                    ToolUse in 0 out 0 read 0 write 0 thinking 0\nm -";
    check(Provider::OpenAi, StreamMode::Streamed, &streamed, expected).await;
}

#[tokio::test]
async fn openai_thoughts_go_by_several_names_and_back_under_their_own() {
    let streamed = events(&[
        r#"{"model":"m","choices":[{"delta":{"reasoning_content":"h"}}]}"#,
        r#"{"model":"m","choices":[{"delta":{"reasoning_content":"m"}}]}"#,
        r#"{"model":"m","choices":[{"delta":{"content":"So."},"finish_reason":"stop"}]}"#,
    ]);
    let expected = "thought hm\ntext So.\nthought  {\"reasoning_content\":\"hm\"}\n\
                    EndTurn in 0 out 0 read 0 write 0 thinking 0\nm -";
    check(
        Provider::Compatible,
        StreamMode::Streamed,
        &streamed,
        expected,
    )
    .await;
    let whole = r#"{"model":"m","choices":[{"message":{"content":"So.","reasoning":"hm",
        "reasoning_details":[{"type":"reasoning.encrypted","data":"xx"}]},"finish_reason":"stop"}],
        "usage":{"prompt_tokens":1,"completion_tokens":2,"cost":0.00125}}"#;
    let expected = "thought hm\ntext So.\n\
                    thought  {\"reasoning_details\":[{\"type\":\"reasoning.encrypted\",\"data\":\"xx\"}]}\n\
                    EndTurn in 1 out 2 read 0 write 0 thinking 0\nm -";
    check(Provider::OpenRouter, StreamMode::Whole, whole, expected).await;
}

#[tokio::test]
async fn gemini_calls_keep_their_signatures() {
    let whole = r#"{"candidates":[{"content":{"role":"model","parts":[
        {"text":"hm","thought":true},
        {"text":"Look."},
        {"functionCall":{"name":"read_file","args":{"path":"a"}},"thoughtSignature":"sig=="},
        {"functionCall":{"id":"given","name":"list_files"}},
        {"text":"","thoughtSignature":"last=="}]},"finishReason":"STOP"}],
        "usageMetadata":{"promptTokenCount":100,"cachedContentTokenCount":30,"candidatesTokenCount":9,
        "thoughtsTokenCount":5},"modelVersion":"gemini-x","responseId":"r1"}"#;
    let expected = "thought hm\ntext Look.\n\
                    call r1_0 read_file {\"path\":\"a\"}\ncall given list_files {}\n\
                    thought  {\"text\":\"\",\"thoughtSignature\":\"last==\"}\n\
                    ToolUse in 70 out 14 read 30 write 0 thinking 5\ngemini-x r1";
    check(Provider::Google, StreamMode::Whole, whole, expected).await;

    let server = ScriptedProvider::start(vec![json(whole)]);
    let google = client(Provider::Google, &server.url);
    let mut request = ModelRequest::ask("gemini-x", "q");
    let said = ask(&google, &request, &mut ModelWatcher::new(StreamMode::Whole))
        .await
        .unwrap();
    let signed: Vec<_> = said
        .tool_calls()
        .map(|call| call.signature.clone())
        .collect();
    assert_eq!(signed, [Some("sig==".to_owned()), None]);
    request.messages.push(said.into_message());
    ask(&google, &request, &mut ModelWatcher::new(StreamMode::Whole))
        .await
        .unwrap();
    let sent = &server.received()[1].body["contents"][1]["parts"];
    assert_eq!(sent[1]["thoughtSignature"], "sig==", "{sent}");
    assert_eq!(sent[3]["thoughtSignature"], "last==", "{sent}");
}

#[tokio::test]
async fn malformed_arguments_are_kept_and_lose_nothing_else() {
    let anthropic = events(&[
        r#"{"type":"message_start","message":{"id":"m1","type":"message","model":"m","content":[],"usage":{"input_tokens":5,"output_tokens":1}}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t1","name":"write_file","input":{}}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"path\":\"a"}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":7}}"#,
        r#"{"type":"message_stop"}"#,
    ]);
    let expected = "malformed call t1 write_file {\"path\":\"a\n\
                    MaxTokens in 5 out 7 read 0 write 0 thinking 0\nm m1";
    check(
        Provider::Anthropic,
        StreamMode::Streamed,
        &anthropic,
        expected,
    )
    .await;
    let openai = r#"{"id":"m1","model":"m","choices":[{"message":{"tool_calls":[{"id":"t1","function":
        {"name":"write_file","arguments":"{\"path\":\"a"}}]},"finish_reason":"length"}],
        "usage":{"prompt_tokens":5,"completion_tokens":7}}"#;
    check(Provider::OpenAi, StreamMode::Whole, openai, expected).await;
}

#[tokio::test]
async fn refusals_and_odd_stops_are_said_as_the_provider_says_them() {
    for (provider, answer, stop) in [
        (
            Provider::Anthropic,
            r#"{"content":[],"stop_reason":"refusal"}"#,
            "Refusal(\"refusal\")",
        ),
        (
            Provider::Anthropic,
            r#"{"content":[],"stop_reason":"stop_sequence"}"#,
            "StopSequence",
        ),
        (
            Provider::Anthropic,
            r#"{"content":[],"stop_reason":"pause_turn"}"#,
            "Other(\"pause_turn\")",
        ),
        (
            Provider::OpenAi,
            r#"{"choices":[{"message":{"content":null,"refusal":"I cannot."},"finish_reason":"stop"}]}"#,
            "Refusal(\"I cannot.\")",
        ),
        (
            Provider::OpenAi,
            r#"{"choices":[{"message":{"content":""},"finish_reason":"content_filter"}]}"#,
            "Refusal(\"content_filter\")",
        ),
        (
            Provider::Google,
            r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#,
            "Refusal(\"SAFETY\")",
        ),
        (
            Provider::Google,
            r#"{"candidates":[{"finishReason":"RECITATION"}]}"#,
            "Refusal(\"RECITATION\")",
        ),
        (
            Provider::Google,
            r#"{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}]}"#,
            "Other(\"MALFORMED_FUNCTION_CALL\")",
        ),
    ] {
        let expected = format!("{stop} in 0 out 0 read 0 write 0 thinking 0\nm -");
        check(provider, StreamMode::Whole, answer, &expected).await;
    }
}

#[tokio::test]
async fn a_stream_cut_at_any_byte_is_an_error_and_never_a_short_answer() {
    for provider in FORMATS {
        let (_, streamed) = hello(provider);
        for at in (0..streamed.len()).step_by(11) {
            let server = ScriptedProvider::start(vec![stream_cut(streamed, at)]);
            let mut watcher = ModelWatcher::new(StreamMode::Streamed);
            let error = ask(
                &client(provider, &server.url),
                &ModelRequest::ask("m", "q"),
                &mut watcher,
            )
            .await;
            let error =
                error.expect_err(&format!("{provider:?} cut at {at} of {}", streamed.len()));
            assert_eq!(
                error.code,
                AiErrorCode::TransportFailed,
                "{provider:?} at {at}: {error}"
            );
            assert_eq!(error.again, llm::error::RetryAdvice::Worthwhile);
            assert!("Hello.".starts_with(&watcher.text()));
        }
    }
}

#[tokio::test]
async fn a_stream_that_ends_politely_but_early_is_an_error_with_what_was_used() {
    for provider in FORMATS {
        let (_, streamed) = hello(provider);
        let end = streamed.find("lo.").unwrap();
        let end = end + streamed[end..].find("\n\n").map_or(0, |n| n + 2);
        // Google ends with the same event that has the last text, so its cut is before.
        let early = if provider == Provider::Google {
            &streamed[..streamed.find("\r\n\r\n").unwrap() + 4]
        } else {
            &streamed[..end]
        };
        let server = ScriptedProvider::start(vec![stream(early)]);
        let error = ask(
            &client(provider, &server.url),
            &ModelRequest::ask("m", "q"),
            &mut ModelWatcher::new(StreamMode::Streamed),
        )
        .await;
        let error = error.expect_err("the end is missing");
        assert_eq!(error.code, AiErrorCode::TransportFailed, "{error}");
        assert!(
            error.to_string().contains("stopped before its end"),
            "{error}"
        );
        assert_eq!(error.request_id.as_deref(), Some("req-scripted"));
        if provider != Provider::OpenAi {
            assert_eq!(
                error.usage.input, 3,
                "half an answer is paid for: {provider:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_slow_stream_is_read_however_it_drips() {
    for provider in FORMATS {
        let (_, streamed) = hello(provider);
        let server = ScriptedProvider::start(vec![stream_dripping(streamed, 29, 2)]);
        let mut watcher = ModelWatcher::new(StreamMode::Streamed);
        let response = ask(
            &client(provider, &server.url),
            &ModelRequest::ask("m", "q"),
            &mut watcher,
        )
        .await
        .unwrap();
        assert_eq!(response.text(), "Hello.");
        assert_eq!(watcher.seen, ["text Hel", "text lo."]);
    }
}

#[tokio::test]
async fn a_server_that_does_not_stream_when_asked_is_read_all_the_same() {
    for provider in FORMATS {
        let (whole, _) = hello(provider);
        let server = ScriptedProvider::start(vec![json(whole)]);
        let mut watcher = ModelWatcher::new(StreamMode::Streamed);
        let response = ask(
            &client(provider, &server.url),
            &ModelRequest::ask("m", "q"),
            &mut watcher,
        )
        .await
        .unwrap();
        assert!(matches!(&response.parts[..], [MessagePart::Text(text)] if text == "Hello."));
        assert_eq!(watcher.text(), "Hello.");
    }
}

#[tokio::test]
async fn a_stream_that_is_not_called_one_is_read_all_the_same() {
    for provider in FORMATS {
        let (_, streamed) = hello(provider);
        let server =
            ScriptedProvider::start(vec![json(streamed), json(&streamed[..streamed.len() / 2])]);
        let client = client(provider, &server.url);
        let mut watcher = ModelWatcher::new(StreamMode::Streamed);
        assert_eq!(
            ask(&client, &ModelRequest::ask("m", "q"), &mut watcher)
                .await
                .unwrap()
                .text(),
            "Hello."
        );
        let error = ask(&client, &ModelRequest::ask("m", "q"), &mut watcher)
            .await
            .unwrap_err();
        assert!(
            error.to_string().contains("stopped before its end"),
            "{error}"
        );
    }
}
