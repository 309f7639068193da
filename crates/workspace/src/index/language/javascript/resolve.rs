//! Which files a specifier means: by `oxc_resolver`, and by convention where a package is not built.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use oxc_resolver::{ResolveContext, ResolveOptions, ResolverGeneric, TsConfig, TsconfigDiscovery};
use rustc_hash::FxBuildHasher;

use super::packages::{self, Packages};
use super::view::{View, absolute, inside};
use crate::index::language::{Import, Resolver};
use crate::index::project::{FileId, Project, dir_of, join};

/// What may be left out at the end of a specifier, in TypeScript's order.
const EXTENSIONS: [&str; 14] = [
    ".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".d.ts", ".d.mts", ".d.cts",
    ".json", ".vue", ".svelte",
];

/// What a compiler turns into a file of the first ending.
const ALIASES: [(&str, &[&str]); 4] = [
    (".js", &[".ts", ".tsx", ".js", ".jsx", ".d.ts"]),
    (".jsx", &[".tsx", ".jsx", ".d.ts"]),
    (".mjs", &[".mts", ".mjs", ".d.mts"]),
    (".cjs", &[".cts", ".cjs", ".d.cts"]),
];

/// Conditions of `exports` and `imports`; sources before what is built from them.
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
pub(super) struct Modules {
    resolver: ResolverGeneric<View>,
    packages: Packages,
    /// Configurations that rename, by folder.
    renaming: HashMap<String, Vec<Arc<TsConfig>>>,
    /// What a specifier that is no path means, by the folder it is asked from.
    known: Mutex<HashMap<(String, String), Option<FileId>, FxBuildHasher>>,
}

impl Modules {
    pub(super) fn new(project: &Project<'_>) -> Self {
        let mut manifests = packages::manifests(project);
        let packages = Packages::new(&mut manifests);
        let view = View::new(project, &packages, manifests);
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

    fn by_path(&self, project: &Project<'_>, from: &str, specifier: &str) -> Option<FileId> {
        quick(project, dir_of(from), specifier).or_else(|| self.ask(project, from, specifier))
    }

    /// What is no path is asked for by many files of a folder: the answer is kept.
    fn by_name(&self, project: &Project<'_>, from: &str, specifier: &str) -> Option<FileId> {
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

    fn ask(&self, project: &Project<'_>, from: &str, specifier: &str) -> Option<FileId> {
        let found = self.resolver.resolve_file(absolute(from), specifier).ok()?;
        find(project, found.path())
    }

    /// By a configuration further up that does not name the file, as tests often are not named.
    fn renamed(&self, project: &Project<'_>, from: &str, specifier: &str) -> Option<FileId> {
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

impl Resolver for Modules {
    fn resolve(&self, project: &Project<'_>, from: FileId, import: &Import) -> Vec<FileId> {
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

/// A path to a file, the commonest case, by looking it up. `None` is no answer: the resolver knows more.
fn quick(project: &Project<'_>, dir: &str, specifier: &str) -> Option<FileId> {
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
fn with_ending(project: &Project<'_>, mut path: String, endings: &[&str]) -> Option<FileId> {
    let length = path.len();
    endings.iter().find_map(|ending| {
        path.truncate(length);
        path.push_str(ending);
        project.find(&path)
    })
}

fn find(project: &Project<'_>, path: &Path) -> Option<FileId> {
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
