//! From an approved plan to a branch: the files that change, and those left alone.

use builder::{FileOutcome, JobStatus, JobStore, Options, decide, run};
use serde_json::json;

use crate::scripted::{calls, says};
use crate::test_builder::{PROMPT, TestBuilder, plan, planned, runs, writes};

/// A greeting in a file of its own, listed in another.
fn greeting() -> TestBuilder {
    let edits = json!([{"old": "one", "new": "one\nhello"}]);
    let script = vec![
        planned(
            "new-resource",
            &[("src/hello.txt", "create"), ("list.txt", "modify")],
        ),
        writes("src/hello.txt", "Hello!"),
        calls(&[("modify_file", json!({"path": "list.txt", "edits": edits}))]),
        says("The greeting is there."),
    ];
    TestBuilder::new(&[("list.txt", "one\n")], script).checking("grep hello list.txt")
}

#[tokio::test]
async fn an_approved_plan_becomes_a_branch_and_a_patch() {
    let mut shop = greeting();
    let before = shop.picture();
    let job = shop.run(Options::default()).await;
    assert_eq!(job.status(), JobStatus::Completed, "{:?}", job.error);
    assert_eq!(shop.picture(), before);
    assert_eq!(shop.worktrees(), 0);
    let branch = job.result.branch.unwrap();
    let name = format!("builder/{}-add-a-greeting-to-the-project", job.id);
    assert_eq!(branch, name);
    assert_eq!(shop.branches(), std::slice::from_ref(&branch));
    assert_eq!(shop.at(&branch, "src/hello.txt").unwrap(), "Hello!\n");
    assert_eq!(shop.at(&branch, "list.txt").unwrap(), "one\nhello\n");
    let message = shop.git(&["log", "-1", "--format=%B", &branch]);
    let subject = "feat: add a greeting to the project\n";
    assert!(message.starts_with(subject), "{message}");
    let trailer = format!("Drawloom-Build: {}", job.id);
    assert!(message.contains(&trailer), "{message}");
    let patch = std::fs::read_to_string(job.result.patch_file.unwrap()).unwrap();
    assert!(patch.contains("+Hello!"), "{patch}");
    let notes = job.result.notes.join("\n");
    assert!(notes.contains("no remote `origin`"), "{notes}");
}

#[tokio::test]
async fn progress_is_reported_and_stored_for_every_status() {
    let mut shop = greeting();
    let job = shop.run(Options::default()).await;
    let kept = shop.jobs.progress(&job.id).await.unwrap();
    let mut statuses: Vec<JobStatus> = kept.iter().map(|one| one.status).collect();
    statuses.dedup();
    assert_eq!(
        statuses,
        [
            JobStatus::Planning,
            JobStatus::PlanReady,
            JobStatus::Generating,
            JobStatus::Validating,
            JobStatus::Publishing,
            JobStatus::Completed
        ]
    );
    assert!(kept.iter().all(|one| !one.message.is_empty()));
    let told = shop.recorder.progress.iter();
    let told: Vec<_> = told
        .filter_map(|one| Some((one.message.as_str(), one.detail.as_deref()?)))
        .collect();
    for expected in [
        ("Creating", "src/hello.txt"),
        ("Modifying", "list.txt"),
        ("Running the check `test`.", "grep hello list.txt"),
    ] {
        assert!(told.contains(&expected), "{expected:?} is not in {told:?}");
    }
    let json = serde_json::to_value(&kept[0]).unwrap();
    assert_eq!(json["event"], "builder.progress");
    assert_eq!(json["jobId"], job.id.as_str());
}

#[tokio::test]
async fn the_result_lists_the_changes_and_the_cost() {
    let mut shop = greeting();
    let result = shop.run(Options::default()).await.result;
    let files = result.files.iter();
    let files: Vec<_> = files
        .map(|file| (file.path.as_str(), file.action))
        .collect();
    assert_eq!(
        files,
        [
            ("list.txt", FileOutcome::Modified),
            ("src/hello.txt", FileOutcome::Created)
        ]
    );
    assert!(
        result.diffs[0].diff.contains("+hello"),
        "{:?}",
        result.diffs
    );
    let coverage = result.plan_coverage.unwrap();
    assert!(coverage.missing.is_empty(), "{coverage:?}");
    assert_eq!(result.validation_passed, Some(true));
    assert_eq!(result.token_usage.input, 400, "planning is counted");
    let phases: Vec<_> = result.cost.phases.keys().collect();
    assert_eq!(phases, ["generate", "plan"]);
}

