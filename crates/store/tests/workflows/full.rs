//! No room left: an error that says so, and nothing lost that was kept.

use flow::engine::{RunStart, RunStatus};
use flow::{RunId, StoreErrorKind};
use serde_json::json;

use crate::place;
use crate::whole_runs::CHAIN;

/// Room for the tables themselves, and for some runs.
const BYTES_MAX: u64 = 1024 * 1024;

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_says_so_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = place::sqlite_of(folder.path(), Some(BYTES_MAX)).await;
    let hash = store.keep_workflow(CHAIN).await.unwrap();
    let mut kept = 0;
    let error = loop {
        let start = RunStart::new(format!("r{kept}"), json!({ "text": "x".repeat(4_000) }));
        match store.start(&hash, start).await {
            Ok(started) => assert!(started.is_ok()),
            Err(error) => break error,
        }
        kept += 1;
        assert!(kept < 10_000, "the limit was never met");
    };
    assert!(kept > 10);
    assert_eq!(error.kind, StoreErrorKind::NoRoom);
    assert!(
        error.message.contains("is full (bytes_max = 1048576)"),
        "{error}"
    );
    // Stored runs can be read, and the next try fails like the first.
    assert_eq!(store.runs(None, 10_000).await.unwrap().len(), kept);
    let start = RunStart::new("again", json!({ "text": "x".repeat(40_000) }));
    let again = store.start(&hash, start).await.unwrap_err();
    assert_eq!(again.kind, StoreErrorKind::NoRoom);
    drop(store);

    // With room again it goes on where it was.
    let store = place::sqlite(folder.path()).await;
    for number in 0..kept {
        let row = store.run(&RunId::new(format!("r{number}"))).await.unwrap();
        assert_eq!(row.unwrap().status, RunStatus::Running);
    }
    let half = store.run(&RunId::new(format!("r{kept}"))).await.unwrap();
    assert!(half.is_none(), "a run that was not kept is there");
    let start = RunStart::new(format!("r{kept}"), json!({}));
    store.start(&hash, start).await.unwrap().unwrap();
}
