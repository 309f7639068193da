//! A checkout of our own, beside the user's: made for a job, worked in, removed.
//!
//! Git is told where the worktree's metadata is and does not look for it: the `.git` file in the
//! worktree is within reach of whatever runs there, and could point anywhere.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::call::Limit;
use crate::snapshot::{Objects, Snapshot};
use crate::{Commit, Error, ErrorKind, Git, Paths, Tree, disk};

/// How long may take what reads or writes all files of a worktree.
pub const WORKTREE_TIMEOUT_MAX: Duration = Duration::from_secs(300);
pub(crate) const WHOLE: Limit = Limit::new("WORKTREE_TIMEOUT_MAX", WORKTREE_TIMEOUT_MAX);

/// Lock files that a killed git leaves in a worktree's metadata.
const LOCKS: [&str; 2] = ["index.lock", "HEAD.lock"];

/// A worktree of ours that is whole.
#[derive(Debug, Clone)]
pub struct Worktree {
    /// Git in the worktree.
    pub(crate) git: Git,
    path: PathBuf,
    /// The worktree's own part of git's directory.
    pub(crate) admin: PathBuf,
    job: String,
    base: Commit,
}

impl Worktree {
    pub(crate) fn new(git: &Git, path: PathBuf, admin: PathBuf, job: String, base: Commit) -> Self {
        let git = git
            .moved_to(&path)
            .variable("GIT_DIR", &admin)
            .variable("GIT_WORK_TREE", &path);
        Self {
            git,
            path,
            admin,
            job,
            base,
        }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The job it was made for.
    #[must_use]
    pub fn job(&self) -> &str {
        &self.job
    }

    /// The commit it was made from.
    #[must_use]
    pub fn base(&self) -> &Commit {
        &self.base
    }

    /// The commit it is at: the base, or the last commit made in it.
    pub fn head_commit(&self) -> Result<Commit, Error> {
        self.git.commit("HEAD")?.ok_or_else(|| {
            let message = format!(
                "the worktree `{}` has lost its commit; start the job again",
                self.path.display()
            );
            Error::new(ErrorKind::Failed, message)
        })
    }

    /// The name of the state the files are in. Nothing is written that stays: not an index, not
    /// an object. A commit of the same paths has this tree.
    pub fn tree_hash(&self, paths: &Paths) -> Result<Tree, Error> {
        Snapshot::take(self, paths, Objects::Temporary).map(|snapshot| snapshot.tree)
    }

    /// Removes what a git that was killed here has locked. The worktree is ours and its job has one
    /// process, so nobody holds these.
    pub(crate) fn clear_locks(&self) -> Result<(), Error> {
        LOCKS
            .iter()
            .try_for_each(|lock| disk::remove_file(&self.admin.join(lock)))
    }
}
