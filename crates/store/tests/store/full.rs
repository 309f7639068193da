//! No room left: an error that says so, and nothing lost that was kept.

use agent::TurnJournal as _;
use store::{AgentRuns as _, DatabaseErrorKind, Options, SqliteDatabase};

use crate::support::{new_run, opened, options, place, turn};

const BYTES_MAX: u64 = 512 * 1024;

#[tokio::test]
async fn a_full_disk_says_so_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let limited = Options {
        bytes_max: Some(BYTES_MAX),
        ..options()
    };
    let store = SqliteDatabase::open(&place(folder.path()), limited)
        .await
        .unwrap();
    let run = store.begin(&new_run("p.json")).await.unwrap();
    let id = run.id();
    let mut journal = run.conversation("generate").await.unwrap();
    let mut kept = 0;
    let error = loop {
        match journal.commit(&turn(kept + 1)).await {
            Ok(()) => kept += 1,
            Err(error) => break error,
        }
        assert!(kept < 10_000, "the limit was never met");
    };
    assert!(kept > 10);
    let text = error.to_string();
    assert!(text.contains("is full (bytes_max = 524288)"), "{text}");
    assert!(text.contains("Earlier data is safe"), "{text}");

    // The connection is of use after that: what is there can be read.
    assert_eq!(journal.load().await.unwrap().turns.len(), kept as usize);
    assert_eq!(
        run.keep_fact("k", &"x".repeat(600_000))
            .await
            .unwrap_err()
            .kind(),
        DatabaseErrorKind::Full
    );
    drop((run, journal));
    store.close().await.unwrap();

    // With room again it goes on where it was.
    let store = opened(folder.path()).await;
    store.check().await.unwrap();
    let run = store.resume(id).await.unwrap();
    let mut journal = run.conversation("generate").await.unwrap();
    assert_eq!(
        journal.load().await.unwrap().turns,
        (1..=kept).map(turn).collect::<Vec<_>>()
    );
    journal.commit(&turn(kept + 1)).await.unwrap();
}
