//! Resolves specifiers to files: by `oxc_resolver`, and by convention if a package is not built.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use oxc_resolver::{ResolveContext, ResolveOptions, ResolverGeneric, TsConfig, TsconfigDiscovery};
use rustc_hash::FxBuildHasher;

use super::packages::{self, NpmPackages};
use super::resolver_files::{ResolverFiles, absolute, inside};
use crate::language::{ImportRequest, ImportResolver};
use crate::project::{FileId, IndexedProject, dir_of, join};

/// Extensions that may be omitted at the end of a specifier, in TypeScript's order.
const EXTENSIONS: [&str; 14] = [
    ".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".d.ts", ".d.mts", ".d.cts",
    ".json", ".vue", ".svelte",
];

/// Source extensions that a compiler turns into the first extension.
const ALIASES: [(&str, &[&str]); 4] = [
    (".js", &[".ts", ".tsx", ".js", ".jsx", ".d.ts"]),
    (".jsx", &[".tsx", ".jsx", ".d.ts"]),
    (".mjs", &[".mts", ".mjs", ".d.mts"]),
    (".cjs", &[".cts", ".cjs", ".d.cts"]),
];

/// Conditions of `exports` and `imports`; sources before their build output.
const CONDITIONS: [&str; 9] = [
    "source",
    "development",
    "types",
    "import",
    "module",
    "require",
    "node",
    "browser",
    "default",
];

/// The resolver of one project.
pub(super) struct JavaScriptModules {
    resolver: ResolverGeneric<ResolverFiles>,
    packages: NpmPackages,
    /// Configurations that rename, by folder.
    renaming: HashMap<String, Vec<Arc<TsConfig>>>,
    /// Cached results for specifiers that are no paths, by the importing folder.
    known: Mutex<HashMap<(String, String), Option<FileId>, FxBuildHasher>>,
}

impl JavaScriptModules {
    pub(super) fn new(project: &IndexedProject<'_>) -> Self {
        let mut manifests = packages::manifests(project);
        let packages = NpmPackages::new(&mut manifests);
        let view = ResolverFiles::new(project, &packages, manifests);
        let mut configs: Vec<String> = view.configs().map(str::to_owned).collect();
        // `tsconfig.json` before `tsconfig.test.json`.
        configs.sort_by_key(|path| (path.len(), path.clone()));
        let resolver = ResolverGeneric::new_with_file_system(view, options());
        let mut renaming: HashMap<String, Vec<Arc<TsConfig>>> = HashMap::new();
        for path in configs {
            let Ok(config) = resolver.resolve_tsconfig(absolute(&path)) else {
                continue;
            };
            let options = &config.compiler_options;
            if options.paths.is_some() || options.base_url.is_some() {
                let dir = dir_of(&path).to_owned();
                renaming.entry(dir).or_default().push(config);
            }
        }
        Self {
            resolver,
            packages,
            renaming,
            known: Mutex::default(),
        }
    }

    fn by_path(&self, project: &IndexedProject<'_>, from: &str, specifier: &str) -> Option<FileId> {
        quick(project, dir_of(from), specifier).or_else(|| self.ask(project, from, specifier))
    }

    /// Resolves a specifier that is no path. Many files of a folder ask for it, so the result is
    /// cached.
    fn by_name(&self, project: &IndexedProject<'_>, from: &str, specifier: &str) -> Option<FileId> {
        let key = (dir_of(from).to_owned(), specifier.to_owned());
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(&key) {
            return *known;
        }
        drop(known);
        let found = self
            .ask(project, from, specifier)
            .or_else(|| self.renamed(project, from, specifier))
            .or_else(|| {
                let (package, below) = self.packages.named(specifier)?;
                package.source(project, below)
            });
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(key, found);
        found
    }

    fn ask(&self, project: &IndexedProject<'_>, from: &str, specifier: &str) -> Option<FileId> {
        let found = self.resolver.resolve_file(absolute(from), specifier).ok()?;
        find(project, found.path())
    }

    /// Resolves by a configuration further up that does not include the file, as is common for
    /// tests.
    fn renamed(&self, project: &IndexedProject<'_>, from: &str, specifier: &str) -> Option<FileId> {
        if self.renaming.is_empty() {
            return None;
        }
        let mut dir = dir_of(from);
        loop {
            for config in self.renaming.get(dir).into_iter().flatten() {
                let found = self.resolver.resolve_with_context(
                    absolute(dir),
                    specifier,
                    Some(config),
                    &mut ResolveContext::default(),
                );
                if let Some(found) = found.ok().and_then(|found| find(project, found.path())) {
                    return Some(found);
                }
            }
            if dir.is_empty() {
                return None;
            }
            dir = dir_of(dir);
        }
    }
}

impl ImportResolver for JavaScriptModules {
    fn resolve(
        &self,
        project: &IndexedProject<'_>,
        from: FileId,
        import: &ImportRequest,
    ) -> Vec<FileId> {
        let path = project.path(from);
        let specifier = import.specifier.as_str();
        let found = if is_path(specifier) {
            self.by_path(project, path, specifier)
        } else {
            self.by_name(project, path, specifier)
        };
        found.into_iter().collect()
    }
}

fn is_path(specifier: &str) -> bool {
    specifier == "."
        || specifier == ".."
        || specifier.starts_with("./")
        || specifier.starts_with("../")
}

/// Finds a path to a file, the commonest case, by a lookup. `None` leaves the decision to the
/// resolver.
fn quick(project: &IndexedProject<'_>, dir: &str, specifier: &str) -> Option<FileId> {
    let mut path = join(dir, specifier)?;
    if specifier.ends_with('/') || specifier.ends_with('.') || path.is_empty() {
        return None;
    }
    let alias = ALIASES.iter().find(|(written, _)| path.ends_with(written));
    if let Some((written, meant)) = alias {
        path.truncate(path.len() - written.len());
        return with_ending(project, path, meant);
    }
    let whole = project.find(&path);
    whole.or_else(|| with_ending(project, path, &EXTENSIONS))
}

/// The file of this path with the first of the endings that there is one with.
fn with_ending(project: &IndexedProject<'_>, mut path: String, endings: &[&str]) -> Option<FileId> {
    let length = path.len();
    endings.iter().find_map(|ending| {
        path.truncate(length);
        path.push_str(ending);
        project.find(&path)
    })
}

fn find(project: &IndexedProject<'_>, path: &Path) -> Option<FileId> {
    project.find(inside(path).ok()?)
}

fn options() -> ResolveOptions {
    let texts = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
    ResolveOptions {
        cwd: Some(absolute("")),
        tsconfig: Some(TsconfigDiscovery::Auto),
        condition_names: texts(&CONDITIONS),
        extensions: texts(&EXTENSIONS),
        extension_alias: ALIASES
            .iter()
            .map(|(written, meant)| ((*written).to_owned(), texts(meant)))
            .collect(),
        main_fields: texts(&["source", "types", "typings", "module", "main"]),
        node_path: false,
        ..ResolveOptions::default()
    }
}
