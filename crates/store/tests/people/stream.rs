//! The one stream of events: everything in one order, no event missed or repeated, in whatever
//! order transactions commit and whichever process dies.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use flow::engine::{AttemptReport, RunStart};
use flow::{ClaimRequest, FinishedTask, RunId, WorkflowStore};
use serde_json::json;
use sqlx::Connection as _;
use store::{ChangedKind, EventStream, StreamContent, StreamEvent, StreamFilter, StreamPosition};

use crate::cluster::{Cluster, Flush};
use crate::place::{Place, on_both, on_server};
use crate::users::{person, slug};

on_both!(
    readers_see_every_event_of_every_run_once_and_in_order,
    a_reader_goes_on_after_any_event,
    a_reader_that_dies_goes_on_where_it_has_said,
    filters_leave_out_and_the_place_moves_on,
    other_changes_are_in_the_same_order,
    a_position_that_is_gone_asks_for_a_new_begin,
    news_are_heard_of,
);

const CHAIN: &str = "graph TD\n    A[One] --> B[Two]\n    B --> C[Three]\n";

async fn begin(store: &dyn WorkflowStore, run: &str) {
    let hash = store.keep_workflow(CHAIN).await.unwrap();
    let start = RunStart::new(run, json!({}));
    store.start(&hash, start).await.unwrap().unwrap();
}

/// Works until nothing is ready, a few tasks of several runs at a time.
async fn work_off(store: &dyn WorkflowStore, worker: &str) {
    let mut done = Vec::new();
    loop {
        let claim = ClaimRequest {
            worker: worker.to_owned(),
            max: 5,
            lease_ms: 60_000,
            assignees: Vec::new(),
            runs: Vec::new(),
            rates: Vec::new(),
        };
        let claimed = store.turn(done, claim).await.unwrap();
        if claimed.is_empty() {
            return;
        }
        let all = claimed.into_iter().map(|one| FinishedTask {
            task: one.task.id,
            fence: one.task.fence,
            report: AttemptReport::completed(json!({ "ok": true })),
        });
        done = all.collect();
    }
}

fn all() -> StreamFilter {
    StreamFilter::default()
}

/// Everything behind a position, read so many at a time.
async fn read_from(
    stream: &(impl EventStream + ?Sized),
    mut position: StreamPosition,
    filter: &StreamFilter,
    max: usize,
) -> Vec<StreamEvent> {
    let mut found = Vec::new();
    loop {
        let page = stream.events_after(position, filter, max).await.unwrap();
        assert!(!page.must_resync && page.events.len() <= max);
        assert!(page.next >= position && page.next <= page.head);
        found.extend(page.events);
        if page.next == position {
            return found;
        }
        position = page.next;
    }
}

/// The numbers of each run's events, in the order in which they were read.
fn by_run(events: &[StreamEvent]) -> BTreeMap<String, Vec<u64>> {
    let mut runs: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for event in events {
        if let StreamContent::Run(event) = &event.content {
            runs.entry(event.run.to_string())
                .or_default()
                .push(event.seq);
        }
    }
    runs
}

