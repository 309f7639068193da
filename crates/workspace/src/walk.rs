//! Lists a root: one directory, a whole tree, or the paths that globs match.

use std::io;

use cap_std::fs::Dir;
use globset::{GlobBuilder, GlobSetBuilder};

use crate::{Error, PathKind, RelPath, Root, WorkspaceErrorKind};

/// The most entries that one walk reads.
pub const WALK_ENTRIES_MAX: usize = 200_000;

/// One entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// Its path, from the root.
    pub path: RelPath,
    /// Its kind; a symlink is a symlink, wherever it points.
    pub kind: PathKind,
}

impl Root {
    /// Lists `dir`, sorted by name. Leaves out names that are not UTF-8 or that a [`RelPath`]
    /// cannot spell: no recipe could name them.
    pub fn list(&self, dir: &RelPath) -> Result<Vec<TreeEntry>, Error> {
        let opened = self.absent_or(dir, self.dir().open_dir(dir))?;
        let Some(handle) = opened else {
            return Err(Error::new(
                WorkspaceErrorKind::NotFound,
                format!("the directory `{dir}` does not exist"),
            ));
        };
        entries(&handle, dir)
    }

    /// Every file and symlink below `dir`, sorted as a tree. Directories are
    /// entered, symlinks to directories are not. A missing `dir` has no files.
    pub fn walk(&self, dir: &RelPath) -> Result<Vec<TreeEntry>, Error> {
        self.walk_where(dir, |_| true)
    }

    /// Works like [`Root::walk`], without entries that `wanted` excludes. An excluded directory is
    /// not entered.
    pub fn walk_where(
        &self,
        dir: &RelPath,
        wanted: impl Fn(&TreeEntry) -> bool,
    ) -> Result<Vec<TreeEntry>, Error> {
        let Some(handle) = self.absent_or(dir, self.dir().open_dir(dir))? else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        let mut seen = 0_usize;
        // Levels still to visit, the deepest last; a stack, so depth costs no call stack.
        let first = entries(&handle, dir)?.into_iter();
        let mut levels = vec![(handle, first)];
        while let Some((handle, pending)) = levels.last_mut() {
            let Some(entry) = pending.next() else {
                levels.pop();
                continue;
            };
            seen += 1;
            if seen > WALK_ENTRIES_MAX {
                return Err(Error::new(
                    WorkspaceErrorKind::Limit,
                    format!(
                        "`{dir}` holds more than WALK_ENTRIES_MAX ({WALK_ENTRIES_MAX}) entries; name a smaller directory"
                    ),
                ));
            }
            if !wanted(&entry) {
                continue;
            }
            if entry.kind != PathKind::Dir {
                found.push(entry);
                continue;
            }
            let name = entry.path.file_name().unwrap_or_default();
            let below = handle
                .open_dir(name)
                .map_err(|source| Error::io("listing", &entry.path, source))?;
            let inside = entries(&below, &entry.path)?.into_iter();
            levels.push((below, inside));
        }
        Ok(found)
    }

    /// Returns the files below `dir` whose path, relative to `dir`, matches one of the `globs`. `*`
    /// stops at `/`, `**` does not; a leading `./` is dropped.
    pub fn glob(&self, dir: &RelPath, globs: &[&str]) -> Result<Vec<RelPath>, Error> {
        let mut set = GlobSetBuilder::new();
        for glob in globs {
            let invalid = |error: &globset::Error| {
                Error::new(
                    WorkspaceErrorKind::InvalidPath,
                    format!("the pattern {glob:?} is not a glob: {}", error.kind()),
                )
            };
            let pattern = glob.strip_prefix("./").unwrap_or(glob);
            let built = GlobBuilder::new(pattern).literal_separator(true).build();
            set.add(built.map_err(|error| invalid(&error))?);
        }
        let set = set.build().map_err(|error| {
            Error::new(
                WorkspaceErrorKind::InvalidPath,
                format!("the patterns cannot be used together: {error}"),
            )
        })?;
        let files = self.walk(dir)?.into_iter().map(|entry| entry.path);
        Ok(files
            .filter(|path| {
                path.strip_prefix(dir)
                    .is_some_and(|below| set.is_match(below.as_str()))
            })
            .collect())
    }
}

fn entries(handle: &Dir, dir: &RelPath) -> Result<Vec<TreeEntry>, Error> {
    let failed = |source| Error::io("listing", dir, source);
    let mut found = Vec::new();
    for entry in handle.entries().map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let Some(path) = name.to_str().and_then(|name| dir.child(name)) else {
            continue;
        };
        let file_type = match entry.file_type() {
            Ok(file_type) => file_type,
            // Removed since the directory was read.
            Err(source) if source.kind() == io::ErrorKind::NotFound => continue,
            Err(source) => return Err(Error::io("listing", &path, source)),
        };
        let kind = if file_type.is_file() {
            PathKind::File
        } else if file_type.is_dir() {
            PathKind::Dir
        } else if file_type.is_symlink() {
            PathKind::Symlink
        } else {
            PathKind::Other
        };
        found.push(TreeEntry { path, kind });
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}
