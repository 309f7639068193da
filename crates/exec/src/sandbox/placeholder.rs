//! Empty files and directories to mount a cover on where a path does not exist. A placeholder is
//! removed when the last command that needs it has ended; removing it earlier would remove the
//! cover of the others too.
//!
//! Commands of several processes share one. Each holds a shared lock on it; the command that can
//! turn it into an exclusive lock is the last. An empty path with the permissions of a placeholder
//! was left by a process that died, and is taken over.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::handles::{identity, open_place};
use super::view::{SandboxView, refused};
use crate::Error;

/// Rare permissions, by which a placeholder is recognised.
const FILE_MODE: u32 = 0o400;
const DIR_MODE: u32 = 0o500;
/// The most times another process may remove a placeholder while this one opens it.
const TRIES_MAX: usize = 100;

pub(crate) struct MountPlaceholder {
    /// The directory around it; dropped last.
    above: OwnedFd,
    name: PathBuf,
    shape: PlaceholderShape,
    /// With the lock.
    held: OwnedFd,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PlaceholderShape {
    Dir,
    File,
}

/// Creates the placeholders a view needs.
pub(crate) fn placeholders(view: &SandboxView) -> Result<Vec<MountPlaceholder>, Error> {
    let git = view
        .git_missing
        .iter()
        .map(|git| (git, PlaceholderShape::Dir));
    let files = view
        .reserved
        .iter()
        .map(|file| (file, PlaceholderShape::File));
    let made = git.chain(files).map(|(path, shape)| {
        MountPlaceholder::new(path, shape).map_err(|error| {
            let path = path.display();
            refused(format!("`{path}` cannot be covered: {error}"))
        })
    });
    let made: Vec<Option<MountPlaceholder>> = made.collect::<Result<_, _>>()?;
    Ok(made.into_iter().flatten().collect())
}

impl MountPlaceholder {
    /// Returns `None` if an empty path exists that is no placeholder; it stays.
    fn new(path: &Path, shape: PlaceholderShape) -> io::Result<Option<Self>> {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let above = open_place(above)?;
        for _ in 0..TRIES_MAX {
            match make(&above, Path::new(name), shape) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
            let held = match rustix::fs::openat(&above, name, flags, Mode::empty()) {
                Ok(held) => held,
                Err(Errno::NOENT) => continue,
                Err(error) => return Err(error.into()),
            };
            if !is_ours(&held, shape)? {
                return Ok(None);
            }
            rustix::fs::flock(&held, FlockOperation::LockShared)?;
            let about = rustix::fs::statat(&above, name, AtFlags::SYMLINK_NOFOLLOW);
            let known = identity(&held)?;
            let is_still_there = about
                .is_ok_and(|found| (found.st_dev, found.st_ino) == (known.device, known.inode));
            if is_still_there {
                let name = PathBuf::from(name);
                return Ok(Some(Self {
                    above,
                    name,
                    shape,
                    held,
                }));
            }
        }
        Err(Errno::AGAIN.into())
    }
}

fn make(above: &OwnedFd, name: &Path, shape: PlaceholderShape) -> rustix::io::Result<()> {
    match shape {
        PlaceholderShape::Dir => rustix::fs::mkdirat(above, name, Mode::from_raw_mode(DIR_MODE)),
        PlaceholderShape::File => {
            let new = OFlags::CREATE | OFlags::EXCL | OFlags::RDONLY | OFlags::CLOEXEC;
            rustix::fs::openat(above, name, new, Mode::from_raw_mode(FILE_MODE)).map(drop)
        }
    }
}

fn is_ours(held: &OwnedFd, shape: PlaceholderShape) -> rustix::io::Result<bool> {
    let about = rustix::fs::fstat(held)?;
    let kind = FileType::from_raw_mode(about.st_mode);
    let mode = about.st_mode & 0o7777;
    Ok(match shape {
        PlaceholderShape::Dir => kind == FileType::Directory && mode == DIR_MODE,
        PlaceholderShape::File => {
            kind == FileType::RegularFile && mode == FILE_MODE && about.st_size == 0
        }
    })
}

impl Drop for MountPlaceholder {
    fn drop(&mut self) {
        let alone = FlockOperation::NonBlockingLockExclusive;
        if rustix::fs::flock(&self.held, alone).is_err() {
            return;
        }
        // A file with content is no placeholder any more; `unlinkat` itself refuses a directory
        // with entries.
        let flags = match self.shape {
            PlaceholderShape::Dir => AtFlags::REMOVEDIR,
            PlaceholderShape::File if is_ours(&self.held, PlaceholderShape::File) == Ok(true) => {
                AtFlags::empty()
            }
            PlaceholderShape::File => return,
        };
        rustix::fs::unlinkat(&self.above, &self.name, flags).ok();
    }
}
