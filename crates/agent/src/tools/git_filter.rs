//! The repository as commands see it: a port, because git is another crate's.

use std::fmt;
use std::path::PathBuf;

use workspace::Workspace;

/// Decides what `git` shows to commands. The repository holds every version of every file, refused
/// ones among them, so its directory cannot simply be left readable.
pub trait GitFilter: Send + Sync + fmt::Debug {
    /// Returns the history that commands in the workspace see. `nested` are other places of git in
    /// it, from its root: directories, and files that lead to one.
    fn shown(&self, workspace: &Workspace, nested: &[PathBuf]) -> ShownHistory;
}

/// The repository as commands see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShownHistory {
    /// Directories and files of repositories that cannot be shown.
    pub hidden: Vec<PathBuf>,
    /// The directory that commands read instead.
    pub instead: Option<InsteadOfGit>,
}

/// A directory of git in place of the repository's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InsteadOfGit {
    /// For `GIT_DIR`.
    pub git_dir: PathBuf,
    /// For `GIT_WORK_TREE`.
    pub work_tree: PathBuf,
}
