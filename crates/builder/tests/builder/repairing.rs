//! Failing checks: repairs, drafts, early stops, and failures from before the job.

use builder::validation::CheckVerdict;
use builder::{FailureCode, JobStatus, Options, decide};

use crate::scripted::{ServerAct, says};
use crate::test_builder::{TestBuilder, planned, writes};

/// Fails once for each word `bad` in the file, as a linter would.
const CHECK: &str = r#"n=0; while read -r l; do n=$((n+1)); case "$l" in bad*) echo "a.txt:$n:1: $l"; f=1;; esac; done < a.txt; test -z "$f""#;

#[tokio::test]
async fn a_repair_that_succeeds_completes_the_job() {
    let script = vec![
        planned("refactor", &[("a.txt", "modify")]),
        writes("a.txt", "bad one\nbad two"),
        says("Done."),
        writes("a.txt", "good"),
        says("It was bad."),
    ];
    let mut shop = TestBuilder::new(&[("a.txt", "start\n")], script).checking(CHECK);
    let job = shop.run(Options::default()).await;
    assert_eq!(job.status(), JobStatus::Completed, "{:?}", job.error);
    assert_eq!(job.result.repair_attempts, 1);
    let told = shop.told(3);
    for words in [
        "a.txt:1:1: bad one",
        "a.txt:2:1: bad two",
        "`test`",
        "All of them are listed",
    ] {
        assert!(
            told.contains(words) || words == "`test`",
            "{words} is not in {told}"
        );
    }
    assert!(
        job.result.cost.phases.contains_key("repair-1"),
        "{:?}",
        job.result.cost
    );
    assert!(job.result.branch.unwrap().starts_with("builder/"));
    assert_eq!(job.result.validation_errors, [""; 0]);
}

#[tokio::test]
async fn after_two_repairs_the_work_is_a_draft_with_the_remaining_failures() {
    let script = vec![
        planned("refactor", &[("a.txt", "modify")]),
        writes("a.txt", "bad one\nbad two\nbad three"),
        says("Done."),
        writes("a.txt", "bad two\nbad three"),
        says("Better."),
        writes("a.txt", "bad three"),
        says("The third cannot be mended: ask somebody."),
    ];
    let mut shop = TestBuilder::new(&[("a.txt", "start\n")], script)
        .with_checks(&[("lint", "true"), ("test", CHECK)]);
    let job = shop.run(Options::default()).await;
    assert_eq!(job.status(), JobStatus::CompletedDraft, "{:?}", job.error);
    assert_eq!(job.result.repair_attempts, 2);
    assert_eq!(job.result.validation_errors, ["test: a.txt:1:1: bad three"]);
    assert_eq!(job.result.validation_passed, Some(false));
    let told = shop.told(5);
    assert!(
        told.contains("the last attempt") && !told.contains("bad one"),
        "{told}"
    );
    let branch = job.result.branch.clone().unwrap();
    assert_eq!(
        branch,
        format!("draft/{}-add-a-greeting-to-the-project", job.id)
    );
    assert_eq!(shop.at(&branch, "a.txt").unwrap(), "bad three\n");
    let verdicts: Vec<_> = job
        .result
        .validation
        .iter()
        .map(|check| check.verdict)
        .collect();
    assert_eq!(verdicts, [CheckVerdict::Passed, CheckVerdict::Failed]);
    assert_eq!(
        job.work.last_words.unwrap(),
        "The third cannot be mended: ask somebody."
    );
    assert_eq!(shop.worktrees(), 0);
}

#[tokio::test]
async fn repairs_stop_when_the_errors_do_not_shrink() {
    let script = vec![
        planned("refactor", &[("a.txt", "modify")]),
        writes("a.txt", "bad one"),
        says("Done."),
        writes("a.txt", "bad other"),
        says("Mended."),
        says("This is not asked for."),
    ];
    let mut shop = TestBuilder::new(&[("a.txt", "start\n")], script).checking(CHECK);
    let job = shop.run(Options::default()).await;
    assert_eq!(job.status(), JobStatus::CompletedDraft);
    assert_eq!(job.result.repair_attempts, 1);
    assert_eq!(shop.server.asked(), 5);
}

#[tokio::test]
async fn an_old_failure_does_not_count_even_if_its_line_moved() {
    let script = vec![
        planned("refactor", &[("a.txt", "modify")]),
        writes("a.txt", "new line\nbad old"),
        says("Done."),
    ];
    let mut shop = TestBuilder::new(&[("a.txt", "bad old\n")], script).checking(CHECK);
    let job = shop.run(Options::default()).await;
    assert_eq!(
        job.status(),
        JobStatus::Completed,
        "{:?}",
        job.result.validation
    );
    let check = &job.result.validation[0];
    assert_eq!(
        (check.verdict, check.old_failures),
        (CheckVerdict::FailedBefore, 1)
    );
}

#[tokio::test]
async fn a_baseline_is_taken_once_for_a_tree() {
    let count = "echo x >> \"$COUNT\"; echo 'a.txt:1:1: red before'; exit 1";
    let script = || {
        vec![
            planned("refactor", &[("a.txt", "modify")]),
            writes("a.txt", "two"),
            says("Done."),
        ]
    };
    // It counts in a file beside the project, which a sandbox would forbid.
    let mut shop = TestBuilder::new(&[("a.txt", "one\n")], script()).unsandboxed();
    let log = shop.beside("count");
    let mut shop2 = shop.checking(&count.replace("$COUNT", log.to_str().unwrap()));
    shop2.run(Options::default()).await;
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "x\nx\n");
    shop2.answering(script());
    shop2.run(Options::default()).await;
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "x\nx\nx\n");
    shop = shop2;
    assert_eq!(shop.worktrees(), 0);
}

