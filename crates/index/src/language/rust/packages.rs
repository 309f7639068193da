//! Cargo's manifests: the crates that a file can name, and the root file of each.

use rustc_hash::FxHashMap;
use toml::{Table, Value};

use crate::project::{FileId, IndexedProject, dir_of, join};

/// The packages of a project.
pub(super) struct CargoPackages {
    list: Vec<CargoPackage>,
    by_dir: FxHashMap<String, usize>,
}

/// One `[package]`.
struct CargoPackage {
    lib: Option<FileId>,
    /// In the edition of 2015 a `use` counts from the crate's root.
    is_2015: bool,
    /// The crates that its files can name, with their root files.
    crates: FxHashMap<String, FileId>,
}

/// A manifest and its directory.
struct CargoManifest {
    dir: String,
    table: Table,
}

/// The library of a package.
struct CargoLibrary {
    name: String,
    root: FileId,
}

impl CargoPackages {
    pub(super) fn read(project: &IndexedProject<'_>) -> Self {
        let manifests = manifests(project);
        let mut libraries = FxHashMap::default();
        for manifest in &manifests {
            if let Some(library) = library(project, manifest) {
                libraries.insert(manifest.dir.as_str(), library);
            }
        }
        let mut list = Vec::new();
        let mut by_dir = FxHashMap::default();
        for manifest in manifests
            .iter()
            .filter(|one| one.table.contains_key("package"))
        {
            by_dir.insert(manifest.dir.clone(), list.len());
            list.push(CargoPackage {
                lib: libraries.get(manifest.dir.as_str()).map(|lib| lib.root),
                is_2015: edition(manifest, &manifests) == "2015",
                crates: crates(manifest, &manifests, &libraries),
            });
        }
        Self { list, by_dir }
    }

    /// Returns the root file of the crate with this name, for the importing file `path`.
    pub(super) fn find(&self, path: &str, name: &str) -> Option<FileId> {
        self.of(path)?.crates.get(name).copied()
    }

    /// The library of the package that `path` belongs to.
    pub(super) fn library(&self, path: &str) -> Option<FileId> {
        self.of(path)?.lib
    }

    pub(super) fn is_2015(&self, path: &str) -> bool {
        self.of(path).is_some_and(|package| package.is_2015)
    }

    /// The package of a file: the nearest manifest upwards.
    fn of(&self, path: &str) -> Option<&CargoPackage> {
        let mut dir = dir_of(path);
        loop {
            if let Some(package) = self.by_dir.get(dir) {
                return self.list.get(*package);
            }
            if dir.is_empty() {
                return None;
            }
            dir = dir_of(dir);
        }
    }
}

fn manifests(project: &IndexedProject<'_>) -> Vec<CargoManifest> {
    project
        .files()
        .filter(|(_, source)| source.path.file_name() == Some("Cargo.toml"))
        .filter_map(|(_, source)| {
            let path = source.path.as_str();
            let table = project.text(path)?.parse().ok()?;
            Some(CargoManifest {
                dir: dir_of(path).to_owned(),
                table,
            })
        })
        .collect()
}

fn library(project: &IndexedProject<'_>, manifest: &CargoManifest) -> Option<CargoLibrary> {
    let package = manifest.table.get("package")?.as_table()?;
    let lib = manifest.table.get("lib").and_then(Value::as_table);
    let text = |key: &str| lib.and_then(|lib| lib.get(key)).and_then(Value::as_str);
    let root = project.find(&join(&manifest.dir, text("path").unwrap_or("src/lib.rs"))?)?;
    let name = text("name").or_else(|| package.get("name")?.as_str())?;
    Some(CargoLibrary {
        name: name.replace('-', "_"),
        root,
    })
}

fn edition<'m>(manifest: &'m CargoManifest, manifests: &'m [CargoManifest]) -> &'m str {
    let package = |one: &'m CargoManifest| one.table.get("package")?.get("edition");
    match package(manifest) {
        Some(Value::String(edition)) => edition,
        Some(_) => ancestors(manifest, manifests)
            .find_map(|root| {
                let workspace = root.table.get("workspace")?;
                workspace.get("package")?.get("edition")?.as_str()
            })
            .unwrap_or("2021"),
        None => "2015",
    }
}

/// Returns the crates that files of a package can name: its own library, and its path dependencies.
fn crates(
    manifest: &CargoManifest,
    manifests: &[CargoManifest],
    libraries: &FxHashMap<&str, CargoLibrary>,
) -> FxHashMap<String, FileId> {
    let mut known = FxHashMap::default();
    if let Some(own) = libraries.get(manifest.dir.as_str()) {
        known.insert(own.name.clone(), own.root);
    }
    for (key, value) in dependencies(&manifest.table) {
        let Some(dir) = directory(manifest, manifests, key, value) else {
            continue;
        };
        let Some(library) = libraries.get(dir.as_str()) else {
            continue;
        };
        let renamed = package_of(value).is_some_and(|package| package != key);
        let name = if renamed {
            key.replace('-', "_")
        } else {
            library.name.clone()
        };
        known.insert(name, library.root);
    }
    known
}

/// Every dependency: ordinary, for tests, for the build, for some targets.
fn dependencies(table: &Table) -> impl Iterator<Item = (&String, &Value)> {
    let targets = table.get("target").and_then(Value::as_table);
    let targets = targets.into_iter().flat_map(Table::values);
    std::iter::once(table)
        .chain(targets.filter_map(Value::as_table))
        .flat_map(|table| {
            let kinds = [
                "dependencies",
                "dev-dependencies",
                "dev_dependencies",
                "build-dependencies",
                "build_dependencies",
            ];
            kinds
                .into_iter()
                .filter_map(|kind| table.get(kind)?.as_table())
        })
        .flatten()
}

/// The directory of a dependency that is in the project.
fn directory(
    manifest: &CargoManifest,
    manifests: &[CargoManifest],
    key: &str,
    value: &Value,
) -> Option<String> {
    if let Some(path) = value.get("path").and_then(Value::as_str) {
        return join(&manifest.dir, path);
    }
    let inherited = value.get("workspace").and_then(Value::as_bool) == Some(true);
    let package = package_of(value).unwrap_or(key);
    ancestors(manifest, manifests).find_map(|root| {
        let shared = || root.table.get("workspace")?.get("dependencies")?.get(key);
        let patched = || {
            let sources = root.table.get("patch")?.as_table()?;
            sources.values().find_map(|source| source.get(package))
        };
        let found = if inherited { shared() } else { patched() };
        join(&root.dir, found?.get("path")?.as_str()?)
    })
}

/// Returns a dependency's real name, if its key is another one.
fn package_of(value: &Value) -> Option<&str> {
    value.get("package")?.as_str()
}

/// The manifest itself and those above it, nearest first.
fn ancestors<'m>(
    manifest: &'m CargoManifest,
    manifests: &'m [CargoManifest],
) -> impl Iterator<Item = &'m CargoManifest> {
    let mut found: Vec<&CargoManifest> = manifests
        .iter()
        .filter(|one| {
            let rest = manifest.dir.strip_prefix(one.dir.as_str());
            rest.is_some_and(|rest| one.dir.is_empty() || rest.is_empty() || rest.starts_with('/'))
        })
        .collect();
    found.sort_by_key(|one| std::cmp::Reverse(one.dir.len()));
    found.into_iter()
}
