//! The one error of this crate.

use std::fmt;

/// What went wrong, for callers that branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// There is no `git` program.
    NoGit,
    /// The address cannot be one of a repository.
    BadAddress,
    /// The remote or the forge could not be reached, or broke off.
    Unreachable,
    /// There is no such branch, tag or commit.
    UnknownRevision,
    /// The directory is not in a git repository.
    NotARepository,
    /// The directory to fetch into is in use.
    Occupied,
    /// Git does not trust the repository, because somebody else owns it.
    Untrusted,
    /// A lock file is in the way: another git is at work, or one died.
    Locked,
    /// Nothing has been committed in the repository yet.
    NoCommits,
    /// A path leads out of the work tree, or into git's own directory.
    BadPath,
    /// A path is in a git repository of its own inside the work tree.
    NestedRepository,
    /// There is nothing to commit.
    NothingToCommit,
    /// The commit could not be signed.
    SigningFailed,
    /// The name cannot be one of a branch.
    BadBranch,
    /// Another branch is in the way of this one.
    BranchTaken,
    /// The repository has no such remote.
    NoRemote,
    /// The remote or the forge does not know us, or does not let us.
    Unauthorized,
    /// A rule of the remote or the forge refuses it: a hook, a protected branch, a bad field.
    Refused,
    /// The remote's branch has commits that ours has not.
    NotFastForward,
    /// There is no such repository on the remote or the forge, or we may not see it.
    NotFound,
    /// The forge wants to be left alone for longer than we wait.
    RateLimited,
    /// The forge answered what cannot be understood.
    BadAnswer,
    /// Something is larger than its limit, which the message names.
    TooLarge,
    /// It took longer than allowed.
    TimedOut,
    /// Somebody asked for it to stop.
    Cancelled,
    /// It failed in another way.
    Failed,
}

/// An operation of git or a forge that failed.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
}

impl Error {
    /// The kind to branch on.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
