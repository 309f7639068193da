//! Opening places by names in which nothing is a symbolic link.
//!
//! A command that runs at the same time can exchange a directory of the workspace for a link. A name
//! that is opened here leads where it says or nowhere, and the descriptor is what rules and mounts
//! are made of.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};

const NO_LINKS: ResolveFlags = ResolveFlags::NO_SYMLINKS.union(ResolveFlags::NO_MAGICLINKS);

/// Opens an absolute path to look at, mount or grant it. A link anywhere in it is `ELOOP`.
pub(crate) fn open_place(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let place = rustix::fs::openat2(CWD, path, flags, Mode::empty(), NO_LINKS)?;
    // With these two flags the last name is opened although it is a link.
    if is_link(&place)? {
        return Err(rustix::io::Errno::LOOP);
    }
    Ok(place)
}

/// Opens a path from `dir` downwards. Neither `..` nor a link leads out of it.
pub(crate) fn open_beneath(
    dir: impl AsFd,
    path: &Path,
    flags: OFlags,
    mode: Mode,
) -> rustix::io::Result<OwnedFd> {
    let path = match path.as_os_str().is_empty() {
        true => Path::new("."),
        false => path,
    };
    let flags = flags | OFlags::CLOEXEC;
    let resolve = NO_LINKS | ResolveFlags::BENEATH;
    // A rename at the same moment makes the kernel unsure, which it says by `EAGAIN`.
    const TRIES_MAX: usize = 64;
    for _ in 0..TRIES_MAX {
        match rustix::fs::openat2(&dir, path, flags, mode, resolve) {
            Err(rustix::io::Errno::AGAIN) => {}
            opened => return opened,
        }
    }
    Err(rustix::io::Errno::AGAIN)
}

/// What tells one file or directory from all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileIdentity {
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

pub(crate) fn identity(place: impl AsFd) -> rustix::io::Result<FileIdentity> {
    let about = rustix::fs::fstat(place)?;
    Ok(FileIdentity {
        device: about.st_dev,
        inode: about.st_ino,
    })
}

pub(crate) fn is_dir(place: impl AsFd) -> bool {
    rustix::fs::fstat(place)
        .is_ok_and(|about| FileType::from_raw_mode(about.st_mode) == FileType::Directory)
}

fn is_link(place: impl AsFd) -> rustix::io::Result<bool> {
    let about = rustix::fs::fstat(place)?;
    Ok(FileType::from_raw_mode(about.st_mode) == FileType::Symlink)
}
