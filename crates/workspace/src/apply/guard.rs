//! The guard that judges each target of an apply, once it is resolved.

use rustix::fs::Stat;

use crate::{Error, RelPath};

/// The planned action on a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TargetAction {
    Write,
    Delete,
    DeleteTree,
    CreateDir,
}

/// One target of a change set, resolved against the disk.
pub(crate) struct ChangeTarget<'t> {
    /// The path as the change set has it.
    pub(crate) spelled: &'t RelPath,
    /// The path without symlinks: the change enters exactly these names, one by one, so the verdict
    /// is about the path that is written.
    pub(crate) real: &'t RelPath,
    /// Its status on disk, if it exists.
    pub(crate) found: Option<&'t Stat>,
    pub(crate) act: TargetAction,
}

/// Judges every target before anything is staged.
pub(crate) trait ApplyGuard {
    fn check(&self, target: &ChangeTarget<'_>) -> Result<(), Error>;
}

/// The guard of a bare root: only the floor applies.
pub(crate) struct NoGuard;

impl ApplyGuard for NoGuard {
    fn check(&self, _target: &ChangeTarget<'_>) -> Result<(), Error> {
        Ok(())
    }
}
