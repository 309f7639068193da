//! Killed in the middle: whatever is left, the next one goes on and the user's things are whole.

use std::ffi::OsStr;
use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use vcs::{CheckoutTarget, GitProgram, PathSelection, Repository, VcsErrorKind, WorktreeFolder};

use crate::fixture::{OWNER, TestRepository, contents, git, make_executable, new_commit, write};

/// Makes a worktree with a `git` that is killed after so many milliseconds, and all it started.
fn make_and_die(stage: &TestRepository, job: &str, millis: u64) {
    let project = stage.project();
    let path = stage.folder().join(format!("{job}-{millis}"));
    let reason = format!("drawloom {OWNER} job {job}");
    let mut child = Command::new("setsid")
        .current_dir(&project)
        .args(["git", "-c", "core.hooksPath=/dev/null", "worktree", "add"])
        .args(["--quiet", "--lock", "--reason", &reason, "--detach"])
        .arg(path)
        .arg("HEAD")
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    thread::sleep(Duration::from_micros(millis * 100));
    let group = format!("-{}", child.id());
    let _ = Command::new("kill").args(["-KILL", "--", &group]).output();
    let _ = child.kill();
    child.wait().unwrap();
}

#[test]
fn a_git_killed_at_any_moment_of_making_leaves_something_that_is_mended() {
    let stage = TestRepository::dirty();
    let project = stage.project();
    for n in 0..300 {
        write(
            &project.join(format!("big/{n}")),
            n.to_string().repeat(2000),
        );
    }
    git(&project, &["add", "big"]);
    git(&project, &["commit", "--quiet", "-m", "big", "--", "big"]);
    let before = contents(&project);
    let worktrees = stage.worktrees();
    for millis in [0, 5, 10, 15, 20, 25, 30, 40, 50, 70, 100, 150, 200, 300] {
        make_and_die(&stage, "j1", millis);
        let worktree = worktrees
            .make("j1", &CheckoutTarget::Commit(stage.head()))
            .unwrap();
        assert!(worktree.changes(&PathSelection::All).unwrap().is_empty());
        worktrees.remove_of("j1").unwrap();
    }
    // Git itself does not list a worktree that a killed git had not marked yet.
    let listed = git(&project, &["worktree", "list"]);
    assert_eq!(listed.lines().count(), 1, "{listed}");
    let mut after = contents(&project);
    after.retain(|path, _| !path.starts_with(".git/worktrees"));
    assert_eq!(after, before);
}

#[test]
fn half_made_worktrees_are_replaced_or_reconciled() {
    let stage = TestRepository::clean();
    let admin = stage.project().join(".git/worktrees");
    // Git died right after it wrote the owner.
    write(&admin.join("j1/locked"), format!("drawloom {OWNER} job j1"));
    write(&admin.join("j2/locked"), format!("drawloom {OWNER} job j2"));
    // Git died in the middle of the checkout.
    let half = stage.worktree("j3");
    let name = half.path().file_name().unwrap();
    fs::remove_file(admin.join(name).join("drawloom")).unwrap();
    fs::remove_file(half.path().join("README.md")).unwrap();
    write(&admin.join(name).join("index.lock"), "");
    let list = stage.worktrees().list().unwrap();
    let states: Vec<_> = list.iter().map(|w| (w.job.as_str(), w.whole)).collect();
    assert_eq!(states, [("j1", false), ("j2", false), ("j3", false)]);
    assert!(stage.worktrees().find("j3").unwrap().is_none());
    for job in ["j1", "j3"] {
        let made = stage.worktree(job);
        assert!(made.path().join("README.md").exists(), "{job}");
    }
    // We died in the middle of removing: the directory is gone, git's part is not.
    let gone = stage.worktree("j4");
    fs::remove_dir_all(gone.path()).unwrap();
    assert!(stage.worktree("j4").path().join("README.md").exists());
    let removed = stage.worktrees().reconcile(|job| job != "j2").unwrap();
    assert_eq!(removed.len(), 1);
    assert!(!admin.join("j2").exists());
}

#[test]
fn locks_of_a_dead_git_in_our_worktree_do_not_stop_us() {
    let stage = TestRepository::clean();
    let worktree = stage.worktree("j1");
    let name = worktree.path().file_name().unwrap();
    let admin = stage.project().join(".git/worktrees").join(name);
    write(&worktree.path().join("new.txt"), "new\n");
    for lock in ["index.lock", "HEAD.lock"] {
        write(&admin.join(lock), "");
    }
    worktree.tree_hash(&PathSelection::All).unwrap();
    worktree
        .commit(&new_commit("x", PathSelection::All))
        .unwrap();
    write(&admin.join("index.lock"), "");
    let again = stage.worktrees().find("j1").unwrap().unwrap();
    assert_eq!(git(again.path(), &["status", "--porcelain"]), "");
}

#[test]
fn locks_in_the_users_repository_are_left_alone() {
    let stage = TestRepository::clean();
    let lock = stage.project().join(".git/index.lock");
    write(&lock, "");
    // The user's index is not needed.
    let worktree = stage.worktree("j1");
    write(&worktree.path().join("new.txt"), "new\n");
    let commit = worktree
        .commit(&new_commit("x", PathSelection::All))
        .unwrap();
    let branch = vcs::BranchName::parse("builder/j1-x").unwrap();
    write(
        &stage.project().join(".git/refs/heads/builder/j1-x.lock"),
        "",
    );
    let made = stage.repository().make_branch(&branch, &commit).unwrap();
    assert_eq!(
        made.as_str(),
        "builder/j1-x-2",
        "a name that is locked is taken"
    );
    assert!(lock.exists());
}