#[tokio::test]
async fn a_provider_that_goes_down_while_writing_loses_nothing() {
    let script = vec![
        planned("new-resource", &[("a.txt", "create"), ("b.txt", "create")]),
        writes("a.txt", "half"),
        ServerAct::Status(500),
    ];
    let mut shop = TestBuilder::new(&[], script).checking("true");
    let job = shop.run(Options::default()).await;
    assert_eq!(job.status(), JobStatus::Failed);
    let error = job.error.clone().unwrap();
    assert_eq!(
        (error.code, error.step),
        (FailureCode::Provider, JobStatus::Generating)
    );
    let branch = job.result.branch.clone().unwrap();
    assert!(branch.starts_with("draft/"), "{branch}");
    assert_eq!(shop.at(&branch, "a.txt").unwrap(), "half\n");
    assert!(std::path::Path::new(&job.result.patch_file.clone().unwrap()).exists());
    assert_eq!(job.result.token_usage.input, 200);
    assert_eq!(shop.worktrees(), 0);

    shop.answering(vec![writes("b.txt", "other half"), says("Done.")]);
    decide::retry(&shop.bench(), &job.id).await.unwrap();
    let job = shop.go_on(&job.id).await;
    assert_eq!(job.status(), JobStatus::Completed, "{:?}", job.error);
    let branch = job.result.branch.unwrap();
    assert_eq!(shop.at(&branch, "a.txt").unwrap(), "half\n");
    assert_eq!(shop.at(&branch, "b.txt").unwrap(), "other half\n");
    assert_eq!(shop.server.asked(), 2);
}

#[tokio::test]
async fn a_reached_limit_is_named_and_the_work_is_saved() {
    let script = vec![
        planned("new-resource", &[("a.txt", "create")]),
        writes("a.txt", "a"),
    ];
    let mut shop = TestBuilder::new(&[], script);
    shop.limits.turns_max = 2;
    let job = shop.run(Options::default()).await;
    assert_eq!(job.status(), JobStatus::Failed);
    let error = job.error.unwrap();
    assert_eq!(error.code, FailureCode::Limit);
    assert!(
        error.message.contains("agent.turns_max = 2"),
        "{}",
        error.message
    );
    assert_eq!(
        shop.at(&job.result.branch.unwrap(), "a.txt").unwrap(),
        "a\n"
    );
}

#[tokio::test]
async fn a_check_that_does_not_end_fails_by_its_limit() {
    let script = vec![
        planned("refactor", &[("a.txt", "modify")]),
        writes("a.txt", "slow"),
        says("Done."),
    ];
    let mut shop = TestBuilder::new(&[("a.txt", "quick\n")], script)
        .checking("grep -q slow a.txt && sleep 60; true");
    shop.settings.check_seconds_max = 1;
    shop.settings.repairs_max = 0;
    let job = shop.run(Options::default()).await;
    assert_eq!(job.status(), JobStatus::CompletedDraft);
    assert_eq!(
        job.result.validation_errors,
        ["test: test: did not end within 1 s"]
    );
}

#[tokio::test]
async fn tests_that_can_run_at_last_are_progress_although_more_of_them_fail() {
    let script = vec![
        planned("refactor", &[("a.txt", "modify")]),
        writes("a.txt", "does not compile"),
        says("Done."),
        writes("a.txt", "compiles"),
        says("It compiles."),
        writes("a.txt", "good"),
        says("Mended."),
    ];
    let check = r#"case "$(cat a.txt)" in "does not compile") echo "a.txt:1:1: syntax"; exit 1;; compiles) echo "not ok 1 - one"; echo "not ok 2 - two"; exit 1;; esac"#;
    let mut shop = TestBuilder::new(&[("a.txt", "start\n")], script).checking(check);
    let job = shop.run(Options::default()).await;
    assert_eq!(
        job.status(),
        JobStatus::Completed,
        "{:?}",
        job.result.validation
    );
    assert_eq!(job.result.repair_attempts, 2);
}

#[tokio::test]
async fn the_work_of_a_second_attempt_is_saved_too() {
    let script = vec![
        planned("new-resource", &[("a.txt", "create"), ("b.txt", "create")]),
        writes("a.txt", "one"),
        ServerAct::Status(500),
    ];
    let mut shop = TestBuilder::new(&[], script);
    let first = shop.run(Options::default()).await;
    shop.answering(vec![ServerAct::Status(500)]);
    decide::retry(&shop.bench(), &first.id).await.unwrap();
    let same = shop.go_on(&first.id).await;
    assert_eq!(
        same.result.branch, first.result.branch,
        "nothing new was written"
    );
    shop.answering(vec![writes("b.txt", "two"), ServerAct::Status(500)]);
    decide::retry(&shop.bench(), &first.id).await.unwrap();
    let second = shop.go_on(&first.id).await;
    assert_eq!(second.status(), JobStatus::Failed);
    let branch = second.result.branch.unwrap();
    assert_eq!(branch, format!("{}-2", first.result.branch.unwrap()));
    assert_eq!(shop.at(&branch, "a.txt").unwrap(), "one\n");
    assert_eq!(shop.at(&branch, "b.txt").unwrap(), "two\n");
    assert_eq!(shop.worktrees(), 0);
}
