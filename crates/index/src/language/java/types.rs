//! Finds the files of Java's names, by the package that each file declares.

use rustc_hash::FxHashMap;

use crate::language::{ImportRequest, ImportResolver, SourceLanguage};
use crate::project::{FileId, IndexedProject};

/// The top-level types of a project.
pub(super) struct JavaTypes<'p> {
    /// The files that define a type, by package and name.
    by_name: FxHashMap<(&'p str, &'p str), Vec<FileId>>,
}

impl<'p> JavaTypes<'p> {
    pub(super) fn new(project: &'p IndexedProject<'p>) -> Self {
        let mut by_name: FxHashMap<_, Vec<FileId>> = FxHashMap::default();
        for (file, source) in project.files() {
            if source.language != SourceLanguage::Java {
                continue;
            }
            let package = source.facts.package.as_deref().unwrap_or_default();
            for export in &source.facts.exports {
                by_name
                    .entry((package, export.name.as_str()))
                    .or_default()
                    .push(file);
            }
        }
        Self { by_name }
    }

    /// Returns the type of this package and name that is nearest to `from`, so that a test's copy
    /// of a class is not taken for the program's, nor one module's for another's.
    fn find(
        &self,
        project: &IndexedProject<'_>,
        from: FileId,
        package: &str,
        name: &str,
    ) -> Option<FileId> {
        let files = self.by_name.get(&(package, name))?;
        let here = project.path(from);
        files
            .iter()
            .copied()
            .max_by_key(|file| (shared(here, project.path(*file)), std::cmp::Reverse(*file)))
    }

    /// `a.b.Type`, or `a.b.Type.Inner` and `a.b.Type.member`, which mean the same file.
    fn qualified(&self, project: &IndexedProject<'_>, from: FileId, name: &str) -> Option<FileId> {
        let mut name = name;
        loop {
            let (package, last) = name.rsplit_once('.').unwrap_or(("", name));
            if let Some(file) = self.find(project, from, package, last) {
                return Some(file);
            }
            if package.is_empty() {
                return None;
            }
            name = package;
        }
    }

    /// Finds a type that no import names: in the file's own package, or in one that is imported as
    /// a whole.
    fn unqualified(
        &self,
        project: &IndexedProject<'_>,
        from: FileId,
        name: &str,
    ) -> Option<FileId> {
        let facts = &project.source(from).facts;
        let own = facts.package.as_deref().unwrap_or_default();
        let whole = facts
            .imports
            .iter()
            .filter_map(|import| import.specifier.strip_suffix(".*"));
        std::iter::once(own)
            .chain(whole)
            .find_map(|package| self.find(project, from, package, name))
    }
}

impl ImportResolver for JavaTypes<'_> {
    fn resolve(
        &self,
        project: &IndexedProject<'_>,
        from: FileId,
        import: &ImportRequest,
    ) -> Vec<FileId> {
        let specifier = import.specifier.as_str();
        let found = if let Some(name) = specifier.strip_prefix('.') {
            self.unqualified(project, from, name)
        } else if let Some(class) = specifier.strip_suffix(".*") {
            // A star after a class means the class; a star after a package means no file by itself.
            let (package, name) = class.rsplit_once('.').unwrap_or(("", class));
            self.find(project, from, package, name)
        } else {
            self.qualified(project, from, specifier)
        };
        found.into_iter().filter(|file| *file != from).collect()
    }
}

/// Number of leading names that two paths share.
fn shared(one: &str, other: &str) -> usize {
    one.split('/')
        .zip(other.split('/'))
        .take_while(|(one, other)| one == other)
        .count()
}
