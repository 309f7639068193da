//! What has changed, as unified diffs and as a patch that `git am` and `git apply` take.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::call::Call;
use crate::commit_all::{commit_snapshot, nothing};
use crate::snapshot::{Objects, Snapshot};
use crate::worktree::WHOLE;
use crate::{Commit, Error, ErrorKind, Git, Message, Paths, Repository, Signing, Worktree};

/// Between the diffs of two files. No line of a diff's contents begins so.
const FILE_HEADER: &[u8] = b"diff --git ";

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// Its contents or its mode are others.
    Modified,
    /// It is gone.
    Deleted,
    /// It has another name, and perhaps other contents.
    Renamed,
    /// It was a file and is a link, or the other way round.
    Retyped,
}

/// A file that has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Its path, relative to the top.
    pub path: PathBuf,
    /// Its path before, if it was renamed.
    pub from: Option<PathBuf>,
    /// What became of it.
    pub kind: ChangeKind,
    /// Its part of the unified diff, which may be in any encoding; a binary file's is a binary patch.
    pub diff: Vec<u8>,
}

impl Worktree {
    /// What has changed since the worktree was made, committed or not, in the order of paths.
    pub fn changes(&self, paths: &Paths) -> Result<Vec<FileChange>, Error> {
        let snapshot = Snapshot::take(self, paths, Objects::Temporary)?;
        changes_between(&snapshot.git, self.base(), snapshot.tree.as_str())
    }

    /// Everything since the worktree was made as a patch file: its commits, and what is not
    /// committed as one more. Nothing is written. No change at all is
    /// [`ErrorKind::NothingToCommit`].
    pub fn patch(&self, message: &Message, paths: &Paths) -> Result<Vec<u8>, Error> {
        let snapshot = Snapshot::take(self, paths, Objects::Temporary)?;
        let head = self.head_commit()?;
        let commit = commit_snapshot(&snapshot, &head, message, Signing::Off)?;
        patch_of(&snapshot.git, self.base(), &commit.unwrap_or(head))
    }
}

impl Repository {
    /// What has changed between two commits, in the order of paths.
    pub fn changes(&self, from: &Commit, to: &Commit) -> Result<Vec<FileChange>, Error> {
        changes_between(&self.git, from, to.as_str())
    }

    /// The commits between two as a patch file.
    pub fn patch(&self, from: &Commit, to: &Commit) -> Result<Vec<u8>, Error> {
        patch_of(&self.git, from, to)
    }
}

fn changes_between(git: &Git, from: &Commit, to: &str) -> Result<Vec<FileChange>, Error> {
    let raw = ["diff-tree", "-r", "-z", "--raw", "--find-renames"];
    let call = Call::new(raw).args(["--end-of-options", from.as_str(), to]);
    let listed = git.tell(&call.limit(WHOLE))?;
    let mut changes = read_raw(&listed).ok_or_else(|| not_understood("list of changes"))?;
    let call = Call::new(["diff-tree", "-r", "--find-renames"])
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

/// The same whatever the user's settings are, and complete also for files that are no text.
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

fn patch_of(git: &Git, from: &Commit, to: &Commit) -> Result<Vec<u8>, Error> {
    let call = Call::new(["format-patch", "--stdout", "--find-renames"])
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
fn read_raw(bytes: &[u8]) -> Option<Vec<FileChange>> {
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
        changes.push(FileChange {
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
    Error::new(ErrorKind::Failed, message)
}