#[tokio::test]
async fn the_result_is_the_seeds_json() {
    let script = vec![
        planned("new-resource", &[("a.txt", "create")]),
        writes("a.txt", "a"),
        says("Done."),
    ];
    let mut shop = TestBuilder::new(&[], script).checking("true");
    let job = shop.run(Options::default()).await;
    let json = serde_json::to_value(&job.result).unwrap();
    for key in [
        "files",
        "diffs",
        "planCoverage",
        "impactedFiles",
        "validation",
        "validationPassed",
        "validationErrors",
        "tokenUsage",
        "cost",
        "branch",
        "commit",
        "patchFile",
        "repairAttempts",
    ] {
        assert!(json.get(key).is_some(), "{key} is not in {json:#}");
    }
    let usage = json!({"input": 300, "output": 30, "cacheRead": 0, "cacheWrite": 0});
    assert_eq!(json["tokenUsage"], usage);
    assert_eq!(
        json["planCoverage"],
        json!({"planned": ["a.txt"], "generated": ["a.txt"], "missing": []})
    );
    assert_eq!(json["files"][0]["action"], "created");
}

#[tokio::test]
async fn a_file_outside_the_plan_is_refused_and_the_model_is_told() {
    let script = vec![
        planned("new-resource", &[("a.txt", "create")]),
        calls(&[
            ("write_file", json!({"path": "b.txt", "content": "b"})),
            ("write_file", json!({"path": "list.txt", "content": "gone"})),
            ("write_file", json!({"path": "./a.txt", "content": "a"})),
            (
                "write_file",
                json!({"path": "../escape.txt", "content": "x"}),
            ),
            ("read_file", json!({"path": ".env"})),
        ]),
        says("Done."),
    ];
    let mut shop = TestBuilder::new(&[("list.txt", "one\n"), (".env", "KEY=1\n")], script);
    let job = shop.run(Options::default()).await;
    assert_eq!(job.status(), JobStatus::Completed, "{:?}", job.error);
    let sent = shop.server.sent(2).join("\n");
    assert!(
        sent.contains("the approved plan does not name it"),
        "{sent}"
    );
    assert!(sent.contains("may not be read"), "{sent}");
    let branch = job.result.branch.unwrap();
    assert_eq!(shop.at(&branch, "b.txt"), None);
    assert_eq!(shop.at(&branch, "list.txt").unwrap(), "one\n");
    assert_eq!(shop.at(&branch, "a.txt").unwrap(), "a\n");
    assert!(!shop.beside("escape.txt").exists());
}

#[tokio::test]
async fn changes_of_commands_outside_the_plan_are_reverted() {
    let script = vec![
        planned("refactor", &[("a.txt", "modify")]),
        runs("echo two > a.txt; echo no > list.txt; rm b.txt; echo stray > stray.txt"),
        says("Done."),
    ];
    let files = [("a.txt", "one\n"), ("list.txt", "yes\n"), ("b.txt", "b\n")];
    let mut shop = TestBuilder::new(&files, script)
        .checking("grep yes list.txt && test -f b.txt && test ! -e stray.txt");
    let job = shop.run(Options::default()).await;
    assert_eq!(
        job.status(),
        JobStatus::Completed,
        "{:?} {:?}",
        job.error,
        job.result
    );
    let changed = shop.git(&["diff", "--name-only", "main", &job.result.branch.unwrap()]);
    assert_eq!(changed, "a.txt\n");
    let notes = job.result.notes.join("\n");
    for path in ["`list.txt`", "`b.txt`", "`stray.txt`"] {
        assert!(notes.contains(path), "{path}: {notes}");
    }
}

