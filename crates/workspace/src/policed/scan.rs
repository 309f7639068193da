//! Walks directories by handle: the filtered entries of one, and a whole tree in order.

use std::ffi::{OsStr, OsString};
use std::io;
use std::ops::ControlFlow;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::{Dir, FileType};

use super::IgnoredFiles;
use super::ignored::IgnoreRules;
use crate::descent::{Descent, kind_of, open_dir, stat};
use crate::{AccessPolicy, Error, PathKind, RelPath, Root, TreeEntry, WorkspaceErrorKind};

/// Selects the entries of a tree.
#[derive(Clone, Copy)]
pub(super) struct ScanFilter<'p> {
    policy: &'p AccessPolicy,
    ignored: IgnoredFiles,
    /// Counts entries that no [`RelPath`] can spell.
    unnameable: Option<&'p AtomicUsize>,
}

impl<'p> ScanFilter<'p> {
    /// Everything that may be read.
    pub(super) fn readable(policy: &'p AccessPolicy) -> Self {
        Self::new(policy, IgnoredFiles::Included)
    }

    pub(super) fn new(policy: &'p AccessPolicy, ignored: IgnoredFiles) -> Self {
        Self {
            policy,
            ignored,
            unnameable: None,
        }
    }

    /// Adds the entries that are passed over because no [`RelPath`] can spell their names to `count`.
    pub(super) fn counting(self, count: &'p AtomicUsize) -> Self {
        Self {
            unnameable: Some(count),
            ..self
        }
    }

    /// The ignore rules that apply to `dir`, before `dir`'s own files are read.
    pub(super) fn ignores_above(&self, root: &Root, dir: &RelPath) -> IgnoreRules {
        let mut ignores = IgnoreRules::default();
        if self.ignored == IgnoredFiles::Included {
            return ignores;
        }
        ignores = IgnoreRules::of_repository(root);
        let mut descent = Descent::new(root.fd());
        let mut above: Vec<RelPath> =
            std::iter::successors(dir.parent(), RelPath::parent).collect();
        above.reverse();
        for dir in above {
            if let Ok(fd) = descent.enter(&dir) {
                ignores = ignores.entering(fd, &dir, IgnoreRules::file_names());
            }
        }
        ignores
    }

    /// Returns the entries of the opened `dir` that pass, sorted, and the ignore rules in it.
    pub(super) fn read(
        &self,
        fd: BorrowedFd<'_>,
        dir: &RelPath,
        ignores: &IgnoreRules,
        entries_max: usize,
    ) -> Result<(Vec<TreeEntry>, IgnoreRules), Error> {
        let mut opened = listable(open_dir(fd, "."), dir)?;
        self.read_in(&mut opened, dir, ignores, entries_max)
    }

    fn read_in(
        &self,
        opened: &mut Dir,
        dir: &RelPath,
        ignores: &IgnoreRules,
        entries_max: usize,
    ) -> Result<(Vec<TreeEntry>, IgnoreRules), Error> {
        let read = names_in(opened, dir, entries_max)?;
        if let Some(count) = self.unnameable {
            count.fetch_add(read.unnameable.len(), Ordering::Relaxed);
        }
        let names = read.names;
        let fd = fd_of(opened, dir)?;
        let ignores = match self.ignored {
            IgnoredFiles::Included => IgnoreRules::default(),
            IgnoredFiles::LeftOut => {
                ignores.entering(fd, dir, names.iter().map(|(name, _)| &**name))
            }
        };
        let entries = names
            .into_iter()
            .filter_map(|(name, kind)| {
                let path = dir.child(&name)?;
                Some(TreeEntry { path, kind })
            })
            .filter(|entry| self.policy.check_read_entry(&entry.path).is_ok())
            .filter(|entry| !ignores.name(&entry.path, entry.kind))
            .collect();
        Ok((entries, ignores))
    }
}

/// The names in one directory.
#[derive(Default)]
pub(super) struct DirectoryNames {
    /// Sorted by name.
    pub(super) names: Vec<(String, PathKind)>,
    /// Those that no [`RelPath`] can spell.
    pub(super) unnameable: Vec<OsString>,
}

/// Reads the names in an opened directory.
pub(super) fn names(
    fd: BorrowedFd<'_>,
    dir: &RelPath,
    entries_max: usize,
) -> Result<DirectoryNames, Error> {
    // The root's own handle is for resolving only, so it is opened once more for reading.
    names_in(&mut listable(open_dir(fd, "."), dir)?, dir, entries_max)
}

/// A directory that was opened for reading.
fn listable(opened: io::Result<OwnedFd>, dir: &RelPath) -> Result<Dir, Error> {
    let failed = |source: io::Error| Error::io("listing", dir, source);
    Dir::new(opened.map_err(failed)?).map_err(|errno| failed(errno.into()))
}

fn fd_of<'d>(opened: &'d Dir, dir: &RelPath) -> Result<BorrowedFd<'d>, Error> {
    let fd = opened.fd();
    fd.map_err(|errno| Error::io("listing", dir, errno))
}

