//! Planning: every change is checked against the disk; nothing is written.

use std::collections::{BTreeMap, BTreeSet};

use rustix::fs::{Access, AtFlags, Stat};

use super::Applied;
use super::guard::{Act, Guard, Target};
use super::journal::{Seen, Step};
use crate::descent::{Descent, LastLink, Place, Resolver, kind_of};
use crate::floor::{self, HOME};
use crate::root::special;
use crate::{Change, ChangeSet, Error, ErrorKind, Kind, RelPath, Root};

/// The steps to take, in order: removals, then directories, then files.
pub(super) struct Plan<'c> {
    pub(super) steps: Vec<Step>,
    /// What goes into slot `n`.
    pub(super) contents: Vec<Content<'c>>,
    pub(super) applied: Applied,
}

/// One file to be staged.
pub(super) struct Content<'c> {
    pub(super) bytes: &'c [u8],
    pub(super) executable: bool,
    pub(super) replaces: Option<Stat>,
}

impl<'c> Plan<'c> {
    pub(super) fn check(
        root: &Root,
        changes: &'c ChangeSet,
        guard: &dyn Guard,
    ) -> Result<Self, Error> {
        let mut removals = Removals::default();
        removals.collect(root, changes, guard)?;
        let gone = std::mem::take(&mut removals.gone);
        let mut additions = Additions::new(root, &gone, guard);
        for (path, change) in changes.iter() {
            match change {
                Change::Write { bytes, executable } => {
                    additions.write(path, bytes, *executable)?;
                }
                Change::CreateDir => additions.create_dir(path)?,
                Change::Delete | Change::DeleteTree => {}
            }
        }
        additions.check_overlaps()?;
        Ok(additions.into_plan(removals))
    }

    /// Whether the whole plan is one atomic operation of the filesystem.
    pub(super) fn is_single(&self) -> bool {
        self.steps.len() <= 1
    }
}

#[derive(Default)]
struct Removals {
    gone: BTreeSet<RelPath>,
    steps: Vec<(RelPath, Seen)>,
    deleted: Vec<RelPath>,
}

impl Removals {
    fn collect(
        &mut self,
        root: &Root,
        changes: &ChangeSet,
        guard: &dyn Guard,
    ) -> Result<(), Error> {
        let nothing = BTreeSet::new();
        let mut resolver = Resolver::new(root.fd(), &nothing);
        for (path, change) in changes.iter() {
            let act = match change {
                Change::Delete => Act::Delete,
                Change::DeleteTree => Act::DeleteTree,
                Change::Write { .. } | Change::CreateDir => continue,
            };
            let place = resolver.resolve(path, LastLink::Keep)?;
            guard.check(&place.target(path, act))?;
            let Some(found) = place.found else { continue };
            check_target(path, &place.path)?;
            if kind_of(&found) == Kind::Dir && act == Act::Delete {
                return Err(Error::new(
                    ErrorKind::Conflict,
                    format!("`{path}` is a directory, and a file was to be deleted"),
                ));
            }
            check_writable_dir(root, &place)?;
            if self.covers(&place.path) {
                continue;
            }
            self.steps.push((place.path.clone(), Seen::of(&found)));
            self.gone.insert(place.path);
            self.deleted.push(path.clone());
        }
        Ok(())
    }

    /// Whether `path` goes with a directory that is already going.
    fn covers(&self, path: &RelPath) -> bool {
        std::iter::successors(Some(path.clone()), RelPath::parent)
            .any(|above| self.gone.contains(&above))
    }
}

struct Additions<'r, 'c> {
    root: &'r Root,
    guard: &'r dyn Guard,
    resolver: Resolver<'r>,
    /// The directory last found writable.
    writable: Option<RelPath>,
    make_dirs: BTreeSet<RelPath>,
    /// By real path: how it was spelled, and what shall be there.
    files: BTreeMap<RelPath, (RelPath, Content<'c>)>,
}

impl<'r, 'c> Additions<'r, 'c> {
    fn new(root: &'r Root, gone: &'r BTreeSet<RelPath>, guard: &'r dyn Guard) -> Self {
        Self {
            root,
            guard,
            resolver: Resolver::new(root.fd(), gone),
            writable: None,
            make_dirs: BTreeSet::new(),
            files: BTreeMap::new(),
        }
    }

    fn write(&mut self, path: &RelPath, bytes: &'c [u8], executable: bool) -> Result<(), Error> {
        let place = self.resolver.resolve(path, LastLink::Follow)?;
        self.guard.check(&place.target(path, Act::Write))?;
        check_target(path, &place.path)?;
        match place.found.as_ref().map(kind_of) {
            None => {}
            Some(Kind::Dir) => {
                return Err(Error::new(
                    ErrorKind::Conflict,
                    format!(
                        "`{path}` is a directory, so no file can be written there; remove it or choose another path"
                    ),
                ));
            }
            Some(Kind::Other | Kind::Symlink) => return Err(special(path)),
            Some(Kind::File) => check_writable_file(path, &place)?,
        }
        let parent = place.path.parent().unwrap_or_else(RelPath::root);
        self.need_dir(&parent, &place)?;
        let content = Content {
            bytes,
            executable,
            replaces: place.found,
        };
        match self.files.insert(place.path, (path.clone(), content)) {
            None => Ok(()),
            Some((other, _)) => Err(Error::new(
                ErrorKind::Conflict,
                format!(
                    "`{other}` and `{path}` are the same file through a symlink; write it once"
                ),
            )),
        }
    }

