//! Descends from the root one name at a time, never through a symlink.
//!
//! `cap-std` keeps reads inside the root. Writes need more: the checked place must be the written
//! one, even if another process replaces a directory by a symlink in between. So a path is first
//! *resolved* to one without symlinks ([`PathResolver`]), and later *entered* by opening each level
//! with `O_NOFOLLOW` ([`Descent`]). A swapped symlink is then an error, never a detour.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::{Error, PathKind, RelPath, WorkspaceErrorKind};

/// The most symlinks followed for one path, as in the kernel.
const SYMLINK_HOPS_MAX: usize = 40;

/// The open directories from the root down to the last one entered. Visiting
/// paths in tree order opens each directory once and few at a time.
pub(crate) struct Descent<'r> {
    root: BorrowedFd<'r>,
    levels: Vec<(String, OwnedFd)>,
}

impl<'r> Descent<'r> {
    pub(crate) fn new(root: BorrowedFd<'r>) -> Self {
        Self {
            root,
            levels: Vec::new(),
        }
    }

    /// The directory `dir`, which must exist and contain no symlink.
    pub(crate) fn enter(&mut self, dir: &RelPath) -> io::Result<BorrowedFd<'_>> {
        let shared = dir
            .names()
            .zip(&self.levels)
            .take_while(|(name, (open, _))| name == open)
            .count();
        self.levels.truncate(shared);
        for name in dir.names().skip(shared) {
            let opened = open_dir(self.here(), name)?;
            self.levels.push((name.to_owned(), opened));
        }
        Ok(self.here())
    }

    /// The directory a path is in, and the path's last name.
    pub(crate) fn enter_parent<'p>(
        &mut self,
        path: &'p RelPath,
    ) -> io::Result<(BorrowedFd<'_>, &'p str)> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Errno::ISDIR.into());
        };
        Ok((self.enter(&parent)?, name))
    }

    /// Drops the open handles, after a directory was moved away.
    pub(crate) fn forget(&mut self) {
        self.levels.clear();
    }

    fn here(&self) -> BorrowedFd<'_> {
        self.levels.last().map_or(self.root, |(_, fd)| fd.as_fd())
    }
}

pub(crate) fn open_dir(parent: BorrowedFd<'_>, name: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(parent, name, flags, Mode::empty())?)
}

/// Returns the status of `name` in `dir` itself, not of a symlink's target.
pub(crate) fn stat(dir: BorrowedFd<'_>, name: &str) -> io::Result<Option<Stat>> {
    match rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

pub(crate) fn kind_of(stat: &Stat) -> PathKind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => PathKind::File,
        FileType::Directory => PathKind::Dir,
        FileType::Symlink => PathKind::Symlink,
        _ => PathKind::Other,
    }
}

/// Selects a symlink in last place itself, or its target.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LastLink {
    Follow,
    Keep,
}

/// A resolved path.
#[derive(Clone)]
pub(crate) struct ResolvedPath {
    /// The path without symlinks.
    pub(crate) path: RelPath,
    /// Its status on disk, if it exists.
    pub(crate) found: Option<Stat>,
    /// Number of the path's names that already exist.
    pub(crate) standing: usize,
}

/// Resolves paths against the disk as it will be once `gone` is removed.
pub(crate) struct PathResolver<'r> {
    descent: Descent<'r>,
    gone: &'r BTreeSet<RelPath>,
    last_parent: Option<(RelPath, ResolvedPath)>,
}

impl<'r> PathResolver<'r> {
    pub(crate) fn new(root: BorrowedFd<'r>, gone: &'r BTreeSet<RelPath>) -> Self {
        Self {
            descent: Descent::new(root),
            gone,
            last_parent: None,
        }
    }