#[tokio::test]
async fn files_are_moved_and_deleted_as_planned() {
    let script = vec![
        planned(
            "refactor",
            &[("new.txt", "rename old.txt"), ("gone.txt", "delete")],
        ),
        calls(&[(
            "apply_diff",
            json!({"diff": "*** Begin Patch\n*** Update File: old.txt\n*** Move to: new.txt\n@@\n one\n-two\n+2\n three\n*** Delete File: gone.txt\n*** End Patch\n"}),
        )]),
        says("Done."),
    ];
    let files = [
        ("old.txt", "one\ntwo\nthree\nfour\nfive\n"),
        ("gone.txt", "x\n"),
    ];
    let mut shop = TestBuilder::new(&files, script);
    let job = shop.run(Options::default()).await;
    assert_eq!(job.status(), JobStatus::Completed, "{:?}", job.error);
    let branch = job.result.branch.clone().unwrap();
    assert_eq!(shop.at(&branch, "old.txt"), None);
    assert_eq!(shop.at(&branch, "gone.txt"), None);
    assert_eq!(
        shop.at(&branch, "new.txt").unwrap(),
        "one\n2\nthree\nfour\nfive\n"
    );
    let renamed = job
        .result
        .files
        .iter()
        .find(|file| file.action == FileOutcome::Renamed)
        .unwrap();
    assert_eq!(renamed.from.as_ref().unwrap().as_str(), "old.txt");
    assert_eq!((renamed.lines_added, renamed.lines_removed), (1, 1));
}

#[tokio::test]
async fn planned_files_that_are_missing_go_back_to_the_model() {
    let script = vec![
        planned("new-resource", &[("a.txt", "create"), ("b.txt", "create")]),
        writes("a.txt", "a"),
        says("Done."),
        writes("b.txt", "b"),
        says("Now it is."),
    ];
    let mut shop = TestBuilder::new(&[], script);
    let job = shop.run(Options::default()).await;
    assert_eq!(job.status(), JobStatus::Completed, "{:?}", job.error);
    assert!(
        shop.told(3)
            .contains("b.txt: the plan creates it, but it does not exist"),
        "{}",
        shop.told(3)
    );
    assert_eq!(job.result.repair_attempts, 1);
    assert!(job.result.plan_coverage.unwrap().missing.is_empty());
}

#[tokio::test]
async fn a_model_that_changes_nothing_fails_the_job() {
    let script = vec![
        planned("new-resource", &[("a.txt", "create")]),
        says("Done."),
    ];
    let mut shop = TestBuilder::new(&[], script);
    let job = shop.run(Options::default()).await;
    assert_eq!(job.status(), JobStatus::Failed);
    let error = job.error.unwrap();
    assert_eq!(error.code, builder::FailureCode::NothingGenerated);
    let told = shop.told(2);
    assert!(
        told.contains("none of the files of the plan was changed"),
        "{told}"
    );
    assert_eq!(error.step, JobStatus::Validating);
    assert_eq!(shop.worktrees(), 0);
    assert!(shop.branches().is_empty());
}

#[tokio::test]
async fn a_dry_run_leaves_everything_byte_for_byte_and_shows_it_all() {
    let script = vec![
        planned("new-resource", &[("a.txt", "create")]),
        writes("a.txt", "a"),
        says("Done."),
    ];
    let mut shop = TestBuilder::new(&[("list.txt", "one\n")], script).checking("test -f a.txt");
    let before = shop.picture();
    let refs = shop.git(&["for-each-ref"]);
    let objects = shop.git(&["count-objects", "-v"]);
    let options = Options {
        dry_run: true,
        ..Options::default()
    };
    let job = shop.run(options).await;
    assert_eq!(job.status(), JobStatus::Completed, "{:?}", job.error);
    assert_eq!(shop.picture(), before);
    assert_eq!(shop.git(&["for-each-ref"]), refs);
    assert_eq!(shop.git(&["count-objects", "-v"]), objects);
    assert_eq!(shop.worktrees(), 0);
    assert!(!shop.beside("patches").exists());
    assert!(
        job.result.diffs[0].diff.contains("+a"),
        "{:?}",
        job.result.diffs
    );
    assert_eq!(job.result.plan_coverage.unwrap().generated.len(), 1);
    assert_eq!(job.result.validation_passed, Some(true));
    assert_eq!((job.result.branch, job.result.commit), (None, None));
}