#[test]
fn cancelling_and_running_out_of_time_leave_nothing_behind() {
    let stage = TestRepository::clean();
    let before = contents(&stage.project());
    // A git that takes its time with worktrees.
    let program = stage.dir.path().join("slow-git");
    let script = "#!/bin/sh\ncase \"$*\" in *'worktree add'*) git \"$@\"; sleep 60;; esac\n\
                  exec git \"$@\"\n";
    write(&program, script);
    make_executable(&program);
    let cancel = exec::CommandCancel::default();
    let slow = GitProgram::at(stage.project())
        .program(program)
        .cancel(cancel.clone());
    let repository = Repository::open(&slow).unwrap();
    let worktrees = WorktreeFolder::new(&repository, &stage.folder(), OWNER).unwrap();
    let later = cancel.clone();
    thread::spawn(move || {
        thread::sleep(Duration::from_millis(700));
        later.cancel();
    });
    let at = CheckoutTarget::Commit(stage.head());
    let error = worktrees.make("j1", &at).unwrap_err();
    assert_eq!(error.kind(), VcsErrorKind::Cancelled);
    assert_eq!(contents(&stage.project()), before);
    assert!(!stage.folder().exists() || contents(&stage.folder()).is_empty());
}

/// The test that starts itself as a program to be killed, and the variable that tells it so.
const VICTIM: &str = "crashes::a_builder_killed_at_any_moment_leaves_something_that_is_mended";
const VICTIMS_PROJECT: &str = "VICTIMS_PROJECT";
const VICTIMS_FOLDER: &str = "VICTIMS_FOLDER";

/// Works like a builder, again and again, until it is killed.
fn be_a_victim(project: &OsStr, folder: &OsStr) {
    let repository = Repository::open(&GitProgram::at(project)).unwrap();
    let worktrees = WorktreeFolder::new(&repository, folder.as_ref(), OWNER).unwrap();
    let at = CheckoutTarget::Commit(repository.head_commit().unwrap());
    for number in 0.. {
        let worktree = worktrees.make("j1", &at).unwrap();
        write(&worktree.path().join("new.txt"), number.to_string());
        worktree.tree_hash(&PathSelection::All).unwrap();
        let commit = worktree
            .commit(&new_commit("x", PathSelection::All))
            .unwrap();
        let branch = vcs::BranchName::of_job(vcs::BranchPurpose::Finished, "j1", "x");
        repository.make_branch(&branch, &commit).unwrap();
        worktrees.remove_of("j1").unwrap();
    }
}

#[test]
fn a_builder_killed_at_any_moment_leaves_something_that_is_mended() {
    let ask = |name: &str| std::env::var_os(name);
    if let (Some(project), Some(folder)) = (ask(VICTIMS_PROJECT), ask(VICTIMS_FOLDER)) {
        return be_a_victim(&project, &folder);
    }
    let stage = TestRepository::dirty();
    let project = stage.project();
    let theirs = |stage: &TestRepository| {
        let mut found = contents(&stage.project());
        found.retain(|path, _| {
            let path = path.to_string_lossy();
            !path.starts_with(".git/objects")
                && !path.starts_with(".git/worktrees")
                && !path.contains("/heads/builder")
        });
        found
    };
    let before = theirs(&stage);
    let worktrees = stage.worktrees();
    let at = CheckoutTarget::Commit(stage.head());
    for round in 0..12u64 {
        let mut victim = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", VICTIM])
            .env(VICTIMS_PROJECT, &project)
            .env(VICTIMS_FOLDER, stage.folder())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_millis(60 + round * 37));
        victim.kill().unwrap();
        victim.wait().unwrap();
        match worktrees.find("j1").unwrap() {
            // The interrupted work can continue.
            Some(worktree) => drop(worktree.changes(&PathSelection::All).unwrap()),
            None => drop(worktrees.make("j1", &at).unwrap()),
        }
        // The victim's git may live a moment longer.
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(300) {
            worktrees.reconcile(|_| false).unwrap();
            thread::sleep(Duration::from_millis(50));
        }
        assert!(worktrees.list().unwrap().is_empty());
        assert_eq!(theirs(&stage), before, "round {round}");
        let left = stage.folder().exists().then(|| contents(&stage.folder()));
        assert!(left.unwrap_or_default().is_empty(), "round {round}");
    }
    assert_eq!(
        git(&project, &["fsck", "--no-progress", "--no-dangling"]),
        ""
    );
}

#[test]
fn builders_at_the_same_time_do_not_disturb_each_other() {
    let stage = TestRepository::clean();
    thread::scope(|scope| {
        for worker in 0..4 {
            let stage = &stage;
            scope.spawn(move || {
                for round in 0..3 {
                    let job = format!("j{worker}-{round}");
                    let worktree = stage.worktree(&job);
                    write(&worktree.path().join("new.txt"), &job);
                    let commit = worktree
                        .commit(&new_commit(&job, PathSelection::All))
                        .unwrap();
                    let branch = vcs::BranchName::of_job(vcs::BranchPurpose::Finished, &job, "x");
                    stage.repository().make_branch(&branch, &commit).unwrap();
                    stage.worktrees().remove_of(&job).unwrap();
                }
            });
        }
    });
    let branches = git(&stage.project(), &["branch", "--list", "builder/*"]);
    assert_eq!(branches.lines().count(), 12);
    assert!(stage.worktrees().list().unwrap().is_empty());
}
