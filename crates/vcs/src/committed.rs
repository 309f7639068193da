//! Asks the repository about paths that may be gone: whether they were committed, and their present
//! names.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::call::GitCall;
use crate::{Error, Repository};

impl Repository {
    /// Returns the files of the checked-out commit at `path` or below it; if it has none, the path
    /// itself if an earlier commit had it. All paths are from the top of the repository.
    pub fn committed(&self, path: &Path) -> Result<Vec<PathBuf>, Error> {
        let list = [
            "ls-tree",
            "-r",
            "-z",
            "--name-only",
            "--full-tree",
            "HEAD",
            "--",
        ];
        let listed = self.git.tell(&GitCall::new(list).arg(path))?;
        let found: Vec<PathBuf> = paths(&listed).collect();
        if !found.is_empty() {
            return Ok(found);
        }
        let log = [
            "log",
            "-1",
            "--format=%h",
            "--no-show-signature",
            "HEAD",
            "--",
        ];
        let known = self.git.line(&GitCall::new(log).arg(path))?;
        Ok(match known.is_empty() {
            true => Vec::new(),
            false => vec![path.to_owned()],
        })
    }

    /// Returns files that the index has under another name than the checked-out commit, as pairs of
    /// the old and the new path: git guesses them by content.
    pub fn renamed(&self) -> Result<Vec<(PathBuf, PathBuf)>, Error> {
        let args = [
            "diff",
            "-z",
            "--no-ext-diff",
            "--no-textconv",
            "--name-status",
            "--find-renames",
            "--diff-filter=R",
            "--cached",
            "HEAD",
        ];
        let told = self.git.tell(&GitCall::new(args))?;
        let words: Vec<PathBuf> = paths(&told).collect();
        let pairs = words.as_chunks::<3>().0.iter();
        Ok(pairs
            .map(|[_, old, new]| (old.clone(), new.clone()))
            .collect())
    }
}

fn paths(bytes: &[u8]) -> impl Iterator<Item = PathBuf> {
    let names = bytes.split(|byte| *byte == 0);
    let names = names.filter(|name| !name.is_empty());
    names.map(|name| PathBuf::from(OsStr::from_bytes(name)))
}
