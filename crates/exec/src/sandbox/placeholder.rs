//! Something empty to mount a cover on where nothing is, taken away when the last command that needs
//! it has ended: with it the cover would go, also from under the others.
//!
//! Commands of several processes share one. Each holds a shared lock on it; the one who can turn that
//! into an exclusive lock is the last. What is empty and has the permissions of a placeholder was left
//! by a process that died, and is taken over.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::handles::{identity, open_place};
use super::view::{View, refused};
use crate::Error;

/// Permissions that hardly anything else has, by which a placeholder is known.
const FILE_MODE: u32 = 0o400;
const DIR_MODE: u32 = 0o500;
/// How often another process may take a placeholder away while we reach for it.
const TRIES_MAX: usize = 100;

pub(crate) struct Placeholder {
    /// Where it is; dropped last.
    above: OwnedFd,
    name: PathBuf,
    shape: Shape,
    /// With the lock.
    held: OwnedFd,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Dir,
    File,
}

/// What a view needs.
pub(crate) fn placeholders(view: &View) -> Result<Vec<Placeholder>, Error> {
    let git = view.git_missing.iter().map(|git| (git, Shape::Dir));
    let files = view.reserved.iter().map(|file| (file, Shape::File));
    let made = git.chain(files).map(|(path, shape)| {
        Placeholder::new(path, shape).map_err(|error| {
            let path = path.display();
            refused(format!("`{path}` cannot be covered: {error}"))
        })
    });
    let made: Vec<Option<Placeholder>> = made.collect::<Result<_, _>>()?;
    Ok(made.into_iter().flatten().collect())
}

impl Placeholder {
    /// `None` where something empty is there that is not ours and stays.
    fn new(path: &Path, shape: Shape) -> io::Result<Option<Self>> {
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

fn make(above: &OwnedFd, name: &Path, shape: Shape) -> rustix::io::Result<()> {
    match shape {
        Shape::Dir => rustix::fs::mkdirat(above, name, Mode::from_raw_mode(DIR_MODE)),
        Shape::File => {
            let new = OFlags::CREATE | OFlags::EXCL | OFlags::RDONLY | OFlags::CLOEXEC;
            rustix::fs::openat(above, name, new, Mode::from_raw_mode(FILE_MODE)).map(drop)
        }
    }
}

fn is_ours(held: &OwnedFd, shape: Shape) -> rustix::io::Result<bool> {
    let about = rustix::fs::fstat(held)?;
    let kind = FileType::from_raw_mode(about.st_mode);
    let mode = about.st_mode & 0o7777;
    Ok(match shape {
        Shape::Dir => kind == FileType::Directory && mode == DIR_MODE,
        Shape::File => kind == FileType::RegularFile && mode == FILE_MODE && about.st_size == 0,
    })
}

impl Drop for Placeholder {
    fn drop(&mut self) {
        let alone = FlockOperation::NonBlockingLockExclusive;
        if rustix::fs::flock(&self.held, alone).is_err() {
            return;
        }
        // What is not empty is not ours; a directory that is not cannot be removed.
        let flags = match self.shape {
            Shape::Dir => AtFlags::REMOVEDIR,
            Shape::File if is_ours(&self.held, Shape::File) == Ok(true) => AtFlags::empty(),
            Shape::File => return,
        };
        rustix::fs::unlinkat(&self.above, &self.name, flags).ok();
    }
}
