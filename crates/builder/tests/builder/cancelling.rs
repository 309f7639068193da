//! A job can be cancelled at every step; what was written is kept as a patch.

use std::sync::Arc;
use std::time::Duration;

use builder::{JobId, Jobs, Kind, Options, Status, decide, run};
use tokio::sync::Notify;

use crate::scripted::says;
use crate::shop::{PROMPT, Recorder, Shop, planned, runs, writes};

fn shop() -> Shop {
    let script = vec![
        planned("refactor", &[("a.txt", "modify")]),
        writes("a.txt", "bad"),
        runs("sleep 20"),
        says("Done."),
        writes("a.txt", "good"),
        says("Mended."),
    ];
    Shop::new(&[("a.txt", "start\n")], script).checking("grep bad a.txt && sleep 20; true")
}

async fn ready(shop: &mut Shop) -> JobId {
    let id = shop.new_job(PROMPT, Options::default()).await;
    shop.go_on(&id).await;
    id
}

/// Cancels the job from elsewhere once something is said; the one who works on it stops soon.
async fn cancel_at(shop: &mut Shop, id: &JobId, at: (Status, &'static str)) {
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
    assert_eq!(cancelled.unwrap().status(), Status::Cancelled);
    let job = ended.unwrap();
    assert_eq!(job.status(), Status::Cancelled, "{at:?}: {:?}", job.error);
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
    assert_eq!(job.status(), Status::Cancelled);
    let same = run::plan(&shop.bench(), &id, &mut agent::Nobody)
        .await
        .unwrap();
    assert_eq!((same.status(), shop.server.asked()), (Status::Cancelled, 0));
}

#[tokio::test]
async fn a_job_is_cancelled_while_it_is_planned() {
    let mut shop = shop();
    let id = shop.new_job(PROMPT, Options::default()).await;
    cancel_at(
        &mut shop,
        &id,
        (Status::Planning, "The project is being looked at"),
    )
    .await;
}

#[tokio::test]
async fn a_plan_that_waits_is_cancelled() {
    let mut shop = shop();
    let id = ready(&mut shop).await;
    let job = decide::cancel(&shop.bench(), &id).await.unwrap();
    assert_eq!(job.status(), Status::Cancelled);
    let error = decide::approve(&shop.bench(), &id).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Conflict);
}

#[tokio::test]
async fn a_job_is_cancelled_in_the_middle_of_a_command_of_the_model() {
    let mut shop = shop();
    let id = ready(&mut shop).await;
    decide::approve(&shop.bench(), &id).await.unwrap();
    cancel_at(&mut shop, &id, (Status::Generating, "Modifying")).await;
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
    let mut shop =
        Shop::new(&[("a.txt", "start\n")], script).checking("grep bad a.txt && sleep 20; true");
    let id = ready(&mut shop).await;
    decide::approve(&shop.bench(), &id).await.unwrap();
    cancel_at(&mut shop, &id, (Status::Validating, "Running the check")).await;
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
    let mut shop = Shop::new(&[("a.txt", "start\n")], script).checking("! grep bad a.txt");
    let id = ready(&mut shop).await;
    decide::approve(&shop.bench(), &id).await.unwrap();
    cancel_at(&mut shop, &id, (Status::Repairing, "The model is mending")).await;
}

#[tokio::test]
async fn a_job_is_cancelled_before_it_is_published() {
    let script = vec![
        planned("refactor", &[("a.txt", "modify")]),
        writes("a.txt", "good"),
        says("Done."),
    ];
    let mut shop = Shop::new(&[("a.txt", "start\n")], script).checking("true");
    let id = ready(&mut shop).await;
    decide::approve(&shop.bench(), &id).await.unwrap();
    cancel_at(&mut shop, &id, (Status::Publishing, "The checks ended")).await;
}

#[tokio::test]
async fn a_job_nobody_works_on_is_cleaned_up_by_whoever_cancels_it() {
    let mut shop = shop();
    let id = ready(&mut shop).await;
    decide::approve(&shop.bench(), &id).await.unwrap();
    shop.die_at(&id, (Status::Generating, "Modifying")).await;
    let job = decide::cancel(&shop.bench(), &id).await.unwrap();
    assert_eq!((job.status(), shop.worktrees()), (Status::Cancelled, 0));
    assert!(job.result.patch_file.is_some());
    let error = decide::cancel(&shop.bench(), &id).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Conflict);
}
