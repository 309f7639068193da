//! Worktrees: made beside the user's checkout, found again, and removed without a trace.

use std::fs;
use std::path::Path;

use vcs::{BranchName, BranchPurpose, CheckoutTarget, PathSelection, VcsErrorKind, WorktreeFolder};

use crate::fixture::{
    OWNER, TestRepository, contents, contents_but_objects, git, make_executable, new_commit, write,
};

#[test]
fn the_users_checkout_index_and_stash_stay_as_they_are() {
    let stage = TestRepository::dirty();
    let project = stage.project();
    let before = contents(&project);
    let worktrees = stage.worktrees();
    let worktree = stage.worktree("j1");
    assert_eq!(
        fs::read(worktree.path().join("README.md")).unwrap(),
        b"# Project\n"
    );
    assert!(!worktree.path().join("untracked.txt").exists());
    write(&worktree.path().join("new.txt"), "new\n");
    worktree.tree_hash(&PathSelection::All).unwrap();
    worktree.changes(&PathSelection::All).unwrap();
    worktrees.remove_of("j1").unwrap();
    assert_eq!(contents(&project), before, "nothing is left of a worktree");
    assert!(!stage.folder().exists());
    // With a commit and a branch: the branch is new, and objects are.
    let before = contents_but_objects(&project);
    let worktree = stage.worktree("j2");
    write(&worktree.path().join("new.txt"), "new\n");
    let commit = worktree
        .commit(&new_commit("new", PathSelection::All))
        .unwrap();
    let branch = BranchName::of_job(BranchPurpose::Finished, "j2", "new");
    stage.repository().make_branch(&branch, &commit).unwrap();
    worktrees.remove_of("j2").unwrap();
    let mut after = contents_but_objects(&project);
    after.retain(|path, _| !path.to_string_lossy().contains("/builder"));
    assert_eq!(after, before);
    assert_eq!(git(&project, &["fsck", "--no-progress"]), "");
}

#[test]
fn a_worktree_says_whose_it_is_and_is_found_again() {
    let stage = TestRepository::clean();
    let made = stage.worktree("j1");
    let listed = git(&stage.project(), &["worktree", "list", "--porcelain"]);
    assert!(listed.contains("locked drawloom tests job j1"), "{listed}");
    let found = stage.worktrees().find("j1").unwrap().unwrap();
    assert_eq!(found.path(), made.path());
    assert_eq!((found.job(), found.base()), ("j1", &stage.head()));
    assert!(stage.worktrees().find("j2").unwrap().is_none());
    let error = stage
        .worktrees()
        .make("j1", &CheckoutTarget::Commit(stage.head()));
    assert_eq!(error.unwrap_err().kind(), VcsErrorKind::Occupied);
    // The tools a user has still see it, and garbage collection leaves it alone.
    git(&stage.project(), &["worktree", "prune", "--expire=now"]);
    assert!(stage.worktrees().find("j1").unwrap().is_some());
}

#[test]
fn a_worktree_can_be_on_a_branch() {
    let stage = TestRepository::clean();
    let branch = BranchName::of_job(BranchPurpose::Finished, "j1", "on it");
    let branch = stage
        .repository()
        .make_branch(&branch, &stage.head())
        .unwrap();
    let made = stage
        .worktrees()
        .make("j1", &CheckoutTarget::Branch(branch.clone()));
    let worktree = made.unwrap();
    write(&worktree.path().join("new.txt"), "new\n");
    let commit = worktree
        .commit(&new_commit("new", PathSelection::All))
        .unwrap();
    let tip = stage.repository().branch_commit(&branch).unwrap();
    assert_eq!(tip, Some(commit));
    let missing = CheckoutTarget::Branch(BranchName::parse("nope").unwrap());
    let error = stage.worktrees().make("j2", &missing).unwrap_err();
    assert_eq!(error.kind(), VcsErrorKind::UnknownRevision);
}

#[test]
fn existing_files_in_the_folder_are_left_alone() {
    let stage = TestRepository::clean();
    write(&stage.folder().join("j1/precious.txt"), "precious");
    let first = stage.worktree("j1");
    stage.worktrees().remove_of("j1").unwrap();
    let second = stage.worktree("j1");
    assert_ne!(first.path(), second.path(), "a name is not used twice");
    stage.worktrees().remove_of("j1").unwrap();
    assert!(!second.path().exists());
    assert!(stage.folder().join("j1/precious.txt").exists());
}

