//! `Project`: the files that were found, as a resolver of imports sees them.

use std::collections::HashMap;
use std::sync::Arc;

use rustc_hash::FxBuildHasher;

use super::cache::Stamp;
use super::collect::text_of;
use super::language::{Export, Facts, Language};
use super::{Extent, IndexedFile, testing};
use crate::{RelPath, Workspace};

/// The largest manifest (`package.json`, `Cargo.toml`, `go.mod`) that is read.
const MANIFEST_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Room for an ending that somebody tries after a path.
const LONGEST_ENDING_BYTES: usize = 8;

/// A file of an index: its place in tree order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FileId(pub(crate) u32);

impl FileId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// One file that was found and read.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    pub(crate) path: RelPath,
    pub(crate) language: Language,
    pub(crate) extent: Extent,
    pub(crate) facts: Arc<Facts>,
    /// The text of a manifest: it is asked for by every index, so it is not read twice.
    pub(super) manifest: Option<Arc<str>>,
    /// What the file was when it was read.
    pub(super) stamp: Stamp,
}

impl Source {
    /// A file that is not there any more: others may still ask for it.
    pub(super) fn gone(path: RelPath) -> Self {
        Self {
            language: Language::of(&path),
            path,
            extent: Extent::Lines(0),
            facts: Arc::default(),
            manifest: None,
            stamp: Stamp::default(),
        }
    }

    pub(super) fn indexed(self, handed_on: Vec<Export>) -> IndexedFile {
        let facts = Arc::unwrap_or_clone(self.facts);
        let mut exports = facts.exports;
        exports.extend(handed_on);
        IndexedFile {
            is_test: testing::is_test(&self.path),
            path: self.path,
            language: self.language,
            exports,
            extent: self.extent,
        }
    }
}

/// Every file of an index. Only what may be read and is not ignored is in it.
pub(crate) struct Project<'p> {
    space: &'p Workspace,
    sources: &'p [Source],
    by_path: HashMap<&'p str, FileId, FxBuildHasher>,
    /// The files of each directory; the root's under the empty text.
    by_dir: HashMap<&'p str, Vec<FileId>, FxBuildHasher>,
}

impl<'p> Project<'p> {
    /// `sources` are in tree order.
    pub(crate) fn new(space: &'p Workspace, sources: &'p [Source]) -> Self {
        let mut by_path = HashMap::with_capacity_and_hasher(sources.len(), FxBuildHasher);
        let mut by_dir: HashMap<&str, Vec<FileId>, FxBuildHasher> = HashMap::default();
        for (id, source) in (0_u32..).map(FileId).zip(sources) {
            let path = source.path.as_str();
            by_path.insert(path, id);
            by_dir.entry(dir_of(path)).or_default().push(id);
        }
        Self {
            space,
            sources,
            by_path,
            by_dir,
        }
    }

    /// The file at this path: names with `/` between, from the root.
    pub(crate) fn find(&self, path: &str) -> Option<FileId> {
        self.by_path.get(path).copied()
    }

    /// The files directly in this directory, in order.
    pub(crate) fn files_in(&self, dir: &str) -> &[FileId] {
        self.by_dir.get(dir).map_or(&[], Vec::as_slice)
    }

    /// All files, in tree order.
    pub(crate) fn files(&self) -> impl Iterator<Item = (FileId, &'p Source)> {
        (0_u32..).map(FileId).zip(self.sources)
    }

    pub(crate) fn source(&self, id: FileId) -> &'p Source {
        &self.sources[id.index()]
    }

    pub(crate) fn path(&self, id: FileId) -> &'p str {
        self.source(id).path.as_str()
    }

    /// The text of a file of the project: a manifest, read anew under the policy. What cannot be
    /// read is as if it were not there.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        let id = self.find(path)?;
        if let Some(text) = &self.source(id).manifest {
            return Some(text.to_string());
        }
        let bytes = self
            .space
            .read_at_most(&self.source(id).path, MANIFEST_BYTES_MAX)
            .ok()??;
        Some(text_of(&bytes).into_owned())
    }
}

/// The directory a path is in; the empty text for the root.
pub(crate) fn dir_of(path: &str) -> &str {
    path.rfind('/').map_or("", |cut| &path[..cut])
}

/// What `path` means from inside `dir`, `.` and `..` taken away; `None` when it leaves the project.
pub(crate) fn join(dir: &str, path: &str) -> Option<String> {
    let mut joined = String::with_capacity(dir.len() + path.len() + LONGEST_ENDING_BYTES);
    joined.push_str(dir.trim_matches('/'));
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." if joined.is_empty() => return None,
            ".." => joined.truncate(joined.rfind('/').unwrap_or(0)),
            _ => {
                if !joined.is_empty() {
                    joined.push('/');
                }
                joined.push_str(name);
            }
        }
    }
    Some(joined)
}
