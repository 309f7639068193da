//! A user's repository with everything that must not change, and git as the user runs it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use vcs::{
    ChangeType, CheckoutTarget, CommitId, CommitMessage, CommitSigning, GitProgram, NewCommit,
    PathSelection, Repository, Worktree, WorktreeFolder,
};

/// The owner that the tests' worktrees have.
pub(crate) const OWNER: &str = "tests";

/// Git as the user runs it, without any settings of the machine.
pub(crate) fn git(dir: &Path, args: &[&str]) -> String {
    let output = git_command(dir, args).output().unwrap();
    assert!(
        output.status.success(),
        "git {args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout)
        .trim_end()
        .to_owned()
}

pub(crate) fn git_command(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("git");
    command
        .current_dir(dir)
        .args(["-c", "user.name=T", "-c", "user.email=t@example.org"])
        .args([
            "-c",
            "commit.gpgsign=false",
            "-c",
            "init.defaultBranch=main",
        ])
        .args(args)
        .env_remove("GIT_DIR");
    command
}

pub(crate) fn write(path: &Path, text: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

pub(crate) fn make_executable(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A temporary folder with the user's `project` and a place for `worktrees`.
pub(crate) struct TestRepository {
    pub(crate) dir: TempDir,
}

impl TestRepository {
    /// A project with two commits; then dirty: staged, changed, untracked and stashed things.
    pub(crate) fn dirty() -> TestRepository {
        let stage = TestRepository::clean();
        let project = stage.project();
        write(&project.join("README.md"), "stashed\n");
        git(&project, &["stash", "--quiet"]);
        write(&project.join("README.md"), "changed by the user\n");
        write(&project.join("staged.txt"), "staged\n");
        git(&project, &["add", "staged.txt"]);
        write(&project.join("untracked.txt"), "untracked\n");
        write(&project.join("ignored/cache"), "cache\n");
        fs::remove_file(project.join("src/gone.rs")).unwrap();
        stage
    }

    pub(crate) fn clean() -> TestRepository {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path().join("project");
        fs::create_dir(&project).unwrap();
        git(&project, &["init", "--quiet"]);
        write(&project.join("README.md"), "# Project\n");
        git(&project, &["add", "."]);
        git(&project, &["commit", "--quiet", "-m", "first"]);
        write(&project.join("src/main.rs"), "fn main() {}\n".repeat(20));
        write(&project.join("src/gone.rs"), "// soon gone\n");
        write(&project.join("run.sh"), "#!/bin/sh\n");
        make_executable(&project.join("run.sh"));
        write(&project.join("logo.bin"), [0u8, 1, 2, 255, 0, 10, 13]);
        std::os::unix::fs::symlink("README.md", project.join("link")).unwrap();
        write(&project.join(".gitignore"), "ignored/\n*.log\n");
        git(&project, &["add", "."]);
        git(&project, &["commit", "--quiet", "-m", "second"]);
        TestRepository { dir }
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.dir.path().join("project")
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.dir.path().join("worktrees")
    }

    pub(crate) fn repository(&self) -> Repository {
        Repository::open(&GitProgram::at(self.project())).unwrap()
    }

    pub(crate) fn worktrees(&self) -> WorktreeFolder {
        WorktreeFolder::new(&self.repository(), &self.folder(), OWNER).unwrap()
    }

    pub(crate) fn head(&self) -> CommitId {
        self.repository().head_commit().unwrap()
    }

    pub(crate) fn worktree(&self, job: &str) -> Worktree {
        let checkout = CheckoutTarget::Commit(self.head());
        self.worktrees().make(job, &checkout).unwrap()
    }

    /// A bare repository that is the project's `origin`.
    pub(crate) fn with_origin(&self) -> PathBuf {
        let origin = self.dir.path().join("origin.git");
        let to = origin.to_str().unwrap();
        git(&self.project(), &["clone", "--quiet", "--bare", ".", to]);
        git(&self.project(), &["remote", "add", "origin", to]);
        origin
    }
}

pub(crate) fn message(summary: &str) -> CommitMessage {
    CommitMessage::new(ChangeType::Feat, summary)
}

pub(crate) fn new_commit(summary: &str, paths: PathSelection) -> NewCommit {
    NewCommit {
        message: message(summary),
        paths,
        signing: CommitSigning::Off,
    }
}

/// Every file and link below a directory with its mode and contents, by its path.
pub(crate) fn contents(dir: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let name = path.strip_prefix(dir).unwrap().to_owned();
            if metadata.is_symlink() {
                let target = fs::read_link(&path).unwrap();
                found.insert(name, (0, target.as_os_str().as_encoded_bytes().to_owned()));
            } else if metadata.is_dir() {
                found.insert(name, (metadata.permissions().mode(), Vec::new()));
                folders.push(path);
            } else {
                let bytes = fs::read(&path).unwrap();
                found.insert(name, (metadata.permissions().mode(), bytes));
            }
        }
    }
    found
}

/// As [`contents`], without git's own directory for objects, to which commits add.
pub(crate) fn contents_but_objects(dir: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut found = contents(dir);
    found.retain(|path, _| !path.starts_with(".git/objects"));
    found
}
