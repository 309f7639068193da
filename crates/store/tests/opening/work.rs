//! The work of agents: runs with their conversations, facts and files, builds, and keys.

use agent::TurnJournal as _;
use builder::{BuildJob, JobId, JobStatus, JobStore};
use store::{AgentRuns, ProjectKeys, RunFile, RunKind};

use crate::support::{new_run, turn};

pub(crate) async fn fill_agent(store: &dyn AgentRuns) {
    let run = store.begin(&new_run("p.json")).await.unwrap();
    let mut journal = run.conversation("generate").await.unwrap();
    for number in 1..=3 {
        journal.commit(&turn(number)).await.unwrap();
    }
    run.keep_fact("task/a", "{\"state\":\"done\"}")
        .await
        .unwrap();
}

pub(crate) async fn find_agent(store: &dyn AgentRuns) {
    let record = store
        .latest(RunKind::Plan, "p.json")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(store.spent(record.id).await.unwrap().calls, 3);
    let run = store.resume(record.id).await.unwrap();
    let mut journal = run.conversation("generate").await.unwrap();
    let turns = journal.load().await.unwrap().turns;
    assert_eq!(turns, (1..=3).map(turn).collect::<Vec<_>>());
    journal.commit(&turn(4)).await.unwrap();
}

fn files() -> [RunFile; 1] {
    [RunFile {
        path: "src/a.rs".to_owned(),
        content: Some(b"\0a".to_vec()),
        is_executable: true,
        before: None,
    }]
}

pub(crate) async fn fill_files(store: &dyn AgentRuns) {
    let run = store.begin(&new_run("f.json")).await.unwrap();
    run.file_store().keep(&files()).await.unwrap();
}

pub(crate) async fn find_files(store: &dyn AgentRuns) {
    let record = store.latest(RunKind::Plan, "f.json").await.unwrap();
    let run = store.resume(record.unwrap().id).await.unwrap();
    assert_eq!(run.file_store().all().await.unwrap(), files());
}

pub(crate) async fn fill_key(store: &dyn ProjectKeys) {
    store.keep_project_key("callback", "k1").await.unwrap();
}

pub(crate) async fn find_key(store: &dyn ProjectKeys) {
    let kept = store.keep_project_key("callback", "k2").await.unwrap();
    assert_eq!(kept, "k1");
}

fn job() -> BuildJob {
    BuildJob::new(
        JobId::new(7, 7),
        "say something better",
        builder::Options::default(),
        7,
    )
    .unwrap()
}

pub(crate) async fn fill_builds(store: &dyn JobStore) {
    store.create(&job()).await.unwrap();
}

pub(crate) async fn find_builds(store: &dyn JobStore) {
    let kept = store.get(&job().id).await.unwrap();
    assert_eq!(kept, job());
    let change = kept.change(JobStatus::Planning, 8, |_| {}).unwrap();
    store.compare_and_set(&change).await.unwrap();
}
