//! A change set: the planned change of each path, collected before anything is written.

use std::collections::BTreeMap;

use crate::{Error, PathKind, RelPath, Root, TreeEntry, WorkspaceErrorKind, protected_paths};

/// The most paths one change set may touch.
pub const CHANGE_FILES_MAX: usize = 100_000;
/// The most bytes one change set may write.
pub(crate) const CHANGE_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// The planned change of one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathChange {
    /// Creates or replaces a file with this content. A replaced file keeps its permissions;
    /// `executable` adds the permission to execute and never removes it.
    Write {
        /// The whole content.
        bytes: Vec<u8>,
        /// True if the file must be executable.
        executable: bool,
    },
    /// Removes a file or symlink. A missing one is left alone.
    Delete,
    /// Removes the path with everything below it.
    DeleteTree,
    /// A directory, with those above it.
    CreateDir,
}

/// Changes by path, in tree order. The last change of a path counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeSet {
    changes: BTreeMap<RelPath, PathChange>,
}

impl ChangeSet {
    /// A set without changes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Plans a change of `path`; returns the change planned before.
    pub fn put(&mut self, path: RelPath, change: PathChange) -> Option<PathChange> {
        self.changes.insert(path, change)
    }

    /// Plans a file with this content that is not executable.
    pub fn write(&mut self, path: RelPath, bytes: impl Into<Vec<u8>>) -> Option<PathChange> {
        let (bytes, executable) = (bytes.into(), false);
        self.put(path, PathChange::Write { bytes, executable })
    }

    /// Removes the planned change of `path`.
    pub fn forget(&mut self, path: &RelPath) -> Option<PathChange> {
        self.changes.remove(path)
    }

    /// The planned change of exactly this path.
    #[must_use]
    pub fn get(&self, path: &RelPath) -> Option<&PathChange> {
        self.changes.get(path)
    }

    /// The changes in tree order.
    pub fn iter(&self) -> impl Iterator<Item = (&RelPath, &PathChange)> {
        self.changes.iter()
    }

    /// Number of paths touched.
    #[must_use]
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// Returns true if no change is planned.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Returns the content `path` will have: from this set, otherwise from disk. So a later step
    /// sees the planned writes of an earlier one.
    pub fn read(&self, root: &Root, path: &RelPath) -> Result<Option<Vec<u8>>, Error> {
        self.read_over(path, || root.read(path))
    }

    /// Works like [`ChangeSet::read`], with `below` in place of the disk.
    pub(crate) fn read_over(
        &self,
        path: &RelPath,
        below: impl FnOnce() -> Result<Option<Vec<u8>>, Error>,
    ) -> Result<Option<Vec<u8>>, Error> {
        match self.pending(path) {
            PendingState::Content(bytes) => Ok(Some(bytes.to_vec())),
            PendingState::Absent => Ok(None),
            PendingState::Dir => Err(Error::new(
                WorkspaceErrorKind::Conflict,
                format!("`{path}` is going to be a directory, and a file was expected"),
            )),
            PendingState::Untouched => below(),
        }
    }

    /// As [`ChangeSet::read`], for text.
    pub fn read_text(&self, root: &Root, path: &RelPath) -> Result<Option<String>, Error> {
        let bytes = self.read(root, path)?;
        bytes
            .map(|bytes| crate::root::text(bytes, path))
            .transpose()
    }

    /// Returns the kind `path` will have, without following symlinks on disk.
    pub fn kind(&self, root: &Root, path: &RelPath) -> Result<Option<PathKind>, Error> {
        match self.pending(path) {
            PendingState::Content(_) => Ok(Some(PathKind::File)),
            PendingState::Absent => Ok(None),
            PendingState::Dir => Ok(Some(PathKind::Dir)),
            PendingState::Untouched => root.kind(path),
        }
    }

    /// Writes every file below `from`'s `dir` to the same place below `at`. Symlinks are read, so
    /// they must lead to a file inside `from`. `wanted` can exclude files, and whole directories
    /// such as `.git`.
    pub fn put_tree(
        &mut self,
        at: &RelPath,
        from: &Root,
        dir: &RelPath,
        wanted: impl Fn(&TreeEntry) -> bool,
    ) -> Result<usize, Error> {
        let entries = from.walk_where(dir, wanted)?;
        for entry in &entries {
            let below = entry
                .path
                .strip_prefix(dir)
                .unwrap_or_else(|| entry.path.clone());
            let Some(bytes) = from.read(&entry.path)? else {
                return Err(Error::new(
                    WorkspaceErrorKind::NotFound,
                    format!(
                        "`{}` is a symlink to nothing; remove it or copy what it meant",
                        entry.path
                    ),
                ));
            };
            let executable = from.is_executable(&entry.path)?;
            self.put(at.join(&below)?, PathChange::Write { bytes, executable });
        }
        Ok(entries.len())
    }

    /// Refuses changes that can never be applied, before reading the disk.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let limit = |message: String| Err(Error::new(WorkspaceErrorKind::Limit, message));
        if self.len() > CHANGE_FILES_MAX {
            return limit(format!(
                "{} paths are to be changed at once, more than CHANGE_FILES_MAX ({CHANGE_FILES_MAX})",
                self.len()
            ));
        }
        let mut bytes_total = 0_u64;
        for (path, change) in &self.changes {
            protected_paths::check_write(path)?;
            if let PathChange::Write { bytes, .. } = change {
                bytes_total += bytes.len() as u64;
            }
        }
        if bytes_total > CHANGE_BYTES_MAX {
            return limit(format!(
                "{bytes_total} bytes are to be written at once, more than CHANGE_BYTES_MAX ({CHANGE_BYTES_MAX})"
            ));
        }
        Ok(())
    }

    fn pending(&self, path: &RelPath) -> PendingState<'_> {
        match self.changes.get(path) {
            Some(PathChange::Write { bytes, .. }) => return PendingState::Content(bytes),
            Some(PathChange::CreateDir) => return PendingState::Dir,
            Some(PathChange::Delete | PathChange::DeleteTree) if !self.has_below(path) => {
                return PendingState::Absent;
            }
            _ => {}
        }
        if self.has_below(path) {
            return PendingState::Dir;
        }
        let mut above = path.parent();
        while let Some(dir) = above {
            match self.changes.get(&dir) {
                Some(PathChange::Write { .. } | PathChange::Delete | PathChange::DeleteTree) => {
                    return PendingState::Absent;
                }
                _ => above = dir.parent(),
            }
        }
        PendingState::Untouched
    }

    /// Returns true if a path below `path` is going to be made.
    fn has_below(&self, path: &RelPath) -> bool {
        use std::ops::Bound::{Excluded, Unbounded};
        self.changes
            .range((Excluded(path), Unbounded))
            .take_while(|(other, _)| other.is_within(path))
            .any(|(_, change)| matches!(change, PathChange::Write { .. } | PathChange::CreateDir))
    }
}

impl FromIterator<(RelPath, PathChange)> for ChangeSet {
    fn from_iter<T: IntoIterator<Item = (RelPath, PathChange)>>(changes: T) -> Self {
        Self {
            changes: changes.into_iter().collect(),
        }
    }
}

enum PendingState<'a> {
    Content(&'a [u8]),
    Dir,
    Absent,
    Untouched,
}
