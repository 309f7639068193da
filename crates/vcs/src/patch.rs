//! Changes as unified diffs, and as a patch for `git am` and `git apply`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::call::GitCall;
use crate::commit_all::{commit_snapshot, nothing};
use crate::snapshot::{ObjectStorage, WorktreeSnapshot};
use crate::worktree::WHOLE;
use crate::{
    CommitId, CommitMessage, CommitSigning, Error, GitProgram, PathSelection, Repository,
    VcsErrorKind, Worktree,
};

/// Separates the diffs of two files. No content line of a diff begins like this.
const FILE_HEADER: &[u8] = b"diff --git ";

/// The kind of change of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// The file is new.
    Added,
    /// Its content or its mode changed.
    Modified,
    /// The file was deleted.
    Deleted,
    /// Its path changed, and perhaps its content.
    Renamed,
    /// A file became a link, or the other way round.
    Retyped,
}

/// A file that has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryChange {
    /// Its path, relative to the top.
    pub path: PathBuf,
    /// Its path before, if it was renamed.
    pub from: Option<PathBuf>,
    /// The kind of change.
    pub kind: ChangeKind,
    /// Its part of the unified diff, which may be in any encoding; a binary file's is a binary patch.
    pub diff: Vec<u8>,
}

impl Worktree {
    /// Lists the changes since the worktree was made, committed or not, in the order of paths.
    pub fn changes(&self, paths: &PathSelection) -> Result<Vec<RepositoryChange>, Error> {
        let snapshot = WorktreeSnapshot::take(self, paths, ObjectStorage::Temporary)?;
        changes_between(&snapshot.git, self.base(), snapshot.tree.as_str())
    }

    /// Returns a patch file of everything since the worktree was made: its commits, and the
    /// uncommitted changes as one more. Writes nothing. Returns [`VcsErrorKind::NothingToCommit`] if
    /// there is no change.
    pub fn patch(&self, message: &CommitMessage, paths: &PathSelection) -> Result<Vec<u8>, Error> {
        let snapshot = WorktreeSnapshot::take(self, paths, ObjectStorage::Temporary)?;
        let head = self.head_commit()?;
        let commit = commit_snapshot(&snapshot, &head, message, CommitSigning::Off)?;
        patch_of(&snapshot.git, self.base(), &commit.unwrap_or(head))
    }
}

impl Repository {
    /// Lists the changes between two commits, in the order of paths.
    pub fn changes(&self, from: &CommitId, to: &CommitId) -> Result<Vec<RepositoryChange>, Error> {
        changes_between(&self.git, from, to.as_str())
    }

    /// The commits between two as a patch file.
    pub fn patch(&self, from: &CommitId, to: &CommitId) -> Result<Vec<u8>, Error> {
        patch_of(&self.git, from, to)
    }
}

fn changes_between(
    git: &GitProgram,
    from: &CommitId,
    to: &str,
) -> Result<Vec<RepositoryChange>, Error> {
    let raw = ["diff-tree", "-r", "-z", "--raw", "--find-renames"];
    let call = GitCall::new(raw).args(["--end-of-options", from.as_str(), to]);
    let listed = git.tell(&call.limit(WHOLE))?;
    let mut changes = read_raw(&listed).ok_or_else(|| not_understood("list of changes"))?;
    let call = GitCall::new(["diff-tree", "-r", "--find-renames"])
        .args(DIFF_OPTIONS)
        .args(["--patch", "--end-of-options", from.as_str(), to]);
    let patch = git.tell(&call.limit(WHOLE))?;
    let diffs = split_files(&patch);
    if diffs.len() != changes.len() {
        return Err(not_understood("diff"));
    }
    for (change, diff) in changes.iter_mut().zip(diffs) {
        change.diff = diff.to_owned();
    }
    Ok(changes)
}

/// Makes diffs independent of the user's settings, and complete for binary files.
const DIFF_OPTIONS: [&str; 8] = [
    "--binary",
    "--full-index",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--submodule=short",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];

fn patch_of(git: &GitProgram, from: &CommitId, to: &CommitId) -> Result<Vec<u8>, Error> {
    let call = GitCall::new(["format-patch", "--stdout", "--find-renames"])
        .setting("format.signOff=false")
        .setting("format.headers=")
        .setting("format.from=false")
        .setting("log.showSignature=false")
        .args(DIFF_OPTIONS)
        .args([
            "--no-attach",
            "--no-thread",
            "--no-cover-letter",
            "--no-base",
        ])
        .args(["--no-notes", "--no-numbered", "--signature=drawloom"])
        .args(["--end-of-options", &format!("{from}..{to}"), "--"]);
    let patch = git.tell(&call.limit(WHOLE))?;
    if patch.is_empty() {
        return Err(nothing());
    }
    Ok(patch)
}

/// Reads `:modes objects status NUL path NUL [path NUL]`, again and again.
fn read_raw(bytes: &[u8]) -> Option<Vec<RepositoryChange>> {
    let mut fields = bytes.split(|byte| *byte == 0);
    let path = |field: &[u8]| PathBuf::from(OsStr::from_bytes(field));
    let mut changes = Vec::new();
    while let Some(head) = fields.next().filter(|head| !head.is_empty()) {
        let status = head.rsplit(|byte| *byte == b' ').next()?;
        let first = path(fields.next()?);
        let (kind, from, path) = match status.first()? {
            b'A' => (ChangeKind::Added, None, first),
            b'M' => (ChangeKind::Modified, None, first),
            b'D' => (ChangeKind::Deleted, None, first),
            b'T' => (ChangeKind::Retyped, None, first),
            b'R' => (ChangeKind::Renamed, Some(first), path(fields.next()?)),
            _ => return None,
        };
        changes.push(RepositoryChange {
            path,
            from,
            kind,
            diff: Vec::new(),
        });
    }
    Some(changes)
}

/// The parts of a diff, one for each file. A file that became a link has two, which belong together.
fn split_files(patch: &[u8]) -> Vec<&[u8]> {
    let mut starts: Vec<usize> = Vec::new();
    let mut at = 0;
    while at < patch.len() {
        if patch[at..].starts_with(FILE_HEADER) {
            starts.push(at);
        }
        let line = patch[at..].iter().position(|byte| *byte == b'\n');
        at = line.map_or(patch.len(), |end| at + end + 1);
    }
    let ends = starts.iter().skip(1).copied().chain([patch.len()]);
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for (start, end) in starts.iter().copied().zip(ends) {
        let header = |start: usize| patch[start..].split(|byte| *byte == b'\n').next();
        match parts.last_mut() {
            Some((before, last)) if header(*before) == header(start) => *last = end,
            _ => parts.push((start, end)),
        }
    }
    parts
        .into_iter()
        .map(|(start, end)| &patch[start..end])
        .collect()
}

fn not_understood(what: &str) -> Error {
    let message = format!("git's {what} cannot be understood; update git and try again");
    Error::new(VcsErrorKind::Failed, message)
}
