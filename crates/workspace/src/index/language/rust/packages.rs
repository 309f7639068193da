//! Cargo's manifests: which crates a file can name, and the file each of them begins with.

use rustc_hash::FxHashMap;
use toml::{Table, Value};

use crate::index::project::{FileId, Project, dir_of, join};

/// The packages of a project.
pub(super) struct Packages {
    list: Vec<Package>,
    by_dir: FxHashMap<String, usize>,
}

/// One `[package]`.
struct Package {
    lib: Option<FileId>,
    /// In the edition of 2015 a `use` counts from the crate's root.
    is_2015: bool,
    /// The crates that its files can name, and the files these begin with.
    crates: FxHashMap<String, FileId>,
}

/// A manifest and the directory it is in.
struct Manifest {
    dir: String,
    table: Table,
}

/// The library of a package.
struct Library {
    name: String,
    root: FileId,
}

impl Packages {
    pub(super) fn read(project: &Project<'_>) -> Self {
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
            list.push(Package {
                lib: libraries.get(manifest.dir.as_str()).map(|lib| lib.root),
                is_2015: edition(manifest, &manifests) == "2015",
                crates: crates(manifest, &manifests, &libraries),
            });
        }
        Self { list, by_dir }
    }

    /// The file that the crate of this name begins with, as seen from `path`.
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
    fn of(&self, path: &str) -> Option<&Package> {
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

fn manifests(project: &Project<'_>) -> Vec<Manifest> {
    project
        .files()
        .filter(|(_, source)| source.path.file_name() == Some("Cargo.toml"))
        .filter_map(|(_, source)| {
            let path = source.path.as_str();
            let table = project.text(path)?.parse().ok()?;
            Some(Manifest {
                dir: dir_of(path).to_owned(),
                table,
            })
        })
        .collect()
}

fn library(project: &Project<'_>, manifest: &Manifest) -> Option<Library> {
    let package = manifest.table.get("package")?.as_table()?;
    let lib = manifest.table.get("lib").and_then(Value::as_table);
    let text = |key: &str| lib.and_then(|lib| lib.get(key)).and_then(Value::as_str);
    let root = project.find(&join(&manifest.dir, text("path").unwrap_or("src/lib.rs"))?)?;
    let name = text("name").or_else(|| package.get("name")?.as_str())?;
    Some(Library {
        name: name.replace('-', "_"),
        root,
    })
}

fn edition<'m>(manifest: &'m Manifest, manifests: &'m [Manifest]) -> &'m str {
    let package = |one: &'m Manifest| one.table.get("package")?.get("edition");
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

/// The crates that files of a package can name: its own library, and what it depends on by a path.
fn crates(
    manifest: &Manifest,
    manifests: &[Manifest],
    libraries: &FxHashMap<&str, Library>,
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
    manifest: &Manifest,
    manifests: &[Manifest],
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

/// What a dependency is called at home, where its key is another name.
fn package_of(value: &Value) -> Option<&str> {
    value.get("package")?.as_str()
}

/// The manifest itself and those above it, nearest first.
fn ancestors<'m>(
    manifest: &'m Manifest,
    manifests: &'m [Manifest],
) -> impl Iterator<Item = &'m Manifest> {
    let mut found: Vec<&Manifest> = manifests
        .iter()
        .filter(|one| {
            let rest = manifest.dir.strip_prefix(one.dir.as_str());
            rest.is_some_and(|rest| one.dir.is_empty() || rest.is_empty() || rest.starts_with('/'))
        })
        .collect();
    found.sort_by_key(|one| std::cmp::Reverse(one.dir.len()));
    found.into_iter()
}
