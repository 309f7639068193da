//! The judgement of the checks about a build: passed, failed or not judged, and the grounds for it.

use builder::validation::{BuildJudgement, CheckVerdict, FixProof};
use builder::{BuildJob, DraftReason, JobStatus, Options};
use serde_json::json;

use crate::scripted::{calls, says};
use crate::test_builder::{TestBuilder, planned, writes};

/// A build that changes one file, held against these checks.
async fn built(checks: &[(&str, &str)], options: Options) -> (TestBuilder, BuildJob) {
    let script = vec![
        planned("refactor", &[("a.txt", "modify")]),
        writes("a.txt", "two"),
        says("Done."),
        says("This is not asked for."),
    ];
    let mut shop = TestBuilder::new(&[("a.txt", "one\n")], script)
        .with_checks(checks)
        .sandboxed();
    let job = shop.run(options).await;
    (shop, job)
}

/// Checks the end of a build.
#[track_caller]
fn check(job: &BuildJob, status: JobStatus, judgement: BuildJudgement, draft: Option<DraftReason>) {
    let came = (job.status(), job.result.judgement, job.result.draft);
    let (error, checks) = (&job.error, &job.result.validation);
    assert_eq!(
        came,
        (status, Some(judgement), draft),
        "{error:?} {checks:#?}"
    );
}

const CANNOT_RUN: &str = "no-such-program --check";

#[tokio::test]
async fn a_build_that_no_check_could_judge_is_a_draft_and_no_repair_is_paid_for() {
    let checks = [("typecheck", CANNOT_RUN), ("test", "no-such-runner")];
    let (shop, job) = built(&checks, Options::default()).await;
    check(
        &job,
        JobStatus::CompletedDraft,
        BuildJudgement::NotJudged,
        Some(DraftReason::NotJudged),
    );
    assert_eq!(shop.server.asked(), 3);
    assert_eq!(job.result.validation_passed, None);
    for report in &job.result.validation {
        assert_eq!(report.verdict, CheckVerdict::NotJudged);
        let because = report.because.as_deref().unwrap();
        assert!(because.contains("not found"), "{because}");
    }
    let notes: Vec<_> = job
        .result
        .notes
        .iter()
        .filter(|note| note.contains("Not judged"))
        .collect();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("`typecheck`, `test`"), "{notes:?}");
    assert!(job.result.branch.unwrap().starts_with("draft/"));
}

#[tokio::test]
async fn a_dry_run_that_no_check_could_judge_is_a_draft_as_well() {
    let options = Options {
        dry_run: true,
        ..Options::default()
    };
    let (_, job) = built(&[("test", CANNOT_RUN)], options).await;
    check(
        &job,
        JobStatus::CompletedDraft,
        BuildJudgement::NotJudged,
        Some(DraftReason::NotJudged),
    );
}

#[tokio::test]
async fn a_person_may_allow_work_that_no_check_could_judge() {
    let options = Options {
        allow_unjudged: true,
        ..Options::default()
    };
    let (_, job) = built(&[("test", CANNOT_RUN)], options).await;
    check(&job, JobStatus::Completed, BuildJudgement::NotJudged, None);

    let script = vec![
        planned("refactor", &[("a.txt", "modify")]),
        writes("a.txt", "two"),
        says("Done."),
    ];
    let mut shop = TestBuilder::new(&[("a.txt", "one\n")], script).checking(CANNOT_RUN);
    shop.settings.allow_unjudged = true;
    let job = shop.run(Options::default()).await;
    check(&job, JobStatus::Completed, BuildJudgement::NotJudged, None);
}

#[tokio::test]
async fn one_check_that_judges_is_enough_and_a_build_without_checks_is_complete() {
    let (_, job) = built(
        &[("lint", CANNOT_RUN), ("test", "true")],
        Options::default(),
    )
    .await;
    check(&job, JobStatus::Completed, BuildJudgement::Passed, None);
    let (_, job) = built(&[], Options::default()).await;
    check(&job, JobStatus::Completed, BuildJudgement::NotJudged, None);
}

