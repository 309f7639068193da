//! A change set: what shall become of which path, decided before anything is done.

use std::collections::BTreeMap;

use crate::{Entry, Error, ErrorKind, Kind, RelPath, Root, floor};

/// The most paths one change set may touch.
pub const CHANGE_FILES_MAX: usize = 100_000;
/// The most bytes one change set may write.
pub const CHANGE_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// What shall become of one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A file with this content, made or replaced. A replaced file keeps its
    /// permissions; `executable` adds the right to run it and never takes it.
    Write {
        /// The whole content.
        bytes: Vec<u8>,
        /// Whether the file must be runnable.
        executable: bool,
    },
    /// No file or symlink here. A path that is not there is left alone.
    Delete,
    /// Nothing here, and nothing below.
    DeleteTree,
    /// A directory, with those above it.
    CreateDir,
}

/// Changes by path, in tree order. The last word about a path counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeSet {
    changes: BTreeMap<RelPath, Change>,
}

impl ChangeSet {
    /// A set without changes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Says what shall become of `path`; what was said about it before is returned.
    pub fn put(&mut self, path: RelPath, change: Change) -> Option<Change> {
        self.changes.insert(path, change)
    }

    /// A file with this content, not meant to be run.
    pub fn write(&mut self, path: RelPath, bytes: impl Into<Vec<u8>>) -> Option<Change> {
        let (bytes, executable) = (bytes.into(), false);
        self.put(path, Change::Write { bytes, executable })
    }

    /// Takes back what was said about `path`.
    pub fn forget(&mut self, path: &RelPath) -> Option<Change> {
        self.changes.remove(path)
    }

    /// What was said about exactly this path.
    #[must_use]
    pub fn get(&self, path: &RelPath) -> Option<&Change> {
        self.changes.get(path)
    }

    /// The changes in tree order.
    pub fn iter(&self) -> impl Iterator<Item = (&RelPath, &Change)> {
        self.changes.iter()
    }

    /// How many paths are touched.
    #[must_use]
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// Whether nothing shall change.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The content `path` will have: from this set, else from disk. So a later
    /// step sees what an earlier one is going to write.
    pub fn read(&self, root: &Root, path: &RelPath) -> Result<Option<Vec<u8>>, Error> {
        self.read_over(path, || root.read(path))
    }

    /// As [`ChangeSet::read`], where `below` reads from disk.
    pub(crate) fn read_over(
        &self,
        path: &RelPath,
        below: impl FnOnce() -> Result<Option<Vec<u8>>, Error>,
    ) -> Result<Option<Vec<u8>>, Error> {
        match self.pending(path) {
            Pending::Content(bytes) => Ok(Some(bytes.to_vec())),
            Pending::Absent => Ok(None),
            Pending::Dir => Err(Error::new(
                ErrorKind::Conflict,
                format!("`{path}` is going to be a directory, and a file was expected"),
            )),
            Pending::Untouched => below(),
        }
    }

    /// As [`ChangeSet::read`], for text.
    pub fn read_text(&self, root: &Root, path: &RelPath) -> Result<Option<String>, Error> {
        let bytes = self.read(root, path)?;
        bytes
            .map(|bytes| crate::root::text(bytes, path))
            .transpose()
    }

    /// What `path` will be, symlinks on disk not followed.
    pub fn kind(&self, root: &Root, path: &RelPath) -> Result<Option<Kind>, Error> {
        match self.pending(path) {
            Pending::Content(_) => Ok(Some(Kind::File)),
            Pending::Absent => Ok(None),
            Pending::Dir => Ok(Some(Kind::Dir)),
            Pending::Untouched => root.kind(path),
        }
    }

    /// Writes every file below `from`'s `dir` to the same place below `at`.
    /// Symlinks are read, so they must lead to a file inside `from`. `wanted`
    /// can turn down files, and whole directories such as `.git`.
    pub fn put_tree(
        &mut self,
        at: &RelPath,
        from: &Root,
        dir: &RelPath,
        wanted: impl Fn(&Entry) -> bool,
    ) -> Result<usize, Error> {
        let entries = from.walk_where(dir, wanted)?;
        for entry in &entries {
            let below = entry
                .path
                .strip_prefix(dir)
                .unwrap_or_else(|| entry.path.clone());
            let Some(bytes) = from.read(&entry.path)? else {
                return Err(Error::new(
                    ErrorKind::NotFound,
                    format!(
                        "`{}` is a symlink to nothing; remove it or copy what it meant",
                        entry.path
                    ),
                ));
            };
            let executable = from.is_executable(&entry.path)?;
            self.put(at.join(&below)?, Change::Write { bytes, executable });
        }
        Ok(entries.len())
    }

    /// Refuses, before the disk is looked at, what can never be applied.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let limit = |message: String| Err(Error::new(ErrorKind::Limit, message));
        if self.len() > CHANGE_FILES_MAX {
            return limit(format!(
                "{} paths are to be changed at once, more than CHANGE_FILES_MAX ({CHANGE_FILES_MAX})",
                self.len()
            ));
        }
        let mut bytes_total = 0_u64;
        for (path, change) in &self.changes {
            floor::check_write(path)?;
            if let Change::Write { bytes, .. } = change {
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

    fn pending(&self, path: &RelPath) -> Pending<'_> {
        match self.changes.get(path) {
            Some(Change::Write { bytes, .. }) => return Pending::Content(bytes),
            Some(Change::CreateDir) => return Pending::Dir,
            Some(Change::Delete | Change::DeleteTree) if !self.has_below(path) => {
                return Pending::Absent;
            }
            _ => {}
        }
        if self.has_below(path) {
            return Pending::Dir;
        }
        let mut above = path.parent();
        while let Some(dir) = above {
            match self.changes.get(&dir) {
                Some(Change::Write { .. } | Change::Delete | Change::DeleteTree) => {
                    return Pending::Absent;
                }
                _ => above = dir.parent(),
            }
        }
        Pending::Untouched
    }

    /// Whether something is going to be made below `path`.
    fn has_below(&self, path: &RelPath) -> bool {
        use std::ops::Bound::{Excluded, Unbounded};
        self.changes
            .range((Excluded(path), Unbounded))
            .take_while(|(other, _)| other.is_within(path))
            .any(|(_, change)| matches!(change, Change::Write { .. } | Change::CreateDir))
    }
}

impl FromIterator<(RelPath, Change)> for ChangeSet {
    fn from_iter<T: IntoIterator<Item = (RelPath, Change)>>(changes: T) -> Self {
        Self {
            changes: changes.into_iter().collect(),
        }
    }
}

enum Pending<'a> {
    Content(&'a [u8]),
    Dir,
    Absent,
    Untouched,
}
