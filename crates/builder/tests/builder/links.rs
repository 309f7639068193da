//! Planned files that a command turned into links: a link can point anywhere, so none becomes work.

use builder::Options;

use crate::scripted::{ServerAct, says};
use crate::test_builder::{TestBuilder, planned, runs, writes};

/// Builds with a model that runs this command, and then says this.
async fn check(file: (&str, &str), command: &str, then: Vec<ServerAct>) {
    let mut script = vec![
        planned("refactor", &[file, ("kept.txt", "modify")]),
        writes("kept.txt", "better"),
        runs(command),
    ];
    script.extend(then);
    let files = [
        ("a.txt", "one\n"),
        ("kept.txt", "one\n"),
        ("src/c.txt", "one\n"),
    ];
    let mut shop = TestBuilder::new(&files, script).checking("true");
    let job = shop.run(Options::default()).await;
    let came = (job.status(), &job.error, &job.result.validation);
    // Everything but links is saved.
    let branch = job.result.branch.as_ref();
    let branch = branch.unwrap_or_else(|| panic!("{command}: {came:#?}"));
    assert_eq!(shop.at(branch, "kept.txt").as_deref(), Some("better\n"));
    for path in ["a.txt", "src/c.txt"] {
        let text = shop.at(branch, path);
        assert_eq!(text.as_deref(), Some("one\n"), "{command}: {came:#?}");
    }
    let tree = shop.git(&["ls-tree", "-r", branch]);
    assert!(!tree.contains("120000"), "{command}: {tree} {came:#?}");
    let patch = std::fs::read_to_string(job.result.patch_file.as_ref().unwrap()).unwrap();
    assert!(!patch.contains("120000"), "{command}: {patch}");
}

const MODIFIED: (&str, &str) = ("a.txt", "modify");
const CREATED: (&str, &str) = ("b.txt", "create");
const BELOW: (&str, &str) = ("src/c.txt", "modify");

fn ends() -> Vec<ServerAct> {
    (0..4).map(|_| says("Done.")).collect()
}

#[tokio::test]
async fn a_file_that_became_a_link_is_put_back() {
    check(MODIFIED, "ln -sf /etc/hostname a.txt", ends()).await;
    check(MODIFIED, "rm a.txt; ln -s kept.txt a.txt", ends()).await;
    check(BELOW, "rm -r src; ln -s /etc src", ends()).await;
    check(BELOW, "rm -r src; echo file > src", ends()).await;
}

#[tokio::test]
async fn a_link_in_the_place_of_a_new_file_is_not_made() {
    check(CREATED, "ln -s /etc/hostname b.txt", ends()).await;
    check(CREATED, "ln -s kept.txt b.txt", ends()).await;
    check(CREATED, "ln -s nowhere b.txt", ends()).await;
}

/// The work of a build that fails is saved without it, too.
#[tokio::test]
async fn a_build_that_fails_saves_no_link() {
    for (file, command) in [
        (MODIFIED, "ln -sf /etc/hostname a.txt"),
        (CREATED, "ln -s /etc/hostname b.txt"),
        (BELOW, "rm -r src; ln -s /etc src"),
    ] {
        check(file, command, vec![ServerAct::Status(500)]).await;
    }
}