#[test]
fn reconciling_removes_only_worktrees_without_a_job() {
    let stage = TestRepository::clean();
    let project = stage.project();
    let theirs = stage.dir.path().join("theirs");
    let path = theirs.to_str().unwrap();
    git(&project, &["worktree", "add", "--quiet", "--detach", path]);
    let locked = stage.dir.path().join("locked");
    let path = locked.to_str().unwrap();
    let add = [
        "worktree", "add", "--quiet", "--detach", "--lock", "--reason",
    ];
    git(&project, &[&add[..], &["on a disk", path]].concat());
    let other =
        WorktreeFolder::new(&stage.repository(), &stage.folder(), "other-database").unwrap();
    let other = other
        .make("j9", &CheckoutTarget::Commit(stage.head()))
        .unwrap();
    let (lives, gone) = (stage.worktree("lives"), stage.worktree("gone"));
    // The user removed the directory by hand.
    let vanished = stage.worktree("vanished");
    fs::remove_dir_all(vanished.path()).unwrap();
    assert!(stage.worktrees().find("vanished").unwrap().is_none());
    let removed = stage.worktrees().reconcile(|job| job == "lives").unwrap();
    let removed: Vec<&str> = removed.iter().map(|found| found.job.as_str()).collect();
    assert_eq!(removed, ["gone", "vanished"]);
    assert!(!gone.path().exists());
    for path in [&theirs, &locked, other.path(), lives.path()] {
        assert!(path.join("README.md").exists(), "{}", path.display());
    }
    let again = stage.worktrees().reconcile(|job| job == "lives").unwrap();
    assert!(again.is_empty());
}

#[test]
fn a_directory_that_became_something_else_stays() {
    let stage = TestRepository::clean();
    let worktree = stage.worktree("j1");
    fs::remove_file(worktree.path().join(".git")).unwrap();
    git(worktree.path(), &["init", "--quiet"]);
    stage.worktrees().remove_of("j1").unwrap();
    assert!(worktree.path().join("README.md").exists());
    assert!(stage.worktrees().list().unwrap().is_empty());
}

#[test]
fn a_worktree_whose_link_is_gone_or_is_read_only_is_removed() {
    let stage = TestRepository::clean();
    let worktree = stage.worktree("j1");
    fs::remove_file(worktree.path().join(".git")).unwrap();
    let locked = worktree.path().join("deep/locked");
    write(&locked.join("file"), "x");
    make_unwritable(&locked);
    stage.worktrees().remove_of("j1").unwrap();
    assert!(!worktree.path().exists());
}

fn make_unwritable(dir: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(dir, fs::Permissions::from_mode(0o555)).unwrap();
}

#[test]
fn commands_in_a_worktree_cannot_mislead_git() {
    let stage = TestRepository::clean();
    let worktree = stage.worktree("j1");
    let evil = worktree.path().join("evil");
    git(worktree.path(), &["init", "--quiet", "evil"]);
    let script = stage.dir.path().join("evil.sh");
    let sign = stage.dir.path().join("done");
    write(&script, format!("#!/bin/sh\ntouch '{}'\n", sign.display()));
    make_executable(&script);
    let script = script.to_str().unwrap();
    for key in [
        "core.fsmonitor",
        "core.editor",
        "diff.external",
        "core.sshCommand",
    ] {
        git(&evil, &["config", key, script]);
    }
    write(&evil.join("file"), "x\n");
    git(&evil, &["-c", "core.fsmonitor=false", "add", "file"]);
    git(
        &evil,
        &["-c", "core.fsmonitor=false", "commit", "--quiet", "-m", "x"],
    );
    write(&evil.join("file"), "y\n");
    let _ = fs::remove_file(&sign);
    let link = worktree.path().join(".git");
    write(&link, format!("gitdir: {}\n", evil.join(".git").display()));
    let hook = stage.project().join(".git/hooks/pre-commit");
    write(&hook, format!("#!/bin/sh\ntouch '{}'\n", sign.display()));
    make_executable(&hook);
    write(&worktree.path().join("good.txt"), "good\n");
    let changes = worktree.changes(&PathSelection::All).unwrap();
    let changed: Vec<_> = changes.iter().map(|change| change.path.to_str()).collect();
    assert_eq!(
        changed,
        [Some("good.txt")],
        "a repository inside is not ours to commit"
    );
    let commit = worktree
        .commit(&new_commit("good", PathSelection::All))
        .unwrap();
    let files = git(
        &stage.project(),
        &["show", "--name-only", "--format=", commit.as_str()],
    );
    assert_eq!(files, "good.txt");
    assert!(!sign.exists(), "a program of the worktree ran");
}

