//! Performs the steps, forward or backward; each step can tell whether it was done.

use std::io;
use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, Mode, RenameFlags};
use rustix::io::Errno;

use super::fail_point::FailPoint;
use super::journal::{ApplyStep, FileStamp};
use super::stage::{new_name, old_name};
use super::staging::StagingArea;
use crate::descent::{Descent, kind_of, stat};
use crate::{Error, PathKind, RelPath, Root};

/// Tells fresh steps from ones that may have been done before a crash.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PerformMode {
    Apply,
    Recover,
}

/// Performs the steps. A recovery skips steps already done, and paths that another process has
/// changed since: those are returned.
pub(super) fn forward(
    root: &Root,
    staging: &StagingArea<'_>,
    steps: &[ApplyStep],
    (direction, probe): (PerformMode, &dyn FailPoint),
) -> Result<Vec<RelPath>, Error> {
    let mut descent = Descent::new(root.fd());
    let mut kept = Vec::new();
    for step in steps {
        let performed = match direction {
            PerformMode::Apply => perform(&mut descent, staging.fd(), step),
            PerformMode::Recover => finish(&mut descent, staging.fd(), step, &mut kept),
        };
        performed.map_err(|source| failed(step, source))?;
        probe.check()?;
    }
    Ok(kept)
}

/// Undoes the steps that were done, last first.
pub(super) fn backward(
    root: &Root,
    staging: &StagingArea<'_>,
    steps: &[ApplyStep],
    probe: &dyn FailPoint,
) -> Result<(), Error> {
    let mut descent = Descent::new(root.fd());
    for step in steps.iter().rev() {
        revert(&mut descent, staging.fd(), step)
            .map_err(|source| Error::io("putting back", step.path(), source))?;
        probe.check()?;
    }
    Ok(())
}

fn perform(descent: &mut Descent<'_>, staging: BorrowedFd<'_>, step: &ApplyStep) -> io::Result<()> {
    let (dir, name) = descent.enter_parent(step.path())?;
    match step {
        ApplyStep::Remove { slot, .. } => {
            rustix::fs::renameat(dir, name, staging, old_name(*slot))?;
            // A handle on the removed directory would lead into the staging area.
            descent.forget();
        }
        ApplyStep::MakeDir { .. } => rustix::fs::mkdirat(dir, name, Mode::from_raw_mode(0o777))?,
        ApplyStep::Place { slot, before, .. } => {
            let staged = new_name(*slot);
            match before {
                Some(_) => rustix::fs::renameat(staging, staged, dir, name)?,
                None => rename_new(staging, &staged, dir, name)?,
            }
        }
    }
    Ok(())
}

/// Works like [`perform`], if part of the work may have been done already.
fn finish(
    descent: &mut Descent<'_>,
    staging: BorrowedFd<'_>,
    step: &ApplyStep,
    kept: &mut Vec<RelPath>,
) -> io::Result<()> {
    let before = match step {
        ApplyStep::MakeDir { .. } => None,
        ApplyStep::Remove { slot, .. } if stat(staging, &old_name(*slot))?.is_some() => {
            return Ok(());
        }
        ApplyStep::Remove { before, .. } => Some(*before),
        ApplyStep::Place { slot, .. } if stat(staging, &new_name(*slot))?.is_none() => {
            return Ok(());
        }
        ApplyStep::Place { before, .. } => *before,
    };
    let (dir, name) = descent.enter_parent(step.path())?;
    let now = stat(dir, name)?;
    match (step, &now) {
        (ApplyStep::MakeDir { .. }, Some(found)) if kind_of(found) == PathKind::Dir => {
            return Ok(());
        }
        (ApplyStep::MakeDir { .. }, _) => {}
        _ if now.as_ref().map(FileStamp::of) != before => {
            kept.push(step.path().clone());
            return Ok(());
        }
        _ => {}
    }
    perform(descent, staging, step)
}

fn revert(descent: &mut Descent<'_>, staging: BorrowedFd<'_>, step: &ApplyStep) -> io::Result<()> {
    let (dir, name) = match descent.enter_parent(step.path()) {
        // The directory was never made, so no step in it was done.
        Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(()),
        entered => entered?,
    };
    match step {
        ApplyStep::Remove { slot, .. } => {
            let kept = old_name(*slot);
            if stat(staging, &kept)?.is_some() {
                rename_new(staging, &kept, dir, name)?;
            }
        }
        ApplyStep::MakeDir { .. } => match rustix::fs::unlinkat(dir, name, AtFlags::REMOVEDIR) {
            // Another process put something there meanwhile; it stays.
            Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {}
            Err(errno) => return Err(errno.into()),
        },
        ApplyStep::Place { slot, before, .. } => {
            let done = stat(staging, &new_name(*slot))?.is_none();
            match before {
                _ if !done => {}
                Some(_) => rename_kept(staging, &old_name(*slot), dir, name)?,
                None => match rustix::fs::unlinkat(dir, name, AtFlags::empty()) {
                    Ok(()) | Err(Errno::NOENT) => {}
                    Err(errno) => return Err(errno.into()),
                },
            }
        }
    }
    Ok(())
}

/// Moves the original back; if it is gone, that happened before a crash.
fn rename_kept(
    staging: BorrowedFd<'_>,
    kept: &str,
    dir: BorrowedFd<'_>,
    name: &str,
) -> io::Result<()> {
    match rustix::fs::renameat(staging, kept, dir, name) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Moves a file to a name that must be free: a file created there since the check is not
/// overwritten. Filesystems without that guarantee just rename.
fn rename_new(
    staging: BorrowedFd<'_>,
    staged: &str,
    dir: BorrowedFd<'_>,
    name: &str,
) -> io::Result<()> {
    match rustix::fs::renameat_with(staging, staged, dir, name, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            Ok(rustix::fs::renameat(staging, staged, dir, name)?)
        }
        result => Ok(result?),
    }
}

fn failed(step: &ApplyStep, source: io::Error) -> Error {
    let what = match step {
        ApplyStep::Remove { .. } => "removing",
        ApplyStep::MakeDir { .. } => "creating the directory",
        ApplyStep::Place { .. } => "writing",
    };
    Error::io(what, step.path(), source)
}
