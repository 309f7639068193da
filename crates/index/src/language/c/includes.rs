//! Resolves `#include` without a compiler's command line: beside the file, then in the usual
//! directories for headers, then anywhere the path fits.

use rustc_hash::FxHashMap;

use crate::language::{ImportKind, ImportRequest, ImportResolver, SourceLanguage};
use crate::project::{FileId, IndexedProject, dir_of, join};

/// Directories for headers, relative to any directory above the file.
const HEADER_DIRS: [&str; 3] = ["include", "inc", "includes"];
/// More directories that may hold headers.
const SOURCE_DIRS: [&str; 4] = ["", "src", "source", "lib"];

/// The files of a project that can be included.
pub(super) struct IncludeIndex<'p> {
    by_name: FxHashMap<&'p str, Vec<FileId>>,
}

impl<'p> IncludeIndex<'p> {
    pub(super) fn new(project: &'p IndexedProject<'p>) -> Self {
        let mut by_name: FxHashMap<_, Vec<FileId>> = FxHashMap::default();
        for (file, source) in project.files() {
            if source.language == SourceLanguage::C
                && let Some(name) = source.path.file_name()
            {
                by_name.entry(name).or_default().push(file);
            }
        }
        Self { by_name }
    }

    /// In the usual directories, the nearest first.
    fn usual(project: &IndexedProject<'_>, from: &str, file: &str, is_own: bool) -> Option<FileId> {
        let mut dir = dir_of(from);
        loop {
            let more: &[&str] = if is_own { &SOURCE_DIRS } else { &[] };
            let found = HEADER_DIRS.iter().chain(more).find_map(|below| {
                let path = join(&join(dir, below)?, file)?;
                project.find(&path)
            });
            if found.is_some() || dir.is_empty() {
                return found;
            }
            dir = dir_of(dir);
        }
    }

    /// Finds the file whose path ends like this; of several, the nearest one.
    fn fitting(&self, project: &IndexedProject<'_>, from: &str, file: &str) -> Option<FileId> {
        let file = file.trim_start_matches("../").trim_start_matches("./");
        let name = file.rsplit('/').next()?;
        let candidates = self.by_name.get(name)?.iter().copied();
        candidates
            .filter(|id| {
                let path = project.path(*id);
                path.strip_suffix(file)
                    .is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
            })
            .max_by_key(|id| (shared(from, project.path(*id)), std::cmp::Reverse(*id)))
    }
}

impl ImportResolver for IncludeIndex<'_> {
    fn resolve(
        &self,
        project: &IndexedProject<'_>,
        from: FileId,
        import: &ImportRequest,
    ) -> Vec<FileId> {
        let path = project.path(from);
        let file = import.specifier.replace('\\', "/");
        let is_own = import.kind != ImportKind::System;
        // `<string.h>` is the system's, even if the project has a file of that name.
        let may_fit = is_own || file.contains('/');
        let beside = || project.find(&join(dir_of(path), &file)?).filter(|_| is_own);
        let found = beside()
            .or_else(|| Self::usual(project, path, &file, may_fit))
            .or_else(|| self.fitting(project, path, &file).filter(|_| may_fit));
        found.into_iter().filter(|found| *found != from).collect()
    }
}

/// Number of leading names that two paths share.
fn shared(one: &str, other: &str) -> usize {
    one.split('/')
        .zip(other.split('/'))
        .take_while(|(one, other)| one == other)
        .count()
}
