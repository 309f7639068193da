//! Git, by running the `git` program, and pull requests: the door to version control and forges.
//!
//! The user's own git does the work, so their credentials, proxies and helpers apply. It never asks
//! back: no prompt, no editor, no pager. Input from outside (an address, a revision) cannot become
//! an option or a command.
//!
//! The user's checkout, index, stash and branches are never touched. Work happens in a separate
//! [`Worktree`], becomes a separate branch, and leaves by [`Repository::push`] and a [`Forge`], or
//! as a patch. Local hooks do not run: neither at a commit nor at a push. Commits are signed only
//! on request, because a key may ask for a passphrase.
//!
//! Git blocks; a [`Forge`] is asynchronous. An [`exec::CommandCancel`] stops both.
//!
//! Not here: kits, jobs, and the folders of clones and worktrees.

mod address;
mod branch;
mod call;
mod commit;
mod error;
mod git;
mod git_errors;
mod secret;
mod tree;

mod remote;
mod repository;

mod filtered;
mod git_dir;
mod references;
mod snapshot;
mod uncommitted;
mod worktree;
mod worktrees;

mod commit_all;
mod committed;
mod identity;
mod known_history;
mod leftovers;
mod message;
mod patch;
mod push;

mod forge;
mod gitea;
mod github;
mod gitlab;
mod http;
mod pull_request;
mod retry_after;

pub use branch::{BranchName, BranchPurpose, SLUG_CHARS_MAX, slug};
pub use call::OUTPUT_BYTES_MAX;
pub use commit::CommitId;
pub use commit_all::{CommitSigning, NewCommit};
pub use error::{Error, VcsErrorKind};
pub use filtered::{GitPlaces, PathRefusals, PathVerdict, ShownGit, showable_git, shown_git};
pub use forge::{Forge, ForgeFuture, ForgeKind};
pub use git::{GitProgram, LOCAL_TIMEOUT_MAX, fetch_at};
pub use gitea::Gitea;
pub use github::{GitHub, MANUAL_FIX_LABEL, NOT_JUDGED_LABEL};
pub use gitlab::GitLab;
pub use http::ForgeLimits;
pub use message::{ChangeType, CommitMessage};
pub use patch::{ChangeKind, RepositoryChange};
pub use pull_request::{NewPullRequest, PublishOutcome, PullReadiness, PullRequest};
pub use push::{PushOutcome, PushRequest};
pub use remote::{ForgeProject, GitRemote};
pub use repository::{HeadState, Repository, RepositoryFacts};
pub use secret::ForgeToken;
pub use snapshot::PathSelection;
pub use tree::TreeId;
pub use worktree::Worktree;
pub use worktrees::{CheckoutTarget, RegisteredWorktree, WorktreeFolder};
