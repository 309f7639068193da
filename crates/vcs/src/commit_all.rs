//! Committing the changes of a worktree.
//!
//! Hooks do not run: the checkout is the user's and so are its hooks, and what works in the
//! worktree may have written scripts that they call. Hooks of the remote do run when it is pushed.

use crate::call::Call;
use crate::identity::with_identity;
use crate::snapshot::{Objects, Snapshot};
use crate::worktree::WHOLE;
use crate::{Commit, Error, ErrorKind, Git, Message, Paths, Worktree};

/// Whether commits are signed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Signing {
    /// Never: a key may ask for a passphrase, and nobody is there to answer.
    #[default]
    Off,
    /// As `commit.gpgSign` says. A key that cannot be used without asking is
    /// [`ErrorKind::SigningFailed`].
    AsConfigured,
}

/// A commit to make.
#[derive(Debug, Clone)]
pub struct NewCommit {
    /// Its message.
    pub message: Message,
    /// Which changes go into it.
    pub paths: Paths,
    /// Whether it is signed.
    pub signing: Signing,
}

impl Worktree {
    /// Commits changes: new, changed, moved and deleted files with their executable bits, under the
    /// user's name as git knows it. Nothing to commit is [`ErrorKind::NothingToCommit`].
    pub fn commit(&self, new: &NewCommit) -> Result<Commit, Error> {
        self.clear_locks()?;
        let head = self.head_commit()?;
        let snapshot = Snapshot::take(self, &new.paths, Objects::Kept)?;
        let commit = commit_snapshot(&snapshot, &head, &new.message, new.signing)?;
        let commit = commit.ok_or_else(nothing)?;
        let call = Call::new(["update-ref", "-m"])
            .arg(format!("commit: {}", new.message.subject()))
            .args(["HEAD", commit.as_str(), head.as_str()]);
        self.git.tell(&call)?;
        // For whoever looks into the worktree; the commit does not need it.
        let _ = self
            .git
            .ask(&Call::new(["read-tree", "--reset", "HEAD"]).limit(WHOLE));
        let refresh = ["update-index", "-q", "--refresh"];
        let _ = self.git.ask(&Call::new(refresh).limit(WHOLE));
        Ok(commit)
    }
}

/// A commit of a snapshot on a parent, which no branch has yet; none if nothing has changed.
pub(crate) fn commit_snapshot(
    snapshot: &Snapshot,
    parent: &Commit,
    message: &Message,
    signing: Signing,
) -> Result<Option<Commit>, Error> {
    let git = with_identity(snapshot.git.clone())?;
    let before = git.line(&Call::new(["rev-parse", &format!("{parent}^{{tree}}")]))?;
    if before == snapshot.tree.as_str() {
        return Ok(None);
    }
    let sign = signing == Signing::AsConfigured && wants_signature(&git)?;
    let call = Call::new(["commit-tree", snapshot.tree.as_str(), "-p", parent.as_str()])
        .setting("i18n.commitEncoding=utf-8")
        .args(sign.then_some("-S"))
        .args(["-F", "-"])
        .stdin(message.to_string());
    let outcome = git.ask(&call)?;
    if sign && !outcome.is_success() {
        let said = crate::complaint::complaint(&outcome.stderr_text());
        let message = format!(
            "the commit could not be signed without asking: {said}; unlock the key, or commit \
             without signing"
        );
        return Err(Error::new(ErrorKind::SigningFailed, message));
    }
    git.expect_success(&outcome)?;
    Commit::parse(outcome.stdout_text().trim()).map(Some)
}

pub(crate) fn nothing() -> Error {
    let message = "there is nothing to commit: the files are as they were";
    Error::new(ErrorKind::NothingToCommit, message)
}

fn wants_signature(git: &Git) -> Result<bool, Error> {
    let call = Call::new(["config", "--type=bool", "--get", "commit.gpgSign"]);
    Ok(git.ask(&call)?.stdout_text().trim() == "true")
}
