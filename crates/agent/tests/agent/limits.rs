//! Every limit stops the run by its name, and what was done stays.

use std::time::{Duration, Instant};

use agent::{AgentErrorKind, Limits};
use llm::WireFormat;
use llm::budget::{SpendBudget, SpendLimit};
use serde_json::json;

use crate::agent_fixture::TestAgent;
use crate::scripted::{FORMATS, ScriptedStop, ServerAct, calls, says};

fn list() -> ServerAct {
    calls(&[("list_files", json!({}))])
}

fn write(name: &str) -> ServerAct {
    calls(&[("write_file", json!({"path": name, "content": name}))])
}

/// Runs into a limit; the error names it, and the model was asked so often.
async fn check(stage: &mut TestAgent, names: &[&str], kind: AgentErrorKind, asked: usize) {
    let stopped = stage.run().await.unwrap_err();
    assert_eq!(stopped.kind(), kind, "{stopped}");
    let message = stopped.to_string();
    for name in names {
        assert!(message.contains(name), "{message}");
    }
    assert_eq!(stage.server.asked(), asked, "{message}");
    let last = stage.recorder.events.last().unwrap();
    assert_eq!(
        (&last["event"], &last["message"]),
        (&json!("stopped"), &json!(message))
    );
}

#[tokio::test]
async fn turns() {
    for format in FORMATS {
        let limits = Limits {
            turns_max: 2,
            ..Limits::default()
        };
        let mut stage =
            TestAgent::new(format, vec![write("a"), write("b"), write("c")]).with_limits(limits);
        check(
            &mut stage,
            &["agent.turns_max = 2"],
            AgentErrorKind::Limit,
            2,
        )
        .await;
        assert!(stage.file("b").is_some() && stage.file("c").is_none());
        stage.limits.turns_max = 3;
        check(
            &mut stage,
            &["agent.turns_max = 3"],
            AgentErrorKind::Limit,
            3,
        )
        .await;
        assert!(stage.file("c").is_some(), "a raised limit lets it go on");
    }
}

#[tokio::test]
async fn the_same_set_of_calls_again_and_again() {
    let set = calls(&[
        ("list_files", json!({})),
        ("read_file", json!({ "path": "a" })),
        ("list_files", json!({ "path": "." })),
    ]);
    for script in [
        vec![set],
        // One call in each turn, the same ones in turn.
        (0..12)
            .map(|turn| match turn % 2 {
                0 => list(),
                _ => calls(&[("read_file", json!({ "path": "a" }))]),
            })
            .collect(),
    ] {
        let mut stage = TestAgent::new(WireFormat::OpenAi, script);
        let error = stage.run().await.unwrap_err();
        let text = error.to_string();
        assert!(text.contains("agent.identical_calls_max = 3"), "{text}");
        assert!(text.contains("calls were made 4 times in a row"), "{text}");
    }
}

#[tokio::test]
async fn the_same_call_again_and_again() {
    for format in FORMATS {
        let mut stage = TestAgent::new(format, vec![list()]);
        check(
            &mut stage,
            &[
                "agent.identical_calls_max = 3",
                "`list_files` was called 4 times in a row",
            ],
            AgentErrorKind::Limit,
            4,
        )
        .await;
        let warned = stage.server.sent(3).pop().unwrap();
        assert!(
            warned.contains("3 times in a row. Another one ends the run"),
            "{warned}"
        );
        assert_eq!(stage.journal.history().turns.len(), 3);
    }
    let script = vec![
        list(),
        write("a"),
        list(),
        write("b"),
        list(),
        list(),
        says("Done."),
    ];
    let mut stage = TestAgent::new(WireFormat::OpenAi, script);
    stage.run().await.unwrap();
    let four = calls(&[
        ("list_files", json!({})),
        ("list_files", json!({})),
        ("list_files", json!({})),
        ("list_files", json!({})),
    ]);
    let mut stage = TestAgent::new(WireFormat::OpenAi, vec![four]);
    check(
        &mut stage,
        &["agent.identical_calls_max = 3"],
        AgentErrorKind::Limit,
        1,
    )
    .await;
}

#[tokio::test]
async fn calls_in_one_reply() {
    let limits = Limits {
        calls_per_turn_max: 1,
        ..Limits::default()
    };
    let two = calls(&[
        ("write_file", json!({"path": "a", "content": "a"})),
        ("write_file", json!({"path": "b", "content": "b"})),
    ]);
    let mut stage =
        TestAgent::new(WireFormat::OpenAi, vec![two, says("Done.")]).with_limits(limits);
    stage.run().await.unwrap();
    assert!(stage.file("a").is_some() && stage.file("b").is_none());
    let told = stage.last_sent().pop().unwrap();
    assert!(
        told.starts_with("failed: ") && told.contains("agent.calls_per_turn_max"),
        "{told}"
    );
}

#[tokio::test]
async fn replies_cut_off_in_a_row() {
    let limits = Limits {
        cut_replies_max: 2,
        ..Limits::default()
    };
    let mut stage = TestAgent::new(
        WireFormat::Anthropic,
        vec![write("a").stopping(ScriptedStop::Length)],
    )
    .with_limits(limits);
    check(
        &mut stage,
        &["agent.cut_replies_max = 2", "max_tokens = 1000"],
        AgentErrorKind::Limit,
        3,
    )
    .await;
    assert_eq!(stage.file("a"), None);
}

