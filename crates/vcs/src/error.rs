//! The one error of this crate.

use std::fmt;

/// The kinds of error, for callers that branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VcsErrorKind {
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
    /// Git does not trust the repository, because another user owns it.
    Untrusted,
    /// A lock file is in the way: another git is at work, or one died.
    Locked,
    /// The repository has no commit yet.
    NoCommits,
    /// A path leads out of the work tree, or into git's own directory.
    BadPath,
    /// A path is in a nested git repository inside the work tree.
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
    /// The remote or the forge refused the credentials.
    Unauthorized,
    /// A rule of the remote or the forge refuses it: a hook, a protected branch, a bad field.
    Refused,
    /// The remote's branch has commits that the local one has not.
    NotFastForward,
    /// The remote or the forge has no such repository, or hides it from this user.
    NotFound,
    /// The forge asks for a longer pause than the limit allows.
    RateLimited,
    /// The forge's answer cannot be parsed.
    BadAnswer,
    /// Something is larger than its limit, which the message names.
    TooLarge,
    /// It took longer than allowed.
    TimedOut,
    /// The caller cancelled it.
    Cancelled,
    /// It failed in another way.
    Failed,
}

/// An operation of git or a forge that failed.
#[derive(Debug)]
pub struct Error {
    kind: VcsErrorKind,
    message: String,
}

impl Error {
    /// The kind to branch on.
    #[must_use]
    pub fn kind(&self) -> VcsErrorKind {
        self.kind
    }

    pub(crate) fn new(kind: VcsErrorKind, message: impl Into<String>) -> Self {
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
