//! Staging: writes every new content and keeps every original; moves nothing.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, Gid, Mode, OFlags, Stat, Uid};
use rustix::io::Errno;

use super::fail_point::FailPoint;
use super::journal::ApplyStep;
use super::plan::{ApplyPlan, StagedContent};
use super::staging::StagingArea;
use crate::descent::Descent;
use crate::{Error, Root};

/// Fills the slots of the plan's steps.
pub(super) fn write(
    root: &Root,
    staging: &StagingArea<'_>,
    plan: &ApplyPlan<'_>,
    probe: &dyn FailPoint,
) -> Result<(), Error> {
    let mut descent = Descent::new(root.fd());
    probe.check()?;
    for step in &plan.steps {
        let ApplyStep::Place { path, slot, before } = step else {
            continue;
        };
        let failed = |source| Error::io("writing", path, source);
        let Some(content) = plan.contents.get(*slot) else {
            continue;
        };
        new_file(staging.fd(), &new_name(*slot), content).map_err(failed)?;
        probe.check()?;
        // A single step is never undone, so its original needs no second name.
        if before.is_some() && !plan.is_single() {
            let (dir, name) = descent.enter_parent(path).map_err(failed)?;
            keep(dir, name, staging.fd(), &old_name(*slot)).map_err(failed)?;
            probe.check()?;
        }
    }
    Ok(())
}

pub(super) fn new_name(slot: usize) -> String {
    format!("{slot}.new")
}

pub(super) fn old_name(slot: usize) -> String {
    format!("{slot}.old")
}

fn new_file(dir: BorrowedFd<'_>, name: &str, content: &StagedContent<'_>) -> io::Result<()> {
    // The umask removes permissions the user does not want to give.
    let mode = if content.executable { 0o777 } else { 0o666 };
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(dir, name, flags, Mode::from_raw_mode(mode))?;
    let mut file = File::from(fd);
    file.write_all(content.bytes)?;
    match &content.replaces {
        Some(original) => inherit(&file, original, content.executable),
        None => Ok(()),
    }
}

/// Copies the permissions and the owner of the replaced file to the new one.
fn inherit(file: &File, original: &Stat, executable: bool) -> io::Result<()> {
    let own = rustix::fs::fstat(file)?;
    if (own.st_uid, own.st_gid) != (original.st_uid, original.st_gid) {
        let (uid, gid) = (original.st_uid, original.st_gid);
        let given = rustix::fs::fchown(file, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
        match given {
            // Only root may give files away; other users stay the owner.
            Ok(()) | Err(Errno::PERM) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    let kept = Mode::from_raw_mode(original.st_mode).bits() & 0o777;
    // Every user who may read the program may also execute it.
    let mode = if executable {
        kept | (kept & 0o444) >> 2
    } else {
        kept
    };
    Ok(rustix::fs::fchmod(file, Mode::from_bits_truncate(mode))?)
}

/// Gives the original a second name, so that moving it back restores it whole: content, owner,
/// permissions, times. If the filesystem has no hard links, copies the content and permissions.
fn keep(dir: BorrowedFd<'_>, name: &str, staging: BorrowedFd<'_>, kept: &str) -> io::Result<()> {
    match rustix::fs::linkat(dir, name, staging, kept, AtFlags::empty()) {
        Ok(()) => Ok(()),
        Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::MLINK | Errno::ACCESS) => {
            copy(dir, name, staging, kept)
        }
        Err(errno) => Err(errno.into()),
    }
}

fn copy(dir: BorrowedFd<'_>, name: &str, staging: BorrowedFd<'_>, kept: &str) -> io::Result<()> {
    let read = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut original = File::from(rustix::fs::openat(dir, name, read, Mode::empty())?);
    let mode = Mode::from_raw_mode(rustix::fs::fstat(&original)?.st_mode);
    let write = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(staging, kept, write, Mode::from_raw_mode(0o600))?;
    let mut copied = File::from(opened);
    io::copy(&mut original, &mut copied)?;
    Ok(rustix::fs::fchmod(&copied, mode)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RelPath;
    use std::os::fd::AsFd;

    /// Filesystems without hard links cannot be made here, so the fallback is called directly.
    #[test]
    fn without_hard_links_the_original_is_copied() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a"), "content").unwrap();
        let root = Root::open(dir.path()).unwrap();
        copy(root.fd(), "a", root.dir().as_fd(), "0.old").unwrap();
        let copied = RelPath::parse("0.old").unwrap();
        assert_eq!(root.read(&copied).unwrap().unwrap(), b"content");
    }
}
