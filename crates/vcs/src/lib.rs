//! Git, by running the `git` program, and pull requests: the door to version control and forges.
//!
//! The user's own git does the work, so their credentials, proxies and helpers
//! apply. It is never asked to ask: no prompt, no editor, no pager. What comes
//! from outside (an address, a revision) cannot become an option or a command.
//!
//! The user's checkout, index, stash and branches are never touched. Work is done in a
//! [`Worktree`] of our own, becomes a branch of our own, and leaves by [`Repository::push`] and
//! a [`Forge`], or as a patch. Local hooks do not run: neither at a commit nor at a push.
//! Commits are not signed unless asked for, because a key may ask for a passphrase.
//!
//! Git blocks; a [`Forge`] is asynchronous. Both stop when a [`exec::Cancel`] says so.
//!
//! What is not here: what a kit is, what a job is, and where clones and worktrees are kept.

mod address;
mod branch;
mod call;
mod commit;
mod complaint;
mod error;
mod git;
mod secret;
mod tree;

mod remote;
mod repository;

mod disk;
mod filtered;
mod references;
mod snapshot;
mod uncommitted;
mod worktree;
mod worktrees;

mod commit_all;
mod committed;
mod identity;
mod message;
mod patch;
mod push;

mod forge;
mod gitea;
mod github;
mod gitlab;
mod http;
mod pull;
mod wait;

pub use branch::{Branch, JOB_CHARS_MAX, Purpose, SLUG_CHARS_MAX, slug};
pub use call::OUTPUT_BYTES_MAX;
pub use commit::Commit;
pub use commit_all::{NewCommit, Signing};
pub use error::{Error, ErrorKind};
pub use filtered::{GitPlaces, PathVerdict, Refusal, ShownGit, shown_git};
pub use forge::{Asked, Forge, ForgeKind};
pub use git::{FETCH_TIMEOUT_MAX, Git, LOCAL_TIMEOUT_MAX, fetch_at};
pub use gitea::Gitea;
pub use github::{DRAFT_PREFIX, GitHub, MANUAL_FIX_LABEL, NOT_JUDGED_LABEL};
pub use gitlab::GitLab;
pub use http::ForgeLimits;
pub use identity::{FALLBACK_EMAIL, FALLBACK_NAME};
pub use message::{ChangeType, Message, SUBJECT_CHARS_MAX};
pub use patch::{ChangeKind, FileChange};
pub use pull::{NewPull, PULL_BODY_CHARS_MAX, PULL_TITLE_CHARS_MAX, Published, Pull, Readiness};
pub use push::{PUSH_TIMEOUT_DEFAULT, Push, Pushed, REMOTE_WORDS_CHARS_MAX};
pub use remote::{Project, Remote};
pub use repository::{BRANCH_NUMBERS_MAX, Facts, Head, Repository};
pub use secret::Secret;
pub use snapshot::Paths;
pub use tree::Tree;
pub use worktree::{WORKTREE_TIMEOUT_MAX, Worktree};
pub use worktrees::{Checkout, Registered, Worktrees};
