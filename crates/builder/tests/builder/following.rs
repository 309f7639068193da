//! More is asked for after the end of a build: in the same branch and the same conversation.

use builder::validation::{BuildJudgement, CheckVerdict};
use builder::{BuildErrorKind, BuildJob, JobId, JobStatus, Options, decide, run};

use crate::scripted::says;
use crate::test_builder::{Recorder, TestBuilder, planned, writes};

const MORE: &str = "also say it in the second file";

async fn followed(shop: &mut TestBuilder, id: &JobId) -> BuildJob {
    decide::follow_up(&shop.bench(), id, MORE).await.unwrap();
    let planned = {
        let mut recorder = Recorder::default();
        run::plan(&shop.bench(), id, &mut recorder).await.unwrap()
    };
    assert_eq!(
        planned.status(),
        JobStatus::PlanReady,
        "{:?}",
        planned.error
    );
    shop.build(id).await
}

#[tokio::test]
async fn a_follow_up_goes_on_in_the_branch_and_the_conversation() {
    let script = vec![
        planned("new-resource", &[("a.txt", "create")]),
        writes("a.txt", "first"),
        says("Done."),
        planned("refactor", &[("a.txt", "modify"), ("b.txt", "create")]),
        writes("a.txt", "first, again"),
        writes("b.txt", "second"),
        says("Both now."),
    ];
    let mut shop = TestBuilder::new(&[], script).checking("true");
    let job = shop.run(Options::default()).await;
    let (branch, first) = (job.result.branch.unwrap(), job.result.commit.unwrap());
    let job = followed(&mut shop, &job.id).await;
    assert_eq!(job.status(), JobStatus::Completed, "{:?}", job.error);
    assert_eq!(job.result.branch.as_deref(), Some(branch.as_str()));
    assert_eq!(shop.branches(), std::slice::from_ref(&branch));
    let parent = shop.git(&["rev-parse", &format!("{branch}^")]);
    assert_eq!(parent.trim(), first);
    assert_eq!(shop.at(&branch, "b.txt").unwrap(), "second\n");
    // The planner saw its first plan, the builder what it did.
    let asked = shop.server.sent(3).join("\n");
    assert!(asked.contains(MORE) && asked.contains("Greets."), "{asked}");
    let asked = shop.server.sent(4).join("\n");
    assert!(asked.contains(MORE) && asked.contains("Done."), "{asked}");
    assert_eq!(job.result.closing_words.as_deref(), Some("Both now."));
    let patch = std::fs::read_to_string(job.result.patch_file.unwrap()).unwrap();
    assert!(
        patch.contains("a.txt") && patch.contains("b.txt"),
        "{patch}"
    );
    assert_eq!(shop.worktrees(), 0);
}

/// A failure that the draft left still fails: the comparison is with the commit before the build.
#[tokio::test]
async fn a_follow_up_on_a_draft_has_to_repair_the_drafts_failures() {
    let check = "if grep -n bad a.txt; then echo 'a.txt:1:1: bad word'; exit 1; fi";
    let script = |second: &str| {
        vec![
            planned("refactor", &[("a.txt", "modify")]),
            writes("a.txt", "bad"),
            says("Done."),
            planned("refactor", &[("a.txt", "modify")]),
            writes("a.txt", second),
            says("Mended."),
        ]
    };
    for (second, status, verdict) in [
        ("good", JobStatus::Completed, CheckVerdict::Passed),
        ("bad still", JobStatus::CompletedDraft, CheckVerdict::Failed),
    ] {
        let mut shop = TestBuilder::new(&[("a.txt", "start\n")], script(second)).checking(check);
        shop.settings.repairs_max = 0;
        let job = shop.run(Options::default()).await;
        assert_eq!(job.status(), JobStatus::CompletedDraft, "{:?}", job.error);
        let branch = job.result.branch.clone().unwrap();
        let job = followed(&mut shop, &job.id).await;
        assert_eq!(
            job.status(),
            status,
            "{:?} {:#?}",
            job.error,
            job.result.validation
        );
        assert_eq!(job.result.validation[0].verdict, verdict);
        assert_eq!(
            job.result.branch,
            Some(branch),
            "the pull request stays the same"
        );
        assert_ne!(job.result.judgement, Some(BuildJudgement::NotJudged));
    }
}

#[tokio::test]
async fn a_branch_that_the_user_has_checked_out_is_left_alone() {
    let script = vec![
        planned("new-resource", &[("a.txt", "create")]),
        writes("a.txt", "first"),
        says("Done."),
        planned("refactor", &[("a.txt", "modify")]),
        writes("a.txt", "second"),
        says("Done."),
    ];
    let mut shop = TestBuilder::new(&[("x", "x\n")], script).checking("true");
    let job = shop.run(Options::default()).await;
    let branch = job.result.branch.clone().unwrap();
    shop.git(&["checkout", "--quiet", &branch]);
    let job = followed(&mut shop, &job.id).await;
    assert_eq!(job.status(), JobStatus::Completed, "{:?}", job.error);
    assert_ne!(job.result.branch, Some(branch.clone()));
    assert_eq!(shop.at(&branch, "a.txt").unwrap(), "first\n");
    assert_eq!(shop.git(&["status", "--porcelain"]), "");
}

#[tokio::test]
async fn only_a_build_with_a_branch_is_gone_on_with() {
    let script = vec![planned("new-resource", &[("a.txt", "create")])];
    let mut shop = TestBuilder::new(&[], script);
    let job = shop.plan(Options::default()).await;
    let error = decide::follow_up(&shop.bench(), &job.id, MORE)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), BuildErrorKind::Conflict, "{error}");
    let error = decide::follow_up(&shop.bench(), &job.id, "more")
        .await
        .unwrap_err();
    assert_eq!(error.kind(), BuildErrorKind::Invalid, "{error}");
}

#[tokio::test]
async fn the_planner_may_read_files_within_its_turns() {
    let reads = || crate::scripted::calls(&[("read_file", serde_json::json!({"path": "a.txt"}))]);
    let looks = || crate::scripted::calls(&[("list_files", serde_json::json!({}))]);
    let plan = || planned("refactor", &[("a.txt", "modify")]);
    let mut shop = TestBuilder::new(&[("a.txt", "what it says\n")], vec![reads(), plan()]);
    let job = shop.plan(Options::default()).await;
    assert_eq!(job.status(), JobStatus::PlanReady, "{:?}", job.error);
    assert!(shop.told(1).contains("what it says"), "{}", shop.told(1));
    assert_eq!(job.result.cost.calls, 2);

    let mut shop = TestBuilder::new(&[("a.txt", "x\n")], vec![reads(), looks(), plan()]);
    shop.settings.plan_turns_max = 2;
    let job = shop.plan(Options::default()).await;
    assert_eq!(job.status(), JobStatus::PlanReady, "{:?}", job.error);
    assert!(
        shop.told(2).contains("no more turns for reading"),
        "{}",
        shop.told(2)
    );

    let writes = crate::scripted::calls(&[(
        "write_file",
        serde_json::json!({"path": "a.txt", "content": "y"}),
    )]);
    let mut shop = TestBuilder::new(&[("a.txt", "x\n")], vec![writes, plan()]);
    let job = shop.plan(Options::default()).await;
    assert_eq!(job.status(), JobStatus::PlanReady, "{:?}", job.error);
    let told = shop.told(1);
    assert!(told.contains("write_file"), "{told}");
}
