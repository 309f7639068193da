//! `IndexedProject`: the files that were found, as a resolver of imports sees them.

use std::collections::HashMap;
use std::sync::Arc;

use rustc_hash::FxBuildHasher;

use super::cache::SourceStamp;
use super::collect::text_of;
use super::language::{ExportedName, SourceFacts, SourceLanguage};
use super::{FileExtent, IndexedFile, testing};
use workspace::{RelPath, Workspace};

/// The largest manifest (`package.json`, `Cargo.toml`, `go.mod`) that is read.
const MANIFEST_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Room for an extension that a resolver appends to a path.
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
pub(crate) struct SourceFile {
    pub(crate) path: RelPath,
    pub(crate) language: SourceLanguage,
    pub(crate) extent: FileExtent,
    pub(crate) facts: Arc<SourceFacts>,
    /// The text of a manifest: every index asks for it, so it is not read twice.
    pub(super) manifest: Option<Arc<str>>,
    /// The status of the file when it was read.
    pub(super) stamp: SourceStamp,
}

impl SourceFile {
    /// A file that does not exist any more: other files may still import it.
    pub(super) fn gone(path: RelPath) -> Self {
        Self {
            language: SourceLanguage::of(&path),
            path,
            extent: FileExtent::Lines(0),
            facts: Arc::default(),
            manifest: None,
            stamp: SourceStamp::default(),
        }
    }

    pub(super) fn indexed(self, handed_on: Vec<ExportedName>) -> IndexedFile {
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

/// Every file of an index. Only readable files that are not ignored are in it.
pub(crate) struct IndexedProject<'p> {
    space: &'p Workspace,
    sources: &'p [SourceFile],
    by_path: HashMap<&'p str, FileId, FxBuildHasher>,
    /// The files of each directory; the root's under the empty text.
    by_dir: HashMap<&'p str, Vec<FileId>, FxBuildHasher>,
}

impl<'p> IndexedProject<'p> {
    /// `sources` are in tree order.
    pub(crate) fn new(space: &'p Workspace, sources: &'p [SourceFile]) -> Self {
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
    pub(crate) fn files(&self) -> impl Iterator<Item = (FileId, &'p SourceFile)> {
        (0_u32..).map(FileId).zip(self.sources)
    }

    pub(crate) fn source(&self, id: FileId) -> &'p SourceFile {
        &self.sources[id.index()]
    }

    pub(crate) fn path(&self, id: FileId) -> &'p str {
        self.source(id).path.as_str()
    }

    /// Returns the text of a manifest, read again under the policy. An unreadable file counts as
    /// missing.
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

/// Resolves `path` from inside `dir`, without `.` and `..`; `None` if it leaves the project.
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
