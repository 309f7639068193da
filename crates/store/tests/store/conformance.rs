//! One suite over the port: whatever keeps the turns has to keep them like this.

use std::pin::Pin;

use agent::{MemoryJournal, TurnHistory, TurnJournal, TurnNote};

use store::{DatabaseErrorKind, RunFile, RunKind, RunState};

use crate::place::{Place, on_both};
use crate::support::{charged, ended, new_run, replied, turn};

/// An operation on a journal.
enum Act {
    Note(TurnNote),
    Commit(u32),
}

use Act::Commit;

on_both!(
    nothing_is_kept_of_nothing,
    turns_come_back_in_order_and_as_they_were,
    notes_of_a_turn_under_way_come_back_in_order,
    a_commit_drops_the_notes_of_its_turn_and_keeps_what_was_charged,
    notes_of_another_turn_stay,
    a_turn_is_kept_once,
    every_call_is_booked_once_also_one_that_led_to_nothing,
    runs_are_found_by_their_files,
    facts_and_files_are_replaced_and_come_back,
    a_key_is_made_once,
);

/// Puts the acts to every journal there is; each must then hold exactly this, also when it is
/// opened again.
async fn check(place: &Place, acts: &[Act], expected: TurnHistory) {
    let memory = MemoryJournal::default();
    put(&mut memory.clone(), acts).await;
    assert_eq!(memory.clone().load().await.unwrap(), expected, "in memory");

    let store = place.open().await;
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
    let store = place.open().await;
    let run = store.resume(id).await.unwrap();
    let mut again = run.conversation("generate").await.unwrap();
    assert_eq!(again.load().await.unwrap(), expected, "in the database");
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

async fn nothing_is_kept_of_nothing(place: &Place) {
    check(place, &[], TurnHistory::default()).await;
}

async fn turns_come_back_in_order_and_as_they_were(place: &Place) {
    let turns = (1..=12).map(turn).collect();
    let acts: Vec<Act> = (1..=12).map(Commit).collect();
    let notes = Vec::new();
    check(place, &acts, TurnHistory { turns, notes }).await;
}

async fn notes_of_a_turn_under_way_come_back_in_order(place: &Place) {
    let notes = vec![
        replied(1),
        TurnNote::Begun { turn: 1, call: 0 },
        ended(1, 0),
        TurnNote::Begun { turn: 1, call: 1 },
    ];
    let acts: Vec<Act> = notes.iter().cloned().map(Act::Note).collect();
    let turns = Vec::new();
    check(place, &acts, TurnHistory { turns, notes }).await;
}

async fn a_commit_drops_the_notes_of_its_turn_and_keeps_what_was_charged(place: &Place) {
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
    check(place, &acts, expected).await;
}

async fn notes_of_another_turn_stay(place: &Place) {
    let acts = [Act::Note(replied(2)), Commit(1)];
    let expected = TurnHistory {
        turns: vec![turn(1)],
        notes: vec![replied(2)],
    };
    check(place, &acts, expected).await;
}

async fn a_turn_is_kept_once(place: &Place) {
    let store = place.open().await;
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

async fn every_call_is_booked_once_also_one_that_led_to_nothing(place: &Place) {
    let store = place.open().await;
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

async fn runs_are_found_by_their_files(place: &Place) {
    let store = place.open().await;
    let first = store.begin(&new_run("p.json")).await.unwrap();
    first.set_state(RunState::Failed).await.unwrap();
    let second = store.begin(&new_run("p.json")).await.unwrap();
    store.begin(&new_run("q.json")).await.unwrap();
    let latest = store.latest(RunKind::Plan, "p.json").await.unwrap();
    let latest = latest.unwrap();
    assert_eq!((latest.id, latest.state), (second.id(), RunState::Running));
    assert_eq!(
        (latest.digest.as_str(), latest.pid),
        ("d1", std::process::id())
    );
    let of_a_task = store.latest(RunKind::Task, "p.json").await.unwrap();
    assert!(of_a_task.is_none());
    let recent = store.recent(2).await.unwrap();
    let states: Vec<RunState> = recent.iter().map(|run| run.state).collect();
    assert_eq!(states, [RunState::Running, RunState::Running]);
    let error = store.find(store::RunNumber(99)).await.unwrap_err();
    assert_eq!(error.kind(), DatabaseErrorKind::Missing);
}

fn file(path: &str, content: Option<&[u8]>, before: Option<&str>) -> RunFile {
    RunFile {
        path: path.to_owned(),
        content: content.map(<[u8]>::to_vec),
        is_executable: content.is_some(),
        before: before.map(str::to_owned),
    }
}

async fn facts_and_files_are_replaced_and_come_back(place: &Place) {
    let store = place.open().await;
    let run = store.begin(&new_run("p.json")).await.unwrap();
    for (key, body) in [("task/b", "1"), ("task/B", "2"), ("task/b", "3")] {
        run.keep_fact(key, body).await.unwrap();
    }
    let facts = run.facts().await.unwrap();
    assert_eq!(
        facts,
        [("task/B".into(), "2".into()), ("task/b".into(), "3".into())]
    );
    run.file_store().keep(&[]).await.unwrap();
    let first = [
        file("a.bin", Some(b"\0\xff"), Some("d1")),
        file("b", None, None),
    ];
    run.file_store().keep(&first).await.unwrap();
    assert_eq!(run.file_store().all().await.unwrap(), first);
    let later = [
        file("b", Some(b""), Some("not the first")),
        file("a.bin", None, None),
    ];
    run.file_store().keep(&later).await.unwrap();
    let expected = [file("a.bin", None, Some("d1")), file("b", Some(b""), None)];
    assert_eq!(run.file_store().all().await.unwrap(), expected);
    let other = store.begin(&new_run("p.json")).await.unwrap();
    assert_eq!(other.file_store().all().await.unwrap(), []);
}

async fn a_key_is_made_once(place: &Place) {
    let stores = [place.open().await, place.open().await];
    assert_eq!(stores[0].project_key("callback").await.unwrap(), None);
    let (one, other) = tokio::join!(
        stores[0].keep_project_key("callback", "k1"),
        stores[1].keep_project_key("callback", "k2"),
    );
    let kept = one.unwrap();
    assert_eq!(other.unwrap(), kept, "both have the one that was first");
    let found = place.open().await.project_key("callback").await.unwrap();
    assert_eq!(found, Some(kept));
    let other = stores[0].keep_project_key("other", "k3").await.unwrap();
    assert_eq!(other, "k3");
}
