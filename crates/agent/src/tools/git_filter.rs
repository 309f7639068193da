//! What commands see of the repository they run in: a port, because git is another crate's.

use std::fmt;
use std::path::PathBuf;

use workspace::Workspace;

/// Decides what `git` shows to commands. The repository holds every version of every file, refused
/// ones among them, so its directory cannot simply be left readable.
pub trait GitFilter: Send + Sync + fmt::Debug {
    /// What commands in the workspace get.
    fn shown(&self, workspace: &Workspace) -> ShownHistory;
}

/// What commands see of the repository they run in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShownHistory {
    /// The repository's own directories, where they cannot be shown.
    pub hidden: Vec<PathBuf>,
    /// What is read instead.
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
