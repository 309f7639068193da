//! The index of a project: what every file defines, how long it is, and who imports it.
//!
//! The stages, each in its own file: `collect` goes through the files that may be read and has
//! `language` read the facts out of each text, or takes them from the `cache`; `graph` resolves the
//! imports within the `project` and hands on what `export *` names; `rank` says which files matter,
//! `render` makes lines of them, `impact` follows the imports backwards.
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

use crate::{Error, RelPath, Workspace};

pub use cache::Cache;
pub use collect::{INDEX_PARSED_BYTES_MAX, INDEX_READ_BYTES_MAX};
pub use impact::{Impact, Impacted};
pub use language::{Export, ExportKind, Language};
pub use rank::Focus;
pub use render::{Selection, tokens};

/// How much there is in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Extent {
    /// A text of so many lines.
    Lines(u32),
    /// Something else, or a text too large to be read; in bytes.
    Bytes(u64),
}

/// One file of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedFile {
    /// Where it is.
    pub path: RelPath,
    /// What it is written in.
    pub language: Language,
    /// What others may use, names handed on from other files among it.
    pub exports: Vec<Export>,
    /// How much there is in it.
    pub extent: Extent,
    /// Whether it tests others, by its name.
    pub is_test: bool,
}

/// The files of a project that may be read and are not ignored, in tree order, and their imports.
#[derive(Debug, Clone, Default)]
pub struct Index {
    files: Vec<IndexedFile>,
    /// For each file, those it imports, in order.
    imports: Vec<Vec<u32>>,
    /// For each file, those that import it, in order.
    importers: Vec<Vec<u32>>,
    importance: Vec<f64>,
    unnameable: usize,
    by_path: HashMap<RelPath, u32, FxBuildHasher>,
}

/// What a file imports, and who imports it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Neighbours<'i> {
    /// The files it imports, in tree order.
    pub imports: Vec<&'i RelPath>,
    /// The files that import it, in tree order.
    pub importers: Vec<&'i RelPath>,
}

impl Index {
    /// Reads the project. What cannot be parsed, opened or read is in the index as far as it is
    /// known; the cache is used if it fits and brought up to date, and never a reason to fail.
    pub fn build(space: &Workspace, cache: &Cache) -> Result<Self, Error> {
        Self::build_with_gone(space, cache, &[])
    }

    /// The same, with files in it that are not there any more: whoever still asks for one imports it.
    pub fn build_with_gone(
        space: &Workspace,
        cache: &Cache,
        gone: &[RelPath],
    ) -> Result<Self, Error> {
        let known = cache.load(space);
        let (mut sources, unnameable) = collect::collect(space, &known, cache)?;
        cache.store(space, &known, &sources);
        for path in gone {
            if let Err(place) = sources.binary_search_by(|source| source.path.cmp(path)) {
                sources.insert(place, project::Source::gone(path.clone()));
            }
        }
        let resolved = graph::resolve(space, &sources);
        Ok(Self {
            unnameable,
            ..Self::of(sources, resolved)
        })
    }

    /// How many files and folders are not in the index because of their names: with control
    /// characters, or not UTF-8.
    #[must_use]
    pub fn unnameable(&self) -> usize {
        self.unnameable
    }

    fn of(sources: Vec<project::Source>, resolved: graph::Resolved) -> Self {
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

    /// The file at `path`, if it is in the index.
    #[must_use]
    pub fn file(&self, path: &RelPath) -> Option<&IndexedFile> {
        Some(&self.files[self.position(path)?])
    }

    /// What the file at `path` imports, and who imports it; nothing for a file that is not here.
    #[must_use]
    pub fn neighbours(&self, path: &RelPath) -> Neighbours<'_> {
        let Some(position) = self.position(path) else {
            return Neighbours::default();
        };
        let paths = |ids: &[u32]| {
            ids.iter()
                .map(|id| &self.files[*id as usize].path)
                .collect()
        };
        Neighbours {
            imports: paths(&self.imports[position]),
            importers: paths(&self.importers[position]),
        }
    }

    /// How many imports lead from one file of the project to another.
    #[must_use]
    pub fn edges(&self) -> usize {
        self.imports.iter().map(Vec::len).sum()
    }

    fn position(&self, path: &RelPath) -> Option<usize> {
        self.by_path.get(path).map(|id| *id as usize)
    }
}
