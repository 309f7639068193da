//! A machine that dies at any step: another one, with the store and a clone, goes on with the job, and
//! nothing is paid for twice.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use builder::{BuildErrorKind, JobStatus, JobStore as _, Options, PublishMode, decide, run};

use crate::mortal::Death;
use crate::scripted::{ServerAct, says};
use crate::test_builder::{PROMPT, Recorder, TestBuilder, planned, runs, writes};

const CHECK: &str = "! grep bad a.txt";

fn local() -> Options {
    Options {
        publish: PublishMode::Local,
        ..Options::default()
    }
}

/// Every file is written twice: of an interrupted call it is unknown whether it was made, and the model is
/// only told so. The command's file is in no call of a tool.
fn script() -> Vec<ServerAct> {
    vec![
        planned("refactor", &[("a.txt", "modify"), ("b.txt", "create")]),
        writes("a.txt", "bad"),
        writes("a.txt", "bad"),
        runs("printf made >b.txt"),
        runs("printf made >b.txt"),
        says("Done."),
        writes("a.txt", "good"),
        writes("a.txt", "good"),
        says("Mended."),
    ]
}

#[tokio::test]
async fn dying_after_any_third_write_another_machine_comes_to_the_same_end() {
    die_after(1).await;
}

#[tokio::test]
async fn dying_after_any_other_third_write_another_machine_comes_to_the_same_end() {
    die_after(2).await;
}

async fn die_after(first: i64) {
    let mut deaths = 0;
    for writes in (first..).step_by(3) {
        let mut shop = TestBuilder::new(&[("a.txt", "start\n")], script())
            .checking(CHECK)
            .shared();
        let id = shop.new_job(PROMPT, local()).await;
        let left = Arc::new(AtomicI64::new(writes));
        let mut died = false;
        for machine in ["second", "third"] {
            if shop.jobs.get(&id).await.unwrap().status() == JobStatus::PlanReady {
                decide::approve(&shop.bench(), &id).await.unwrap();
            }
            let death = Death::After(Arc::clone(&left));
            died |= shop.die(&id, death, &mut Recorder::default()).await;
            if shop.jobs.get(&id).await.unwrap().status().is_active() {
                shop.move_to(machine);
            }
        }
        let mut job = shop.go_on(&id).await;
        if job.status() == JobStatus::PlanReady {
            job = shop.build(&id).await;
        }
        let at = format!("after {writes} writes");
        assert_eq!(job.status(), JobStatus::Completed, "{at}: {:?}", job.error);
        assert_eq!(shop.server.asked(), 9, "{at}");
        assert_eq!(job.result.token_usage.input, 900, "{at}");
        let sent = (0..9).flat_map(|at| shop.server.sent(at));
        assert!(
            !sent.into_iter().any(|text| text.contains("was lost")),
            "{at}"
        );
        let branch = job.result.branch.unwrap();
        assert_eq!(shop.at(&branch, "a.txt").unwrap(), "good\n", "{at}");
        assert_eq!(shop.at(&branch, "b.txt").unwrap(), "made", "{at}");
        assert_eq!(shop.branches(), [branch], "{at}");
        assert_eq!(shop.jobs.files(&id).await.unwrap(), [], "{at}");
        if !died {
            break;
        }
        deaths += 1;
    }
    assert!(deaths > 8, "only {deaths} places to die at");
}

#[tokio::test]
async fn work_that_waits_for_a_review_is_published_by_another_machine() {
    let script = vec![
        planned("refactor", &[("a.txt", "modify")]),
        writes("a.txt", "good"),
        says("Done."),
    ];
    let mut shop = TestBuilder::new(&[("a.txt", "start\n")], script).shared();
    let options = Options {
        review: true,
        ..local()
    };
    let job = shop.run(options).await;
    assert_eq!(job.status(), JobStatus::ReviewReady, "{:?}", job.error);
    shop.move_to("second");
    let accepted = builder::review::BuildReview::default();
    decide::review(&shop.bench(), &job.id, accepted)
        .await
        .unwrap();
    let job = shop.go_on(&job.id).await;
    assert!(!job.status().is_active(), "{:?}", job.status());
    let branch = job.result.branch.expect("it is published");
    assert_eq!(shop.at(&branch, "a.txt").unwrap(), "good\n");
}

#[tokio::test]
async fn a_commit_that_was_never_pushed_is_named() {
    let script = vec![planned("refactor", &[("a.txt", "modify")])];
    let mut shop = TestBuilder::new(&[("a.txt", "start\n")], script).shared();
    shop.write("a.txt", "later\n");
    shop.git(&["commit", "--quiet", "-am", "not pushed"]);
    let job = shop.plan(local()).await;
    let commit = job.base.unwrap().commit;
    decide::approve(&shop.bench(), &job.id).await.unwrap();
    shop.move_to("second");
    let error = run::build(&shop.bench(), &job.id, &mut agent::NoAgentObserver)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), BuildErrorKind::Setup);
    let text = error.to_string();
    assert!(text.contains(&commit) && text.contains("Push it"), "{text}");
    assert_eq!(
        shop.jobs.get(&job.id).await.unwrap().status(),
        JobStatus::Generating,
        "it can go on once the commit is there"
    );
}

#[tokio::test]
async fn work_of_a_machine_that_died_is_kept_when_another_cancels_it() {
    let mut shop = TestBuilder::new(&[("a.txt", "start\n")], script())
        .checking(CHECK)
        .shared();
    let id = shop.new_job(PROMPT, local()).await;
    shop.go_on(&id).await;
    decide::approve(&shop.bench(), &id).await.unwrap();
    let at = (JobStatus::Validating, "The files are written");
    shop.die_at(&id, at).await;
    shop.move_to("second");
    let job = decide::cancel(&shop.bench(), &id).await.unwrap();
    assert_eq!(job.status(), JobStatus::Cancelled);
    let patch = job.result.patch_file.expect("the work is kept");
    let patch = std::fs::read_to_string(shop.beside(&patch)).unwrap();
    assert!(patch.contains("+bad"), "{patch}");
    assert_eq!(shop.jobs.files(&id).await.unwrap(), []);
}
