//! Performing the steps, forward or backward; each can tell whether it was done.

use std::io;
use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, Mode, RenameFlags};
use rustix::io::Errno;

use super::journal::{Seen, Step};
use super::probe::Probe;
use super::stage::{new_name, old_name};
use super::staging::Staging;
use crate::descent::{Descent, kind_of, stat};
use crate::{Error, Kind, RelPath, Root};

/// Whether the steps are fresh, or some may have been done before a crash.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Apply,
    Recover,
}

/// Does the steps. When recovering, steps already done are passed over, and so
/// are paths somebody has changed since: those are returned.
pub(super) fn forward(
    root: &Root,
    staging: &Staging<'_>,
    steps: &[Step],
    (direction, probe): (Direction, &dyn Probe),
) -> Result<Vec<RelPath>, Error> {
    let mut descent = Descent::new(root.fd());
    let mut kept = Vec::new();
    for step in steps {
        let performed = match direction {
            Direction::Apply => perform(&mut descent, staging.fd(), step),
            Direction::Recover => finish(&mut descent, staging.fd(), step, &mut kept),
        };
        performed.map_err(|source| failed(step, source))?;
        probe.check()?;
    }
    Ok(kept)
}

/// Undoes the steps, last first, as far as they were done.
pub(super) fn backward(
    root: &Root,
    staging: &Staging<'_>,
    steps: &[Step],
    probe: &dyn Probe,
) -> Result<(), Error> {
    let mut descent = Descent::new(root.fd());
    for step in steps.iter().rev() {
        revert(&mut descent, staging.fd(), step)
            .map_err(|source| Error::io("putting back", step.path(), source))?;
        probe.check()?;
    }
    Ok(())
}

fn perform(descent: &mut Descent<'_>, staging: BorrowedFd<'_>, step: &Step) -> io::Result<()> {
    let (dir, name) = descent.enter_parent(step.path())?;
    match step {
        Step::Remove { slot, .. } => {
            rustix::fs::renameat(dir, name, staging, old_name(*slot))?;
            // A handle on the removed directory would lead into the staging area.
            descent.forget();
        }
        Step::MakeDir { .. } => rustix::fs::mkdirat(dir, name, Mode::from_raw_mode(0o777))?,
        Step::Place { slot, before, .. } => {
            let staged = new_name(*slot);
            match before {
                Some(_) => rustix::fs::renameat(staging, staged, dir, name)?,
                None => rename_new(staging, &staged, dir, name)?,
            }
        }
    }
    Ok(())
}

/// As [`perform`], where part of the work may have been done already.
fn finish(
    descent: &mut Descent<'_>,
    staging: BorrowedFd<'_>,
    step: &Step,
    kept: &mut Vec<RelPath>,
) -> io::Result<()> {
    let before = match step {
        Step::MakeDir { .. } => None,
        Step::Remove { slot, .. } if stat(staging, &old_name(*slot))?.is_some() => return Ok(()),
        Step::Remove { before, .. } => Some(*before),
        Step::Place { slot, .. } if stat(staging, &new_name(*slot))?.is_none() => return Ok(()),
        Step::Place { before, .. } => *before,
    };
    let (dir, name) = descent.enter_parent(step.path())?;
    let now = stat(dir, name)?;
    match (step, &now) {
        (Step::MakeDir { .. }, Some(found)) if kind_of(found) == Kind::Dir => return Ok(()),
        (Step::MakeDir { .. }, _) => {}
        _ if now.as_ref().map(Seen::of) != before => {
            kept.push(step.path().clone());
            return Ok(());
        }
        _ => {}
    }
    perform(descent, staging, step)
}

fn revert(descent: &mut Descent<'_>, staging: BorrowedFd<'_>, step: &Step) -> io::Result<()> {
    let (dir, name) = match descent.enter_parent(step.path()) {
        // The directory was never made, so nothing in it was done.
        Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(()),
        entered => entered?,
    };
    match step {
        Step::Remove { slot, .. } => {
            let kept = old_name(*slot);
            if stat(staging, &kept)?.is_some() {
                rename_new(staging, &kept, dir, name)?;
            }
        }
        Step::MakeDir { .. } => match rustix::fs::unlinkat(dir, name, AtFlags::REMOVEDIR) {
            // Somebody put something there meanwhile; it is theirs to keep.
            Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {}
            Err(errno) => return Err(errno.into()),
        },
        Step::Place { slot, before, .. } => {
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

/// Moves the original back; when it is gone, that was done before a crash.
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

/// Moves a file to a name that must be free: what somebody put there since the
/// check is not overwritten. Filesystems that cannot promise it just rename.
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

fn failed(step: &Step, source: io::Error) -> Error {
    let what = match step {
        Step::Remove { .. } => "removing",
        Step::MakeDir { .. } => "creating the directory",
        Step::Place { .. } => "writing",
    };
    Error::io(what, step.path(), source)
}
