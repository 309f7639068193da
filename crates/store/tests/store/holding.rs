//! One process for each run, many for each database.

use agent::TurnJournal as _;
use store::{AgentRuns as _, DatabaseErrorKind, RunKind, RunState, SqliteDatabase};

use crate::support::{new_run, opened, options, place, turn};

#[tokio::test]
async fn a_run_that_is_held_cannot_be_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let first = opened(folder.path()).await;
    let run = first.begin(&new_run("p.json")).await.unwrap();

    let second = opened(folder.path()).await;
    assert!(second.is_held(run.id()).await.unwrap());
    let error = second.resume(run.id()).await.unwrap_err();
    assert_eq!(error.kind(), DatabaseErrorKind::Locked);
    let expected = format!(
        "run 1 is being worked on by the process {}. Wait for it, or end it first.",
        std::process::id()
    );
    assert_eq!(error.to_string(), expected);

    // Another run of the same file is another run.
    let other = second.begin(&new_run("p.json")).await.unwrap();
    assert_ne!(other.id(), run.id());
    let id = run.id();
    drop(run);
    assert!(!second.is_held(id).await.unwrap());
    second.resume(id).await.unwrap();
}

#[tokio::test]
async fn locks_leave_no_files_behind() {
    let folder = tempfile::tempdir().unwrap();
    let store = opened(folder.path()).await;
    let run = store.begin(&new_run("p.json")).await.unwrap();
    let files = || {
        let entries = std::fs::read_dir(folder.path().join(".drawloom")).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    assert_eq!(
        files(),
        [
            "drawloom.db",
            "drawloom.db-run-1.lock",
            "drawloom.db-shm",
            "drawloom.db-wal"
        ]
    );
    drop(run);
    store.close().await.unwrap();
    assert_eq!(files(), ["drawloom.db"]);
}

#[tokio::test]
async fn a_run_is_found_by_its_file_and_tells_how_far_it_came() {
    let folder = tempfile::tempdir().unwrap();
    let store = opened(folder.path()).await;
    assert!(
        store
            .latest(RunKind::Plan, "p.json")
            .await
            .unwrap()
            .is_none()
    );
    let first = store.begin(&new_run("p.json")).await.unwrap();
    first.set_state(RunState::Failed).await.unwrap();
    let second = store.begin(&new_run("p.json")).await.unwrap();
    store.begin(&new_run("q.json")).await.unwrap();

    let latest = store
        .latest(RunKind::Plan, "p.json")
        .await
        .unwrap()
        .unwrap();
    assert_eq!((latest.id, latest.state), (second.id(), RunState::Running));
    assert_eq!(latest.digest, "d1");
    assert_eq!(latest.created_ms, 1_700_000_000_000);
    assert!(
        store
            .latest(RunKind::Task, "p.json")
            .await
            .unwrap()
            .is_none()
    );
    let states: Vec<RunState> = store
        .recent(10)
        .await
        .unwrap()
        .iter()
        .map(|run| run.state)
        .collect();
    assert_eq!(
        states,
        [RunState::Running, RunState::Running, RunState::Failed]
    );
    let error = store.find(store::RunNumber(99)).await.unwrap_err();
    assert_eq!(error.kind(), DatabaseErrorKind::Missing);
}

#[tokio::test]
async fn facts_are_replaced_and_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let store = opened(folder.path()).await;
    let run = store.begin(&new_run("p.json")).await.unwrap();
    run.keep_fact("task/b", "1").await.unwrap();
    run.keep_fact("task/a", "2").await.unwrap();
    run.keep_fact("task/b", "3").await.unwrap();
    let facts = run.facts().await.unwrap();
    assert_eq!(
        facts,
        [("task/a".into(), "2".into()), ("task/b".into(), "3".into())]
    );
}

/// Threads stand for processes: each has its own connection, and locks are between connections.
#[test]
fn many_can_begin_the_same_database_and_write_at_once() {
    const WRITERS: u32 = 6;
    const TURNS: u32 = 20;
    let folder = tempfile::tempdir().unwrap();
    let place = place(folder.path());
    let writers: Vec<_> = (0..WRITERS)
        .map(|_| {
            let place = place.clone();
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .unwrap();
                runtime.block_on(async {
                    let store = SqliteDatabase::open(&place, options()).await.unwrap();
                    let run = store.begin(&new_run("p.json")).await.unwrap();
                    let mut journal = run.conversation("generate").await.unwrap();
                    for number in 1..=TURNS {
                        journal.commit(&turn(number)).await.unwrap();
                    }
                    run.id()
                })
            })
        })
        .collect();
    let runs: Vec<_> = writers
        .into_iter()
        .map(|writer| writer.join().unwrap())
        .collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let store = SqliteDatabase::open(&place, options()).await.unwrap();
        store.check().await.unwrap();
        for id in runs {
            let run = store.resume(id).await.unwrap();
            let history = run
                .conversation("generate")
                .await
                .unwrap()
                .load()
                .await
                .unwrap();
            assert_eq!(history.turns.len(), TURNS as usize);
        }
    });
}
