//! The user's uncommitted changes: their paths, and a commit of them that is on no branch.
//!
//! The user's files and index stay untouched: the files are read into a private index. There is no
//! stash, and git's garbage collection removes an unused commit.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::call::GitCall;
use crate::commit_all::commit_snapshot;
use crate::snapshot::{ObjectStorage, WorktreeSnapshot};
use crate::worktree::WHOLE;
use crate::{CommitId, CommitMessage, CommitSigning, Error, PathSelection, Repository};

impl Repository {
    /// Lists files that differ from the checked-out commit: changed, deleted, or new and not
    /// ignored. Paths are from the top of the checkout, sorted.
    pub fn uncommitted(&self) -> Result<Vec<PathBuf>, Error> {
        // Without this, the call would refresh the user's index.
        let git = self.git.clone().variable("GIT_OPTIONAL_LOCKS", "0");
        let call = GitCall::new([
            "status",
            "--porcelain=v1",
            "-z",
            "--untracked-files=all",
            "--no-renames",
            "--ignore-submodules=all",
        ]);
        let bytes = git.tell(&call.limit(WHOLE))?;
        let entries = bytes.split(|byte| *byte == 0);
        // Each path follows two letters and a space; a folder is a nested repository.
        let paths = entries.filter_map(|entry| entry.get(3..));
        let mut paths: Vec<PathBuf> = paths
            .filter(|path| !path.is_empty() && !path.ends_with(b"/"))
            .map(|path| PathBuf::from(OsStr::from_bytes(path)))
            .collect();
        paths.sort();
        Ok(paths)
    }

    /// Commits these files on top of the checked-out commit; `None` if they are equal to it.
    /// Changes no branch, index or file.
    pub fn commit_uncommitted(
        &self,
        paths: Vec<PathBuf>,
        message: &CommitMessage,
    ) -> Result<Option<CommitId>, Error> {
        let head = self.head_commit()?;
        if paths.is_empty() {
            return Ok(None);
        }
        let place = (&self.git, self.git_dir());
        let snapshot =
            WorktreeSnapshot::of(place, &PathSelection::Only(paths), ObjectStorage::Kept)?;
        commit_snapshot(&snapshot, &head, message, CommitSigning::Off)
    }
}
