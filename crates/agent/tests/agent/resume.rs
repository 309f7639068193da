//! Committed work stays and is not repeated, wherever the process dies.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use agent::{
    AgentErrorKind, ConversationTurn, Error, JournalFuture, MemoryJournal, TurnHistory,
    TurnJournal, TurnNote,
};
use llm::WireFormat;
use serde_json::json;

use crate::agent_fixture::TestAgent;
use crate::scripted::{FORMATS, ServerAct, calls, says};

/// A journal that dies, for good, at its n-th write: the process is killed there.
struct DyingJournal {
    inner: MemoryJournal,
    left: Arc<AtomicU32>,
}

impl DyingJournal {
    fn alive(&self) -> Result<(), Error> {
        let left = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(1)
            });
        left.map(drop)
            .map_err(|_| Error::new(AgentErrorKind::Journal, "killed"))
    }
}

impl TurnJournal for DyingJournal {
    fn load(&mut self) -> JournalFuture<'_, TurnHistory> {
        self.inner.load()
    }

    fn note<'a>(&'a mut self, note: &'a TurnNote) -> JournalFuture<'a, ()> {
        match self.alive() {
            Ok(()) => self.inner.note(note),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    fn commit<'a>(&'a mut self, turn: &'a ConversationTurn) -> JournalFuture<'a, ()> {
        match self.alive() {
            Ok(()) => self.inner.commit(turn),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }
}

/// Three turns whose commands each leave a mark; the middle one has two calls.
fn script() -> Vec<ServerAct> {
    let mark = |word: &str| {
        (
            "execute_command",
            json!({"command": format!("echo {word} >> marks")}),
        )
    };
    vec![
        calls(&[mark("one"), ("read_file", json!({"path": "marks"}))]),
        calls(&[mark("two"), mark("three")]),
        says("Done."),
    ]
}

/// The words that committed turns have marked, and whether the model was told it may not be so.
fn marked(history: &TurnHistory) -> Vec<(String, bool)> {
    let mut words = Vec::new();
    for turn in &history.turns {
        for (call, result) in turn.reply.tool_calls().zip(&turn.results) {
            let command = call.arguments.value().unwrap().get("command");
            if let Some(command) = command.and_then(|command| command.as_str()) {
                let word = command.split(' ').nth(1).unwrap().to_owned();
                let interrupted = result.content.contains("The program was interrupted");
                words.push((word, interrupted));
            }
        }
    }
    words
}

#[tokio::test]
async fn killed_at_every_write_of_the_journal_no_command_is_run_twice() {
    let mut deaths = 0;
    for died_at in 0..20 {
        let mut stage = TestAgent::new(WireFormat::OpenAi, script());
        let left = Arc::new(AtomicU32::new(died_at));
        let mut journal = DyingJournal {
            inner: stage.journal.clone(),
            left,
        };
        let mut conversation = stage.conversation().await;
        conversation.say("Do it.");
        match stage.with_journal(&mut conversation, &mut journal).await {
            Ok(_) => continue,
            Err(stopped) => assert_eq!(stopped.kind(), AgentErrorKind::Journal, "{stopped}"),
        }
        deaths += 1;
        // Another process, with nothing but the journal.
        let turns = stage.journal.history().turns;
        let finished = stage
            .run()
            .await
            .unwrap_or_else(|stopped| panic!("died at {died_at}: {stopped}"));
        assert_eq!(
            finished.totals.turns,
            u32::try_from(stage.journal.history().turns.len()).unwrap()
        );
        let history = stage.journal.history();
        assert_eq!(
            history.turns[..turns.len()],
            turns[..],
            "committed turns stay as they are"
        );
        assert!(
            history.notes.is_empty(),
            "died at {died_at}: {:?}",
            history.notes
        );
        let marks = stage.file("marks").unwrap_or_default();
        for (word, interrupted) in marked(&history) {
            let times = marks.matches(&word).count();
            // A call that was under way may have happened or not; all others happened once.
            assert!(
                times == 1 || (interrupted && times == 0),
                "died at {died_at}: {word} {times} times"
            );
        }
    }
    assert!(deaths >= 8, "{deaths}");
}

#[tokio::test]
async fn a_reply_that_is_paid_for_is_not_asked_for_again() {
    let mut stage = TestAgent::new(WireFormat::Anthropic, script());
    let left = Arc::new(AtomicU32::new(1));
    let mut journal = DyingJournal {
        inner: stage.journal.clone(),
        left,
    };
    let mut conversation = stage.conversation().await;
    conversation.say("Do it.");
    stage
        .with_journal(&mut conversation, &mut journal)
        .await
        .unwrap_err();
    assert_eq!(stage.server.asked(), 1);
    let conversation = stage.conversation().await;
    assert!(!conversation.is_fresh());
    assert_eq!(conversation.totals().all.calls, 1, "it is counted, too");
    let finished = stage.run().await.unwrap();
    assert_eq!(stage.server.asked(), 3);
    assert_eq!(finished.totals.all.calls, 3);
    assert_eq!(stage.recorder.all("turn_resumed").len(), 1);
}

#[tokio::test]
async fn a_conversation_that_ended_is_not_asked_about_again() {
    for format in FORMATS {
        let mut stage = TestAgent::new(format, vec![says("Done.")]);
        stage.run().await.unwrap();
        let again = stage.run().await.unwrap();
        assert_eq!((again.text.as_str(), stage.server.asked()), ("Done.", 1));
    }
}

#[tokio::test]
async fn a_provider_that_dies_mid_run_leaves_a_conversation_to_go_on_with() {
    for format in FORMATS {
        for death in [
            ServerAct::HangUp,
            ServerAct::Status(500),
            ServerAct::Status(401),
        ] {
            let script = vec![
                calls(&[("write_file", json!({"path": "a", "content": "a"}))]),
                death,
                says("Done."),
            ];
            let mut stage = TestAgent::new(format, script);
            let stopped = stage.run().await.unwrap_err();
            assert_eq!(stopped.kind(), AgentErrorKind::Model, "{stopped}");
            assert!(stopped.error.code().is_some());
            assert_eq!(
                (
                    stage.file("a").as_deref(),
                    stage.journal.history().turns.len()
                ),
                (Some("a\n"), 1)
            );
            let finished = stage.run().await.unwrap();
            assert_eq!(
                (finished.text.as_str(), finished.totals.turns),
                ("Done.", 2)
            );
            assert_eq!(
                stage.server.sent(1),
                stage.server.sent(2),
                "the same is asked again"
            );
        }
    }
}

#[tokio::test]
async fn half_an_answer_is_no_turn_and_is_counted_all_the_same() {
    let mut stage = TestAgent::new(
        WireFormat::Anthropic,
        vec![ServerAct::BreakOff, says("Done.")],
    );
    let stopped = stage.run().await.unwrap_err();
    assert_eq!(
        (stopped.kind(), stopped.totals.turns),
        (AgentErrorKind::Model, 0)
    );
    assert_eq!(
        (stopped.totals.all.calls, stopped.totals.all.usage.input),
        (1, 100)
    );
    assert!(matches!(
        stage.journal.history().notes[..],
        [TurnNote::Charged { turn: 1, .. }]
    ));
    let mut conversation = stage.conversation().await;
    conversation.say("Do it.");
    let finished = stage.go_on(&mut conversation).await.unwrap();
    assert_eq!((finished.totals.turns, finished.totals.all.calls), (1, 2));
    assert_eq!(
        stage.conversation().await.totals(),
        &finished.totals,
        "and stays counted"
    );
}

#[tokio::test]
async fn history_survives_being_written_down() {
    let mut stage = TestAgent::new(WireFormat::Gemini, script());
    stage.run().await.unwrap();
    let history = stage.journal.history();
    let text = serde_json::to_string(&history).unwrap();
    assert_eq!(serde_json::from_str::<TurnHistory>(&text).unwrap(), history);
}
