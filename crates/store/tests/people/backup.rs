//! Backups of a file: whole while others write, refused where they would do harm.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use flow::engine::RunStart;
use serde_json::json;
use store::{DatabaseErrorKind, RunFilter, restore_file};

use crate::place::{Place, in_file};

const WORK: &str = "graph TD\n    A[Work]\n";

async fn begin(store: &dyn flow::WorkflowStore, id: &str) {
    let hash = store.keep_workflow(WORK).await.unwrap();
    let start = RunStart::new(id, json!({ "n": 1 }));
    store.start(&hash, start).await.unwrap().unwrap();
}

async fn count_in(folder: &Path) -> usize {
    let opened = in_file(folder).await;
    opened.check().await.unwrap();
    let all = RunFilter::default();
    store::RunQueries::count_runs(&opened, &all, 99_999)
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_is_whole_while_a_worker_writes_and_can_be_restored() {
    let place = Place::file();
    let Place::File(folder) = &place else {
        panic!("it is a file");
    };
    let store = place.workflows().await;
    for number in 0..20 {
        begin(&*store, &format!("early{number}")).await;
    }
    let is_over = Arc::new(AtomicBool::new(false));
    let writer = tokio::spawn({
        let (store, is_over) = (Arc::clone(&store), Arc::clone(&is_over));
        async move {
            let mut number = 0;
            while !is_over.load(Ordering::Relaxed) {
                begin(&*store, &format!("late{number}")).await;
                number += 1;
            }
            number
        }
    });
    let opened = in_file(folder.path()).await;
    let file = folder.path().join("copy.db");
    let bytes = opened.back_up(&file).await.unwrap();
    assert!(bytes > 50_000, "{bytes}");
    is_over.store(true, Ordering::Relaxed);
    let late: usize = writer.await.unwrap();
    let again = opened.back_up(&file).await.unwrap_err();
    assert_eq!(again.kind(), DatabaseErrorKind::Conflict, "{again}");
    let database = folder.path().join(".drawloom/drawloom.db");
    let refused = restore_file(&file, &database, 7).await.unwrap_err();
    assert_eq!(refused.kind(), DatabaseErrorKind::Locked, "{refused}");
    // Elsewhere, where no database exists yet.
    let other = tempfile::tempdir().unwrap();
    let there = other.path().join(".drawloom/drawloom.db");
    assert_eq!(restore_file(&file, &there, 7).await.unwrap(), None);
    let counted = count_in(other.path()).await;
    assert!((20..=20 + late).contains(&counted), "{counted}");
    // In place of one that is not in use.
    let kept = restore_file(&file, &there, 8).await.unwrap().unwrap();
    assert!(kept.ends_with("drawloom.db.before-8"), "{}", kept.display());
    assert_eq!(count_in(other.path()).await, counted);
}

#[tokio::test]
async fn a_file_that_is_no_backup_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("drawloom.db");
    let text = folder.path().join("notes.txt");
    std::fs::write(&text, "no database").unwrap();
    let error = restore_file(&text, &place, 7).await.unwrap_err();
    assert_eq!(error.kind(), DatabaseErrorKind::Corrupt, "{error}");
    let missing = folder.path().join("none.db");
    let error = restore_file(&missing, &place, 7).await.unwrap_err();
    assert_eq!(error.kind(), DatabaseErrorKind::Missing, "{error}");
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1);
}
