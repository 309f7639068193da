//! Listing one directory, and walking a tree.

use std::ffi::OsString;
use std::ops::ControlFlow;

use super::scan::{self, Filter, Tour};
use super::{Ignored, Workspace};
use crate::descent::{Descent, kind_of};
use crate::{Denial, Entry, Error, ErrorKind, Kind, RelPath};

/// One name in a directory, and whether it may be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Where it is, without symlinks above it.
    pub path: RelPath,
    /// What it is; a symlink is a symlink, wherever it points.
    pub kind: Kind,
    /// Why it may not be read, if so.
    pub denial: Option<Denial>,
}

/// What is in one directory, sorted by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// The names, refused ones among them.
    pub entries: Vec<Listed>,
    /// Names that no path can spell: not UTF-8, control characters, backslashes. They cannot be
    /// read here, whatever they are.
    pub unnameable: Vec<OsString>,
}

/// What a walk takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalkOptions {
    /// Where it starts.
    pub dir: RelPath,
    /// How many levels it goes down; 1 is `dir` alone.
    pub depth_max: usize,
    /// How many entries it returns.
    pub entries_max: usize,
    /// Whether what `.gitignore` files name is left out.
    pub ignored: Ignored,
}

impl WalkOptions {
    /// Everything below `dir` that is not ignored.
    #[must_use]
    pub fn new(dir: RelPath) -> Self {
        Self {
            dir,
            depth_max: usize::MAX,
            entries_max: usize::MAX,
            ignored: Ignored::default(),
        }
    }
}

/// What a walk found, in tree order: directories before what is in them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    /// Files, directories, symlinks and special files that may be read.
    pub entries: Vec<Entry>,
    /// Whether there was more than `entries_max`.
    pub more: bool,
}

impl Workspace {
    /// What is in `dir`. Names that may not be read are listed with their
    /// denial; what `.gitignore` files name is listed like anything else.
    pub fn list(&self, dir: &RelPath) -> Result<Listing, Error> {
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
        Ok(Listing {
            entries,
            unnameable,
        })
    }

    /// What is below a directory and may be read. Symlinks are named, not
    /// entered; directories that cannot be opened have nothing in them.
    pub fn walk(&self, options: &WalkOptions) -> Result<Tree, Error> {
        let real = self.locate_dir(&options.dir)?;
        let tour = Tour {
            start: &real,
            depth_max: options.depth_max,
            entries_max: self.limits.walk_entries_max,
        };
        let filter = Filter::new(&self.policy, options.ignored);
        let mut tree = Tree::default();
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
            Some(Kind::Dir) => Ok(place.path),
            Some(_) => Err(Error::new(
                ErrorKind::Conflict,
                format!("`{dir}` is not a directory; read it instead"),
            )),
            None => Err(Error::new(
                ErrorKind::NotFound,
                format!("the directory `{dir}` does not exist"),
            )),
        }
    }

    fn listed(&self, path: RelPath, kind: Kind) -> Listed {
        let judged = match kind {
            // A link that leads nowhere or out is found out by whoever reads it.
            Kind::Symlink => self
                .locate(&path)
                .map_or_else(|error| error.denial().cloned(), |_| None),
            _ => self.policy.check_read_entry(&path).err(),
        };
        Listed {
            path,
            kind,
            denial: judged,
        }
    }
}
