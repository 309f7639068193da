//! The index of a project: every file's exports, size and importers.
//!
//! The stages, each in its own file: `collect` walks the readable files and lets `language` read
//! the facts out of each text, or takes them from the `cache`; `graph` resolves the imports within
//! the `project` and adds the names that `export *` passes on; `rank` orders the files by
//! importance, `render` turns them into lines, `impact` follows the imports backwards.
//!
//! Nothing here depends on time or on which thread was faster: the same files give the same index,
//! with a cache and without.

mod cache;
mod collect;
mod graph;
mod impact;
mod language;
mod nesting;
mod project;
mod rank;
mod render;
mod testing;

use std::collections::HashMap;

use rustc_hash::FxBuildHasher;

use workspace::{Error, RelPath, Workspace};

pub use cache::IndexCache;
pub use impact::{ChangeImpact, ImpactedFile};
pub use language::{ExportKind, ExportedName, SourceLanguage};
pub use rank::IndexFocus;
pub use render::FileSelection;

/// The size of a file, in lines or bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum FileExtent {
    /// A text of so many lines.
    Lines(u32),
    /// The size in bytes of other files, or of a text too large to be read.
    Bytes(u64),
}

/// One file of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedFile {
    /// Its path.
    pub path: RelPath,
    /// Its language.
    pub language: SourceLanguage,
    /// Names that other files may use, including re-exported ones.
    pub exports: Vec<ExportedName>,
    /// Its size.
    pub extent: FileExtent,
    /// True if its name marks it as a test.
    pub is_test: bool,
}

/// The files of a project that may be read and are not ignored, in tree order, and their imports.
#[derive(Debug, Clone, Default)]
pub struct SourceIndex {
    files: Vec<IndexedFile>,
    /// For each file, those it imports, in order.
    imports: Vec<Vec<u32>>,
    /// For each file, those that import it, in order.
    importers: Vec<Vec<u32>>,
    importance: Vec<f64>,
    unnameable: usize,
    by_path: HashMap<RelPath, u32, FxBuildHasher>,
}

/// The imports of a file, and its importers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileNeighbours<'i> {
    /// The files it imports, in tree order.
    pub imports: Vec<&'i RelPath>,
    /// The files that import it, in tree order.
    pub importers: Vec<&'i RelPath>,
}

impl SourceIndex {
    /// Indexes the project. A file that cannot be parsed, opened or read is in the index without
    /// its facts. The cache is used if it fits, and updated; a bad cache never makes this fail.
    pub fn build(space: &Workspace, cache: &IndexCache) -> Result<Self, Error> {
        Self::build_with_gone(space, cache, &[])
    }

    /// Works like `build`, and adds files that do not exist any more, so that their importers can
    /// be found.
    pub fn build_with_gone(
        space: &Workspace,
        cache: &IndexCache,
        gone: &[RelPath],
    ) -> Result<Self, Error> {
        let known = cache.load(space);
        let (mut sources, unnameable) = collect::collect(space, &known, cache)?;
        cache.store(space, &known, &sources);
        for path in gone {
            if let Err(place) = sources.binary_search_by(|source| source.path.cmp(path)) {
                sources.insert(place, project::SourceFile::gone(path.clone()));
            }
        }
        let resolved = graph::resolve(space, &sources);
        Ok(Self {
            unnameable,
            ..Self::of(sources, resolved)
        })
    }

    /// Number of files and folders missing from the index because of their names: with control
    /// characters, or not UTF-8.
    #[must_use]
    pub fn unnameable(&self) -> usize {
        self.unnameable
    }

    fn of(sources: Vec<project::SourceFile>, resolved: graph::ResolvedImports) -> Self {
        let importance = rank::importance(&resolved.imports);
        let importers = graph::reversed(&resolved.imports);
        let files: Vec<IndexedFile> = sources
            .into_iter()
            .zip(resolved.handed_on)
            .map(|(source, handed_on)| source.indexed(handed_on))
            .collect();
        let paths = files.iter().map(|file| file.path.clone());
        Self {
            by_path: paths.zip(0..).collect(),
            files,
            imports: resolved.imports,
            importers,
            importance,
            unnameable: 0,
        }
    }

    /// The files, in tree order.
    #[must_use]
    pub fn files(&self) -> &[IndexedFile] {
        &self.files
    }

    /// Returns the file at `path`, if it is in the index.
    #[must_use]
    pub fn file(&self, path: &RelPath) -> Option<&IndexedFile> {
        Some(&self.files[self.position(path)?])
    }

    /// Returns the imports and importers of the file at `path`; both empty if it is not in the
    /// index.
    #[must_use]
    pub fn neighbours(&self, path: &RelPath) -> FileNeighbours<'_> {
        let Some(position) = self.position(path) else {
            return FileNeighbours::default();
        };
        let paths = |ids: &[u32]| {
            ids.iter()
                .map(|id| &self.files[*id as usize].path)
                .collect()
        };
        FileNeighbours {
            imports: paths(&self.imports[position]),
            importers: paths(&self.importers[position]),
        }
    }

    /// Number of imports that lead from one file of the project to another.
    #[must_use]
    pub fn edges(&self) -> usize {
        self.imports.iter().map(Vec::len).sum()
    }

    fn position(&self, path: &RelPath) -> Option<usize> {
        self.by_path.get(path).map(|id| *id as usize)
    }
}
