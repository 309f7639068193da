//! The user's uncommitted changes: which files have some, and a commit of them that no branch has.
//!
//! Nothing of the user's is touched: the files are read into an index of our own, as they are. There
//! is no stash, and a commit that nobody uses goes with git's own tidying.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::call::Call;
use crate::commit_all::commit_snapshot;
use crate::snapshot::{Objects, Snapshot};
use crate::worktree::WHOLE;
use crate::{Commit, Error, Message, Paths, Repository, Signing};

impl Repository {
    /// Files that are not as the commit that is checked out has them: changed, deleted, or new and
    /// not ignored. Seen from the top of the checkout, sorted.
    pub fn uncommitted(&self) -> Result<Vec<PathBuf>, Error> {
        // Without this, looking would refresh the user's index.
        let git = self.git.clone().variable("GIT_OPTIONAL_LOCKS", "0");
        let call = Call::new([
            "status",
            "--porcelain=v1",
            "-z",
            "--untracked-files=all",
            "--no-renames",
            "--ignore-submodules=all",
        ]);
        let bytes = git.tell(&call.limit(WHOLE))?;
        let entries = bytes.split(|byte| *byte == 0);
        // Two letters and a space stand before each path; a folder is a repository of its own.
        let paths = entries.filter_map(|entry| entry.get(3..));
        let mut paths: Vec<PathBuf> = paths
            .filter(|path| !path.is_empty() && !path.ends_with(b"/"))
            .map(|path| PathBuf::from(OsStr::from_bytes(path)))
            .collect();
        paths.sort();
        Ok(paths)
    }

    /// A commit of these files as they are, on top of the commit that is checked out; `None` if
    /// they are as that has them. No branch, index or file changes.
    pub fn commit_uncommitted(
        &self,
        paths: Vec<PathBuf>,
        message: &Message,
    ) -> Result<Option<Commit>, Error> {
        let head = self.head_commit()?;
        if paths.is_empty() {
            return Ok(None);
        }
        let place = (&self.git, self.git_dir());
        let snapshot = Snapshot::of(place, &Paths::Only(paths), Objects::Kept)?;
        commit_snapshot(&snapshot, &head, message, Signing::Off)
    }
}
