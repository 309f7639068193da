//! The user's uncommitted changes: seen, and committed without touching anything of the user's.

use std::path::PathBuf;

use vcs::{ChangeType, CommitMessage, GitProgram, Repository};

use crate::fixture::{TestRepository, contents_but_objects, git};

#[test]
fn uncommitted_changes_become_a_commit_on_no_branch() {
    let stage = TestRepository::dirty();
    let before = contents_but_objects(&stage.project());
    let repository = Repository::open(&GitProgram::at(stage.project())).unwrap();
    let changed = repository.uncommitted().unwrap();
    let names: Vec<&str> = changed.iter().map(|path| path.to_str().unwrap()).collect();
    assert_eq!(
        names,
        ["README.md", "src/gone.rs", "staged.txt", "untracked.txt"]
    );

    let message = CommitMessage::new(ChangeType::Chore, "uncommitted changes");
    let commit = repository
        .commit_uncommitted(changed, &message)
        .unwrap()
        .unwrap();
    let (project, commit) = (stage.project(), commit.to_string());
    let at = |path: &str| git(&project, &["show", &format!("{commit}:{path}")]);
    assert_eq!(at("README.md"), "changed by the user");
    assert_eq!(at("staged.txt"), "staged");
    assert_eq!(at("untracked.txt"), "untracked");
    let files = git(&project, &["ls-tree", "-r", "--name-only", &commit]);
    assert!(
        !files.contains("gone.rs") && !files.contains("ignored"),
        "{files}"
    );
    let parent = git(&project, &["rev-parse", &format!("{commit}^")]);
    assert_eq!(parent, git(&project, &["rev-parse", "HEAD"]));
    assert_eq!(
        contents_but_objects(&stage.project()),
        before,
        "something of the user's changed"
    );
}

#[test]
fn a_checkout_without_changes_has_none() {
    let stage = TestRepository::clean();
    let repository = Repository::open(&GitProgram::at(stage.project())).unwrap();
    assert_eq!(repository.uncommitted().unwrap(), Vec::<PathBuf>::new());
    let message = CommitMessage::new(ChangeType::Chore, "nothing");
    let made = repository.commit_uncommitted(vec![PathBuf::from("README.md")], &message);
    assert!(made.unwrap().is_none());
}
