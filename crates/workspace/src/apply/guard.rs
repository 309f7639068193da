//! Who has a say about each target of an apply, once it is known where it leads.

use rustix::fs::Stat;

use crate::{Error, RelPath};

/// What is to become of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    Write,
    Delete,
    DeleteTree,
    CreateDir,
}

/// One target of a change set, resolved against the disk.
pub(crate) struct Target<'t> {
    /// The path as the change set has it.
    pub(crate) spelled: &'t RelPath,
    /// The path without symlinks: the one that will be entered, name by name,
    /// when the change is made. So a verdict about it cannot be outrun.
    pub(crate) real: &'t RelPath,
    /// What is there now.
    pub(crate) found: Option<&'t Stat>,
    pub(crate) act: Act,
}

/// Asked about every target before anything is staged.
pub(crate) trait Guard {
    fn check(&self, target: &Target<'_>) -> Result<(), Error>;
}

/// The guard of a bare root: the floor is all there is.
pub(crate) struct Unguarded;

impl Guard for Unguarded {
    fn check(&self, _target: &Target<'_>) -> Result<(), Error> {
        Ok(())
    }
}
