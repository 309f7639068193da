//! Real toolchains in the real sandbox: their output is understood, and new failures are reported.

use builder::validation::CheckVerdict;
use builder::{JobStatus, Options};

use crate::scripted::says;
use crate::test_builder::{TestBuilder, planned, writes};

const MANIFEST: &str =
    "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n";
const TESTED: &str = "pub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn zero() {\n        assert_eq!(super::add(1, 0), 1);\n    }\n\n    #[test]\n    fn broken_before() {\n        assert_eq!(super::add(1, 1), 3);\n    }\n}\n";

#[tokio::test]
async fn a_cargo_project_is_built_tested_and_compared_with_before() {
    let files = [
        ("Cargo.toml", MANIFEST),
        (
            "Cargo.lock",
            "version = 4\n\n[[package]]\nname = \"tiny\"\nversion = \"0.1.0\"\n",
        ),
        (".gitignore", "/target\n"),
        ("src/lib.rs", TESTED),
    ];
    let script = vec![
        planned("refactor", &[("src/lib.rs", "modify")]),
        writes("src/lib.rs", &TESTED.replace("a - b", "a + \"b\"")),
        says("Done."),
        writes("src/lib.rs", &TESTED.replace("a - b", "a + b")),
        says("It is a number now."),
    ];
    let mut shop = TestBuilder::new(&files, script).detecting().sandboxed();
    let job = shop.run(Options::default()).await;
    assert_eq!(
        shop.server.asked(),
        5,
        "{:?} {:#?}",
        job.error,
        job.result.validation
    );
    let told = shop.told(3);
    assert!(
        told.contains("src/lib.rs:2:7: error[E0277]: cannot add `&str` to `i32`"),
        "{told}"
    );
    assert_eq!(
        job.status(),
        JobStatus::Completed,
        "{:?} {:#?}",
        job.error,
        job.result.validation
    );
    let verdicts: Vec<_> = job
        .result
        .validation
        .iter()
        .map(|check| (check.name.as_str(), check.verdict, check.old_failures))
        .collect();
    assert_eq!(
        verdicts,
        [
            ("typecheck", CheckVerdict::Passed, 0),
            ("test", CheckVerdict::FailedBefore, 1)
        ],
    );
    let changed = shop.git(&["diff", "--name-only", "main", &job.result.branch.unwrap()]);
    assert_eq!(changed, "src/lib.rs\n");
}

#[tokio::test]
async fn a_node_project_uses_the_dependencies_of_the_checkout() {
    let elsewhere = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    check_borrowed_dependencies(elsewhere).await;
}

/// `/tmp` is another one inside a sandbox, and many try things there first.
#[tokio::test]
async fn a_node_project_below_tmp_uses_the_dependencies_of_the_checkout() {
    check_borrowed_dependencies(tempfile::tempdir_in("/tmp").unwrap()).await;
}

async fn check_borrowed_dependencies(folder: tempfile::TempDir) {
    let files = [
        (
            "package.json",
            r#"{"name": "tiny", "scripts": {"test": "node --test --test-reporter=tap"}}"#,
        ),
        (".gitignore", "node_modules/\n"),
        ("a.js", "exports.add = (a, b) => a + b;\n"),
        (
            "a.test.js",
            "const test = require('node:test');\nconst { same } = require('same');\nconst { add } = require('./a');\ntest('adds', () => same(add(1, 1), 2));\n",
        ),
    ];
    let script = vec![
        planned("refactor", &[("a.js", "modify")]),
        writes("a.js", "exports.add = (a, b) => a - b;"),
        says("Done."),
        writes("a.js", "exports.add = (a, b) => b + a;"),
        says("Mended."),
    ];
    let mut shop = TestBuilder::in_folder(folder, &files, script)
        .detecting()
        .sandboxed();
    shop.write(
        "node_modules/same/index.js",
        "exports.same = require('assert').strictEqual;\n",
    );
    let before = shop.picture();
    let job = shop.run(Options::default()).await;
    assert_eq!(
        shop.server.asked(),
        5,
        "{:?} {:#?}",
        job.error,
        job.result.validation
    );
    assert!(shop.told(3).contains("test adds"), "{}", shop.told(3));
    assert_eq!(
        job.status(),
        JobStatus::Completed,
        "{:?} {:#?}",
        job.error,
        job.result.validation
    );
    assert_eq!(job.result.validation[0].verdict, CheckVerdict::Passed);
    let impacted: Vec<_> = job
        .result
        .impacted_tests
        .iter()
        .map(|path| path.as_str())
        .collect();
    assert_eq!(impacted, ["a.test.js"]);
    let changed = shop.git(&["diff", "--name-only", "main", &job.result.branch.unwrap()]);
    assert_eq!(changed, "a.js\n");
    assert_eq!(shop.picture(), before);
}

