//! The lock on a run: a file beside the database that the system unlocks when its holder dies.
//!
//! A row with a process number would have to guess whether that process still lives, and whether
//! the number is still its own. Here the kernel knows.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags, flock, fstat, open, stat, unlink};
use rustix::io::Errno;

use crate::error::{Error, Result};
use crate::record::RunId;

/// A run that is ours until this is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    /// Closing it unlocks. It is not handed down to commands.
    _file: OwnedFd,
}

impl Lock {
    /// The lock of a run, or `None` if somebody who lives has it.
    pub(crate) fn take(database: &Path, run: RunId) -> Result<Option<Lock>> {
        let path = beside(database, run);
        let failed = |cause: Errno| Error::place(&path, "locking", cause);
        // Whoever had it may have removed the file between our opening and our locking it.
        loop {
            let flags = OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
            let file = open(&path, flags, Mode::RUSR | Mode::WUSR).map_err(failed)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => return Ok(None),
                Err(cause) => return Err(failed(cause)),
            }
            let ours = fstat(&file).map_err(failed)?;
            match stat(&path) {
                Ok(there) if (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino) => {
                    return Ok(Some(Lock { path, _file: file }));
                }
                Ok(_) | Err(Errno::NOENT) => {}
                Err(cause) => return Err(failed(cause)),
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Still locked, so nobody else can have it; a file that stays behind does no harm.
        let _ = unlink(&self.path);
    }
}

fn beside(database: &Path, run: RunId) -> PathBuf {
    let mut name = OsString::from(database);
    name.push(format!("-run-{run}.lock"));
    PathBuf::from(name)
}
