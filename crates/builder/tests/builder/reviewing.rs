//! A person looks at the work before anything is pushed: accepts, turns down, comments.

use builder::review::{BuildReview, HunkDecision, HunkRemark, hunks};
use builder::{BuildErrorKind, BuildJob, JobId, JobStatus, Options, decide};
use workspace::RelPath;

use crate::scripted::says;
use crate::test_builder::{TestBuilder, planned, writes};

const OLD: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n";

/// A build whose work has two hunks and waits for a review.
async fn waiting(more: Vec<crate::scripted::ServerAct>) -> (TestBuilder, BuildJob) {
    let mut script = vec![
        planned("refactor", &[("a.txt", "modify")]),
        writes("a.txt", &OLD.replace("one", "ONE").replace("ten", "TEN")),
        says("Both ends are louder."),
    ];
    script.extend(more);
    let mut shop = TestBuilder::new(&[("a.txt", OLD)], script).checking("! grep bad a.txt");
    let options = Options {
        review: true,
        ..Options::default()
    };
    let job = shop.run(options).await;
    assert_eq!(job.status(), JobStatus::ReviewReady, "{:?}", job.error);
    (shop, job)
}

async fn decided(shop: &mut TestBuilder, id: &JobId, review: BuildReview) -> BuildJob {
    decide::review(&shop.bench(), id, review).await.unwrap();
    shop.go_on(id).await
}

fn remark(number: usize, decision: HunkDecision) -> HunkRemark {
    HunkRemark {
        path: RelPath::parse("a.txt").unwrap(),
        number: Some(number),
        decision,
    }
}

fn about(remarks: Vec<HunkRemark>) -> BuildReview {
    BuildReview {
        remarks,
        comment: None,
    }
}

#[tokio::test]
async fn work_that_is_accepted_is_published_as_it_was_shown() {
    let (mut shop, job) = waiting(Vec::new()).await;
    assert_eq!(hunks(&job.result.diffs).len(), 2);
    assert_eq!(shop.branches(), [""; 0], "nothing leaves before the review");
    assert_eq!(shop.worktrees(), 0);
    assert!(std::path::Path::new(&job.result.patch_file.clone().unwrap()).exists());
    let job = decided(&mut shop, &job.id, BuildReview::default()).await;
    assert_eq!(job.status(), JobStatus::Completed, "{:?}", job.error);
    let text = shop.at(&job.result.branch.unwrap(), "a.txt").unwrap();
    assert!(
        text.starts_with("ONE\n") && text.ends_with("TEN\n"),
        "{text}"
    );
    assert_eq!(shop.server.asked(), 3);
}

#[tokio::test]
async fn a_hunk_that_is_turned_down_is_taken_out_and_the_rest_is_shown_again() {
    let (mut shop, job) = waiting(Vec::new()).await;
    let review = about(vec![
        remark(1, HunkDecision::Reject),
        remark(2, HunkDecision::Accept),
    ]);
    let job = decided(&mut shop, &job.id, review).await;
    assert_eq!(job.status(), JobStatus::ReviewReady, "{:?}", job.error);
    assert_eq!(hunks(&job.result.diffs).len(), 1);
    assert_eq!(shop.server.asked(), 3, "no model is needed for that");
    let job = decided(&mut shop, &job.id, BuildReview::default()).await;
    assert_eq!(job.status(), JobStatus::Completed, "{:?}", job.error);
    let text = shop.at(&job.result.branch.unwrap(), "a.txt").unwrap();
    assert!(
        text.starts_with("one\n") && text.ends_with("TEN\n"),
        "{text}"
    );
}

#[tokio::test]
async fn a_comment_goes_back_to_the_model_and_the_work_waits_again() {
    let more = vec![
        writes("a.txt", &OLD.replace("one", "Uno")),
        says("As you wish."),
    ];
    let (mut shop, job) = waiting(more).await;
    let text = "say it in Spanish, with one capital".to_owned();
    let review = about(vec![remark(1, HunkDecision::Comment { text })]);
    let job = decided(&mut shop, &job.id, review).await;
    assert_eq!(job.status(), JobStatus::ReviewReady, "{:?}", job.error);
    let told = shop.told(3);
    for piece in ["say it in Spanish", "+ONE", "`a.txt`"] {
        assert!(told.contains(piece), "{piece} is not in {told}");
    }
    assert!(job.result.cost.phases.contains_key("review-1"));
    assert_eq!(
        job.result.repair_attempts, 0,
        "a comment is no repair of a check"
    );
    let job = decided(&mut shop, &job.id, BuildReview::default()).await;
    let text = shop.at(&job.result.branch.unwrap(), "a.txt").unwrap();
    assert!(text.starts_with("Uno\n"), "{text}");
}

#[tokio::test]
async fn a_failure_after_a_comment_is_repaired_as_always() {
    let more = vec![
        writes("a.txt", "bad"),
        says("So?"),
        writes("a.txt", "good"),
        says("Mended."),
    ];
    let (mut shop, job) = waiting(more).await;
    let review = BuildReview {
        comment: Some("make it shorter".to_owned()),
        ..BuildReview::default()
    };
    let job = decided(&mut shop, &job.id, review).await;
    assert_eq!(job.status(), JobStatus::ReviewReady, "{:?}", job.error);
    assert_eq!(job.result.repair_attempts, 1);
    assert!(shop.told(3).contains("make it shorter"));
}

#[tokio::test]
async fn an_invalid_review_is_refused_and_the_work_can_be_dropped() {
    let (shop, job) = waiting(Vec::new()).await;
    let bench = shop.bench();
    for wrong in [
        about(vec![remark(3, HunkDecision::Reject)]),
        about(vec![remark(
            1,
            HunkDecision::Comment {
                text: " ".to_owned(),
            },
        )]),
    ] {
        let error = decide::review(&bench, &job.id, wrong).await.unwrap_err();
        assert_eq!(error.kind(), BuildErrorKind::Invalid, "{error}");
    }
    let job = decide::reject(&bench, &job.id).await.unwrap();
    assert_eq!(job.status(), JobStatus::Rejected);
    let late = decide::review(&bench, &job.id, BuildReview::default()).await;
    assert_eq!(late.unwrap_err().kind(), BuildErrorKind::Conflict);
    assert_eq!(shop.branches(), [""; 0]);
}
