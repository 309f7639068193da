//! A job can be cancelled at every step; its work is saved as a patch.

use std::sync::Arc;
use std::time::Duration;

use builder::{BuildErrorKind, JobId, JobStatus, JobStore, Options, decide, run};
use tokio::sync::Notify;

use crate::scripted::says;
use crate::test_builder::{PROMPT, Recorder, TestBuilder, planned, runs, writes};

fn shop() -> TestBuilder {
    let script = vec![
        planned("refactor", &[("a.txt", "modify")]),
        writes("a.txt", "bad"),
        runs("sleep 20"),
        says("Done."),
        writes("a.txt", "good"),
        says("Mended."),
    ];
    TestBuilder::new(&[("a.txt", "start\n")], script).checking("grep bad a.txt && sleep 20; true")
}

async fn ready(shop: &mut TestBuilder) -> JobId {
    let id = shop.new_job(PROMPT, Options::default()).await;
    shop.go_on(&id).await;
    id
}

/// Cancels the job from elsewhere at a progress message; the process working on it stops soon.
async fn cancel_at(shop: &mut TestBuilder, id: &JobId, at: (JobStatus, &'static str)) {
    let bell = Arc::new(Notify::new());
    let mut recorder = Recorder {
        bell: Some((at.0, at.1, Arc::clone(&bell))),
        ..Recorder::default()
    };
    let bench = shop.bench();
    let elsewhere = async {
        bell.notified().await;
        decide::cancel(&bench, id).await
    };
    let both = async { tokio::join!(run::resume(&bench, id, &mut recorder), elsewhere) };
    let (ended, cancelled) = tokio::time::timeout(Duration::from_secs(15), both)
        .await
        .unwrap();
    assert_eq!(cancelled.unwrap().status(), JobStatus::Cancelled);
    let job = ended.unwrap();
    assert_eq!(
        job.status(),
        JobStatus::Cancelled,
        "{at:?}: {:?}",
        job.error
    );
    assert_eq!(shop.jobs.get(id).await.unwrap(), job);
    assert_eq!(shop.worktrees(), 0, "{at:?}");
    let branches: Vec<String> = job.result.branch.into_iter().collect();
    assert_eq!(shop.branches(), branches, "{at:?}");
}

#[tokio::test]
async fn a_queued_job_is_cancelled() {
    let shop = shop();
    let id = shop.new_job(PROMPT, Options::default()).await;
    let job = decide::cancel(&shop.bench(), &id).await.unwrap();
    assert_eq!(job.status(), JobStatus::Cancelled);
    let same = run::plan(&shop.bench(), &id, &mut agent::NoAgentObserver)
        .await
        .unwrap();
    assert_eq!(
        (same.status(), shop.server.asked()),
        (JobStatus::Cancelled, 0)
    );
}

#[tokio::test]
async fn a_job_is_cancelled_while_it_is_planned() {
    let mut shop = shop();
    let id = shop.new_job(PROMPT, Options::default()).await;
    cancel_at(&mut shop, &id, (JobStatus::Planning, "Reading the project")).await;
}

#[tokio::test]
async fn a_plan_that_waits_is_cancelled() {
    let mut shop = shop();
    let id = ready(&mut shop).await;
    let job = decide::cancel(&shop.bench(), &id).await.unwrap();
    assert_eq!(job.status(), JobStatus::Cancelled);
    let error = decide::approve(&shop.bench(), &id).await.unwrap_err();
    assert_eq!(error.kind(), BuildErrorKind::Conflict);
}

#[tokio::test]
async fn a_job_is_cancelled_in_the_middle_of_a_command_of_the_model() {
    let mut shop = shop();
    let id = ready(&mut shop).await;
    decide::approve(&shop.bench(), &id).await.unwrap();
    cancel_at(&mut shop, &id, (JobStatus::Generating, "Modifying")).await;
    let job = shop.jobs.get(&id).await.unwrap();
    let patch = std::fs::read_to_string(job.result.patch_file.unwrap()).unwrap();
    assert!(patch.contains("+bad"), "{patch}");
}

#[tokio::test]
async fn a_job_is_cancelled_in_the_middle_of_a_check() {
    let script = vec![
        planned("refactor", &[("a.txt", "modify")]),
        writes("a.txt", "bad"),
        says("Done."),
    ];
    let mut shop = TestBuilder::new(&[("a.txt", "start\n")], script)
        .checking("grep bad a.txt && sleep 20; true");
    let id = ready(&mut shop).await;
    decide::approve(&shop.bench(), &id).await.unwrap();
    cancel_at(&mut shop, &id, (JobStatus::Validating, "Running the check")).await;
    let job = shop.jobs.get(&id).await.unwrap();
    assert!(job.result.patch_file.is_some(), "{:?}", job.result);
}

#[tokio::test]
async fn a_job_is_cancelled_while_it_is_repaired() {
    let script = vec![
        planned("refactor", &[("a.txt", "modify")]),
        writes("a.txt", "bad"),
        says("Done."),
        runs("sleep 20"),
        says("Mended."),
    ];
    let mut shop = TestBuilder::new(&[("a.txt", "start\n")], script).checking("! grep bad a.txt");
    let id = ready(&mut shop).await;
    decide::approve(&shop.bench(), &id).await.unwrap();
    cancel_at(
        &mut shop,
        &id,
        (JobStatus::Repairing, "The model is fixing"),
    )
    .await;
}

#[tokio::test]
async fn a_job_is_cancelled_before_it_is_published() {
    let script = vec![
        planned("refactor", &[("a.txt", "modify")]),
        writes("a.txt", "good"),
        says("Done."),
    ];
    let mut shop = TestBuilder::new(&[("a.txt", "start\n")], script).checking("true");
    let id = ready(&mut shop).await;
    decide::approve(&shop.bench(), &id).await.unwrap();
    cancel_at(&mut shop, &id, (JobStatus::Publishing, "The checks ended")).await;
}

#[tokio::test]
async fn cancelling_an_idle_job_cleans_it_up() {
    let mut shop = shop();
    let id = ready(&mut shop).await;
    decide::approve(&shop.bench(), &id).await.unwrap();
    shop.die_at(&id, (JobStatus::Generating, "Modifying")).await;
    let job = decide::cancel(&shop.bench(), &id).await.unwrap();
    assert_eq!((job.status(), shop.worktrees()), (JobStatus::Cancelled, 0));
    assert!(job.result.patch_file.is_some());
    let error = decide::cancel(&shop.bench(), &id).await.unwrap_err();
    assert_eq!(error.kind(), BuildErrorKind::Conflict);
}
