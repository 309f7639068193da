//! Opens paths in which no name is a symbolic link.
//!
//! A command that runs at the same time can replace a directory of the workspace by a link. A path
//! opened here leads where it says or nowhere, and rules and mounts are made of the descriptor.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

const NO_LINKS: ResolveFlags = ResolveFlags::NO_SYMLINKS.union(ResolveFlags::NO_MAGICLINKS);

/// Opens an absolute path to inspect, mount or grant it. A link anywhere in it is `ELOOP`.
pub(crate) fn open_place(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let place = match rustix::fs::openat2(CWD, path, flags, Mode::empty(), NO_LINKS) {
        Err(Errno::NOSYS) => walk(CWD, path, flags, Mode::empty())?,
        opened => opened?,
    };
    // With these two flags the last name is opened even if it is a link.
    if is_link(&place)? {
        return Err(Errno::LOOP);
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
    // A rename at the same moment makes the kernel unsure, which it reports as `EAGAIN`.
    const TRIES_MAX: usize = 64;
    for _ in 0..TRIES_MAX {
        match rustix::fs::openat2(&dir, path, flags, mode, resolve) {
            Err(Errno::AGAIN) => {}
            Err(Errno::NOSYS) if path.is_absolute() => return Err(Errno::XDEV),
            Err(Errno::NOSYS) => return walk(dir, path, flags, mode),
            opened => return opened,
        }
    }
    Err(Errno::AGAIN)
}

/// Opens a path name by name, none of which is a link. Needed if the system cannot do that in one
/// call: on an old kernel, or in a sandbox around this program.
fn walk(dir: impl AsFd, path: &Path, flags: OFlags, mode: Mode) -> rustix::io::Result<OwnedFd> {
    let on_the_way = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = |dir: BorrowedFd<'_>, name: &OsStr, is_last: bool| match is_last {
        true => rustix::fs::openat(dir, name, flags | OFlags::NOFOLLOW, mode),
        // The system calls a link in a directory's place "not a directory".
        false => match rustix::fs::openat(dir, name, on_the_way, Mode::empty()) {
            Err(Errno::NOTDIR) => Err(Errno::LOOP),
            opened => opened,
        },
    };
    let mut parts = path.components().peekable();
    let mut above: Option<OwnedFd> = None;
    while let Some(part) = parts.next() {
        let name = match part {
            Component::RootDir | Component::Normal(_) => part.as_os_str(),
            Component::CurDir => OsStr::new("."),
            Component::ParentDir | Component::Prefix(_) => return Err(Errno::XDEV),
        };
        let from = above.as_ref().map_or(dir.as_fd(), AsFd::as_fd);
        above = Some(open(from, name, parts.peek().is_none())?);
    }
    let place = above.ok_or(Errno::NOENT)?;
    match is_link(&place)? {
        true => Err(Errno::LOOP),
        false => Ok(place),
    }
}

/// Tells one file or directory from all others.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Both ways of opening a path lead to the same place, or both fail.
    #[test]
    fn walking_leads_where_opening_at_once_leads() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::write(root.join("a/b/file"), "").unwrap();
        for (target, name) in [("a", "link"), ("/", "out"), ("b/file", "a/to-file")] {
            std::os::unix::fs::symlink(target, root.join(name)).unwrap();
        }
        let handle = open_place(&root).unwrap();
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        for path in [
            "a",
            "a/b",
            "a/b/file",
            ".",
            "link",
            "link/b",
            "out/etc",
            "a/to-file",
            "../a",
            "none",
            "a/b/file/c",
            "/etc",
        ] {
            let path = Path::new(path);
            let at_once = open_beneath(&handle, path, flags, Mode::empty());
            let walked = match path.is_absolute() {
                true => Err(Errno::XDEV),
                false => walk(&handle, path, flags, Mode::empty()),
            };
            match (at_once, walked) {
                (Ok(one), Ok(other)) => {
                    assert_eq!(identity(&one), identity(&other), "{}", path.display());
                }
                (Err(_), Err(_)) => {}
                (one, other) => panic!("{}: {one:?}, {other:?}", path.display()),
            }
        }
    }
}
