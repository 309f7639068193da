//! A separate checkout beside the user's: made for a job, worked in, removed.
//!
//! Every call names the worktree's metadata, so that git does not look for it: commands in the
//! worktree can change its `.git` file, which then could point anywhere.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::call::TimeLimit;
use crate::snapshot::{ObjectStorage, WorktreeSnapshot};
use crate::{CommitId, Error, GitProgram, PathSelection, TreeId, VcsErrorKind, git_dir};

/// Time limit for calls that read or write all files of a worktree.
pub(crate) const WORKTREE_TIMEOUT_MAX: Duration = Duration::from_secs(300);
pub(crate) const WHOLE: TimeLimit = TimeLimit::new("WORKTREE_TIMEOUT_MAX", WORKTREE_TIMEOUT_MAX);

/// Lock files that a killed git leaves in a worktree's metadata.
const LOCKS: [&str; 2] = ["index.lock", "HEAD.lock"];

/// A complete worktree made by this program.
#[derive(Debug, Clone)]
pub struct Worktree {
    /// Git in the worktree.
    pub(crate) git: GitProgram,
    path: PathBuf,
    /// The worktree's own part of git's directory.
    pub(crate) admin: PathBuf,
    job: String,
    base: CommitId,
}

impl Worktree {
    pub(crate) fn new(
        git: &GitProgram,
        path: PathBuf,
        admin: PathBuf,
        job: String,
        base: CommitId,
    ) -> Self {
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

    /// Its directory.
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
    pub fn base(&self) -> &CommitId {
        &self.base
    }

    /// Returns its current commit: the base, or the last commit made in it.
    pub fn head_commit(&self) -> Result<CommitId, Error> {
        self.git.commit("HEAD")?.ok_or_else(|| {
            let message = format!(
                "the worktree `{}` has lost its commit; start the job again",
                self.path.display()
            );
            Error::new(VcsErrorKind::Failed, message)
        })
    }

    /// Returns the id of the files' present state. Leaves no index and no object behind. A commit
    /// of the same paths has this tree.
    pub fn tree_hash(&self, paths: &PathSelection) -> Result<TreeId, Error> {
        WorktreeSnapshot::take(self, paths, ObjectStorage::Temporary).map(|snapshot| snapshot.tree)
    }

    /// Removes the locks of a git that was killed here. The worktree belongs to one job, and the
    /// job to one process, so no other process holds these locks.
    pub(crate) fn clear_locks(&self) -> Result<(), Error> {
        LOCKS
            .iter()
            .try_for_each(|lock| git_dir::remove_file(&self.admin.join(lock)))
    }
}