#[tokio::test]
async fn a_failure_that_names_a_new_random_path_each_time_is_no_new_failure() {
    let denied = "r=$(od -An -N4 -tx1 /dev/urandom | tr -d ' \\n'); \
                  echo \"error: Permission denied (os error 13) at path \\\"$PWD/target$r\\\"\"; exit 101";
    let (shop, job) = built(
        &[("typecheck", denied), ("lint", "true")],
        Options::default(),
    )
    .await;
    check(&job, JobStatus::Completed, BuildJudgement::Passed, None);
    assert_eq!(shop.server.asked(), 3);
    let typecheck = &job.result.validation[0];
    assert_eq!(typecheck.verdict, CheckVerdict::NotJudged);
    let because = typecheck.because.as_deref().unwrap();
    assert!(because.contains("Permission denied"), "{because}");
    assert!(typecheck.sandbox.is_some(), "{typecheck:#?}");
    assert!(!because.contains("worktrees"), "{because}");
}

#[tokio::test]
async fn a_check_that_could_not_judge_runs_again_after_dependencies_are_installed() {
    let red = "test -e node_modules/tool/run || exit 127; echo 'a.txt:1:1: red before'; exit 1";
    let script = vec![
        planned("refactor", &[("a.txt", "modify")]),
        writes("a.txt", "two"),
        says("Done."),
        planned("refactor", &[("a.txt", "modify")]),
        writes("a.txt", "three"),
        says("Done."),
    ];
    let files = [
        ("a.txt", "one\n"),
        ("package.json", "{}\n"),
        (".gitignore", "node_modules\n"),
    ];
    let mut shop = TestBuilder::new(&files, script).checking(red);
    let job = shop.run(Options::default()).await;
    check(
        &job,
        JobStatus::CompletedDraft,
        BuildJudgement::NotJudged,
        Some(DraftReason::NotJudged),
    );
    shop.write("node_modules/tool/run", "\n");
    let job = shop.run(Options::default()).await;
    check(&job, JobStatus::Completed, BuildJudgement::Passed, None);
    assert_eq!(job.result.validation[0].verdict, CheckVerdict::FailedBefore);
}

#[tokio::test]
async fn a_baseline_does_not_outlive_the_dependencies_it_was_made_with() {
    let red = "cat node_modules/tool/red 2>/dev/null && exit 1; exit 0";
    let script = vec![
        planned("refactor", &[("a.txt", "modify")]),
        writes("a.txt", "two"),
        says("Done."),
        planned("refactor", &[("a.txt", "modify")]),
        writes("a.txt", "three"),
        says("Done."),
    ];
    let files = [
        ("a.txt", "one\n"),
        ("package.json", "{}\n"),
        (".gitignore", "node_modules\n"),
    ];
    let mut shop = TestBuilder::new(&files, script).checking(red);
    let job = shop.run(Options::default()).await;
    check(&job, JobStatus::Completed, BuildJudgement::Passed, None);
    shop.write(
        "node_modules/tool/red",
        "a.txt:1:1: the tool is stricter now\n",
    );
    let job = shop.run(Options::default()).await;
    check(&job, JobStatus::Completed, BuildJudgement::Passed, None);
    assert_eq!(job.result.validation[0].verdict, CheckVerdict::FailedBefore);
}

/// The same check ends otherwise in another sandbox, so a baseline of the one says nothing about the other.
#[tokio::test]
async fn a_baseline_does_not_outlive_the_sandbox_it_was_made_in() {
    // `/var/tmp` of the machine is not seen in a sandbox.
    let seen = tempfile::tempdir_in("/var/tmp").unwrap();
    let red = format!(
        "test -e {} && exit 0; echo 'a.txt:1:1: no such place'; exit 1",
        seen.path().display()
    );
    let script = ["two", "three"].into_iter().flat_map(|text| {
        [
            planned("refactor", &[("a.txt", "modify")]),
            writes("a.txt", text),
            says("Done."),
        ]
    });
    let mut shop = TestBuilder::new(&[("a.txt", "one\n")], script.collect())
        .checking(&red)
        .unsandboxed();
    let job = shop.run(Options::default()).await;
    check(&job, JobStatus::Completed, BuildJudgement::Passed, None);
    assert_eq!(job.result.validation[0].verdict, CheckVerdict::Passed);
    let mut shop = shop.sandboxed();
    let job = shop.run(Options::default()).await;
    check(&job, JobStatus::Completed, BuildJudgement::Passed, None);
    assert_eq!(job.result.validation[0].verdict, CheckVerdict::FailedBefore);
}