    fn create_dir(&mut self, path: &RelPath) -> Result<(), Error> {
        let place = self.resolver.resolve(path, LastLink::Follow)?;
        self.guard.check(&place.target(path, Act::CreateDir))?;
        floor::check_write(&place.path)?;
        match place.found.as_ref().map(kind_of) {
            None => self.need_dir(&place.path.clone(), &place),
            Some(Kind::Dir) => Ok(()),
            Some(_) => Err(Error::new(
                ErrorKind::Conflict,
                format!(
                    "`{path}` is a file, so no directory can be made there; move it or choose another path"
                ),
            )),
        }
    }

    /// Plans `dir` and those above it, as far as they are missing.
    fn need_dir(&mut self, dir: &RelPath, place: &Place) -> Result<(), Error> {
        let mut missing = dir.clone();
        let mut depth = dir.depth();
        while depth > place.standing && self.make_dirs.insert(missing.clone()) {
            let Some(above) = missing.parent() else { break };
            missing = above;
            depth -= 1;
        }
        if depth <= place.standing && self.writable.as_ref() != Some(&missing) {
            check_access(self.root, &missing)?;
            self.writable = Some(missing);
        }
        Ok(())
    }

    /// No path may become both a file and a directory.
    fn check_overlaps(&self) -> Result<(), Error> {
        for (real, (path, _)) in &self.files {
            if self.make_dirs.contains(real) {
                return Err(Error::new(
                    ErrorKind::Conflict,
                    format!(
                        "`{path}` is to become a file and a directory at once; rename one of them"
                    ),
                ));
            }
        }
        Ok(())
    }

    fn into_plan(self, removals: Removals) -> Plan<'c> {
        let mut applied = Applied {
            deleted: removals.deleted,
            ..Applied::default()
        };
        let mut contents = Vec::with_capacity(self.files.len());
        let mut places = Vec::with_capacity(self.files.len());
        for (real, (path, content)) in self.files {
            let before = content.replaces.as_ref().map(Seen::of);
            let list = match before {
                Some(_) => &mut applied.replaced,
                None => &mut applied.created,
            };
            list.push(path);
            places.push(Step::Place {
                path: real,
                slot: contents.len(),
                before,
            });
            contents.push(content);
        }
        // Slots of removals come after those of files, which index `contents`.
        let mut steps: Vec<Step> = (contents.len()..)
            .zip(removals.steps)
            .map(|(slot, (path, before))| Step::Remove { path, slot, before })
            .collect();
        applied.directories = self.make_dirs.iter().cloned().collect();
        let make_dirs = self.make_dirs.into_iter();
        steps.extend(make_dirs.map(|path| Step::MakeDir { path }));
        steps.append(&mut places);
        Plan {
            steps,
            contents,
            applied,
        }
    }
}

impl Place {
    fn target<'t>(&'t self, spelled: &'t RelPath, act: Act) -> Target<'t> {
        Target {
            spelled,
            real: &self.path,
            found: self.found.as_ref(),
            act,
        }
    }
}

/// The floor, for the path as it was spelled and as it resolves.
fn check_target(path: &RelPath, real: &RelPath) -> Result<(), Error> {
    floor::check_write(real).map_err(|error| {
        if path == real {
            error
        } else {
            error.noting(&format!("`{path}` leads there through a symlink"))
        }
    })?;
    if real.as_str() == HOME {
        return Err(Error::new(
            ErrorKind::Denied,
            format!(
                "`{path}` is needed while changes are applied; change what is inside it instead"
            ),
        ));
    }
    Ok(())
}

fn check_writable_file(path: &RelPath, place: &Place) -> Result<(), Error> {
    let mode = place.found.as_ref().map_or(0o200, |stat| stat.st_mode);
    if mode & 0o222 == 0 {
        return Err(Error::new(
            ErrorKind::ReadOnly,
            format!("`{path}` is read-only; make it writable (`chmod u+w`) or choose another path"),
        ));
    }
    Ok(())
}

fn check_writable_dir(root: &Root, place: &Place) -> Result<(), Error> {
    check_access(root, &place.path.parent().unwrap_or_else(RelPath::root))
}

fn check_access(root: &Root, dir: &RelPath) -> Result<(), Error> {
    let mut descent = Descent::new(root.fd());
    let fd = descent
        .enter(dir)
        .map_err(|source| Error::io("opening the directory", dir, source))?;
    let wanted = Access::WRITE_OK | Access::EXEC_OK;
    rustix::fs::accessat(fd, ".", wanted, AtFlags::empty()).map_err(|_| {
        Error::new(
            ErrorKind::ReadOnly,
            format!("the directory `{dir}` may not be written; check its permissions"),
        )
    })
}