/// A library that does not commit its `Cargo.lock` has its dependencies resolved from what was downloaded,
/// and uv runs what is installed without a cache in the home. Otherwise both would fail in every check.
#[tokio::test]
async fn package_managers_are_told_that_there_is_no_network() {
    for (is_sandboxed, check) in [
        (
            true,
            "test \"$CARGO_NET_OFFLINE$UV_OFFLINE$UV_NO_SYNC$UV_NO_CACHE\" = true111",
        ),
        (false, "test -z \"$CARGO_NET_OFFLINE$UV_NO_CACHE\""),
    ] {
        let script = vec![
            planned("refactor", &[("a.txt", "modify")]),
            writes("a.txt", "two"),
            says("Done."),
        ];
        let shop = TestBuilder::new(&[("a.txt", "one\n")], script).checking(check);
        let mut shop = match is_sandboxed {
            true => shop.sandboxed(),
            false => shop.unsandboxed(),
        };
        let job = shop.run(Options::default()).await;
        let verdict = job.result.validation[0].verdict;
        assert_eq!(verdict, CheckVerdict::Passed, "{check}");
    }
}

#[tokio::test]
async fn commands_do_not_see_the_secrets_of_the_checkout() {
    let files = [("a.txt", "one\n"), (".gitignore", ".env\nnode_modules\n")];
    let script = vec![
        planned("refactor", &[("a.txt", "modify")]),
        crate::test_builder::runs(
            "cat node_modules/../.env node_modules/a/../../.env; readlink -f node_modules | xargs dirname | xargs -I{} cat {}/.env",
        ),
        writes("a.txt", "two"),
        says("Done."),
    ];
    let mut shop = TestBuilder::new(&files, script).sandboxed();
    shop.write(".env", "KEY=hunter2\n");
    shop.write("node_modules/a/index.js", "\n");
    let job = shop.run(Options::default()).await;
    assert_eq!(job.status(), JobStatus::Completed, "{:?}", job.error);
    let sent = shop.server.sent(2).join("\n");
    assert!(sent.contains(".env"), "{sent}");
    assert!(!sent.contains("hunter2"), "{sent}");
}

/// A project need not ignore its dependencies: git does not see them in the worktree all the same.
#[tokio::test]
async fn dependencies_that_the_project_does_not_ignore_are_no_part_of_the_work() {
    let folders = [
        tempfile::tempdir().unwrap(),
        tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap(),
    ];
    for folder in folders {
        let script = vec![
            planned("refactor", &[("a.txt", "modify")]),
            writes("a.txt", "two"),
            says("Done."),
        ];
        let unseen =
            "test -e node_modules/a/b && test -z \"$(git status --porcelain node_modules)\"";
        let files = [("a.txt", "one\n"), ("package.json", "{}\n")];
        let mut shop = TestBuilder::in_folder(folder, &files, script).checking(unseen);
        shop.write("node_modules/a/b", "dependency\n");
        let job = shop.run(Options::default()).await;
        assert_eq!(job.status(), JobStatus::Completed, "{:#?}", job.result);
        let verdicts = job.result.validation.iter().map(|check| check.verdict);
        assert_eq!(verdicts.collect::<Vec<_>>(), [CheckVerdict::Passed]);
    }
}
