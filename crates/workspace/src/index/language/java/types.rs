//! The files that Java's names mean, by the package that each file says it is in.

use rustc_hash::FxHashMap;

use crate::index::language::{Import, Language, Resolver};
use crate::index::project::{FileId, Project};

/// The top-level types of a project.
pub(super) struct Types<'p> {
    /// The files that define a type, by package and name.
    by_name: FxHashMap<(&'p str, &'p str), Vec<FileId>>,
}

impl<'p> Types<'p> {
    pub(super) fn new(project: &'p Project<'p>) -> Self {
        let mut by_name: FxHashMap<_, Vec<FileId>> = FxHashMap::default();
        for (file, source) in project.files() {
            if source.language != Language::Java {
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

    /// The type of this package and name that is nearest to `from`: a test's copy of a class does not
    /// stand for the program's, nor one module's for another's.
    fn find(
        &self,
        project: &Project<'_>,
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
    fn qualified(&self, project: &Project<'_>, from: FileId, name: &str) -> Option<FileId> {
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

    /// A type that no import names: of the own package, or of one that is imported as a whole.
    fn unqualified(&self, project: &Project<'_>, from: FileId, name: &str) -> Option<FileId> {
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

impl Resolver for Types<'_> {
    fn resolve(&self, project: &Project<'_>, from: FileId, import: &Import) -> Vec<FileId> {
        let specifier = import.specifier.as_str();
        let found = if let Some(name) = specifier.strip_prefix('.') {
            self.unqualified(project, from, name)
        } else if let Some(class) = specifier.strip_suffix(".*") {
            // Of a package nothing is asked yet; of a class, its members are.
            let (package, name) = class.rsplit_once('.').unwrap_or(("", class));
            self.find(project, from, package, name)
        } else {
            self.qualified(project, from, specifier)
        };
        found.into_iter().filter(|file| *file != from).collect()
    }
}

/// How many names from the root down two paths share.
fn shared(one: &str, other: &str) -> usize {
    one.split('/')
        .zip(other.split('/'))
        .take_while(|(one, other)| one == other)
        .count()
}
