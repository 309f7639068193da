//! The staging area `.drawloom/apply/`: its lock, its files, its removal.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

use cap_std::fs::Dir;
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::Durability;
use super::fail_point::FailPoint;
use super::journal::ApplyJournal;
use crate::descent::open_dir;
use crate::protected_paths::{PROGRAM_FOLDER, STAGING};
use crate::writer::is_writer_lock;
use crate::{Error, RelPath, Root, WorkspaceErrorKind};

/// Time that an apply waits for another process's apply to end.
pub(crate) const LOCK_WAIT_MAX: Duration = Duration::from_secs(30);

const LOCK: &str = "lock";
const LOCK_POLL: Duration = Duration::from_millis(2);

/// The staging area, locked. Dropping it unlocks and cleans nothing, as a crash would;
/// [`StagingArea::release`] is the orderly end.
pub(super) struct StagingArea<'r> {
    root: &'r Root,
    home: OwnedFd,
    /// True if `.drawloom` itself exists only for this.
    home_is_ours: bool,
    dir: Dir,
    lock: OwnedFd,
}

impl<'r> StagingArea<'r> {
    /// Returns true if there may be something to recover, without taking the lock.
    pub(super) fn is_left_over(root: &Root) -> Result<bool, Error> {
        let path = format!("{PROGRAM_FOLDER}/{STAGING}");
        match root.dir().symlink_metadata(&path) {
            Ok(_) => Ok(true),
            Err(source) if source.kind() == io::ErrorKind::PermissionDenied => {
                Err(Error::io("looking at", &path, source))
            }
            Err(_) => Ok(false),
        }
    }

    /// Creates the area if it is missing, and waits for its lock.
    pub(super) fn lock(root: &'r Root) -> Result<Self, Error> {
        let started = Instant::now();
        let mut home_is_ours = false;
        loop {
            match Self::try_lock(root, &mut home_is_ours) {
                Ok(Some(staging)) => return Ok(staging),
                Ok(None) => {}
                Err(source) => {
                    let place = format!("{PROGRAM_FOLDER}/{STAGING}");
                    return Err(Error::io("locking", &place, source));
                }
            }
            if started.elapsed() > LOCK_WAIT_MAX {
                return Err(Error::new(
                    WorkspaceErrorKind::Locked,
                    format!(
                        "another process has been changing `{}` for longer than LOCK_WAIT_MAX ({} s); \
                         wait for it or end it, then run again",
                        root.path().display(),
                        LOCK_WAIT_MAX.as_secs()
                    ),
                ));
            }
            thread::sleep(LOCK_POLL);
        }
    }

