//! `Workspace`: a root whose every read, listing, search and change is judged by a policy.
//!
//! How a path is used, always in this order:
//! 1. the policy judges it as spelled;
//! 2. it is resolved, name by name, to a path without symlinks that stays in
//!    the root; the policy judges that too;
//! 3. exactly those names are entered with `O_NOFOLLOW`, and what is opened is
//!    judged by its handle: a regular file, with no names elsewhere.
//!
//! Nothing is looked up twice by path, so swapping a directory for a symlink in
//! between ends in an error and not elsewhere. A verdict depends on the names
//! alone, and the names are those entered.
//!
//! **Refused names are listed and not read**: [`Workspace::list`] shows `.env`
//! with its denial, so that one knows it exists; [`Workspace::walk`] and
//! [`Workspace::search`] leave it out, and nothing shows what is inside a
//! refused directory.
//!
//! **Hard links**: a file with several names is read only when all its names
//! may be read here (counted on disk), unless the policy trusts hard links.
//! Writing replaces the name and leaves the other names' content alone.

mod change;
mod ignored;
mod limits;
mod links;
mod list;
mod read;
mod scan;
mod search;
mod survey;

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{Error, Policy, Root, Writes};

pub use ignored::IGNORE_BYTES_MAX;
pub use limits::{Ledger, Limits};
pub use list::{Listed, Listing, Tree, WalkOptions};
pub use read::Reader;
pub use search::{
    Case, FileHits, Found, HitLine, LineKind, PATTERN_BYTES_MAX, Query, SearchStop, Skipped, Syntax,
};
pub(crate) use survey::Candidate;

/// Whether a walk or a search passes over what `.gitignore` files name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ignored {
    /// Left out, as git would.
    #[default]
    LeftOut,
    /// Taken like anything else.
    Included,
}

/// A policed root; see the module's text. Shared between threads by reference.
#[derive(Debug)]
pub struct Workspace {
    root: Root,
    policy: Policy,
    limits: Limits,
    ledger: Mutex<Ledger>,
}

impl Workspace {
    /// Opens an existing directory under a policy.
    pub fn open(dir: &Path, policy: Policy, limits: Limits) -> Result<Self, Error> {
        Ok(Self::new(Root::open(dir)?, policy, limits))
    }

    /// Puts a root under a policy.
    #[must_use]
    pub fn new(root: Root, policy: Policy, limits: Limits) -> Self {
        Self {
            root,
            policy,
            limits,
            ledger: Mutex::default(),
        }
    }

    /// Goes on with what a job had written before.
    #[must_use]
    pub fn with_ledger(self, ledger: Ledger) -> Self {
        Self {
            ledger: Mutex::new(ledger),
            ..self
        }
    }

    /// The same workspace with another permission to write: a plan was approved.
    #[must_use]
    pub fn with_writes(self, writes: Writes) -> Self {
        Self {
            policy: self.policy.with_writes(writes),
            ..self
        }
    }

    /// Where the root is: for messages and the working directory of commands.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.root.path()
    }

    /// The root itself, whatever is at its path by now: for a sandbox, which is built from handles.
    #[must_use]
    pub fn handle(&self) -> std::os::fd::BorrowedFd<'_> {
        self.root.fd()
    }

    /// The policy everything here is judged by.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The limits that hold here.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// What the job has written so far.
    #[must_use]
    pub fn ledger(&self) -> Ledger {
        self.lock_ledger().clone()
    }

    fn lock_ledger(&self) -> MutexGuard<'_, Ledger> {
        // The ledger is changed in one step after an apply, so a panic elsewhere left it whole.
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