#[tokio::test]
async fn a_dirty_checkout_is_neither_seen_nor_touched() {
    let script = vec![
        planned("refactor", &[("a.txt", "modify")]),
        calls(&[(
            "modify_file",
            json!({"path": "a.txt", "edits": [{"old": "committed", "new": "built"}]}),
        )]),
        says("Done."),
    ];
    let mut shop = TestBuilder::new(&[("a.txt", "committed\n"), ("b.txt", "b\n")], script);
    shop.write("a.txt", "being edited\n");
    shop.write("staged.txt", "staged\n");
    shop.git(&["add", "staged.txt"]);
    shop.write("untracked.txt", "untracked\n");
    std::fs::remove_file(shop.path("b.txt")).unwrap();
    let before = shop.picture();
    let job = shop.run(Options::default()).await;
    assert_eq!(job.status(), JobStatus::Completed, "{:?}", job.error);
    assert_eq!(shop.picture(), before);
    let branch = job.result.branch.unwrap();
    assert_eq!(shop.at(&branch, "a.txt").unwrap(), "built\n");
    assert_eq!(shop.at(&branch, "staged.txt"), None);
    assert_eq!(shop.at(&branch, "b.txt").unwrap(), "b\n");
}

#[tokio::test]
async fn of_two_approvals_at_once_one_gets_a_conflict() {
    let script = vec![planned("new-resource", &[("a.txt", "create")])];
    let mut shop = TestBuilder::new(&[], script);
    let job = shop.plan(Options::default()).await;
    let bench = shop.bench();
    let (first, second) = tokio::join!(
        decide::approve(&bench, &job.id),
        decide::approve(&bench, &job.id)
    );
    let (won, lost) = if first.is_ok() {
        (first, second)
    } else {
        (second, first)
    };
    assert_eq!(won.unwrap().status(), JobStatus::Generating);
    assert_eq!(lost.unwrap_err().kind(), builder::BuildErrorKind::Conflict);
    let error = decide::reject(&bench, &job.id).await.unwrap_err();
    assert_eq!(error.kind(), builder::BuildErrorKind::Conflict);
}

#[tokio::test]
async fn a_rejected_plan_is_the_end() {
    let script = vec![planned("new-resource", &[("a.txt", "create")])];
    let mut shop = TestBuilder::new(&[], script);
    let job = shop.plan(Options::default()).await;
    let bench = shop.bench();
    let rejected = decide::reject(&bench, &job.id).await.unwrap();
    assert_eq!(rejected.status(), JobStatus::Rejected);
    assert_eq!(
        decide::approve(&bench, &job.id).await.unwrap_err().kind(),
        builder::BuildErrorKind::Conflict
    );
    let same = run::resume(&bench, &job.id, &mut agent::NoAgentObserver)
        .await
        .unwrap();
    assert_eq!(same.status(), JobStatus::Rejected);
    assert_eq!(shop.worktrees(), 0);
}

#[tokio::test]
async fn two_processes_do_not_work_on_one_job() {
    let shop = TestBuilder::new(&[], vec![planned("new-resource", &[("a.txt", "create")])]);
    let id = shop.new_job(PROMPT, Options::default()).await;
    let bench = shop.bench();
    let hold = builder::JobStore::hold(&shop.jobs, &id).await.unwrap();
    let error = run::plan(&bench, &id, &mut agent::NoAgentObserver)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), builder::BuildErrorKind::Held);
    drop(hold);
    let job = run::plan(&bench, &id, &mut agent::NoAgentObserver)
        .await
        .unwrap();
    assert_eq!(job.status(), JobStatus::PlanReady);
}

#[tokio::test]
async fn an_edited_plan_is_checked_and_is_the_permission() {
    let script = vec![
        planned("new-resource", &[("a.txt", "create"), ("b.txt", "create")]),
        calls(&[
            ("write_file", json!({"path": "a.txt", "content": "a"})),
            ("write_file", json!({"path": "b.txt", "content": "b"})),
        ]),
        says("Done."),
    ];
    let mut shop = TestBuilder::new(&[], script);
    let job = shop.plan(Options::default()).await;
    let read = |files: &[(&str, &str)]| {
        builder::plan::read(&plan("new-resource", files).to_string()).unwrap()
    };
    let bad = decide::edit(&shop.bench(), &job.id, read(&[(".env", "create")])).await;
    let error = bad.unwrap_err();
    assert_eq!(error.kind(), builder::BuildErrorKind::Plan);
    assert!(error.to_string().contains(".env"), "{error}");
    let edited = decide::edit(&shop.bench(), &job.id, read(&[("a.txt", "create")]))
        .await
        .unwrap();
    assert_eq!(edited.status(), JobStatus::PlanReady);
    assert_eq!(shop.worktrees(), 0);
    let job = shop.build(&job.id).await;
    assert_eq!(job.status(), JobStatus::Completed, "{:?}", job.error);
    assert_eq!(shop.at(&job.result.branch.unwrap(), "b.txt"), None);
}