#[tokio::test]
async fn wall_time_between_calls_and_inside_them() {
    let limits = Limits {
        wall_seconds_max: 60,
        ..Limits::default()
    };
    let mut stage = TestAgent::new(WireFormat::OpenAi, vec![write("a"), write("b")])
        .with_limits(limits)
        .with_clock_step(5_000);
    let stopped = stage.run().await.unwrap_err();
    assert!(
        stopped.to_string().contains("agent.wall_seconds_max = 60"),
        "{stopped}"
    );
    assert!(stage.file("a").is_some());

    let limits = Limits {
        wall_seconds_max: 1,
        ..Limits::default()
    };
    let mut stage = TestAgent::new(WireFormat::OpenAi, vec![ServerAct::Silence(30_000)])
        .with_limits(limits.clone());
    let began = Instant::now();
    check(
        &mut stage,
        &["agent.wall_seconds_max = 1"],
        AgentErrorKind::Limit,
        1,
    )
    .await;
    assert!(began.elapsed() < Duration::from_secs(10));

    let sleep = calls(&[(
        "execute_command",
        json!({"command": "sleep 60", "timeout": 50}),
    )]);
    let mut stage =
        TestAgent::new(WireFormat::OpenAi, vec![sleep, says("Done.")]).with_limits(limits);
    let began = Instant::now();
    stage.run().await.ok();
    assert!(
        began.elapsed() < Duration::from_secs(20),
        "the command ends with the run's time"
    );
    let result = &stage.journal.history().turns[0].results[0].content;
    assert!(result.contains(r#""timed_out":true"#), "{result}");
}

#[tokio::test]
async fn tokens() {
    for format in FORMATS {
        // The first call is expected to take some two thousand, tools included, and takes 110.
        let limits = Limits {
            tokens_max: Some(5_000),
            ..Limits::default()
        };
        let mut stage = TestAgent::new(format, vec![write("a")]).with_limits(limits);
        stage.limits.identical_calls_max = 1_000;
        let stopped = stage.run().await.unwrap_err();
        assert!(
            stopped.to_string().contains("agent.tokens_max = 5000"),
            "{stopped}"
        );
        assert!(stopped.totals.all.usage.total() <= 5_000);
        assert!(stage.server.asked() > 1);
    }
}

#[tokio::test]
async fn money_of_the_conversation() {
    for format in FORMATS {
        // A call costs 200 millionths.
        let limits = Limits {
            micro_usd_max: Some(500),
            ..Limits::default()
        };
        let mut stage =
            TestAgent::new(format, vec![write("a"), write("b"), write("c")]).with_limits(limits);
        check(
            &mut stage,
            &["agent.usd_max = $0.0005", "$0.0004 is spent"],
            AgentErrorKind::Limit,
            2,
        )
        .await;
        assert!(stage.file("b").is_some());
    }
}

#[tokio::test]
async fn the_budget_of_the_process_reached_mid_run_keeps_what_is_done() {
    for format in FORMATS {
        let run = SpendLimit {
            tokens_max: Some(4_000),
            micro_usd_max: None,
        };
        let budget = SpendBudget {
            run,
            ..SpendBudget::default()
        };
        let mut stage = TestAgent::budgeted(format, vec![write("a")], budget);
        stage.limits.identical_calls_max = 1_000;
        let stopped = stage.run().await.unwrap_err();
        assert_eq!(stopped.kind(), AgentErrorKind::Budget, "{stopped}");
        assert!(
            stopped
                .to_string()
                .contains("ai.budget.run_tokens_max = 4000"),
            "{stopped}"
        );
        assert!(stage.file("a").is_some());
        let turns = stage.journal.history().turns.len();
        assert_eq!((turns, stage.server.asked()), (turns, turns));
        assert!(turns > 0);
        assert_eq!(stage.meter.run().tokens, stopped.totals.all.usage.total());
    }
}

#[tokio::test]
async fn a_model_without_a_price_cannot_keep_a_limit_of_money() {
    let limits = Limits {
        micro_usd_max: Some(1_000_000),
        ..Limits::default()
    };
    let mut stage = TestAgent::new(WireFormat::OpenAi, vec![write("a")]).with_limits(limits);
    let mut conversation = stage.conversation().await;
    conversation.say("Do it.");
    stage.model = unpriced(&stage);
    let stopped = stage.go_on(&mut conversation).await.unwrap_err();
    assert!(
        stopped
            .to_string()
            .contains("agent.usd_max = $1.0000: the price of the model is not known"),
        "{stopped}"
    );
    assert_eq!(stage.server.asked(), 1);
}

fn unpriced(stage: &TestAgent) -> std::sync::Arc<dyn llm::Model> {
    let mut endpoint =
        llm::ProviderEndpoint::new(llm::Provider::OpenAi, Some(llm::Secret::new("key")));
    endpoint.base_url = Some(stage.server.url.clone());
    std::sync::Arc::new(llm::ProviderClient::new(&endpoint, llm::Limits::default()).unwrap())
}

#[tokio::test]
async fn a_switch_ends_a_run_while_the_model_is_asked_and_while_a_command_runs() {
    for act in [
        ServerAct::Silence(30_000),
        calls(&[("execute_command", json!({"command": "sleep 30"}))]),
    ] {
        let mut stage = TestAgent::new(WireFormat::OpenAi, vec![act]);
        let cancel = stage.cancel.clone();
        let began = Instant::now();
        let switch = async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            cancel.cancel();
        };
        let (ended, ()) = tokio::join!(stage.run(), switch);
        assert_eq!(ended.unwrap_err().kind(), AgentErrorKind::Cancelled);
        assert!(began.elapsed() < Duration::from_secs(10));
    }
}
