//! The effects of the kinds of work: the files that may be touched, the checks, the proof.

use builder::validation::FixProof;
use builder::{JobStatus, Options};
use serde_json::json;

use crate::scripted::{calls, says};
use crate::test_builder::{TestBuilder, planned, writes};

#[tokio::test]
async fn test_gen_touches_tests_only() {
    let script = vec![
        planned(
            "test-gen",
            &[("src/a.py", "modify"), ("tests/test_a.py", "create")],
        ),
        planned("test-gen", &[("tests/test_a.py", "create")]),
    ];
    let mut shop = TestBuilder::new(&[("src/a.py", "x = 1\n")], script);
    let job = shop.plan(Options::default()).await;
    assert_eq!(job.status(), JobStatus::PlanReady, "{:?}", job.error);
    let told = shop.told(1);
    assert!(
        told.contains("a `test-gen` job touches tests only, and `src/a.py` is not a test"),
        "{told}"
    );
}

#[tokio::test]
async fn doc_gen_changes_words_only_and_runs_no_compiler() {
    let script = vec![
        planned("doc-gen", &[("README.md", "modify"), ("a.py", "modify")]),
        calls(&[
            (
                "write_file",
                json!({"path": "README.md", "content": "# Title\n\nWords."}),
            ),
            (
                "write_file",
                json!({"path": "a.py", "content": "# One.\nx = 2"}),
            ),
        ]),
        says("Done."),
        writes("a.py", "# One.\nx = 1"),
        says("Only words now."),
    ];
    let mut shop = TestBuilder::new(&[("README.md", "# Title\n"), ("a.py", "x = 1\n")], script)
        .checking("exit 1");
    let job = shop.run(Options::default()).await;
    assert_eq!(job.status(), JobStatus::Completed, "{:?}", job.error);
    assert!(job.checks.is_empty());
    assert!(
        shop.told(3)
            .contains("a.py: more than comments changed in it"),
        "{}",
        shop.told(3)
    );
    assert_eq!(
        job.result.validation_passed, None,
        "what was not checked has not passed"
    );
    let message = shop.git(&["log", "-1", "--format=%s", &job.result.branch.unwrap()]);
    assert!(message.starts_with("docs: "), "{message}");
}

/// A program, its tests, and a check that runs the tests and names those that fail.
const TEST: &str =
    r#"f=0; for t in tests/*.sh; do sh "$t" || { echo "not ok 1 - $t"; f=1; }; done; exit $f"#;

#[tokio::test]
async fn a_bug_fix_is_proven_by_a_test_that_fails_without_it() {
    let script = vec![
        planned(
            "bugfix",
            &[("add.sh", "modify"), ("tests/two.sh", "create")],
        ),
        calls(&[
            (
                "write_file",
                json!({"path": "add.sh", "content": "echo $(($1 + $2))"}),
            ),
            (
                "write_file",
                json!({"path": "tests/two.sh", "content": "test $(sh add.sh 1 1) = 2"}),
            ),
        ]),
        says("Done."),
    ];
    let files = [
        ("add.sh", "echo $1\n"),
        ("tests/one.sh", "test $(sh add.sh 1 0) = 1\n"),
    ];
    let mut shop = TestBuilder::new(&files, script).checking(TEST);
    let job = shop.run(Options::default()).await;
    assert_eq!(
        job.status(),
        JobStatus::Completed,
        "{:?} {:?}",
        job.error,
        job.result.validation
    );
    let tests = vec!["test tests/two.sh".to_owned()];
    assert_eq!(job.result.proof, Some(FixProof::Proven { tests }));
    assert_eq!(shop.worktrees(), 0);
}

#[tokio::test]
async fn a_bug_fix_whose_test_proves_nothing_goes_back() {
    let script = vec![
        planned(
            "bugfix",
            &[("add.sh", "modify"), ("tests/two.sh", "create")],
        ),
        calls(&[
            (
                "write_file",
                json!({"path": "add.sh", "content": "echo $(($1 + $2))"}),
            ),
            (
                "write_file",
                json!({"path": "tests/two.sh", "content": "true"}),
            ),
        ]),
        says("Done."),
        writes("tests/two.sh", "test $(sh add.sh 1 1) = 2"),
        says("Now it does."),
    ];
    let files = [
        ("add.sh", "echo $1\n"),
        ("tests/one.sh", "test $(sh add.sh 1 0) = 1\n"),
    ];
    let mut shop = TestBuilder::new(&files, script).checking(TEST);
    let job = shop.run(Options::default()).await;
    assert_eq!(job.status(), JobStatus::Completed, "{:?}", job.error);
    let told = shop.told(3);
    assert!(told.contains("also pass without its change"), "{told}");
    assert!(
        matches!(job.result.proof, Some(FixProof::Proven { .. })),
        "{:?}",
        job.result.proof
    );
}

#[tokio::test]
async fn a_bug_fix_without_a_test_is_a_draft() {
    let script = vec![
        planned("bugfix", &[("add.sh", "modify")]),
        writes("add.sh", "echo $(($1 + $2))"),
        says("Done."),
    ];
    let files = [
        ("add.sh", "echo $1\n"),
        ("tests/one.sh", "test $(sh add.sh 1 0) = 1\n"),
    ];
    let mut shop = TestBuilder::new(&files, script).checking(TEST);
    let job = shop.run(Options::default()).await;
    assert_eq!(job.status(), JobStatus::CompletedDraft, "{:?}", job.error);
    assert!(job.result.validation_errors[0].contains("no test was added or changed"));
}
