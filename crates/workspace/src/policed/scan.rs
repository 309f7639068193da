//! Going through directories by handle: what is in one, filtered; and a whole tree in order.

use std::ffi::{OsStr, OsString};
use std::io;
use std::ops::ControlFlow;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::{Dir, FileType};

use super::Ignored;
use super::ignored::Ignores;
use crate::descent::{Descent, kind_of, open_dir, stat};
use crate::{Entry, Error, ErrorKind, Kind, Policy, RelPath, Root};

/// What of a tree is looked at.
#[derive(Clone, Copy)]
pub(super) struct Filter<'p> {
    policy: &'p Policy,
    ignored: Ignored,
    /// How many entries were met that no [`RelPath`] can spell.
    unnameable: Option<&'p AtomicUsize>,
}

impl<'p> Filter<'p> {
    /// Everything that may be read.
    pub(super) fn readable(policy: &'p Policy) -> Self {
        Self::new(policy, Ignored::Included)
    }

    pub(super) fn new(policy: &'p Policy, ignored: Ignored) -> Self {
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

    /// What has a say about ignoring in `dir`, `dir`'s own files not yet read.
    pub(super) fn ignores_above(&self, root: &Root, dir: &RelPath) -> Ignores {
        let mut ignores = Ignores::default();
        if self.ignored == Ignored::Included {
            return ignores;
        }
        ignores = Ignores::of_repository(root);
        let mut descent = Descent::new(root.fd());
        let mut above: Vec<RelPath> =
            std::iter::successors(dir.parent(), RelPath::parent).collect();
        above.reverse();
        for dir in above {
            if let Ok(fd) = descent.enter(&dir) {
                ignores = ignores.entering(fd, &dir, Ignores::file_names());
            }
        }
        ignores
    }

    /// What is in the opened `dir` and passes, sorted; and what has a say in it.
    pub(super) fn read(
        &self,
        fd: BorrowedFd<'_>,
        dir: &RelPath,
        ignores: &Ignores,
        entries_max: usize,
    ) -> Result<(Vec<Entry>, Ignores), Error> {
        let mut opened = listable(open_dir(fd, "."), dir)?;
        self.read_in(&mut opened, dir, ignores, entries_max)
    }

    fn read_in(
        &self,
        opened: &mut Dir,
        dir: &RelPath,
        ignores: &Ignores,
        entries_max: usize,
    ) -> Result<(Vec<Entry>, Ignores), Error> {
        let read = names_in(opened, dir, entries_max)?;
        if let Some(count) = self.unnameable {
            count.fetch_add(read.unnameable.len(), Ordering::Relaxed);
        }
        let names = read.names;
        let fd = fd_of(opened, dir)?;
        let ignores = match self.ignored {
            Ignored::Included => Ignores::default(),
            Ignored::LeftOut => ignores.entering(fd, dir, names.iter().map(|(name, _)| &**name)),
        };
        let entries = names
            .into_iter()
            .filter_map(|(name, kind)| {
                let path = dir.child(&name)?;
                Some(Entry { path, kind })
            })
            .filter(|entry| self.policy.check_read_entry(&entry.path).is_ok())
            .filter(|entry| !ignores.name(&entry.path, entry.kind))
            .collect();
        Ok((entries, ignores))
    }
}

/// The names in one directory.
#[derive(Default)]
pub(super) struct Names {
    /// Sorted by name.
    pub(super) names: Vec<(String, Kind)>,
    /// Those that no [`RelPath`] can spell.
    pub(super) unnameable: Vec<OsString>,
}

/// Reads the names in an opened directory.
pub(super) fn names(fd: BorrowedFd<'_>, dir: &RelPath, entries_max: usize) -> Result<Names, Error> {
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

fn names_in(opened: &mut Dir, dir: &RelPath, entries_max: usize) -> Result<Names, Error> {
    let failed = |source: io::Error| Error::io("listing", dir, source);
    let mut read = Names::default();
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
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Dir,
            FileType::Symlink => Kind::Symlink,
            // Some filesystems do not say.
            FileType::Unknown => match stat(fd_of(opened, dir)?, name).map_err(failed)? {
                Some(found) => kind_of(&found),
                None => continue,
            },
            _ => Kind::Other,
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
    filter: &Filter<'_>,
    mut visitor: impl FnMut(BorrowedFd<'_>, &Entry),
) -> Result<(), Error> {
    let tour = Tour {
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
pub(super) struct Tour<'t> {
    /// A directory without symlinks in its path.
    pub(super) start: &'t RelPath,
    /// How many levels are entered; the entries of `start` are the first.
    pub(super) depth_max: usize,
    /// The most entries looked at.
    pub(super) entries_max: usize,
}

impl Tour<'_> {
    pub(super) fn go(
        &self,
        root: &Root,
        filter: &Filter<'_>,
        visitor: impl FnMut(BorrowedFd<'_>, &Entry) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        // One directory knows only how many entries were left for it.
        self.visit(root, filter, visitor)
            .map_err(|error| match error.kind() {
                ErrorKind::Limit => too_many(self.start, self.entries_max),
                _ => error,
            })
    }

    fn visit(
        &self,
        root: &Root,
        filter: &Filter<'_>,
        mut visitor: impl FnMut(BorrowedFd<'_>, &Entry) -> ControlFlow<()>,
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
            if entry.kind != Kind::Dir || levels.len() >= self.depth_max {
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
        filter: &Filter<'_>,
        ignores: &Ignores,
        left: &mut usize,
    ) -> Result<Level, Error> {
        let failed = |source| Error::io("listing", self.start, source);
        let mut descent = Descent::new(root.fd());
        let fd = descent.enter(self.start).map_err(failed)?;
        // The root's own handle is for resolving only, so it is opened once more for reading.
        let dir = listable(open_dir(fd, "."), self.start)?;
        Level::read((dir, self.start), filter, ignores, left)
    }

    /// The next level; `None` when the directory went away or may not be listed.
    fn descend(
        &self,
        levels: &[Level],
        entry: &Entry,
        filter: &Filter<'_>,
        left: &mut usize,
    ) -> Result<Option<Level>, Error> {
        let Some(level) = levels.last() else {
            return Ok(None);
        };
        let name = entry.path.file_name().unwrap_or_default();
        match open_dir(fd_of(&level.dir, &entry.path)?, name) {
            Ok(fd) => {
                let dir = listable(Ok(fd), &entry.path)?;
                Level::read((dir, &entry.path), filter, &level.ignores, left).map(Some)
            }
            Err(_) => Ok(None),
        }
    }
}

fn too_many(dir: &RelPath, entries_max: usize) -> Error {
    Error::new(
        ErrorKind::Limit,
        format!(
            "`{dir}` holds more entries than walk_entries_max ({entries_max}); name a smaller directory"
        ),
    )
}

struct Level {
    dir: Dir,
    ignores: Ignores,
    pending: std::vec::IntoIter<Entry>,
}

impl Level {
    fn read(
        (mut dir, path): (Dir, &RelPath),
        filter: &Filter<'_>,
        ignores: &Ignores,
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
