//! Files: rooted handles, a policy over them, change sets applied all-or-nothing, diffs and merges.
//!
//! This is the one door to `std::fs`. Everything inside a project goes through a [`Root`], which
//! cannot be left by `..`, an absolute path or a symlink. Models and plans get a [`Workspace`]: a
//! root under a [`AccessPolicy`], with listing, walking and searching that keep to it. Writing is two
//! acts: collect a [`ChangeSet`], then [`Root::apply`] it. [`mod@fs`] has the few plain functions
//! needed outside any root.
//!
//! Not here: terminal colours, questions about conflicts, knowledge of recipes or git. This crate
//! decides nothing about *what* to write.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this crate is the door to std::fs"
)]

mod error;
mod path;

mod casefold;
mod policy;

mod descent;
mod protected_paths;
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
pub mod merge;
pub mod ownership;

pub use apply::{ApplyReport, Durability, RecoverOutcome, RecoveryReport};
pub use changes::{CHANGE_FILES_MAX, ChangeSet, PathChange};
pub use error::{Error, WorkspaceErrorKind};
pub use path::{NAME_BYTES_MAX, RelPath};
pub use policed::{
    BoundedReader, ContentMatches, ContentQuery, DirectoryListing, FileHits, HitLine, IgnoredFiles,
    Limits, LineKind, ListingEntry, PATTERN_BYTES_MAX, PatternSyntax, ReadCandidate, ReadableFile,
    SearchCase, SearchStop, SkippedFile, TreeListing, WalkOptions, Workspace, WriteCounter,
};
pub use policy::{
    AccessPolicy, Denial, DenialRule, GrantedAction, HardLinks, PathAccess, PolicySettings,
    SECRET_SCAN_BYTES_MAX, WriteGrant, WriteScope,
};
pub use private::ExistingFile;
pub use protected_paths::PROGRAM_FOLDER;
pub use root::{PathKind, READ_BYTES_MAX, Root};
pub use walk::{TreeEntry, WALK_ENTRIES_MAX};
pub use writer::{WRITER_WAIT_MAX, WriterInfo, WriterLock, WriterRequest};
