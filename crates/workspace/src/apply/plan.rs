//! Planning: checks every change against the disk, and writes nothing.

use std::collections::{BTreeMap, BTreeSet};

use rustix::fs::{Access, AtFlags, Stat};

use super::ApplyReport;
use super::guard::{ApplyGuard, ChangeTarget, TargetAction};
use super::journal::{ApplyStep, FileStamp};
use crate::descent::{Descent, LastLink, PathResolver, ResolvedPath, kind_of};
use crate::protected_paths::{self, PROGRAM_FOLDER};
use crate::root::special;
use crate::{ChangeSet, Error, PathChange, PathKind, RelPath, Root, WorkspaceErrorKind};

/// The steps to take, in order: removals, then directories, then files.
pub(super) struct ApplyPlan<'c> {
    pub(super) steps: Vec<ApplyStep>,
    /// The content of slot `n`.
    pub(super) contents: Vec<StagedContent<'c>>,
    pub(super) applied: ApplyReport,
}

/// One file to be staged.
pub(super) struct StagedContent<'c> {
    pub(super) bytes: &'c [u8],
    pub(super) executable: bool,
    pub(super) replaces: Option<Stat>,
}

impl<'c> ApplyPlan<'c> {
    pub(super) fn check(
        root: &Root,
        changes: &'c ChangeSet,
        guard: &dyn ApplyGuard,
    ) -> Result<Self, Error> {
        let mut removals = PlannedRemovals::default();
        removals.collect(root, changes, guard)?;
        let gone = std::mem::take(&mut removals.gone);
        let mut additions = AdditionPlanner::new(root, &gone, guard);
        for (path, change) in changes.iter() {
            match change {
                PathChange::Write { bytes, executable } => {
                    additions.write(path, bytes, *executable)?;
                }
                PathChange::CreateDir => additions.create_dir(path)?,
                PathChange::Delete | PathChange::DeleteTree => {}
            }
        }
        additions.check_overlaps()?;
        Ok(additions.into_plan(removals))
    }

    /// Returns true if the whole plan is one atomic operation of the filesystem.
    pub(super) fn is_single(&self) -> bool {
        self.steps.len() <= 1
    }
}

#[derive(Default)]
struct PlannedRemovals {
    gone: BTreeSet<RelPath>,
    steps: Vec<(RelPath, FileStamp)>,
    deleted: Vec<RelPath>,
}

impl PlannedRemovals {
    fn collect(
        &mut self,
        root: &Root,
        changes: &ChangeSet,
        guard: &dyn ApplyGuard,
    ) -> Result<(), Error> {
        let nothing = BTreeSet::new();
        let mut resolver = PathResolver::new(root.fd(), &nothing);
        for (path, change) in changes.iter() {
            let act = match change {
                PathChange::Delete => TargetAction::Delete,
                PathChange::DeleteTree => TargetAction::DeleteTree,
                PathChange::Write { .. } | PathChange::CreateDir => continue,
            };
            let place = resolver.resolve(path, LastLink::Keep)?;
            guard.check(&place.target(path, act))?;
            let Some(found) = place.found else { continue };
            check_target(path, &place.path)?;
            if kind_of(&found) == PathKind::Dir && act == TargetAction::Delete {
                return Err(Error::new(
                    WorkspaceErrorKind::Conflict,
                    format!("`{path}` is a directory, and a file was to be deleted"),
                ));
            }
            check_writable_dir(root, &place)?;
            if self.covers(&place.path) {
                continue;
            }
            self.steps.push((place.path.clone(), FileStamp::of(&found)));
            self.gone.insert(place.path);
            self.deleted.push(path.clone());
        }
        Ok(())
    }

    /// Returns true if `path` is removed together with a directory.
    fn covers(&self, path: &RelPath) -> bool {
        std::iter::successors(Some(path.clone()), RelPath::parent)
            .any(|above| self.gone.contains(&above))
    }
}

struct AdditionPlanner<'r, 'c> {
    root: &'r Root,
    guard: &'r dyn ApplyGuard,
    resolver: PathResolver<'r>,
    /// The directory last found writable.
    writable: Option<RelPath>,
    make_dirs: BTreeSet<RelPath>,
    /// By resolved path: the spelled path, and the planned content.
    files: BTreeMap<RelPath, (RelPath, StagedContent<'c>)>,
}

impl<'r, 'c> AdditionPlanner<'r, 'c> {
    fn new(root: &'r Root, gone: &'r BTreeSet<RelPath>, guard: &'r dyn ApplyGuard) -> Self {
        Self {
            root,
            guard,
            resolver: PathResolver::new(root.fd(), gone),
            writable: None,
            make_dirs: BTreeSet::new(),
            files: BTreeMap::new(),
        }
    }

