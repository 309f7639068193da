//! Stores the state of a worktree's files as a tree, through a private index.
//!
//! The index is made anew from the commit, so that the state of the worktree's own index (a file
//! marked as unchanged, an open merge) hides no change.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use tempfile::TempDir;

use crate::call::GitCall;
use crate::worktree::WHOLE;
use crate::{Error, GitProgram, TreeId, VcsErrorKind, Worktree};

/// The most bytes of paths in one call, below the systems' limits for arguments.
const ARGUMENT_BYTES_MAX: usize = 64 * 1024;

/// Selects changes of a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathSelection {
    /// All except ignored files.
    All,
    /// These files, and everything in these directories, ignored or not. A path that has not
    /// changed or does not exist is no error.
    Only(Vec<PathBuf>),
}

/// The place for the objects of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ObjectStorage {
    /// Into the repository, for a commit.
    Kept,
    /// Removed with the snapshot.
    Temporary,
}

/// A state of the files.
pub(crate) struct WorktreeSnapshot {
    pub(crate) tree: TreeId,
    /// Git that finds the snapshot's objects.
    pub(crate) git: GitProgram,
    /// The index, and objects that do not stay.
    _dir: TempDir,
}

impl WorktreeSnapshot {
    pub(crate) fn take(
        worktree: &Worktree,
        paths: &PathSelection,
        objects: ObjectStorage,
    ) -> Result<Self, Error> {
        // The index is in the worktree's metadata: if this process dies, it is removed with the
        // worktree.
        Self::of((&worktree.git, &worktree.admin), paths, objects)
    }

    /// Takes a snapshot of the files that this git sees, with a temporary index in this folder.
    pub(crate) fn of(
        (git, folder): (&GitProgram, &Path),
        paths: &PathSelection,
        objects: ObjectStorage,
    ) -> Result<Self, Error> {
        let made = tempfile::Builder::new()
            .prefix("drawloom-")
            .tempdir_in(folder);
        let dir = made.map_err(|error| {
            let place = folder.display();
            let message = format!("cannot make a directory in `{place}`: {error}");
            Error::new(VcsErrorKind::Failed, message)
        })?;
        let index = dir.path().join("index");
        let mut git = git.clone().variable("GIT_INDEX_FILE", index);
        if objects == ObjectStorage::Temporary {
            let call = GitCall::new([
                "rev-parse",
                "--path-format=absolute",
                "--git-path",
                "objects",
            ]);
            let kept = git.line(&call)?;
            git = git
                .variable("GIT_OBJECT_DIRECTORY", dir.path())
                .variable("GIT_ALTERNATE_OBJECT_DIRECTORIES", quoted(&kept));
        }
        git.tell(&GitCall::new(["read-tree", "HEAD"]).limit(WHOLE))?;
        // New files first: a link in place of a directory removes the directory's files from the
        // index.
        let new = new_files(&git, paths)?;
        stage(&git, &new)?;
        let changed = changed_files(&git, paths)?;
        stage(&git, &changed)?;
        let tree = TreeId::new(git.line(&GitCall::new(["write-tree"]).limit(WHOLE))?);
        Ok(Self {
            tree,
            git,
            _dir: dir,
        })
    }
}

fn new_files(git: &GitProgram, paths: &PathSelection) -> Result<Vec<PathBuf>, Error> {
    let call = GitCall::new(["ls-files", "-z", "--others"]);
    match paths {
        PathSelection::All => {
            let found = list(git, call.arg("--exclude-standard"), &[])?;
            // A nested repository is listed as a directory, and is not committed.
            Ok(found.into_iter().filter(|path| !is_folder(path)).collect())
        }
        PathSelection::Only(only) => {
            let found = in_pieces(git, &call, only)?;
            match found.iter().find(|path| is_folder(path)) {
                None => Ok(found),
                Some(folder) => {
                    let message = format!(
                        "`{}` is a git repository of its own inside the worktree, and what is in it \
                         cannot be committed; remove its `.git`",
                        folder.display()
                    );
                    Err(Error::new(VcsErrorKind::NestedRepository, message))
                }
            }
        }
    }
}

fn changed_files(git: &GitProgram, paths: &PathSelection) -> Result<Vec<PathBuf>, Error> {
    let call = GitCall::new(["ls-files", "-z", "--deleted", "--modified"]);
    match paths {
        PathSelection::All => list(git, call, &[]),
        PathSelection::Only(only) => in_pieces(git, &call, only),
    }
}

fn in_pieces(git: &GitProgram, call: &GitCall, only: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let checked = only.iter().map(|path| checked(path));
    let mut found = Vec::new();
    let mut piece: Vec<OsString> = Vec::new();
    let mut bytes = 0;
    for path in checked {
        let path = path?;
        bytes += path.len() + 1;
        piece.push(path);
        if bytes > ARGUMENT_BYTES_MAX {
            found.extend(list(git, call.clone(), &piece)?);
            (piece, bytes) = (Vec::new(), 0);
        }
    }
    if !piece.is_empty() {
        found.extend(list(git, call.clone(), &piece)?);
    }
    Ok(found)
}

fn list(git: &GitProgram, call: GitCall, paths: &[OsString]) -> Result<Vec<PathBuf>, Error> {
    let call = call.arg("--").args(paths.iter().cloned()).limit(WHOLE);
    let bytes = git.tell(&call)?;
    let names = bytes
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty());
    let mut found: Vec<PathBuf> = names
        .map(|name| PathBuf::from(OsStr::from_bytes(name)))
        .collect();
    found.sort();
    found.dedup();
    Ok(found)
}

/// Adds files to the index: new, changed and deleted ones.
fn stage(git: &GitProgram, paths: &[PathBuf]) -> Result<(), Error> {
    if paths.is_empty() {
        return Ok(());
    }
    let mut stdin = Vec::new();
    for path in paths {
        stdin.extend_from_slice(path.as_os_str().as_bytes());
        stdin.push(0);
    }
    let call = GitCall::new([
        "update-index",
        "--add",
        "--remove",
        "--replace",
        "-z",
        "--stdin",
    ]);
    git.tell(&call.stdin(stdin).limit(WHOLE)).map(drop)
}

/// Returns the path as git expects it, if it stays in the worktree and out of git's directory.
fn checked(path: &Path) -> Result<OsString, Error> {
    let mut parts: Vec<&OsStr> = Vec::new();
    let mut bad = false;
    for component in path.components() {
        match component {
            Component::Normal(part) if !part.eq_ignore_ascii_case(".git") => parts.push(part),
            Component::CurDir => {}
            _ => bad = true,
        }
    }
    if bad || parts.is_empty() || path.as_os_str().as_bytes().contains(&0) {
        let message = format!(
            "`{}` is not a path in the worktree; give one relative to its top, without `..` and `.git`",
            path.display()
        );
        return Err(Error::new(VcsErrorKind::BadPath, message));
    }
    let joined = parts.iter().map(|part| part.as_bytes()).collect::<Vec<_>>();
    Ok(OsString::from_vec(joined.join(&b'/')))
}

fn is_folder(path: &Path) -> bool {
    path.as_os_str().as_bytes().ends_with(b"/")
}

/// As one entry of a list that is separated by colons.
pub(crate) fn quoted(path: &str) -> String {
    let escaped = path.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}
