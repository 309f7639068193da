//! A process that dies at any step: the job is gone on with, and nothing is paid for twice.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use builder::{JobStatus, JobStore, Options, decide, run};

use crate::mortal::Death;
use crate::scripted::says;
use crate::test_builder::{PROMPT, Recorder, TestBuilder, planned, writes};

const CHECK: &str = "! grep bad a.txt";

fn shop() -> TestBuilder {
    let script = vec![
        planned("refactor", &[("a.txt", "modify")]),
        writes("a.txt", "bad"),
        says("Done."),
        writes("a.txt", "good"),
        says("Mended."),
    ];
    TestBuilder::new(&[("a.txt", "start\n")], script).checking(CHECK)
}

/// Dies at each of these places in turn, and then goes on to the end.
async fn check(places: &[(JobStatus, &'static str)]) {
    let mut shop = shop();
    let before = shop.picture();
    let id = shop.new_job(PROMPT, Options::default()).await;
    for place in places {
        if shop.jobs.get(&id).await.unwrap().status() == JobStatus::PlanReady {
            decide::approve(&shop.bench(), &id).await.unwrap();
        }
        shop.die_at(&id, *place).await;
    }
    let mut job = shop.go_on(&id).await;
    if job.status() == JobStatus::PlanReady {
        job = shop.build(&id).await;
    }
    assert_eq!(
        job.status(),
        JobStatus::Completed,
        "{places:?}: {:?}",
        job.error
    );
    assert_eq!(
        shop.server.asked(),
        5,
        "{places:?}: what was paid for is not asked again"
    );
    assert_eq!(job.result.token_usage.input, 500, "{places:?}");
    assert_eq!(job.result.repair_attempts, 1);
    let branch = job.result.branch.unwrap();
    assert_eq!(shop.at(&branch, "a.txt").unwrap(), "good\n");
    assert_eq!(shop.branches(), [branch], "{places:?}");
    assert_eq!(shop.worktrees(), 0, "{places:?}");
    assert_eq!(shop.picture(), before, "{places:?}");
}

#[tokio::test]
async fn a_job_that_was_queued_is_planned() {
    check(&[]).await;
}

#[tokio::test]
async fn planning_is_gone_on_with() {
    check(&[(JobStatus::Planning, "Reading the project")]).await;
}

#[tokio::test]
async fn a_plan_that_was_paid_for_is_not_asked_for_again() {
    // Reported after the plan is stored; the worktree of planning still exists.
    let mut shop = shop();
    let id = shop.new_job(PROMPT, Options::default()).await;
    shop.die_at(&id, (JobStatus::PlanReady, "The plan is ready"))
        .await;
    let removed = run::reconcile(&shop.bench()).await.unwrap();
    assert_eq!((removed, shop.worktrees()), (1, 0));
    let job = shop.build(&id).await;
    assert_eq!(job.status(), JobStatus::Completed);
    assert_eq!(shop.server.asked(), 5);
}

#[tokio::test]
async fn generating_is_gone_on_with_before_and_after_files_are_written() {
    let at = JobStatus::Generating;
    for place in [
        (at, "The context is gathered"),
        (at, "Modifying"),
        (at, "Running the check"),
    ] {
        check(&[(JobStatus::PlanReady, "The plan is ready"), place]).await;
    }
}

#[tokio::test]
async fn validating_is_gone_on_with() {
    let ready = (JobStatus::PlanReady, "The plan is ready");
    check(&[ready, (JobStatus::Validating, "The files are written")]).await;
    check(&[ready, (JobStatus::Validating, "Running the check")]).await;
    check(&[ready, (JobStatus::Validating, "Running the checks again")]).await;
}

#[tokio::test]
async fn repairing_is_gone_on_with() {
    let ready = (JobStatus::PlanReady, "The plan is ready");
    check(&[ready, (JobStatus::Repairing, "The checks ended")]).await;
    check(&[ready, (JobStatus::Repairing, "The model is fixing")]).await;
    check(&[ready, (JobStatus::Repairing, "Modifying")]).await;
}

#[tokio::test]
async fn publishing_is_gone_on_with() {
    let ready = (JobStatus::PlanReady, "The plan is ready");
    check(&[ready, (JobStatus::Publishing, "The checks ended")]).await;
    check(&[ready, (JobStatus::Publishing, "The work is on the branch")]).await;
}

/// Whatever was kept last before the process died, the job comes to the same end.
#[tokio::test]
async fn dying_after_any_odd_write_changes_nothing() {
    die_after(1).await;
}

#[tokio::test]
async fn dying_after_any_even_write_changes_nothing() {
    die_after(2).await;
}

async fn die_after(first: i64) {
    let mut deaths = 0;
    // Every file is written twice: it is unknown whether the interrupted call was made, and the
    // model is only told so.
    let script = || {
        vec![
            planned("refactor", &[("a.txt", "modify")]),
            writes("a.txt", "bad"),
            writes("a.txt", "bad"),
            says("Done."),
            writes("a.txt", "good"),
            writes("a.txt", "good"),
            says("Mended."),
        ]
    };
    for writes in (first..).step_by(2) {
        let mut shop = TestBuilder::new(&[("a.txt", "start\n")], script()).checking(CHECK);
        let id = shop.new_job(PROMPT, Options::default()).await;
        let left = Arc::new(AtomicI64::new(writes));
        let mut died = false;
        for _ in 0..2 {
            if shop.jobs.get(&id).await.unwrap().status() == JobStatus::PlanReady {
                decide::approve(&shop.bench(), &id).await.unwrap();
            }
            let death = Death::After(Arc::clone(&left));
            died |= shop.die(&id, death, &mut Recorder::default()).await;
        }
        let mut job = shop.go_on(&id).await;
        if job.status() == JobStatus::PlanReady {
            job = shop.build(&id).await;
        }
        let at = format!("after {writes} writes");
        assert_eq!(job.status(), JobStatus::Completed, "{at}: {:?}", job.error);
        assert_eq!(shop.server.asked(), 7, "{at}");
        assert_eq!(job.result.token_usage.input, 700, "{at}");
        assert_eq!(job.result.repair_attempts, 1, "{at}");
        let branch = job.result.branch.unwrap();
        assert_eq!(shop.at(&branch, "a.txt").unwrap(), "good\n", "{at}");
        assert_eq!(shop.branches(), [branch], "{at}");
        run::reconcile(&shop.bench()).await.unwrap();
        assert_eq!(shop.worktrees(), 0, "{at}");
        if !died {
            break;
        }
        deaths += 1;
    }
    assert!(deaths > 10, "only {deaths} places to die at");
}

#[tokio::test]
async fn a_lost_worktree_is_made_again_and_the_model_gets_a_note() {
    let script = vec![
        planned("refactor", &[("a.txt", "modify")]),
        writes("a.txt", "good"),
        says("Done."),
    ];
    let mut shop = TestBuilder::new(&[("a.txt", "start\n")], script);
    let id = shop.new_job(PROMPT, Options::default()).await;
    shop.go_on(&id).await;
    decide::approve(&shop.bench(), &id).await.unwrap();
    shop.die_at(&id, (JobStatus::Generating, "Modifying")).await;
    std::fs::remove_dir_all(shop.beside("worktrees")).unwrap();
    shop.answering(vec![writes("a.txt", "good again"), says("Done.")]);
    let job = shop.go_on(&id).await;
    assert_eq!(job.status(), JobStatus::Completed, "{:?}", job.error);
    let sent = shop.server.sent(0).join("\n");
    assert!(sent.contains("was lost and has been made again"), "{sent}");
    assert_eq!(
        shop.at(&job.result.branch.unwrap(), "a.txt").unwrap(),
        "good again\n"
    );
}

#[tokio::test]
async fn an_interruption_keeps_the_job_as_it_is() {
    let mut shop = shop();
    let id = shop.new_job(PROMPT, Options::default()).await;
    shop.go_on(&id).await;
    decide::approve(&shop.bench(), &id).await.unwrap();
    shop.cancel.cancel();
    let error = run::build(&shop.bench(), &id, &mut agent::NoAgentObserver)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), builder::BuildErrorKind::Interrupted);
    assert_eq!(
        shop.jobs.get(&id).await.unwrap().status(),
        JobStatus::Generating
    );
    shop.cancel = agent::CommandCancel::default();
    assert_eq!(shop.go_on(&id).await.status(), JobStatus::Completed);
}

#[tokio::test]
async fn worktrees_of_others_are_left_alone() {
    let shop = shop();
    let theirs = shop.beside("theirs");
    shop.git(&[
        "worktree",
        "add",
        "--quiet",
        "-b",
        "mine",
        theirs.to_str().unwrap(),
    ]);
    assert_eq!(run::reconcile(&shop.bench()).await.unwrap(), 0);
    assert!(theirs.join("a.txt").exists());
}
