//! The state of a worktree's files as a tree, by way of an index that nobody else sees.
//!
//! The index is made afresh from the commit, so that nothing that was done to the worktree's own
//! index (a file marked as unchanged, a merge left open) hides a change.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use tempfile::TempDir;

use crate::call::Call;
use crate::worktree::WHOLE;
use crate::{Error, ErrorKind, Git, Tree, Worktree};

/// The most bytes of paths in one call, below what systems allow for arguments.
const ARGUMENT_BYTES_MAX: usize = 64 * 1024;

/// Which of a worktree's changes are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Paths {
    /// All but what is ignored.
    All,
    /// These files, and what is in these directories, ignored or not. A path that has not changed
    /// or does not exist is no error.
    Only(Vec<PathBuf>),
}

/// Where the objects of a snapshot go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Objects {
    /// Into the repository, for a commit.
    Kept,
    /// Away with the snapshot.
    Temporary,
}

/// A state of the files.
pub(crate) struct Snapshot {
    pub(crate) tree: Tree,
    /// Git that finds the snapshot's objects.
    pub(crate) git: Git,
    /// The index, and objects that do not stay.
    _dir: TempDir,
}

impl Snapshot {
    pub(crate) fn take(
        worktree: &Worktree,
        paths: &Paths,
        objects: Objects,
    ) -> Result<Self, Error> {
        // In the worktree's metadata: should we die, it goes when the worktree goes.
        Self::of((&worktree.git, &worktree.admin), paths, objects)
    }

    /// The files that this git sees, with an index in this folder for as long as it takes.
    pub(crate) fn of(
        (git, folder): (&Git, &Path),
        paths: &Paths,
        objects: Objects,
    ) -> Result<Self, Error> {
        let made = tempfile::Builder::new()
            .prefix("drawloom-")
            .tempdir_in(folder);
        let dir = made.map_err(|error| {
            let place = folder.display();
            let message = format!("cannot make a directory in `{place}`: {error}");
            Error::new(ErrorKind::Failed, message)
        })?;
        let index = dir.path().join("index");
        let mut git = git.clone().variable("GIT_INDEX_FILE", index);
        if objects == Objects::Temporary {
            let call = Call::new([
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
        git.tell(&Call::new(["read-tree", "HEAD"]).limit(WHOLE))?;
        // New ones first: a link in place of a directory takes its files out of the index.
        let new = new_files(&git, paths)?;
        stage(&git, &new)?;
        let changed = changed_files(&git, paths)?;
        stage(&git, &changed)?;
        let tree = Tree::new(git.line(&Call::new(["write-tree"]).limit(WHOLE))?);
        Ok(Self {
            tree,
            git,
            _dir: dir,
        })
    }
}

fn new_files(git: &Git, paths: &Paths) -> Result<Vec<PathBuf>, Error> {
    let call = Call::new(["ls-files", "-z", "--others"]);
    match paths {
        Paths::All => {
            let found = list(git, call.arg("--exclude-standard"), &[])?;
            // A repository of its own is listed as a directory, and is not ours to commit.
            Ok(found.into_iter().filter(|path| !is_folder(path)).collect())
        }
        Paths::Only(only) => {
            let found = in_pieces(git, &call, only)?;
            match found.iter().find(|path| is_folder(path)) {
                None => Ok(found),
                Some(folder) => {
                    let message = format!(
                        "`{}` is a git repository of its own inside the worktree, and what is in it \
                         cannot be committed; remove its `.git`",
                        folder.display()
                    );
                    Err(Error::new(ErrorKind::NestedRepository, message))
                }
            }
        }
    }
}

fn changed_files(git: &Git, paths: &Paths) -> Result<Vec<PathBuf>, Error> {
    let call = Call::new(["ls-files", "-z", "--deleted", "--modified"]);
    match paths {
        Paths::All => list(git, call, &[]),
        Paths::Only(only) => in_pieces(git, &call, only),
    }
}

fn in_pieces(git: &Git, call: &Call, only: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
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

fn list(git: &Git, call: Call, paths: &[OsString]) -> Result<Vec<PathBuf>, Error> {
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

/// Takes files into the index as they are: new, changed, gone.
fn stage(git: &Git, paths: &[PathBuf]) -> Result<(), Error> {
    if paths.is_empty() {
        return Ok(());
    }
    let mut stdin = Vec::new();
    for path in paths {
        stdin.extend_from_slice(path.as_os_str().as_bytes());
        stdin.push(0);
    }
    let call = Call::new([
        "update-index",
        "--add",
        "--remove",
        "--replace",
        "-z",
        "--stdin",
    ]);
    git.tell(&call.stdin(stdin).limit(WHOLE)).map(drop)
}

/// The path as git wants it, if it stays in the worktree and out of git's directory.
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
        return Err(Error::new(ErrorKind::BadPath, message));
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
