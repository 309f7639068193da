//! What the checks say about a build: passed, failed or not judged, and on what ground.

use builder::validation::{Judgement, Proven, Verdict};
use builder::{DraftReason, Job, Options, Status};
use serde_json::json;

use crate::scripted::{calls, says};
use crate::shop::{Shop, planned, writes};

/// A build that changes one file, held against these checks.
async fn built(checks: &[(&str, &str)], options: Options) -> (Shop, Job) {
    let script = vec![
        planned("refactor", &[("a.txt", "modify")]),
        writes("a.txt", "two"),
        says("Done."),
        says("This is not asked for."),
    ];
    let mut shop = Shop::new(&[("a.txt", "one\n")], script)
        .with_checks(checks)
        .sandboxed();
    let job = shop.run(options).await;
    (shop, job)
}

/// How a build with these checks ends.
#[track_caller]
fn check(job: &Job, status: Status, judgement: Judgement, draft: Option<DraftReason>) {
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
        Status::CompletedDraft,
        Judgement::NotJudged,
        Some(DraftReason::NotJudged),
    );
    assert_eq!(shop.server.asked(), 3);
    assert_eq!(job.result.validation_passed, None);
    for report in &job.result.validation {
        assert_eq!(report.verdict, Verdict::NotJudged);
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
        Status::CompletedDraft,
        Judgement::NotJudged,
        Some(DraftReason::NotJudged),
    );
}

#[tokio::test]
async fn a_person_may_allow_what_no_check_could_judge() {
    let options = Options {
        allow_unjudged: true,
        ..Options::default()
    };
    let (_, job) = built(&[("test", CANNOT_RUN)], options).await;
    check(&job, Status::Completed, Judgement::NotJudged, None);

    let script = vec![
        planned("refactor", &[("a.txt", "modify")]),
        writes("a.txt", "two"),
        says("Done."),
    ];
    let mut shop = Shop::new(&[("a.txt", "one\n")], script).checking(CANNOT_RUN);
    shop.settings.allow_unjudged = true;
    let job = shop.run(Options::default()).await;
    check(&job, Status::Completed, Judgement::NotJudged, None);
}

#[tokio::test]
async fn one_check_that_judges_is_enough_and_a_build_without_checks_is_complete() {
    let (_, job) = built(
        &[("lint", CANNOT_RUN), ("test", "true")],
        Options::default(),
    )
    .await;
    check(&job, Status::Completed, Judgement::Passed, None);
    let (_, job) = built(&[], Options::default()).await;
    check(&job, Status::Completed, Judgement::NotJudged, None);
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
    check(&job, Status::Completed, Judgement::Passed, None);
    assert_eq!(shop.server.asked(), 3);
    let typecheck = &job.result.validation[0];
    assert_eq!(typecheck.verdict, Verdict::NotJudged);
    let because = typecheck.because.as_deref().unwrap();
    assert!(
        because.contains("Permission denied") && because.contains("sandbox"),
        "{because}"
    );
    assert!(!because.contains("worktrees"), "{because}");
}

#[tokio::test]
async fn what_could_not_be_judged_is_judged_anew_when_dependencies_are_installed() {
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
    let mut shop = Shop::new(&files, script).checking(red);
    let job = shop.run(Options::default()).await;
    check(
        &job,
        Status::CompletedDraft,
        Judgement::NotJudged,
        Some(DraftReason::NotJudged),
    );
    shop.write("node_modules/tool/run", "\n");
    let job = shop.run(Options::default()).await;
    check(&job, Status::Completed, Judgement::Passed, None);
    assert_eq!(job.result.validation[0].verdict, Verdict::FailedBefore);
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
    let mut shop = Shop::new(&files, script).checking(red);
    let job = shop.run(Options::default()).await;
    check(&job, Status::Completed, Judgement::Passed, None);
    shop.write(
        "node_modules/tool/red",
        "a.txt:1:1: the tool is stricter now\n",
    );
    let job = shop.run(Options::default()).await;
    check(&job, Status::Completed, Judgement::Passed, None);
    assert_eq!(job.result.validation[0].verdict, Verdict::FailedBefore);
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
    let mut shop = Shop::new(&[("a.txt", "one\n")], script).checking("python3 -m no_such_runner");
    let job = shop.run(Options::default()).await;
    check(
        &job,
        Status::CompletedDraft,
        Judgement::NotJudged,
        Some(DraftReason::NotJudged),
    );
    assert_eq!(shop.server.asked(), 3);
    let Some(Proven::NotChecked { because }) = &job.result.proof else {
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
    let mut shop = Shop::new(&files, script).checking("only-in-venv && test -d \"$VIRTUAL_ENV\"");
    for name in ["python", "only-in-venv"] {
        shop.write(&format!(".venv/bin/{name}"), "#!/bin/sh\nexit 0\n");
        shop.make_executable(&format!(".venv/bin/{name}"));
    }
    let job = shop.run(Options::default()).await;
    check(&job, Status::Completed, Judgement::Passed, None);
}

#[tokio::test]
async fn tests_that_are_turned_off_are_remarked_upon() {
    let script = vec![
        planned("refactor", &[("a.test.js", "modify")]),
        writes("a.test.js", "test.skip('adds', () => {});"),
        says("Done."),
    ];
    let mut shop =
        Shop::new(&[("a.test.js", "test('adds', () => {});\n")], script).checking("true");
    let job = shop.run(Options::default()).await;
    check(&job, Status::Completed, Judgement::Passed, None);
    assert_eq!(
        job.result.skipped_tests,
        ["a.test.js:1: test.skip('adds', () => {});"]
    );
}

#[tokio::test]
async fn a_plan_that_cannot_be_used_was_paid_for_all_the_same() {
    let script = vec![says("I cannot."), says("I cannot."), says("I cannot.")];
    let mut shop = Shop::new(&[("a.txt", "one\n")], script);
    let job = shop.plan(Options::default()).await;
    assert_eq!(job.status(), Status::Failed);
    assert_eq!(job.result.cost.calls, 3);
    assert_eq!(job.result.token_usage.input, 300);
}

#[tokio::test]
async fn the_models_closing_words_are_in_the_result_of_a_green_build() {
    let (_, job) = built(&[("test", "true")], Options::default()).await;
    assert_eq!(job.result.closing_words.as_deref(), Some("Done."));
}
