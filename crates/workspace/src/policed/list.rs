//! Listing one directory, and walking a tree.

use std::ffi::OsString;
use std::ops::ControlFlow;

use super::scan::{self, ScanFilter, TreeWalk};
use super::{IgnoredFiles, Workspace};
use crate::descent::{Descent, kind_of};
use crate::{Denial, Error, PathKind, RelPath, TreeEntry, WorkspaceErrorKind};

/// One name in a directory, with its denial if it may not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListingEntry {
    /// Its path, without symlinks above it.
    pub path: RelPath,
    /// Its kind; a symlink is a symlink, wherever it points.
    pub kind: PathKind,
    /// The denial, if it may not be read.
    pub denial: Option<Denial>,
}

/// The entries of one directory, sorted by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DirectoryListing {
    /// The names, refused ones among them.
    pub entries: Vec<ListingEntry>,
    /// Names that no path can spell: not UTF-8, control characters, backslashes. They can never be
    /// read here.
    pub unnameable: Vec<OsString>,
}

/// The options of a walk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalkOptions {
    /// The directory to start in.
    pub dir: RelPath,
    /// Levels to descend; 1 is `dir` alone.
    pub depth_max: usize,
    /// The most entries to return.
    pub entries_max: usize,
    /// The treatment of files that `.gitignore` names.
    pub ignored: IgnoredFiles,
}

impl WalkOptions {
    /// Everything below `dir` that is not ignored.
    #[must_use]
    pub fn new(dir: RelPath) -> Self {
        Self {
            dir,
            depth_max: usize::MAX,
            entries_max: usize::MAX,
            ignored: IgnoredFiles::default(),
        }
    }
}

/// The entries of a walk, in tree order: directories before their content.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreeListing {
    /// Files, directories, symlinks and special files that may be read.
    pub entries: Vec<TreeEntry>,
    /// True if there were more than `entries_max`.
    pub more: bool,
}

impl Workspace {
    /// Lists `dir`. Names that may not be read are listed with their denial; ignored files are
    /// listed like any other.
    pub fn list(&self, dir: &RelPath) -> Result<DirectoryListing, Error> {
        let real = self.locate_dir(dir)?;
        let mut descent = Descent::new(self.root.fd());
        let fd = descent
            .enter(&real)
            .map_err(|source| Error::io("listing", dir, source))?;
        let read = scan::names(fd, dir, self.limits.walk_entries_max)?;
        let (mut entries, mut unnameable) = (Vec::new(), read.unnameable);
        for (name, kind) in read.names {
            match real.child(&name) {
                Some(path) => entries.push(self.listed(path, kind)),
                None => unnameable.push(name.into()),
            }
        }
        Ok(DirectoryListing {
            entries,
            unnameable,
        })
    }

    /// Walks the readable entries below a directory. Symlinks are returned, not entered;
    /// directories that cannot be opened count as empty.
    pub fn walk(&self, options: &WalkOptions) -> Result<TreeListing, Error> {
        let real = self.locate_dir(&options.dir)?;
        let tour = TreeWalk {
            start: &real,
            depth_max: options.depth_max,
            entries_max: self.limits.walk_entries_max,
        };
        let filter = ScanFilter::new(&self.policy, options.ignored);
        let mut tree = TreeListing::default();
        tour.go(&self.root, &filter, |_, entry| {
            if tree.entries.len() >= options.entries_max {
                tree.more = true;
                return ControlFlow::Break(());
            }
            tree.entries.push(entry.clone());
            ControlFlow::Continue(())
        })?;
        Ok(tree)
    }

    /// The real path of a directory that must be there.
    pub(super) fn locate_dir(&self, dir: &RelPath) -> Result<RelPath, Error> {
        let place = self.locate(dir)?;
        match place.found.as_ref().map(kind_of) {
            Some(PathKind::Dir) => Ok(place.path),
            Some(_) => Err(Error::new(
                WorkspaceErrorKind::Conflict,
                format!("`{dir}` is not a directory; read it instead"),
            )),
            None => Err(Error::new(
                WorkspaceErrorKind::NotFound,
                format!("the directory `{dir}` does not exist"),
            )),
        }
    }

    fn listed(&self, path: RelPath, kind: PathKind) -> ListingEntry {
        let judged = match kind {
            // Reading a link that leads nowhere or outside fails later, with its own error.
            PathKind::Symlink => self
                .locate(&path)
                .map_or_else(|error| error.denial().cloned(), |_| None),
            _ => self.policy.check_read_entry(&path).err(),
        };
        ListingEntry {
            path,
            kind,
            denial: judged,
        }
    }
}