async fn readers_see_every_event_of_every_run_once_and_in_order(place: &Place) {
    const RUNS: usize = 24;
    let stores = [
        place.workflows().await,
        place.workflows().await,
        place.workflows().await,
    ];
    let stream = place.open().await;
    let reading = tokio::spawn(async move {
        let (mut position, mut found) = (StreamPosition::START, Vec::new());
        let is_end = |event: &StreamEvent| {
            let StreamContent::Run(event) = &event.content else {
                return false;
            };
            matches!(event.what, flow::engine::EventKind::RunEnded { .. })
        };
        while found.iter().filter(|event| is_end(event)).count() < RUNS {
            let page = stream.events_after(position, &all(), 7).await.unwrap();
            position = page.next;
            found.extend(page.events);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        found
    });
    let mut working = tokio::task::JoinSet::new();
    for (number, store) in stores.into_iter().enumerate() {
        working.spawn(async move {
            for run in (number..RUNS).step_by(3) {
                begin(&*store, &format!("r{run}")).await;
            }
            for _ in 0..40 {
                work_off(&*store, &format!("w{number}")).await;
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
    }
    let seen = tokio::time::timeout(Duration::from_secs(60), reading).await;
    let seen = seen.unwrap().unwrap();
    working.join_all().await;
    let positions: Vec<StreamPosition> = seen.iter().map(|event| event.position).collect();
    assert!(
        positions.is_sorted_by(|one, other| one < other),
        "nothing twice, one order"
    );
    let store = place.workflows().await;
    for (run, numbers) in by_run(&seen) {
        let kept = store
            .events(&RunId::new(run.as_str()), 0, 999)
            .await
            .unwrap();
        let kept: Vec<u64> = kept.iter().map(|event| event.seq).collect();
        assert_eq!(numbers, kept, "of {run}");
    }
    let later = place.open().await;
    assert_eq!(
        read_from(&*later, StreamPosition::START, &all(), 500).await,
        seen
    );
}

async fn a_reader_goes_on_after_any_event(place: &Place) {
    let store = place.workflows().await;
    for run in ["a", "b"] {
        begin(&*store, run).await;
    }
    work_off(&*store, "w").await;
    let stream = place.open().await;
    let seen = read_from(&*stream, StreamPosition::START, &all(), 500).await;
    assert!(seen.len() > 20, "{}", seen.len());
    assert_eq!(
        read_from(&*stream, StreamPosition::START, &all(), 1).await,
        seen
    );
    for (at, event) in seen.iter().enumerate() {
        let position: StreamPosition = event.position.to_string().parse().unwrap();
        let rest = read_from(&*stream, position, &all(), 3).await;
        assert_eq!(rest, seen[at + 1..], "behind {position}");
    }
    let head = stream.stream_head().await.unwrap();
    assert!(read_from(&*stream, head, &all(), 9).await.is_empty());
    let oldest = stream.stream_oldest().await.unwrap();
    assert_eq!(read_from(&*stream, oldest, &all(), 500).await, seen);
}

async fn a_reader_that_dies_goes_on_where_it_has_said(place: &Place) {
    let store = place.workflows().await;
    begin(&*store, "a").await;
    let mut seen = Vec::new();
    for round in 0..40 {
        if round == 3 {
            work_off(&*store, "w").await;
        }
        // A new reader each time: what the one before has not said, it has not done.
        let stream = place.open().await;
        let from = stream.reader_position("webhooks").await.unwrap();
        let page = stream.events_after(from, &all(), 2).await.unwrap();
        if round % 4 == 1 {
            continue;
        }
        stream
            .keep_reader_position("webhooks", page.next)
            .await
            .unwrap();
        seen.extend(page.events);
    }
    let stream = place.open().await;
    assert_eq!(
        seen,
        read_from(&*stream, StreamPosition::START, &all(), 99).await
    );
}

async fn filters_leave_out_and_the_place_moves_on(place: &Place) {
    let store = place.workflows().await;
    for run in ["a", "b"] {
        begin(&*store, run).await;
    }
    work_off(&*store, "w").await;
    let stream = place.open().await;
    let of_b = StreamFilter {
        run: Some("b".into()),
        ..all()
    };
    let seen = read_from(&*stream, StreamPosition::START, &of_b, 4).await;
    assert_eq!(by_run(&seen).into_keys().collect::<Vec<_>>(), ["b"]);
    let kept = store.events(&"b".into(), 0, 99).await.unwrap();
    assert_eq!(seen.len(), kept.len());
    let of_task = StreamFilter {
        task: Some("a/B".parse().unwrap()),
        ..all()
    };
    let seen = read_from(&*stream, StreamPosition::START, &of_task, 4).await;
    assert_eq!(seen.len(), 3, "created, claimed, completed: {seen:?}");
    let nothing = StreamFilter {
        build: Some("none".to_owned()),
        ..all()
    };
    let page = stream
        .events_after(StreamPosition::START, &nothing, 9)
        .await
        .unwrap();
    assert!(page.events.is_empty());
    assert_eq!(page.next, page.head, "there is nothing to look at again");
}

async fn other_changes_are_in_the_same_order(place: &Place) {
    let store = place.open().await;
    let ada = store.add_user(&person("ada", "ada@x.org")).await.unwrap();
    begin(&*place.workflows().await, "a").await;
    store.edit_user(&ada).await.unwrap();
    let task = "a/A".parse().unwrap();
    let comment = store.add_comment(&task, "ada", "Hm.").await.unwrap();
    let seen = read_from(&*store, StreamPosition::START, &all(), 99).await;
    let told: Vec<String> = seen
        .iter()
        .map(|event| match &event.content {
            StreamContent::Run(event) => format!("{} {}", event.run, event.seq),
            StreamContent::Changed {
                kind,
                subject,
                about,
            } => {
                assert!(
                    about["at_ms"].as_u64().unwrap() > 1_000_000_000_000,
                    "{about}"
                );
                format!(
                    "{} {subject} {}",
                    kind.as_str(),
                    about["change"].as_str().unwrap()
                )
            }
        })
        .collect();
    assert_eq!(
        told,
        [
            "user ada added",
            "a 1",
            "a 2",
            "user ada edited",
            "task a/A commented"
        ]
    );
    let of_task = StreamFilter {
        task: Some(task),
        ..all()
    };
    let seen = read_from(&*store, StreamPosition::START, &of_task, 99).await;
    let StreamContent::Changed { kind, about, .. } = &seen.last().unwrap().content else {
        panic!("{seen:?}");
    };
    assert_eq!(
        (*kind, about["comment"].as_u64()),
        (ChangedKind::Task, Some(comment.id))
    );
    // Nothing is told of a change that was not made.
    store.edit_user(&ada).await.unwrap_err();
    assert_eq!(
        store.users(store::UserFilter::Everybody).await.unwrap()[0].slug,
        slug("ada")
    );
    assert_eq!(
        read_from(&*store, StreamPosition::START, &all(), 99)
            .await
            .len(),
        5
    );
}

async fn a_position_that_is_gone_asks_for_a_new_begin(place: &Place) {
    let store = place.workflows().await;
    let stream = place.open().await;
    let empty = stream
        .events_after(StreamPosition::START, &all(), 9)
        .await
        .unwrap();
    assert!(empty.events.is_empty() && !empty.must_resync);
    begin(&*store, "a").await;
    work_off(&*store, "w").await;
    let seen = read_from(&*stream, StreamPosition::START, &all(), 99).await;
    assert!(stream.trim_stream(2).await.unwrap() > 0);
    let late = stream
        .events_after(seen[0].position, &all(), 99)
        .await
        .unwrap();
    assert!(late.must_resync, "{late:?}");
    let end = &seen[seen.len() - late.events.len()..];
    assert_eq!(late.events, end);
    let last = seen.last().unwrap().position;
    let fine = stream.events_after(last, &all(), 99).await.unwrap();
    assert!(!fine.must_resync && fine.events.is_empty());
    // As after a backup was put back that is older than the reader.
    let beyond = "9000000.1".parse().unwrap();
    let lost = stream.events_after(beyond, &all(), 99).await.unwrap();
    assert!(lost.must_resync && !lost.events.is_empty(), "{lost:?}");
}

async fn news_are_heard_of(place: &Place) {
    let store = place.workflows().await;
    let stream = place.open().await;
    let mut watch = stream.watch_stream().await.unwrap();
    watch.changed().await.unwrap();
    let quiet = tokio::time::timeout(Duration::from_millis(200), watch.changed()).await;
    assert!(quiet.is_err(), "there was nothing to hear of");
    let head = stream.stream_head().await.unwrap();
    begin(&*store, "a").await;
    loop {
        let heard = tokio::time::timeout(Duration::from_secs(20), watch.changed()).await;
        heard.unwrap().unwrap();
        let page = stream.events_after(head, &all(), 9).await.unwrap();
        if !page.events.is_empty() {
            break;
        }
    }
}

async fn execute(connection: &mut sqlx::PgConnection, sql: &'static str) {
    sqlx::raw_sql(sql).execute(connection).await.unwrap();
}

fn subjects(events: &[StreamEvent]) -> Vec<String> {
    let subjects = events.iter().map(|event| match &event.content {
        StreamContent::Run(event) => format!("{}/{}", event.run, event.seq),
        StreamContent::Changed { subject, .. } => subject.clone(),
    });
    subjects.collect()
}

/// An insert of a user, as another process would do it.
macro_rules! add {
    ($name:literal) => {
        concat!(
            "INSERT INTO users (slug, display_name, role, is_active, is_agent, email, email_key, \
             revision, created_ms, updated_ms) VALUES ('",
            $name,
            "', 'x', 'viewer', true, false, '",
            $name,
            "', '",
            $name,
            "', 1, 1, 1)"
        )
    };
}

#[tokio::test(flavor = "multi_thread")]
async fn transactions_of_postgres_that_commit_out_of_order_are_not_missed() {
    let cluster = Cluster::start(Flush::No).await;
    let place = Place::server(&cluster, "order").await;
    let stream = place.open().await;
    let mut old = cluster.connect("order").await.unwrap();
    let mut young = cluster.connect("order").await.unwrap();
    let mut given_up = cluster.connect("order").await.unwrap();
    execute(&mut given_up, "BEGIN").await;
    execute(&mut given_up, add!("never")).await;
    execute(&mut old, "BEGIN").await;
    execute(&mut old, add!("old1")).await;
    execute(&mut young, add!("young1")).await;
    // The young one is committed, and not final: the old one may still come before it.
    let (mut position, mut seen) = (StreamPosition::START, Vec::new());
    let mut read = async |stream: &dyn crate::place::Database| {
        let page = stream.events_after(position, &all(), 9).await.unwrap();
        position = page.next;
        seen.extend(subjects(&page.events));
        seen.clone()
    };
    assert!(read(&*stream).await.is_empty());
    begin(&*place.workflows().await, "r").await;
    execute(&mut given_up, "ROLLBACK").await;
    assert!(read(&*stream).await.is_empty());
    execute(&mut old, add!("old2")).await;
    execute(&mut old, "COMMIT").await;
    assert_eq!(
        read(&*stream).await,
        ["old1", "old2", "young1", "r/1", "r/2"]
    );
    // A reader that crashed in between goes on with its position, and finds the same.
    let again = read_from(&*place.open().await, StreamPosition::START, &all(), 1).await;
    assert_eq!(subjects(&again), ["old1", "old2", "young1", "r/1", "r/2"]);
    execute(&mut young, add!("young2")).await;
    assert_eq!(read(&*stream).await.last().unwrap(), "young2");
    old.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_transaction_of_postgres_does_not_overtake_its_own_run() {
    let cluster = Cluster::start(Flush::No).await;
    let place = Place::server(&cluster, "run").await;
    let store = place.workflows().await;
    begin(&*store, "r").await;
    // As if a transaction that began later had written to the run last.
    let mut other = cluster.connect("run").await.unwrap();
    execute(
        &mut other,
        "UPDATE workflow_runs SET stream_at = stream_at + 50",
    )
    .await;
    execute(
        &mut other,
        "UPDATE event_stream SET stream_at = stream_at + 50",
    )
    .await;
    work_off(&*store, "w").await;
    for _ in 0..60 {
        execute(&mut other, "SELECT pg_current_xact_id()").await;
    }
    let stream = place.open().await;
    let seen = read_from(&*stream, StreamPosition::START, &all(), 5).await;
    let numbers = by_run(&seen).remove("r").unwrap();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    assert!(numbers.len() > 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_was_moved_to_a_younger_server_goes_on() {
    let cluster = Cluster::start(Flush::No).await;
    let address = cluster.database("moved").await;
    let place = Place::Server(address.clone());
    begin(&*place.workflows().await, "r").await;
    let mut other = cluster.connect("moved").await.unwrap();
    execute(
        &mut other,
        "UPDATE workflow_runs SET stream_at = stream_at + 1000000",
    )
    .await;
    execute(
        &mut other,
        "UPDATE event_stream SET stream_at = stream_at + 1000000",
    )
    .await;
    let moved = Arc::new(on_server(&address).await);
    let before = read_from(&*moved, StreamPosition::START, &all(), 9).await;
    assert_eq!(subjects(&before), ["r/1", "r/2"]);
    work_off(&*place.workflows().await, "w").await;
    let last = before.last().unwrap().position;
    let rest = read_from(&*moved, last, &all(), 9).await;
    assert_eq!(by_run(&rest)["r"][0], 3);
    let old = "1000900.1".parse().unwrap();
    assert!(
        moved
            .events_after(old, &all(), 9)
            .await
            .unwrap()
            .must_resync
    );
}
