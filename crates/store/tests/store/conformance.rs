//! One suite over the port: whatever keeps the turns has to keep them like this.

use std::pin::Pin;

use agent::{MemoryJournal, TurnHistory, TurnJournal, TurnNote};

use crate::support::{charged, ended, new_run, opened, replied, turn};

/// An operation on a journal.
enum Act {
    Note(TurnNote),
    Commit(u32),
}

use Act::Commit;

/// Puts the acts to every journal there is; each must then hold exactly this, also when it is
/// opened again.
async fn check(acts: &[Act], expected: TurnHistory) {
    let memory = MemoryJournal::default();
    put(&mut memory.clone(), acts).await;
    assert_eq!(memory.clone().load().await.unwrap(), expected, "in memory");

    let folder = tempfile::tempdir().unwrap();
    let store = opened(folder.path()).await;
    let run = store.begin(&new_run("a.json")).await.unwrap();
    put(&mut run.conversation("generate").await.unwrap(), acts).await;
    let id = run.id();
    // Another conversation of the same run, and another run, do not affect it.
    put(&mut run.conversation("repair").await.unwrap(), &[Commit(1)]).await;
    let other = store.begin(&new_run("a.json")).await.unwrap();
    put(
        &mut other.conversation("generate").await.unwrap(),
        &[Commit(1)],
    )
    .await;
    drop((run, other));
    store.close().await.unwrap();

    let store = opened(folder.path()).await;
    let run = store.resume(id).await.unwrap();
    let mut again = run.conversation("generate").await.unwrap();
    assert_eq!(again.load().await.unwrap(), expected, "in SQLite");
}

fn put<'a>(
    journal: &'a mut dyn TurnJournal,
    acts: &'a [Act],
) -> Pin<Box<dyn Future<Output = ()> + 'a>> {
    Box::pin(async move {
        for act in acts {
            match act {
                Act::Note(note) => journal.note(note).await.unwrap(),
                Commit(number) => journal.commit(&turn(*number)).await.unwrap(),
            }
        }
    })
}

#[tokio::test]
async fn nothing_is_kept_of_nothing() {
    check(&[], TurnHistory::default()).await;
}

#[tokio::test]
async fn turns_come_back_in_order_and_as_they_were() {
    let turns = (1..=12).map(turn).collect();
    let acts: Vec<Act> = (1..=12).map(Commit).collect();
    let notes = Vec::new();
    check(&acts, TurnHistory { turns, notes }).await;
}

#[tokio::test]
async fn notes_of_a_turn_under_way_come_back_in_order() {
    let notes = vec![
        replied(1),
        TurnNote::Begun { turn: 1, call: 0 },
        ended(1, 0),
        TurnNote::Begun { turn: 1, call: 1 },
    ];
    let acts: Vec<Act> = notes.iter().cloned().map(Act::Note).collect();
    let turns = Vec::new();
    check(&acts, TurnHistory { turns, notes }).await;
}

#[tokio::test]
async fn a_commit_drops_the_notes_of_its_turn_and_keeps_what_was_charged() {
    let acts = [
        Act::Note(charged(1)),
        Act::Note(replied(1)),
        Act::Note(ended(1, 0)),
        Commit(1),
        Act::Note(charged(2)),
        Act::Note(replied(2)),
    ];
    let expected = TurnHistory {
        turns: vec![turn(1)],
        notes: vec![charged(1), charged(2), replied(2)],
    };
    check(&acts, expected).await;
}

#[tokio::test]
async fn notes_of_another_turn_stay() {
    let acts = [Act::Note(replied(2)), Commit(1)];
    let expected = TurnHistory {
        turns: vec![turn(1)],
        notes: vec![replied(2)],
    };
    check(&acts, expected).await;
}

#[tokio::test]
async fn a_turn_is_kept_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = opened(folder.path()).await;
    let run = store.begin(&new_run("a.json")).await.unwrap();
    let mut journal = run.conversation("generate").await.unwrap();
    journal.commit(&turn(1)).await.unwrap();
    let error = journal.commit(&turn(1)).await.unwrap_err();
    assert_eq!(error.kind(), agent::AgentErrorKind::Journal);
    assert!(
        error
            .to_string()
            .contains("turn 1 of this conversation is kept already"),
        "{error}"
    );
    assert_eq!(journal.load().await.unwrap().turns, [turn(1)]);
    assert_eq!(
        store.spent(run.id()).await.unwrap().calls,
        1,
        "and paid for once"
    );
}

#[tokio::test]
async fn every_call_is_booked_once_also_one_that_led_to_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = opened(folder.path()).await;
    let run = store.begin(&new_run("a.json")).await.unwrap();
    let mut journal = run.conversation("generate").await.unwrap();
    put(
        &mut journal,
        &[
            Act::Note(charged(1)),
            Act::Note(replied(1)),
            Commit(1),
            Commit(2),
        ],
    )
    .await;
    let spent = store.spent(run.id()).await.unwrap();
    assert_eq!((spent.calls, spent.tokens), (3, 60));
    assert_eq!((spent.micro_usd, spent.unpriced_calls), (50, 1));
}