    /// Tries once; returns `None` if another process holds the lock or has just removed it. The
    /// holder removes the lock file before unlocking, so a lock counts only while the file still
    /// has its name.
    fn try_lock(root: &'r Root, home_is_ours: &mut bool) -> io::Result<Option<Self>> {
        let Some((home, home_made)) = make_dir(root.fd(), PROGRAM_FOLDER)? else {
            return Ok(None);
        };
        *home_is_ours |= home_made;
        let Some((dir, _)) = make_dir(home.as_fd(), STAGING)? else {
            return Ok(None);
        };
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let lock = match rustix::fs::openat(&dir, LOCK, flags, Mode::from_raw_mode(0o600)) {
            Ok(lock) => lock,
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        };
        match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK | Errno::INTR) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        }
        let held = rustix::fs::fstat(&lock)?;
        let named = match rustix::fs::statat(&dir, LOCK, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(named) => named,
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        };
        if (held.st_dev, held.st_ino) != (named.st_dev, named.st_ino) {
            return Ok(None);
        }
        Ok(Some(Self {
            root,
            home,
            home_is_ours: note_owner(&lock, *home_is_ours)?,
            dir: Dir::from(dir),
            lock,
        }))
    }

    pub(super) fn dir(&self) -> &Dir {
        &self.dir
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }

    /// The content of a file in it.
    pub(super) fn read(&self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        self.root.read(&RelPath::parse(&format!(
            "{PROGRAM_FOLDER}/{STAGING}/{name}"
        ))?)
    }

    /// Returns true if only the lock is in it.
    pub(super) fn is_empty(&self) -> Result<bool, Error> {
        Ok(self.names()?.is_empty())
    }

    /// Syncs the staged files to disk.
    pub(super) fn sync(&self, durability: Durability) -> Result<(), Error> {
        match durability {
            Durability::Kill => Ok(()),
            Durability::PowerLoss => {
                sync_all(self).map_err(|source| Error::io("writing to disk", &self.place(), source))
            }
        }
    }

    /// Puts on disk the names of the files staged so far.
    pub(super) fn sync_names(&self, durability: Durability) -> Result<(), Error> {
        match durability {
            Durability::Kill => Ok(()),
            Durability::PowerLoss => rustix::fs::fsync(self.fd())
                .map_err(|errno| Error::io("writing to disk", &self.place(), errno)),
        }
    }

    /// Empties the area. Removes the journal first, because its apply is over.
    pub(super) fn discard(&self, probe: &dyn FailPoint) -> Result<(), Error> {
        ApplyJournal::close(self)?;
        probe.check()?;
        for name in self.names()? {
            let removed = match self.dir.remove_file(&name) {
                Err(source) if is_dir_refusal(&source) => self.dir.remove_dir_all(&name),
                result => result,
            };
            removed.map_err(|source| Error::io("removing", &self.place(), source))?;
        }
        Ok(())
    }

    /// Unlocks, and removes the directories that were made for this. They are
    /// harmless, so failing to remove them is not an error.
    pub(super) fn release(self) {
        // Recovery of files that could not be removed needs the note in the lock file.
        if self.is_empty().unwrap_or(false) {
            let gone = rustix::fs::unlinkat(&self.dir, LOCK, AtFlags::empty())
                .and_then(|()| rustix::fs::unlinkat(&self.home, STAGING, AtFlags::REMOVEDIR));
            if gone.is_ok() && self.home_is_ours {
                // Fails, as it should, if the project now has other files there.
                rustix::fs::unlinkat(self.root.fd(), PROGRAM_FOLDER, AtFlags::REMOVEDIR).ok();
            }
        }
        // A child being spawned by another thread may still share the handle, so closing it is not
        // enough.
        rustix::fs::flock(&self.lock, FlockOperation::Unlock).ok();
    }

    fn names(&self) -> Result<Vec<std::ffi::OsString>, Error> {
        let read = || -> io::Result<Vec<_>> {
            let mut names = Vec::new();
            for entry in self.dir.entries()? {
                names.push(entry?.file_name());
            }
            names.retain(|name| name != LOCK && !is_writer_lock(name));
            Ok(names)
        };
        read().map_err(|source| Error::io("listing", &self.place(), source))
    }

    fn place(&self) -> String {
        format!("{PROGRAM_FOLDER}/{STAGING}")
    }
}

/// Notes in the lock file, for a later recovery, that `.drawloom` was made for this apply. Returns
/// true if it was, now or before a crash.
fn note_owner(lock: &OwnedFd, home_is_ours: bool) -> io::Result<bool> {
    let mut noted = [0_u8];
    if home_is_ours {
        rustix::io::pwrite(lock, b"1", 0)?;
        return Ok(true);
    }
    Ok(rustix::io::pread(lock, &mut noted, 0)? == 1)
}

/// Opens a directory, created if missing, and tells whether it was created; `None` if another
/// process removed it in between.
pub(crate) fn make_dir(parent: BorrowedFd<'_>, name: &str) -> io::Result<Option<(OwnedFd, bool)>> {
    // `.drawloom` itself holds recipes that other users may read; everything below it is private.
    let mode = if name == PROGRAM_FOLDER { 0o755 } else { 0o700 };
    let made = match rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(mode)) {
        Ok(()) => true,
        Err(Errno::EXIST) => false,
        // The parent has just been removed.
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(errno.into()),
    };
    match open_dir(parent, name) {
        Ok(dir) => {
            if name != PROGRAM_FOLDER {
                // A folder that an earlier version left behind is narrowed.
                rustix::fs::fchmod(&dir, Mode::from_raw_mode(mode)).ok();
            }
            Ok(Some((dir, made)))
        }
        Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(source),
    }
}

/// Unlinking a directory is EISDIR on Linux and EPERM elsewhere.
fn is_dir_refusal(source: &io::Error) -> bool {
    matches!(
        source.kind(),
        io::ErrorKind::IsADirectory | io::ErrorKind::PermissionDenied
    )
}

#[cfg(target_os = "linux")]
fn sync_all(staging: &StagingArea<'_>) -> io::Result<()> {
    Ok(rustix::fs::syncfs(staging.fd())?)
}

#[cfg(not(target_os = "linux"))]
fn sync_all(staging: &Staging<'_>) -> io::Result<()> {
    for entry in staging.dir.entries()? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            entry.open()?.sync_data()?;
        }
    }
    Ok(())
}
