//! Changes to a SQLite file while a worker uses it: others write, a newer version migrates it, or
//! it is deleted.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use flow::engine::RunStart;
use flow::{ClaimRequest, StoreErrorKind, WorkflowStore};
use serde_json::json;
use sqlx::{Connection as _, SqliteConnection};

use crate::place::Place;

const ONE: &str = "graph TD\n    A[Work]\n";

fn file(place: &Place) -> PathBuf {
    match place {
        Place::File(folder) => folder.path().join(".drawloom").join("drawloom.db"),
        Place::Server(_) => panic!("a server has no file"),
    }
}

async fn begin(store: &dyn WorkflowStore, run: &str) -> Result<(), flow::StoreError> {
    let hash = store.keep_workflow(ONE).await?;
    store
        .start(&hash, RunStart::new(run, json!({})))
        .await?
        .unwrap();
    Ok(())
}

async fn claim(store: &dyn WorkflowStore) -> Result<usize, flow::StoreError> {
    let claim = ClaimRequest {
        worker: "w".to_owned(),
        max: 1,
        lease_ms: 60_000,
        assignees: Vec::new(),
        runs: Vec::new(),
        rates: Vec::new(),
    };
    Ok(store.claim(claim).await?.len())
}

/// Writes to the file as another process would.
async fn write(file: &Path, sql: &'static str) {
    let address = format!("sqlite:{}", file.display());
    let mut other = SqliteConnection::connect(&address).await.unwrap();
    sqlx::query(sql).execute(&mut other).await.unwrap();
    other.close().await.unwrap();
}

/// Waits until the store says that there may be news, which is soon.
async fn heard(store: &dyn WorkflowStore) -> Duration {
    let begun = Instant::now();
    let hint = tokio::time::timeout(Duration::from_secs(20), store.hint());
    hint.await.unwrap().unwrap();
    begun.elapsed()
}

#[tokio::test(flavor = "multi_thread")]
async fn new_work_of_another_process_is_heard_of_within_50_ms() {
    let place = Place::file();
    let (worker, other) = (place.workflows().await, place.workflows().await);
    begin(&*other, "first").await.unwrap();
    heard(&*worker).await;
    let mut took = Vec::new();
    for round in 0..10 {
        // Skips the hints of earlier writes.
        while tokio::time::timeout(Duration::from_millis(100), worker.hint())
            .await
            .is_ok()
        {}
        begin(&*other, &format!("r{round}")).await.unwrap();
        took.push(heard(&*worker).await);
    }
    // A busy machine may be late now and then.
    let soonest = took.iter().min().unwrap();
    assert!(*soonest < Duration::from_millis(50), "{took:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_stops_at_once_when_a_newer_version_changes_the_tables() {
    let place = Place::file();
    let store = place.workflows().await;
    begin(&*store, "a").await.unwrap();
    heard(&*store).await;
    write(&file(&place), "PRAGMA user_version = 99").await;
    let refused = loop {
        heard(&*store).await;
        // The first hint was about the run that began.
        if let Err(error) = claim(&*store).await {
            break error;
        }
    };
    assert_eq!(refused.kind, StoreErrorKind::TooNew, "{refused}");
    assert!(refused.message.contains("Update drawloom"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_was_deleted_or_replaced_is_not_written_to() {
    let place = Place::file();
    let store = place.workflows().await;
    begin(&*store, "a").await.unwrap();
    std::fs::remove_file(file(&place)).unwrap();
    for _ in 0..2 {
        let refused = begin(&*store, "b").await.unwrap_err();
        assert_eq!(refused.kind, StoreErrorKind::Corrupt, "{refused}");
        assert!(refused.message.contains("deleted or replaced"), "{refused}");
        // Another one in its place is another one.
        drop(place.open().await);
    }
}