#[test]
fn ids_that_are_no_ids_are_refused() {
    let stage = TestRepository::clean();
    let at = CheckoutTarget::Commit(stage.head());
    for job in ["", "../x", "a b", "a/b", "-x", "x\ny", &"x".repeat(65)] {
        let error = stage.worktrees().make(job, &at).unwrap_err();
        assert_eq!(error.kind(), VcsErrorKind::BadPath, "{job:?}");
    }
    let relative = WorktreeFolder::new(&stage.repository(), Path::new("here"), OWNER);
    assert_eq!(relative.unwrap_err().kind(), VcsErrorKind::BadPath);
}

#[test]
fn a_worktree_of_a_sparse_checkout_has_all_files() {
    let stage = TestRepository::clean();
    git(
        &stage.project(),
        &["sparse-checkout", "set", "--no-cone", "/README.md"],
    );
    assert!(!stage.project().join("src").exists());
    let worktree = stage.worktree("j1");
    assert!(worktree.path().join("src/main.rs").exists());
    assert!(worktree.changes(&PathSelection::All).unwrap().is_empty());
}

#[test]
fn the_target_of_a_link_stays_and_a_pipe_does_not_block() {
    use std::os::unix::fs::symlink;
    let stage = TestRepository::clean();
    let theirs = stage.dir.path().join("theirs");
    write(&theirs.join("notes.txt"), "precious");
    git(&theirs, &["init", "--quiet", "repository"]);
    for (job, target) in [
        ("j1", theirs.join("notes.txt")),
        ("j2", theirs.join("repository/.git")),
        ("j3", stage.project().join(".git")),
        ("j4", theirs.join("nothing")),
    ] {
        let link = stage.worktree(job).path().join(".git");
        fs::remove_file(&link).unwrap();
        symlink(&target, &link).unwrap();
    }
    // The whole directory is a link.
    let moved = stage.worktree("j5");
    fs::rename(moved.path(), theirs.join("moved")).unwrap();
    symlink(theirs.join("moved"), moved.path()).unwrap();
    let piped = stage.worktree("j6");
    fs::remove_file(piped.path().join(".git")).unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(piped.path().join(".git"))
        .status();
    assert!(made.unwrap().success());
    let before = contents(&theirs);
    assert_eq!(stage.worktrees().reconcile(|_| false).unwrap().len(), 6);
    assert_eq!(contents(&theirs), before);
    assert!(stage.project().join(".git/HEAD").exists());
    assert!(!piped.path().exists());
    assert!(stage.worktrees().list().unwrap().is_empty());
}

#[test]
fn repositories_of_every_kind_have_worktrees() {
    let check = |project: &Path, folder: &Path| {
        let repository = vcs::Repository::open(&vcs::GitProgram::at(project)).unwrap();
        let worktrees = WorktreeFolder::new(&repository, folder, OWNER).unwrap();
        let at = CheckoutTarget::Commit(repository.head_commit().unwrap());
        let worktree = worktrees.make("j1", &at).unwrap();
        assert!(worktree.changes(&PathSelection::All).unwrap().is_empty());
        write(&worktree.path().join("new.txt"), "new\n");
        let commit = worktree
            .commit(&new_commit("new", PathSelection::All))
            .unwrap();
        let branch = BranchName::of_job(BranchPurpose::Finished, "j1", "new");
        repository.make_branch(&branch, &commit).unwrap();
        let changes = repository.changes(worktree.base(), &commit).unwrap();
        assert_eq!(changes.len(), 1);
        worktrees.remove_of("j1").unwrap();
        assert!(!folder.exists());
    };
    let stage = TestRepository::clean();
    let bare = stage.with_origin();
    check(&bare, &stage.folder());
    // Inside the user's checkout, if that is where they want it.
    check(
        &stage.project(),
        &stage.project().join(".drawloom/worktrees"),
    );
    // From a worktree of the user's own.
    let linked = stage.dir.path().join("linked");
    let path = linked.to_str().unwrap();
    git(
        &stage.project(),
        &["worktree", "add", "--quiet", "--detach", path],
    );
    check(&linked, &stage.folder());
    // With the other kind of names.
    let other = stage.dir.path().join("sha256");
    fs::create_dir(&other).unwrap();
    git(&other, &["init", "--quiet", "--object-format=sha256"]);
    git(&other, &["commit", "--quiet", "--allow-empty", "-m", "x"]);
    check(&other, &stage.folder());
    // With a submodule, and as one.
    let parent = stage.dir.path().join("parent");
    fs::create_dir(&parent).unwrap();
    git(&parent, &["init", "--quiet"]);
    let add = [
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
    ];
    git(
        &parent,
        &[&add[..], &[bare.to_str().unwrap(), "sub"]].concat(),
    );
    git(&parent, &["commit", "--quiet", "-m", "x"]);
    check(&parent, &stage.folder());
    check(&parent.join("sub"), &stage.folder());
}
