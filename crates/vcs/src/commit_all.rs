//! Commits the changes of a worktree.
//!
//! Local hooks do not run: they are the user's, and a model or command in the worktree may have
//! written scripts that they call. Hooks of the remote do run at a push.

use crate::call::GitCall;
use crate::identity::with_identity;
use crate::snapshot::{ObjectStorage, WorktreeSnapshot};
use crate::worktree::WHOLE;
use crate::{CommitId, CommitMessage, Error, GitProgram, PathSelection, VcsErrorKind, Worktree};

/// The choice to sign commits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CommitSigning {
    /// Never: a key may ask for a passphrase, and no person is there to enter it.
    #[default]
    Off,
    /// Follows `commit.gpgSign`. A key that cannot be used without a prompt is
    /// [`VcsErrorKind::SigningFailed`].
    AsConfigured,
}

/// A commit to make.
#[derive(Debug, Clone)]
pub struct NewCommit {
    /// Its message.
    pub message: CommitMessage,
    /// The changes that go into it.
    pub paths: PathSelection,
    /// The choice to sign it.
    pub signing: CommitSigning,
}

impl Worktree {
    /// Commits changes: new, changed, moved and deleted files with their executable bits, under the
    /// user's name as git knows it. Without changes it returns [`VcsErrorKind::NothingToCommit`].
    pub fn commit(&self, new: &NewCommit) -> Result<CommitId, Error> {
        self.clear_locks()?;
        let head = self.head_commit()?;
        let snapshot = WorktreeSnapshot::take(self, &new.paths, ObjectStorage::Kept)?;
        let commit = commit_snapshot(&snapshot, &head, &new.message, new.signing)?;
        let commit = commit.ok_or_else(nothing)?;
        let call = GitCall::new(["update-ref", "-m"])
            .arg(format!("commit: {}", new.message.subject()))
            .args(["HEAD", commit.as_str(), head.as_str()]);
        self.git.tell(&call)?;
        // Only for people who look into the worktree; the commit does not need it.
        let _ = self
            .git
            .ask(&GitCall::new(["read-tree", "--reset", "HEAD"]).limit(WHOLE));
        let refresh = ["update-index", "-q", "--refresh"];
        let _ = self.git.ask(&GitCall::new(refresh).limit(WHOLE));
        Ok(commit)
    }
}

/// Commits a snapshot on a parent, on no branch; `None` if nothing has changed.
pub(crate) fn commit_snapshot(
    snapshot: &WorktreeSnapshot,
    parent: &CommitId,
    message: &CommitMessage,
    signing: CommitSigning,
) -> Result<Option<CommitId>, Error> {
    let git = with_identity(snapshot.git.clone())?;
    let before = git.line(&GitCall::new(["rev-parse", &format!("{parent}^{{tree}}")]))?;
    if before == snapshot.tree.as_str() {
        return Ok(None);
    }
    let sign = signing == CommitSigning::AsConfigured && wants_signature(&git)?;
    let call = GitCall::new(["commit-tree", snapshot.tree.as_str(), "-p", parent.as_str()])
        .setting("i18n.commitEncoding=utf-8")
        .args(sign.then_some("-S"))
        .args(["-F", "-"])
        .stdin(message.to_string());
    let outcome = git.ask(&call)?;
    if sign && !outcome.is_success() {
        let said = crate::git_errors::complaint(&outcome.stderr_text());
        let message = format!(
            "the commit could not be signed without asking: {said}; unlock the key, or commit \
             without signing"
        );
        return Err(Error::new(VcsErrorKind::SigningFailed, message));
    }
    git.expect_success(&outcome)?;
    CommitId::parse(outcome.stdout_text().trim()).map(Some)
}

pub(crate) fn nothing() -> Error {
    let message = "there is nothing to commit: the files are as they were";
    Error::new(VcsErrorKind::NothingToCommit, message)
}

fn wants_signature(git: &GitProgram) -> Result<bool, Error> {
    let call = GitCall::new(["config", "--type=bool", "--get", "commit.gpgSign"]);
    Ok(git.ask(&call)?.stdout_text().trim() == "true")
}
