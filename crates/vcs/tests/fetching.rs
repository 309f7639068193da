//! Real git, and a repository made here.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests build their own fixtures"
)]

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use vcs::{CommitId, GitProgram, VcsErrorKind, fetch_at};

fn git(dir: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(dir)
        .args([
            "-c",
            "user.name=T",
            "-c",
            "user.email=t@example.org",
            "-c",
            "commit.gpgsign=false",
        ])
        .args(args)
        .env_remove("GIT_DIR")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Two commits on `main`, the first tagged `v1`, and a branch `side`.
struct Origin {
    dir: TempDir,
    first: String,
    second: String,
    side: String,
}

impl Origin {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path();
        git(at, &["init", "--quiet", "--initial-branch=main"]);
        let commit = |content: &str| {
            std::fs::write(at.join("kit.yml"), content).unwrap();
            git(at, &["add", "."]);
            git(at, &["commit", "--quiet", "-m", content]);
            git(at, &["rev-parse", "HEAD"])
        };
        let first = commit("first");
        git(at, &["tag", "-a", "v1", "-m", "one"]);
        git(at, &["checkout", "--quiet", "-b", "side"]);
        let side = commit("side");
        git(at, &["checkout", "--quiet", "main"]);
        let second = commit("second");
        Self {
            dir,
            first,
            second,
            side,
        }
    }

    fn url(&self) -> String {
        format!("file://{}", self.dir.path().display())
    }
}

#[test]
fn a_revision_of_any_kind_is_checked_out() {
    let origin = Origin::new();
    let second_short = origin.second[..9].to_owned();
    for (revision, commit, content) in [
        (None, &origin.second, "second"),
        (Some("main"), &origin.second, "second"),
        (Some("side"), &origin.side, "side"),
        (Some("v1"), &origin.first, "first"),
        (Some(origin.first.as_str()), &origin.first, "first"),
        (Some(second_short.as_str()), &origin.second, "second"),
    ] {
        let dest = tempfile::tempdir().unwrap();
        let dest = dest.path().join("clone");
        let found = fetch_at(&origin.url(), revision, &dest).unwrap();
        assert_eq!(found.as_str(), commit, "{revision:?}");
        assert_eq!(
            std::fs::read_to_string(dest.join("kit.yml")).unwrap(),
            content
        );
        assert_eq!(GitProgram::at(&dest).head_commit().unwrap(), found);
    }
}

#[test]
fn a_plain_path_is_an_address_too() {
    let origin = Origin::new();
    let dest = tempfile::tempdir().unwrap();
    let path = origin.dir.path().to_str().unwrap();
    let found = fetch_at(path, Some("v1"), &dest.path().join("c")).unwrap();
    assert_eq!(found.as_str(), origin.first);
}

#[test]
fn a_whole_clone_can_change_revision() {
    let origin = Origin::new();
    let dest = tempfile::tempdir().unwrap();
    let clone = GitProgram::at(dest.path().join("c"));
    assert_eq!(
        clone.clone_from(&origin.url()).unwrap().as_str(),
        origin.second
    );
    assert_eq!(clone.checkout("side").unwrap().as_str(), origin.side);
    assert_eq!(clone.checkout("v1").unwrap().as_str(), origin.first);
    assert_eq!(clone.head_commit().unwrap().as_str(), origin.first);
    let error = clone.checkout("nope").unwrap_err();
    assert_eq!(error.kind(), VcsErrorKind::UnknownRevision);
    let error = clone.clone_from(&origin.url()).unwrap_err();
    assert_eq!(error.kind(), VcsErrorKind::Occupied);
}

#[track_caller]
fn check_error(address: &str, revision: Option<&str>, kind: VcsErrorKind, part: &str) {
    let dest = tempfile::tempdir().unwrap();
    let error = fetch_at(address, revision, &dest.path().join("c")).unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(part), "{error}");
}

#[test]
fn failures_say_what_to_do() {
    let origin = Origin::new();
    check_error(
        "file:///no/such/repository",
        None,
        VcsErrorKind::Unreachable,
        "check the address",
    );
    check_error(
        "https://me:secret@localhost:1/r.git",
        None,
        VcsErrorKind::Unreachable,
        "***@localhost",
    );
    check_error(
        &origin.url(),
        Some("nope"),
        VcsErrorKind::UnknownRevision,
        "no branch, tag or commit `nope`",
    );
    check_error(
        &origin.url(),
        Some("--upload-pack=x"),
        VcsErrorKind::UnknownRevision,
        "give one of those",
    );
    check_error(
        "--upload-pack=touch /tmp/evil",
        None,
        VcsErrorKind::BadAddress,
        "like an option",
    );
    check_error(
        "ext::sh -c 'touch /tmp/evil'",
        None,
        VcsErrorKind::BadAddress,
        "transport helper",
    );
    let error = GitProgram::at(".")
        .program("no-such-git")
        .version()
        .unwrap_err();
    assert_eq!(error.kind(), VcsErrorKind::NoGit);
    assert!(error.to_string().contains("install it"), "{error}");
}

#[test]
fn repositories_are_told_from_other_directories() {
    let origin = Origin::new();
    assert!(GitProgram::at(origin.dir.path()).is_repository().unwrap());
    assert_eq!(
        GitProgram::at(origin.dir.path())
            .head_commit()
            .unwrap()
            .as_str(),
        origin.second
    );
    let plain = tempfile::tempdir().unwrap();
    assert!(!GitProgram::at(plain.path()).is_repository().unwrap());
    assert!(
        !GitProgram::at(plain.path().join("nope"))
            .is_repository()
            .unwrap()
    );
    let error = GitProgram::at(plain.path()).head_commit().unwrap_err();
    assert_eq!(error.kind(), VcsErrorKind::NotARepository);
    assert!(GitProgram::at(".").version().unwrap().starts_with('2'));
}

#[test]
fn hooks_from_a_users_template_do_not_run() {
    let origin = Origin::new();
    let dest = tempfile::tempdir().unwrap();
    let clone = GitProgram::at(dest.path().join("c"));
    clone.clone_from(&origin.url()).unwrap();
    let hooks = dest.path().join("c/.git/hooks");
    std::fs::create_dir_all(&hooks).unwrap();
    let hook = hooks.join("post-checkout");
    std::fs::write(&hook, "#!/bin/sh\ntouch hooked\n").unwrap();
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&hook, permissions).unwrap();
    clone.checkout("v1").unwrap();
    assert!(!dest.path().join("c/hooked").exists());
}

#[test]
fn commits_have_full_names() {
    assert!(CommitId::parse(&"a".repeat(40)).is_ok());
    assert_eq!(
        CommitId::parse(&"A".repeat(64)).unwrap().short(),
        "aaaaaaaaaaaa"
    );
    for text in ["", "abc", "main"] {
        assert!(CommitId::parse(text).is_err(), "{text}");
    }
    assert!(CommitId::parse(&"g".repeat(40)).is_err());
}