fn names_in(opened: &mut Dir, dir: &RelPath, entries_max: usize) -> Result<DirectoryNames, Error> {
    let failed = |source: io::Error| Error::io("listing", dir, source);
    let mut read = DirectoryNames::default();
    while let Some(entry) = opened.read() {
        let entry = entry.map_err(|errno| failed(errno.into()))?;
        let name = match entry.file_name().to_str() {
            Ok("." | "..") => continue,
            Ok(name) if RelPath::is_name(name) => name,
            _ => {
                let name = OsStr::from_bytes(entry.file_name().to_bytes());
                read.unnameable.push(name.to_owned());
                continue;
            }
        };
        if read.names.len() + read.unnameable.len() >= entries_max {
            return Err(too_many(dir, entries_max));
        }
        let kind = match entry.file_type() {
            FileType::RegularFile => PathKind::File,
            FileType::Directory => PathKind::Dir,
            FileType::Symlink => PathKind::Symlink,
            // Some filesystems do not say.
            FileType::Unknown => match stat(fd_of(opened, dir)?, name).map_err(failed)? {
                Some(found) => kind_of(&found),
                None => continue,
            },
            _ => PathKind::Other,
        };
        read.names.push((name.to_owned(), kind));
    }
    read.names.sort_unstable();
    Ok(read)
}

/// Calls `visitor` for everything below the root that passes, in tree order.
pub(super) fn visit(
    root: &Root,
    entries_max: usize,
    filter: &ScanFilter<'_>,
    mut visitor: impl FnMut(BorrowedFd<'_>, &TreeEntry),
) -> Result<(), Error> {
    let tour = TreeWalk {
        start: &RelPath::root(),
        depth_max: usize::MAX,
        entries_max,
    };
    tour.go(root, filter, |dir, entry| {
        visitor(dir, entry);
        ControlFlow::Continue(())
    })
}

/// A walk in tree order.
pub(super) struct TreeWalk<'t> {
    /// A directory without symlinks in its path.
    pub(super) start: &'t RelPath,
    /// Levels to enter; the entries of `start` are the first.
    pub(super) depth_max: usize,
    /// The most entries to read.
    pub(super) entries_max: usize,
}

impl TreeWalk<'_> {
    pub(super) fn go(
        &self,
        root: &Root,
        filter: &ScanFilter<'_>,
        visitor: impl FnMut(BorrowedFd<'_>, &TreeEntry) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        // The error of one directory only knows the entries left for it, so name the whole limit.
        self.visit(root, filter, visitor)
            .map_err(|error| match error.kind() {
                WorkspaceErrorKind::Limit => too_many(self.start, self.entries_max),
                _ => error,
            })
    }

    fn visit(
        &self,
        root: &Root,
        filter: &ScanFilter<'_>,
        mut visitor: impl FnMut(BorrowedFd<'_>, &TreeEntry) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let mut left = self.entries_max;
        let ignores = filter.ignores_above(root, self.start);
        let mut levels = vec![self.enter(root, filter, &ignores, &mut left)?];
        while let Some(level) = levels.last_mut() {
            let Some(entry) = level.pending.next() else {
                levels.pop();
                continue;
            };
            if visitor(fd_of(&level.dir, &entry.path)?, &entry).is_break() {
                return Ok(());
            }
            if entry.kind != PathKind::Dir || levels.len() >= self.depth_max {
                continue;
            }
            if let Some(below) = self.descend(&levels, &entry, filter, &mut left)? {
                levels.push(below);
            }
        }
        Ok(())
    }

    fn enter(
        &self,
        root: &Root,
        filter: &ScanFilter<'_>,
        ignores: &IgnoreRules,
        left: &mut usize,
    ) -> Result<WalkLevel, Error> {
        let failed = |source| Error::io("listing", self.start, source);
        let mut descent = Descent::new(root.fd());
        let fd = descent.enter(self.start).map_err(failed)?;
        // The root's own handle is for resolving only, so it is opened once more for reading.
        let dir = listable(open_dir(fd, "."), self.start)?;
        WalkLevel::read((dir, self.start), filter, ignores, left)
    }

    /// Opens the next level; `None` if the directory is gone or may not be listed.
    fn descend(
        &self,
        levels: &[WalkLevel],
        entry: &TreeEntry,
        filter: &ScanFilter<'_>,
        left: &mut usize,
    ) -> Result<Option<WalkLevel>, Error> {
        let Some(level) = levels.last() else {
            return Ok(None);
        };
        let name = entry.path.file_name().unwrap_or_default();
        match open_dir(fd_of(&level.dir, &entry.path)?, name) {
            Ok(fd) => {
                let dir = listable(Ok(fd), &entry.path)?;
                WalkLevel::read((dir, &entry.path), filter, &level.ignores, left).map(Some)
            }
            Err(_) => Ok(None),
        }
    }
}

fn too_many(dir: &RelPath, entries_max: usize) -> Error {
    Error::new(
        WorkspaceErrorKind::Limit,
        format!(
            "`{dir}` holds more entries than walk_entries_max ({entries_max}); name a smaller directory"
        ),
    )
}

struct WalkLevel {
    dir: Dir,
    ignores: IgnoreRules,
    pending: std::vec::IntoIter<TreeEntry>,
}

impl WalkLevel {
    fn read(
        (mut dir, path): (Dir, &RelPath),
        filter: &ScanFilter<'_>,
        ignores: &IgnoreRules,
        left: &mut usize,
    ) -> Result<Self, Error> {
        let (entries, ignores) = filter.read_in(&mut dir, path, ignores, *left)?;
        *left = left.saturating_sub(entries.len());
        Ok(Self {
            dir,
            ignores,
            pending: entries.into_iter(),
        })
    }
}
