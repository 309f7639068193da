//! Facts of a repository: heads, default branches, remotes, and directories that are no repository.

use std::fs;

use vcs::{BranchName, GitProgram, HeadState, Repository, VcsErrorKind};

use crate::fixture::{TestRepository, git, write};

#[test]
fn a_repository_is_found_from_below() {
    let stage = TestRepository::clean();
    let project = fs::canonicalize(stage.project()).unwrap();
    let repository = Repository::open(&GitProgram::at(project.join("src"))).unwrap();
    assert_eq!(repository.top(), project);
    assert_eq!(repository.git_dir(), project.join(".git"));
    let facts = repository.facts().unwrap();
    assert!(!facts.bare && !facts.shallow && !facts.submodules);
    assert_eq!(
        facts.default_branch,
        Some(BranchName::parse("main").unwrap())
    );
}

#[test]
fn every_state_of_head_is_recognised() {
    let stage = TestRepository::clean();
    let project = stage.project();
    let head = stage.head();
    let main = BranchName::parse("main").unwrap();
    let now = || stage.repository().head().unwrap();
    assert_eq!(now(), HeadState::Branch(main, head.clone()));
    git(&project, &["checkout", "--quiet", "--detach"]);
    assert_eq!(now(), HeadState::Detached(head));
    git(&project, &["checkout", "--quiet", "--orphan", "fresh"]);
    assert_eq!(
        now(),
        HeadState::Unborn(BranchName::parse("fresh").unwrap())
    );
    let error = stage.repository().head_commit().unwrap_err();
    assert_eq!(error.kind(), VcsErrorKind::NoCommits);
    assert!(error.to_string().contains("first commit"), "{error}");
    assert!(!stage.repository().facts().unwrap().submodules);
}

#[test]
fn the_default_branch_is_the_remotes_then_the_usual_then_the_current() {
    let check = |setup: &[&[&str]], expected: &str| {
        let stage = TestRepository::clean();
        for args in setup {
            git(&stage.project(), args);
        }
        let found = stage.repository().facts().unwrap().default_branch.unwrap();
        assert_eq!(found.as_str(), expected, "{setup:?}");
    };
    check(&[], "main");
    check(&[&["branch", "-m", "master"]], "master");
    check(&[&["branch", "-m", "trunk"]], "trunk");
    check(
        &[
            &["update-ref", "refs/remotes/origin/develop", "HEAD"],
            &[
                "symbolic-ref",
                "refs/remotes/origin/HEAD",
                "refs/remotes/origin/develop",
            ],
        ],
        "develop",
    );
    // Only the remote has it.
    check(
        &[
            &["update-ref", "refs/remotes/origin/master", "HEAD"],
            &["branch", "-m", "mine"],
        ],
        "master",
    );
}

#[test]
fn bare_shallow_and_submodules_are_said() {
    let stage = TestRepository::clean();
    let bare = stage.with_origin();
    let repository = Repository::open(&GitProgram::at(&bare)).unwrap();
    assert!(repository.facts().unwrap().bare);
    let url = format!("file://{}", bare.display());
    let shallow = stage.dir.path().join("shallow");
    let to = shallow.to_str().unwrap();
    git(
        stage.dir.path(),
        &["clone", "--quiet", "--depth=1", &url, to],
    );
    let repository = Repository::open(&GitProgram::at(&shallow)).unwrap();
    assert!(repository.facts().unwrap().shallow);
    write(&shallow.join(".gitmodules"), "[submodule \"x\"]\n");
    git(&shallow, &["add", "."]);
    git(&shallow, &["commit", "--quiet", "-m", "x"]);
    assert!(repository.facts().unwrap().submodules);
}

#[test]
fn remotes_are_read_as_pushes_use_them() {
    let stage = TestRepository::clean();
    let project = stage.project();
    let origin = || stage.repository().remote("origin").unwrap();
    assert_eq!(origin(), None);
    let address = "https://me:secret@github.com/octo/hello.git";
    git(&project, &["remote", "add", "origin", address]);
    let remote = origin().unwrap();
    assert_eq!(remote.shown(), "https://***@github.com/octo/hello.git");
    assert_eq!(remote.project().unwrap().name(), "octo/hello");
    git(
        &project,
        &["remote", "set-url", "--push", "origin", "gh:octo/fork"],
    );
    git(
        &project,
        &["config", "url.git@github.com:.insteadOf", "gh:"],
    );
    assert_eq!(origin().unwrap().project().unwrap().name(), "octo/fork");
    assert_eq!(stage.repository().remote("--evil").unwrap(), None);
}

#[test]
fn a_directory_without_a_repository_is_an_error() {
    let plain = tempfile::tempdir().unwrap();
    for dir in [plain.path().to_owned(), plain.path().join("nope")] {
        let error = Repository::open(&GitProgram::at(&dir)).unwrap_err();
        assert_eq!(error.kind(), VcsErrorKind::NotARepository, "{error}");
    }
}

#[test]
fn a_path_that_is_not_text_is_a_place_like_others() {
    use std::os::unix::ffi::OsStrExt;
    let stage = TestRepository::clean();
    let odd = stage
        .dir
        .path()
        .join(std::ffi::OsStr::from_bytes(b"odd \xff\n'"));
    fs::rename(stage.project(), &odd).unwrap();
    let repository = Repository::open(&GitProgram::at(&odd)).unwrap();
    assert_eq!(repository.top(), odd);
    assert!(repository.head_commit().is_ok());
}