    /// Resolves `path`; remembers its directory for the next call.
    pub(crate) fn resolve(
        &mut self,
        path: &RelPath,
        last: LastLink,
    ) -> Result<ResolvedPath, Error> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return self.walk(path, last);
        };
        let known = match &self.last_parent {
            Some((spelled, place)) if *spelled == parent => place.clone(),
            _ => {
                let place = self.walk(&parent, LastLink::Follow)?;
                require_dir(path, &place)?;
                self.last_parent = Some((parent, place.clone()));
                place
            }
        };
        let Some(real) = known.path.child(name) else {
            return self.walk(path, last);
        };
        let found = match known.found {
            Some(_) if !self.gone.contains(&real) => self.stat_in(&known.path, name, path)?,
            _ => None,
        };
        if last == LastLink::Follow && found.as_ref().map(kind_of) == Some(PathKind::Symlink) {
            return self.walk(path, last);
        }
        Ok(ResolvedPath {
            standing: known.standing + usize::from(found.is_some()),
            path: real,
            found,
        })
    }

    fn stat_in(
        &mut self,
        dir: &RelPath,
        name: &str,
        asked: &RelPath,
    ) -> Result<Option<Stat>, Error> {
        self.descent
            .enter(dir)
            .and_then(|fd| stat(fd, name))
            .map_err(|source| Error::io("looking at", asked, source))
    }

    fn walk(&mut self, path: &RelPath, last: LastLink) -> Result<ResolvedPath, Error> {
        let mut pending: Vec<String> = path.names().rev().map(str::to_owned).collect();
        let mut real = RelPath::root();
        let mut hops = 0;
        let root_stat = rustix::fs::fstat(self.descent.root)
            .map_err(|errno| Error::io("looking at", path, errno))?;
        let mut found = Some(root_stat);
        while let Some(name) = pending.pop() {
            if name == ".." {
                real = real
                    .parent()
                    .ok_or_else(|| escape(path, "..", "leaves it"))?;
                continue;
            }
            let here = real
                .child(&name)
                .ok_or_else(|| escape(path, &name, "is not a usable name"))?;
            let stat = if self.gone.contains(&here) {
                None
            } else {
                self.stat_in(&real, &name, path)?
            };
            match stat.as_ref().map(kind_of) {
                None => {
                    pending.push(name);
                    return missing(path, &real, pending);
                }
                Some(PathKind::Symlink) if !(pending.is_empty() && last == LastLink::Keep) => {
                    hops += 1;
                    self.follow(path, &here, &mut pending)?;
                    if hops > SYMLINK_HOPS_MAX {
                        return Err(Error::new(
                            WorkspaceErrorKind::Limit,
                            format!(
                                "`{path}` leads through more than SYMLINK_HOPS_MAX ({SYMLINK_HOPS_MAX}) symlinks"
                            ),
                        ));
                    }
                    // `..` in a link is relative to the directory the link is in.
                    continue;
                }
                Some(PathKind::File | PathKind::Other) if !pending.is_empty() => {
                    return Err(not_a_dir(path, &here));
                }
                Some(_) => {
                    real = here;
                    found = stat;
                }
            }
        }
        if real.is_root() {
            found = Some(root_stat);
        }
        Ok(ResolvedPath {
            standing: real.depth(),
            path: real,
            found,
        })
    }

    /// Puts the names of a symlink's target in front of the remaining names.
    fn follow(
        &mut self,
        path: &RelPath,
        link: &RelPath,
        pending: &mut Vec<String>,
    ) -> Result<(), Error> {
        let read = |descent: &mut Descent<'_>| -> io::Result<_> {
            let (dir, name) = descent.enter_parent(link)?;
            Ok(rustix::fs::readlinkat(dir, name, Vec::new())?)
        };
        let target = read(&mut self.descent)
            .map_err(|source| Error::io("reading the symlink", link, source))?;
        let target = String::from_utf8_lossy(target.as_bytes()).into_owned();
        if target.starts_with('/') {
            return Err(leaves(path, link, &target));
        }
        let mut depth = link.depth().saturating_sub(1);
        for name in target.split('/') {
            match name {
                "" | "." => {}
                ".." if depth == 0 => return Err(leaves(path, link, &target)),
                ".." => depth -= 1,
                _ => depth += 1,
            }
        }
        let names = target.split('/').filter(|name| !matches!(*name, "" | "."));
        pending.extend(names.rev().map(str::to_owned));
        Ok(())
    }
}

/// The rest of a path, from the first name that does not exist.
fn missing(
    path: &RelPath,
    real: &RelPath,
    mut pending: Vec<String>,
) -> Result<ResolvedPath, Error> {
    let standing = real.depth();
    let mut whole = real.clone();
    while let Some(name) = pending.pop() {
        whole = whole
            .child(&name)
            .ok_or_else(|| escape(path, &name, "comes after a directory that does not exist"))?;
    }
    Ok(ResolvedPath {
        path: whole,
        found: None,
        standing,
    })
}

fn require_dir(path: &RelPath, parent: &ResolvedPath) -> Result<(), Error> {
    match parent.found.as_ref().map(kind_of) {
        None | Some(PathKind::Dir) => Ok(()),
        Some(_) => Err(not_a_dir(path, &parent.path)),
    }
}

fn not_a_dir(path: &RelPath, file: &RelPath) -> Error {
    Error::new(
        WorkspaceErrorKind::Conflict,
        format!(
            "`{path}` needs `{file}` to be a directory, but it is a file; move it or choose another path"
        ),
    )
}

fn leaves(path: &RelPath, link: &RelPath, target: &str) -> Error {
    let why = if path == link {
        format!("`{path}` is a symlink to `{target}`")
    } else {
        format!("`{path}` leads through the symlink `{link}` to `{target}`")
    };
    Error::new(
        WorkspaceErrorKind::Escape,
        format!(
            "{why}, outside the project; use a real path inside it, or a relative symlink that stays inside"
        ),
    )
}

fn escape(path: &RelPath, name: &str, why: &str) -> Error {
    Error::new(
        WorkspaceErrorKind::Escape,
        format!("`{path}` cannot be resolved inside the project: `{name}` {why}"),
    )
}
