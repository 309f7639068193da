//! Schedules: added once, due when they are, and moved on by one of those who saw them due.

use serde_json::json;
use store::{
    DatabaseErrorKind, OverlapRule, Schedule, ScheduleFiring, SchedulePolicy, ScheduleStore, Slug,
};

use crate::place::{Place, on_both};

on_both!(
    schedules_are_added_once_listed_and_removed,
    due_are_those_that_are_switched_on_and_whose_time_has_come,
    a_time_is_noted_by_one_and_moves_on,
    one_that_was_added_anew_is_not_moved_by_what_the_old_one_did,
);

fn slug(text: &str) -> Slug {
    text.parse().unwrap()
}

fn schedule(name: &str, next_ms: Option<u64>) -> Schedule {
    Schedule {
        slug: slug(name),
        workflow: "nightly".to_owned(),
        cron: "0 3 * * *".to_owned(),
        time_zone: "Europe/Berlin".to_owned(),
        input: json!({"depth": 3, "words": ["a", null]}),
        is_enabled: true,
        next_ms,
        last: None,
        created_ms: 0,
        policy: SchedulePolicy {
            overlap: OverlapRule::Queue,
            catch_up_ms: Some(3_600_000),
            jitter_ms: 5,
        },
    }
}

fn fired(due_ms: u64, run: &str) -> ScheduleFiring {
    ScheduleFiring {
        due_ms,
        outcome: Ok(run.to_owned()),
    }
}

async fn due(schedules: &(impl ScheduleStore + ?Sized), now_ms: u64) -> Vec<String> {
    let due = schedules.due_schedules(now_ms, 9).await.unwrap();
    due.iter().map(|one| one.slug.to_string()).collect()
}

async fn schedules_are_added_once_listed_and_removed(place: &Place) {
    let store = place.open().await;
    store.add_schedule(&schedule("b", Some(20))).await.unwrap();
    store.add_schedule(&schedule("a", Some(10))).await.unwrap();
    let twice = store.add_schedule(&schedule("a", None)).await.unwrap_err();
    assert_eq!(twice.kind(), DatabaseErrorKind::Conflict);
    let kept = store.schedule(&slug("a")).await.unwrap().unwrap();
    let expected = Schedule {
        created_ms: kept.created_ms,
        ..schedule("a", Some(10))
    };
    assert_eq!(kept, expected);
    let listed = store.schedules().await.unwrap();
    let names: Vec<&str> = listed.iter().map(|one| one.slug.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    store.remove_schedule(&slug("a")).await.unwrap();
    assert_eq!(store.schedule(&slug("a")).await.unwrap(), None);
    for gone in [
        store.remove_schedule(&slug("a")).await,
        store.enable_schedule(&slug("a"), None, true).await,
    ] {
        assert_eq!(gone.unwrap_err().kind(), DatabaseErrorKind::Missing);
    }
}

async fn due_are_those_that_are_switched_on_and_whose_time_has_come(place: &Place) {
    let store = place.open().await;
    for (name, next) in [
        ("late", Some(10)),
        ("now", Some(20)),
        ("soon", Some(21)),
        ("never", None),
    ] {
        store.add_schedule(&schedule(name, next)).await.unwrap();
    }
    assert_eq!(due(&*store, 20).await, ["late", "now"]);
    store
        .enable_schedule(&slug("late"), None, false)
        .await
        .unwrap();
    assert_eq!(due(&*store, 20).await, ["now"]);
    store
        .enable_schedule(&slug("late"), Some(15), true)
        .await
        .unwrap();
    assert_eq!(due(&*store, 20).await, ["late", "now"]);
    assert_eq!(store.due_schedules(20, 1).await.unwrap().len(), 1);
}

async fn a_time_is_noted_by_one_and_moves_on(place: &Place) {
    let stores = [place.open().await, place.open().await];
    stores[0]
        .add_schedule(&schedule("a", Some(10)))
        .await
        .unwrap();
    let seen = stores[0].schedule(&slug("a")).await.unwrap().unwrap();
    let first = fired(10, "run-1");
    stores[0]
        .note_firing(&seen, &first, Some(70))
        .await
        .unwrap();
    // Another process that saw it due as well comes too late, and undoes nothing.
    let second = fired(10, "run-2");
    stores[1]
        .note_firing(&seen, &second, Some(130))
        .await
        .unwrap();
    let now = stores[1].schedule(&slug("a")).await.unwrap().unwrap();
    assert_eq!((now.next_ms, now.last), (Some(70), Some(first)));

    let failed = ScheduleFiring {
        due_ms: 70,
        outcome: Err("There is no such workflow.".to_owned()),
    };
    let seen = stores[1].schedule(&slug("a")).await.unwrap().unwrap();
    stores[1].note_firing(&seen, &failed, None).await.unwrap();
    let now = stores[0].schedule(&slug("a")).await.unwrap().unwrap();
    assert_eq!((now.next_ms, now.last), (None, Some(failed)));
}

async fn one_that_was_added_anew_is_not_moved_by_what_the_old_one_did(place: &Place) {
    let store = place.open().await;
    store.add_schedule(&schedule("a", Some(10))).await.unwrap();
    let old = store.schedule(&slug("a")).await.unwrap().unwrap();
    store.remove_schedule(&slug("a")).await.unwrap();
    // They are told apart by the millisecond in which they were added.
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    store.add_schedule(&schedule("a", Some(10))).await.unwrap();
    store
        .note_firing(&old, &fired(10, "r"), Some(70))
        .await
        .unwrap();
    let now = store.schedule(&slug("a")).await.unwrap().unwrap();
    assert_eq!((now.next_ms, now.last), (Some(10), None));
}
