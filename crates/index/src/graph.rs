//! The resolved imports of a project: the file each one leads to, and the names that `export *`
//! passes on.

use std::collections::HashSet;

use rustc_hash::FxBuildHasher;

use super::language::{self, ExportKind, ExportedName, ImportKind, ImportResolver, SourceLanguage};
use super::project::{FileId, IndexedProject, SourceFile};
use workspace::Workspace;

/// Names that `export *` does not hand on.
const KEPT: [&str; 2] = ["default", "export="];

/// For each file, by its place in tree order.
pub(super) struct ResolvedImports {
    /// The other files it imports, in order.
    pub(super) imports: Vec<Vec<u32>>,
    /// The names it hands on from files that it exports whole.
    pub(super) handed_on: Vec<Vec<ExportedName>>,
}

/// A file whose exports are all re-exported, and the line of the `export *`.
struct WildcardExport {
    target: FileId,
    line: u32,
}

pub(super) fn resolve(space: &Workspace, sources: &[SourceFile]) -> ResolvedImports {
    let project = IndexedProject::new(space, sources);
    let mut imports = Vec::with_capacity(sources.len());
    let mut stars: Vec<Vec<WildcardExport>> = Vec::with_capacity(sources.len());
    let mut resolvers = LanguageResolvers::default();
    for (id, source) in project.files() {
        let mut found = Vec::new();
        let mut whole = Vec::new();
        for import in &source.facts.imports {
            let resolver = resolvers.of(source.language, &project);
            for target in resolver.resolve(&project, id, import) {
                if target == id {
                    continue;
                }
                found.push(target.0);
                if import.kind == ImportKind::ReexportAll {
                    let line = import.line;
                    whole.push(WildcardExport { target, line });
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        imports.push(found);
        stars.push(whole);
    }
    let handed_on = project
        .files()
        .map(|(id, _)| handed_on(&project, &stars, id))
        .collect();
    ResolvedImports { imports, handed_on }
}

/// For each file, those that import it.
pub(super) fn reversed(imports: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let mut importers = vec![Vec::new(); imports.len()];
    for (from, targets) in (0_u32..).zip(imports) {
        for target in targets {
            importers[*target as usize].push(from);
        }
    }
    importers
}

/// One resolver for each language that has imports in this project.
#[derive(Default)]
struct LanguageResolvers<'p>(Vec<(SourceLanguage, Box<dyn ImportResolver + 'p>)>);

impl<'p> LanguageResolvers<'p> {
    fn of(
        &mut self,
        language: SourceLanguage,
        project: &'p IndexedProject<'p>,
    ) -> &dyn ImportResolver {
        let known = self.0.iter().position(|(known, _)| *known == language);
        let position = known.unwrap_or_else(|| {
            let made = language::resolver(language, project);
            self.0.push((language, made));
            self.0.len() - 1
        });
        self.0[position].1.as_ref()
    }
}

/// Returns the names of all files that `id` re-exports as a whole, directly or through others. The
/// file's own names win, and of two others the one found first.
fn handed_on(
    project: &IndexedProject<'_>,
    stars: &[Vec<WildcardExport>],
    id: FileId,
) -> Vec<ExportedName> {
    let own = &stars[id.index()];
    if own.is_empty() {
        return Vec::new();
    }
    let exports = &project.source(id).facts.exports;
    let own_names = exports.iter().map(|export| export.name.as_str());
    let mut names: HashSet<&str, FxBuildHasher> = own_names.collect();
    let mut seen: HashSet<FileId, FxBuildHasher> = HashSet::from_iter([id]);
    let mut found = Vec::new();
    // The line is that of the statement in this file, however far away the name is defined.
    let mut pending: Vec<(FileId, u32)> = Vec::new();
    pending.extend(own.iter().rev().map(|star| (star.target, star.line)));
    while let Some((target, line)) = pending.pop() {
        if !seen.insert(target) {
            continue;
        }
        for export in &project.source(target).facts.exports {
            if !KEPT.contains(&export.name.as_str()) && names.insert(&export.name) {
                found.push(ExportedName {
                    name: export.name.clone(),
                    kind: ExportKind::Reexport,
                    line,
                });
            }
        }
        let further = stars[target.index()].iter().rev();
        pending.extend(further.map(|star| (star.target, line)));
    }
    found
}