    fn write(&mut self, path: &RelPath, bytes: &'c [u8], executable: bool) -> Result<(), Error> {
        let place = self.resolver.resolve(path, LastLink::Follow)?;
        self.guard.check(&place.target(path, TargetAction::Write))?;
        check_target(path, &place.path)?;
        match place.found.as_ref().map(kind_of) {
            None => {}
            Some(PathKind::Dir) => {
                return Err(Error::new(
                    WorkspaceErrorKind::Conflict,
                    format!(
                        "`{path}` is a directory, so no file can be written there; remove it or choose another path"
                    ),
                ));
            }
            Some(PathKind::Other | PathKind::Symlink) => return Err(special(path)),
            Some(PathKind::File) => check_writable_file(path, &place)?,
        }
        let parent = place.path.parent().unwrap_or_else(RelPath::root);
        self.need_dir(&parent, &place)?;
        let content = StagedContent {
            bytes,
            executable,
            replaces: place.found,
        };
        match self.files.insert(place.path, (path.clone(), content)) {
            None => Ok(()),
            Some((other, _)) => Err(Error::new(
                WorkspaceErrorKind::Conflict,
                format!(
                    "`{other}` and `{path}` are the same file through a symlink; write it once"
                ),
            )),
        }
    }

    fn create_dir(&mut self, path: &RelPath) -> Result<(), Error> {
        let place = self.resolver.resolve(path, LastLink::Follow)?;
        self.guard
            .check(&place.target(path, TargetAction::CreateDir))?;
        protected_paths::check_write(&place.path)?;
        match place.found.as_ref().map(kind_of) {
            None => self.need_dir(&place.path.clone(), &place),
            Some(PathKind::Dir) => Ok(()),
            Some(_) => Err(Error::new(
                WorkspaceErrorKind::Conflict,
                format!(
                    "`{path}` is a file, so no directory can be made there; move it or choose another path"
                ),
            )),
        }
    }

    /// Plans `dir` and the missing directories above it.
    fn need_dir(&mut self, dir: &RelPath, place: &ResolvedPath) -> Result<(), Error> {
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
                    WorkspaceErrorKind::Conflict,
                    format!(
                        "`{path}` is to become a file and a directory at once; rename one of them"
                    ),
                ));
            }
        }
        Ok(())
    }

    fn into_plan(self, removals: PlannedRemovals) -> ApplyPlan<'c> {
        let mut applied = ApplyReport {
            deleted: removals.deleted,
            ..ApplyReport::default()
        };
        let mut contents = Vec::with_capacity(self.files.len());
        let mut places = Vec::with_capacity(self.files.len());
        for (real, (path, content)) in self.files {
            let before = content.replaces.as_ref().map(FileStamp::of);
            let list = match before {
                Some(_) => &mut applied.replaced,
                None => &mut applied.created,
            };
            list.push(path);
            places.push(ApplyStep::Place {
                path: real,
                slot: contents.len(),
                before,
            });
            contents.push(content);
        }
        // Slots of removals come after those of files, which index `contents`.
        let mut steps: Vec<ApplyStep> = (contents.len()..)
            .zip(removals.steps)
            .map(|(slot, (path, before))| ApplyStep::Remove { path, slot, before })
            .collect();
        applied.directories = self.make_dirs.iter().cloned().collect();
        let make_dirs = self.make_dirs.into_iter();
        steps.extend(make_dirs.map(|path| ApplyStep::MakeDir { path }));
        steps.append(&mut places);
        ApplyPlan {
            steps,
            contents,
            applied,
        }
    }
}

impl ResolvedPath {
    fn target<'t>(&'t self, spelled: &'t RelPath, act: TargetAction) -> ChangeTarget<'t> {
        ChangeTarget {
            spelled,
            real: &self.path,
            found: self.found.as_ref(),
            act,
        }
    }
}

/// Checks the floor, for the spelled path and the resolved one.
fn check_target(path: &RelPath, real: &RelPath) -> Result<(), Error> {
    protected_paths::check_write(real).map_err(|error| {
        if path == real {
            error
        } else {
            error.noting(&format!("`{path}` leads there through a symlink"))
        }
    })?;
    if real.as_str() == PROGRAM_FOLDER {
        return Err(Error::new(
            WorkspaceErrorKind::Denied,
            format!(
                "`{path}` is needed while changes are applied; change what is inside it instead"
            ),
        ));
    }
    Ok(())
}

fn check_writable_file(path: &RelPath, place: &ResolvedPath) -> Result<(), Error> {
    let mode = place.found.as_ref().map_or(0o200, |stat| stat.st_mode);
    if mode & 0o222 == 0 {
        return Err(Error::new(
            WorkspaceErrorKind::ReadOnly,
            format!("`{path}` is read-only; make it writable (`chmod u+w`) or choose another path"),
        ));
    }
    Ok(())
}

fn check_writable_dir(root: &Root, place: &ResolvedPath) -> Result<(), Error> {
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
            WorkspaceErrorKind::ReadOnly,
            format!("the directory `{dir}` may not be written; check its permissions"),
        )
    })
}
