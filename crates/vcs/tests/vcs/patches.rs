//! Diffs and patches: binary, renamed, odd names; and git takes them on another copy.

use std::fs;
use std::path::Path;

use vcs::{ChangeKind, PathSelection, VcsErrorKind};

use crate::fixture::{
    TestRepository, contents, git, git_command, make_executable, message, new_commit, write,
};

/// Changes of every kind.
fn change(dir: &Path) {
    write(
        &dir.join("src/new.rs"),
        "diff --git a/x b/x\n-- \nFrom here\n",
    );
    write(&dir.join("README.md"), "changed, and no newline");
    fs::remove_file(dir.join("src/gone.rs")).unwrap();
    fs::rename(dir.join("src/main.rs"), dir.join("src/app.rs")).unwrap();
    write(
        &dir.join("logo.bin"),
        (0..=255u8).cycle().take(5000).collect::<Vec<_>>(),
    );
    make_executable(&dir.join("README.md"));
    fs::remove_file(dir.join("link")).unwrap();
    write(&dir.join("link"), "now a file\n");
    write(&dir.join("odd \u{e4}\t.txt"), b"latin \xe4 and \xff\r\n");
    write(&dir.join("empty"), "");
}

#[test]
fn every_kind_of_change_is_listed_with_its_diff() {
    let stage = TestRepository::clean();
    let worktree = stage.worktree("j1");
    change(worktree.path());
    let changes = worktree.changes(&PathSelection::All).unwrap();
    let told: Vec<_> = changes
        .iter()
        .map(|c| (c.path.to_str().unwrap(), c.kind))
        .collect();
    assert_eq!(
        told,
        [
            ("README.md", ChangeKind::Modified),
            ("empty", ChangeKind::Added),
            ("link", ChangeKind::Retyped),
            ("logo.bin", ChangeKind::Modified),
            ("odd \u{e4}\t.txt", ChangeKind::Added),
            ("src/app.rs", ChangeKind::Renamed),
            ("src/gone.rs", ChangeKind::Deleted),
            ("src/new.rs", ChangeKind::Added),
        ]
    );
    let diff = |n: usize| String::from_utf8_lossy(&changes[n].diff).into_owned();
    assert!(diff(0).contains("-# Project\n+changed, and no newline\n\\ No newline"));
    assert!(diff(0).contains("old mode 100644\nnew mode 100755"));
    assert_eq!(diff(2).matches("diff --git ").count(), 2);
    assert!(diff(3).contains("GIT binary patch"));
    assert!(changes[4].diff.windows(2).any(|pair| pair == b"\xff\r"));
    assert!(diff(5).contains("rename from src/main.rs"));
    assert_eq!(changes[5].from.as_deref(), Some(Path::new("src/main.rs")));
    assert_eq!(
        diff(7).matches("diff --git ").count(),
        2,
        "one of them is contents"
    );
    let all: Vec<u8> = changes.iter().flat_map(|c| c.diff.clone()).collect();
    check_applies(
        &stage,
        &all,
        &["apply", "--whitespace=nowarn"],
        worktree.path(),
    );
}

#[test]
fn a_patch_goes_on_with_am_and_with_apply() {
    let stage = TestRepository::clean();
    let worktree = stage.worktree("j1");
    write(&worktree.path().join("first.txt"), "committed\n");
    worktree
        .commit(&new_commit("first", PathSelection::All))
        .unwrap();
    change(worktree.path());
    let before = contents(&stage.project().join(".git"));
    let patch = worktree
        .patch(&message("second"), &PathSelection::All)
        .unwrap();
    assert_eq!(
        contents(&stage.project().join(".git")),
        before,
        "nothing is written"
    );
    check_applies(
        &stage,
        &patch,
        &["am", "--quiet", "--keep-cr"],
        worktree.path(),
    );
    let commit = worktree
        .commit(&new_commit("second", PathSelection::All))
        .unwrap();
    let patch = stage.repository().patch(worktree.base(), &commit).unwrap();
    check_applies(
        &stage,
        &patch,
        &["am", "--quiet", "--keep-cr"],
        worktree.path(),
    );
    let text = String::from_utf8_lossy(&patch);
    assert!(text.contains("Subject: [PATCH 2/2] feat: second") || text.contains("feat: second"));
}

#[test]
fn the_users_settings_do_not_change_a_patch() {
    let stage = TestRepository::clean();
    for (key, value) in [
        ("diff.noprefix", "true"),
        ("diff.mnemonicPrefix", "true"),
        ("diff.external", "/bin/false"),
        ("color.ui", "always"),
        ("format.attach", "true"),
        ("format.signOff", "true"),
        ("format.coverLetter", "true"),
        ("format.useAutoBase", "true"),
        ("format.outputDirectory", "/nowhere"),
        ("core.quotePath", "false"),
        ("diff.renames", "false"),
        ("diff.submodule", "log"),
        ("core.pager", "/bin/false"),
        ("log.showSignature", "true"),
    ] {
        git(&stage.project(), &["config", key, value]);
    }
    let worktree = stage.worktree("j1");
    change(worktree.path());
    let patch = worktree.patch(&message("x"), &PathSelection::All).unwrap();
    let text = String::from_utf8_lossy(&patch);
    assert!(
        text.contains("diff --git a/README.md b/README.md"),
        "{text}"
    );
    assert!(text.contains("rename to src/app.rs") && !text.contains("Signed-off-by"));
    check_applies(
        &stage,
        &patch,
        &["am", "--quiet", "--keep-cr"],
        worktree.path(),
    );
}

#[test]
fn no_change_is_no_patch() {
    let stage = TestRepository::clean();
    let worktree = stage.worktree("j1");
    assert!(worktree.changes(&PathSelection::All).unwrap().is_empty());
    let error = worktree
        .patch(&message("x"), &PathSelection::All)
        .unwrap_err();
    assert_eq!(error.kind(), VcsErrorKind::NothingToCommit);
}

/// Applies a patch to a fresh copy of the project, which then has the same files.
#[track_caller]
fn check_applies(stage: &TestRepository, patch: &[u8], args: &[&str], same_as: &Path) {
    let copy = tempfile::tempdir().unwrap();
    let copy = copy.path().join("copy");
    let from = stage.project();
    let (from, to) = (from.to_str().unwrap(), copy.to_str().unwrap());
    git(stage.dir.path(), &["clone", "--quiet", from, to]);
    let file = stage.dir.path().join("patch");
    write(&file, patch);
    let applied = git_command(&copy, args).arg(&file).output().unwrap();
    assert!(
        applied.status.success(),
        "{}",
        String::from_utf8_lossy(&applied.stderr)
    );
    let files = |dir: &Path| {
        let mut found = contents(dir);
        found.retain(|path, _| !path.starts_with(".git") || path.starts_with(".gitignore"));
        found
    };
    assert_eq!(files(&copy), files(same_as));
}
