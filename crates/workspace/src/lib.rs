//! Files: rooted handles, a policy over them, change sets applied all-or-nothing, diffs and merges.
//!
//! This is the one door to `std::fs`. Everything inside a project goes through
//! a [`Root`], which cannot be left by `..`, an absolute path or a symlink.
//! What a model or a plan may touch goes through a [`Workspace`]: a root under a
//! [`Policy`], with listing, walking and searching that keep to it.
//! Writing is two acts: collect a [`ChangeSet`], then [`Root::apply`] it.
//! [`mod@fs`] has the few plain functions needed outside any root.
//!
//! What is not here: terminal colours, questions about conflicts, knowledge of
//! recipes or git. This crate decides nothing about *what* to write.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this crate is the door to std::fs"
)]

mod error;
mod path;

mod fold;
mod policy;

mod descent;
mod floor;
mod root;
mod walk;

mod append;
mod apply;
mod changes;
mod create;
mod writer;

mod policed;
mod private;
mod self_running;

pub mod diff;
pub mod fs;
pub mod index;
pub mod merge;
pub mod ownership;

pub use apply::{Applied, Durability, LOCK_WAIT_MAX, RecoverOutcome, Recovered};
pub use changes::{CHANGE_BYTES_MAX, CHANGE_FILES_MAX, Change, ChangeSet};
pub use error::{Error, ErrorKind};
pub use path::{NAME_BYTES_MAX, PATH_BYTES_MAX, PATH_DEPTH_MAX, RelPath};
pub use policed::{
    Case, FileHits, Found, HitLine, IGNORE_BYTES_MAX, Ignored, Ledger, Limits, LineKind, Listed,
    Listing, PATTERN_BYTES_MAX, Query, Reader, SearchStop, Skipped, Syntax, Tree, WalkOptions,
    Workspace,
};
pub use policy::{
    Access, Action, Denial, Grant, HardLinks, POLICY_PATTERNS_MAX, Policy, PolicySettings, Rule,
    SECRET_SCAN_BYTES_MAX, Writes,
};
pub use private::Existing;
pub use root::{Kind, READ_BYTES_MAX, Root};
pub use walk::{Entry, WALK_ENTRIES_MAX};
pub use writer::{WRITER_LEVELS_MAX, WRITER_WAIT_MAX, WriterInfo, WriterLock, WriterRequest};
