//! `Workspace`: a root whose every read, listing, search and change is judged by a policy.
//!
//! A path always goes through these steps:
//! 1. the policy judges it as spelled;
//! 2. it is resolved, name by name, to a path without symlinks that stays in the root; the policy
//!    judges that too;
//! 3. exactly those names are entered with `O_NOFOLLOW`, and the opened file is judged by its
//!    handle: a regular file, with no names elsewhere.
//!
//! No path is resolved twice, so replacing a directory by a symlink in between ends in an error,
//! never elsewhere. A verdict depends on the names alone, and the judged names are the entered ones.
//!
//! **Refused names are listed and not read**: [`Workspace::list`] shows `.env` with its denial, so
//! that a model knows it exists; [`Workspace::walk`] and [`Workspace::search`] leave it out, and no
//! function shows the content of a refused directory.
//!
//! **Hard links**: a file with several names is read only when all its names
//! may be read here (counted on disk), unless the policy trusts hard links.
//! Writing replaces the name and leaves the other names' content alone.

mod cache_file;
mod change;
mod hard_links;
mod ignored;
mod limits;
mod list;
mod parallel_walk;
mod read;
mod scan;
mod search;

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{AccessPolicy, Error, Root, WriteScope};

pub use limits::{Limits, WriteCounter};
pub use list::{DirectoryListing, ListingEntry, TreeListing, WalkOptions};
pub use parallel_walk::{ReadCandidate, ReadableFile};
pub use read::BoundedReader;
pub use search::{
    ContentMatches, ContentQuery, FileHits, HitLine, LineKind, PATTERN_BYTES_MAX, PatternSyntax,
    SearchCase, SearchStop, SkippedFile,
};

/// The treatment of files that `.gitignore` names, in a walk or a search.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum IgnoredFiles {
    /// Left out, as git would.
    #[default]
    LeftOut,
    /// Treated like any other file.
    Included,
}

/// A policed root; see the module's text. Shared between threads by reference.
#[derive(Debug)]
pub struct Workspace {
    root: Root,
    policy: AccessPolicy,
    limits: Limits,
    ledger: Mutex<WriteCounter>,
}

impl Workspace {
    /// Opens an existing directory under a policy.
    pub fn open(dir: &Path, policy: AccessPolicy, limits: Limits) -> Result<Self, Error> {
        Ok(Self::new(Root::open(dir)?, policy, limits))
    }

    /// Puts a root under a policy.
    #[must_use]
    pub fn new(root: Root, policy: AccessPolicy, limits: Limits) -> Self {
        Self {
            root,
            policy,
            limits,
            ledger: Mutex::default(),
        }
    }

    /// Continues with the writes of an earlier run of the job.
    #[must_use]
    pub fn with_ledger(self, ledger: WriteCounter) -> Self {
        Self {
            ledger: Mutex::new(ledger),
            ..self
        }
    }

    /// The same workspace with another permission to write: a plan was approved.
    #[must_use]
    pub fn with_writes(self, writes: WriteScope) -> Self {
        Self {
            policy: self.policy.with_writes(writes),
            ..self
        }
    }

    /// The path of the root: for messages and the working directory of commands.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.root.path()
    }

    /// The root's handle, whatever its path leads to by now: a sandbox is built from handles.
    #[must_use]
    pub fn handle(&self) -> std::os::fd::BorrowedFd<'_> {
        self.root.fd()
    }

    /// The policy everything here is judged by.
    #[must_use]
    pub fn policy(&self) -> &AccessPolicy {
        &self.policy
    }

    /// The limits of this workspace.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The writes of the job so far.
    #[must_use]
    pub fn ledger(&self) -> WriteCounter {
        self.lock_ledger().clone()
    }

    fn lock_ledger(&self) -> MutexGuard<'_, WriteCounter> {
        // The ledger is changed in one step after an apply, so a panic elsewhere left it whole.
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