/// The sandbox is named where the check fails: in the result and in the pull request.
#[tokio::test]
async fn a_check_that_the_sandbox_may_have_stopped_says_so() {
    let (shop, job) = built(&[("test", "touch /etc/made || exit 1")], Options::default()).await;
    check(
        &job,
        JobStatus::CompletedDraft,
        BuildJudgement::NotJudged,
        Some(DraftReason::NotJudged),
    );
    let report = &job.result.validation[0];
    let cause = report.sandbox.as_deref().unwrap_or_default();
    assert!(cause.contains("agent.sandbox.writable"), "{report:#?}");
    let branch = job.result.branch.as_deref().unwrap();
    assert_eq!(shop.at(branch, "a.txt").as_deref(), Some("two\n"));
}

#[tokio::test]
async fn a_bug_fix_whose_tests_cannot_run_is_not_judged_and_not_blamed() {
    let script = vec![
        planned("bugfix", &[("a.txt", "modify"), ("tests/a.sh", "create")]),
        calls(&[
            ("write_file", json!({"path": "a.txt", "content": "two"})),
            (
                "write_file",
                json!({"path": "tests/a.sh", "content": "grep two a.txt"}),
            ),
        ]),
        says("Done."),
        says("This is not asked for."),
    ];
    let mut shop =
        TestBuilder::new(&[("a.txt", "one\n")], script).checking("python3 -m no_such_runner");
    let job = shop.run(Options::default()).await;
    check(
        &job,
        JobStatus::CompletedDraft,
        BuildJudgement::NotJudged,
        Some(DraftReason::NotJudged),
    );
    assert_eq!(shop.server.asked(), 3);
    let Some(FixProof::NotChecked { because }) = &job.result.proof else {
        panic!("{:?}", job.result.proof);
    };
    assert!(because.contains("No module named"), "{because}");
}

#[tokio::test]
async fn the_python_environment_of_the_checkout_is_switched_on() {
    let script = vec![
        planned("refactor", &[("a.txt", "modify")]),
        writes("a.txt", "two"),
        says("Done."),
    ];
    let files = [("a.txt", "one\n"), (".gitignore", ".venv\n")];
    let mut shop =
        TestBuilder::new(&files, script).checking("only-in-venv && test -d \"$VIRTUAL_ENV\"");
    for name in ["python", "only-in-venv"] {
        shop.write(&format!(".venv/bin/{name}"), "#!/bin/sh\nexit 0\n");
        shop.make_executable(&format!(".venv/bin/{name}"));
    }
    let job = shop.run(Options::default()).await;
    check(&job, JobStatus::Completed, BuildJudgement::Passed, None);
}

#[tokio::test]
async fn tests_that_are_turned_off_are_remarked_upon() {
    let script = vec![
        planned("refactor", &[("a.test.js", "modify")]),
        writes("a.test.js", "test.skip('adds', () => {});"),
        says("Done."),
    ];
    let mut shop =
        TestBuilder::new(&[("a.test.js", "test('adds', () => {});\n")], script).checking("true");
    let job = shop.run(Options::default()).await;
    check(&job, JobStatus::Completed, BuildJudgement::Passed, None);
    assert_eq!(
        job.result.skipped_tests,
        ["a.test.js:1: test.skip('adds', () => {});"]
    );
}

#[tokio::test]
async fn a_plan_that_cannot_be_used_was_paid_for_all_the_same() {
    let script = vec![says("I cannot."), says("I cannot."), says("I cannot.")];
    let mut shop = TestBuilder::new(&[("a.txt", "one\n")], script);
    let job = shop.plan(Options::default()).await;
    assert_eq!(job.status(), JobStatus::Failed);
    assert_eq!(job.result.cost.calls, 3);
    assert_eq!(job.result.token_usage.input, 300);
}

#[tokio::test]
async fn the_models_closing_words_are_in_the_result_of_a_green_build() {
    let (_, job) = built(&[("test", "true")], Options::default()).await;
    assert_eq!(job.result.closing_words.as_deref(), Some("Done."));
}
