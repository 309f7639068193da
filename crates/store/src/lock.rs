//! The lock on a run: a file beside the database that the operating system unlocks when its holder
//! dies.
//!
//! A row with a process id would have to guess whether that process still lives, and whether the id
//! is still its own. Here the kernel knows.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use rustix::fs::{FlockOperation, Mode, OFlags, flock, fstat, open, stat, unlink};
use rustix::io::Errno;

use crate::error::{Error, Result};
use crate::record::RunNumber;

/// Limits the tries for a lock. A process that only checks whether a run is held has the lock for a
/// moment, and the next try gets it.
const TRIES_MAX: u32 = 5;
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(20);

/// The lock of a run, held until this is dropped.
#[derive(Debug)]
pub(crate) struct RunLock {
    path: PathBuf,
    /// Closing the file unlocks it. Child processes do not inherit it.
    _file: OwnedFd,
}

impl RunLock {
    /// Takes the lock of a run; `None` if a living process has it.
    pub(crate) fn take(database: &Path, run: RunNumber) -> Result<Option<RunLock>> {
        let path = beside(database, run);
        let failed = |cause: Errno| Error::place(&path, "locking", cause);
        let mut tries = 0;
        // The previous holder may have removed the file between our opening and our locking it.
        loop {
            let flags = OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
            let file = open(&path, flags, Mode::RUSR | Mode::WUSR).map_err(failed)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) if tries < TRIES_MAX => {
                    tries += 1;
                    sleep(TRY_AGAIN_AFTER);
                    continue;
                }
                Err(Errno::WOULDBLOCK) => return Ok(None),
                Err(cause) => return Err(failed(cause)),
            }
            let ours = fstat(&file).map_err(failed)?;
            match stat(&path) {
                Ok(there) if (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino) => {
                    return Ok(Some(RunLock { path, _file: file }));
                }
                Ok(_) | Err(Errno::NOENT) => {}
                Err(cause) => return Err(failed(cause)),
            }
        }
    }
}

/// Tells whether a living process has the lock of a run. Leaves no file behind.
pub(crate) fn is_taken(database: &Path, run: RunNumber) -> Result<bool> {
    let path = beside(database, run);
    let failed = |cause: Errno| Error::place(&path, "looking at the lock", cause);
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = match open(&path, flags, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(false),
        Err(cause) => return Err(failed(cause)),
    };
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(false),
        Err(Errno::WOULDBLOCK) => Ok(true),
        Err(cause) => Err(failed(cause)),
    }
}

impl Drop for RunLock {
    fn drop(&mut self) {
        // We still hold the lock, so that no other process can have it; a file that stays behind
        // does no harm.
        let _ = unlink(&self.path);
    }
}

fn beside(database: &Path, run: RunNumber) -> PathBuf {
    let mut name = OsString::from(database);
    name.push(format!("-run-{run}.lock"));
    PathBuf::from(name)
}
