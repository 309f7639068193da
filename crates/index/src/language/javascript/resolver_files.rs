//! The project as a file system for `oxc_resolver`: it contains only the files of the index.
//!
//! The resolver never sees the disk. It gets the list of files, which the policy and the ignore
//! files have filtered already, and the manifests, read once under the policy. The project's own
//! packages appear as installed, whether they are or not: `node_modules/NAME` is a link to their
//! folder.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use oxc_resolver::{FileMetadata, FileSystem, ResolveError};
use rustc_hash::FxBuildHasher;

use super::packages::{NpmManifest, NpmPackages};
use crate::project::{IndexedProject, dir_of, join};

/// The path of the project's root in this view. The resolver never sees a real path of the machine.
const ROOT: &str = "/project";

type PathSet = HashSet<String, FxBuildHasher>;

/// The files a resolver may see, by paths without the slash in front.
#[derive(Default)]
pub(super) struct ResolverFiles {
    files: PathSet,
    dirs: PathSet,
    /// The targets of links.
    links: HashMap<String, String, FxBuildHasher>,
    /// Manifests, and the files they extend.
    texts: HashMap<String, String, FxBuildHasher>,
}

impl ResolverFiles {
    pub(super) fn new(
        project: &IndexedProject<'_>,
        packages: &NpmPackages,
        manifests: Vec<NpmManifest>,
    ) -> Self {
        let mut view = Self::default();
        view.dirs.insert(String::new());
        for (_, source) in project.files() {
            let path = source.path.as_str();
            view.add_dirs(dir_of(path));
            view.files.insert(path.to_owned());
            if is_config(source.path.file_name().unwrap_or_default()) {
                view.add_config(project, path);
            }
        }
        let texts = manifests.into_iter().map(|it| (it.path, it.text));
        view.texts.extend(texts);
        for package in packages.iter() {
            let link = format!("node_modules/{}", package.name);
            if !view.files.contains(&link) && !view.dirs.contains(&link) {
                view.add_dirs(dir_of(&link));
                view.links.insert(link, package.dir.clone());
            }
        }
        view
    }

    /// Every `tsconfig.json` and the like that was read.
    pub(super) fn configs(&self) -> impl Iterator<Item = &str> {
        let names = self.texts.keys().map(String::as_str);
        names.filter(|path| is_config(path.rsplit('/').next().unwrap_or_default()))
    }

    fn add_dirs(&mut self, dir: &str) {
        let mut dir = dir;
        while !dir.is_empty() && self.dirs.insert(dir.to_owned()) {
            dir = dir_of(dir);
        }
    }

    /// Adds a `tsconfig.json` and the files it extends. A missing one (from a package elsewhere) is
    /// left out: the resolver would refuse the whole file.
    fn add_config(&mut self, project: &IndexedProject<'_>, path: &str) {
        let mut pending = vec![path.to_owned()];
        while let Some(path) = pending.pop() {
            if self.texts.contains_key(&path) {
                continue;
            }
            let Some(text) = project.text(&path) else {
                continue;
            };
            let Some(mut config) = parsed(&text) else {
                continue;
            };
            let dir = dir_of(&path);
            let extended = present(project, dir, config.get("extends"));
            if let Some(fields) = config.as_object_mut() {
                fields.shift_remove("extends");
                if !extended.is_empty() {
                    let named = extended.iter().map(|path| format!("{ROOT}/{path}"));
                    fields.insert("extends".to_owned(), named.collect());
                }
                if let Some(references) = fields.get_mut("references") {
                    retain_present(project, dir, &path, references);
                }
            }
            pending.extend(extended);
            self.texts.insert(path, config.to_string());
        }
    }

    fn metadata_of(&self, path: &Path) -> io::Result<FileMetadata> {
        let inside = inside(path)?;
        if self.files.contains(inside) {
            return Ok(FileMetadata::new(true, false, false));
        }
        if self.dirs.contains(inside) {
            return Ok(FileMetadata::new(false, true, false));
        }
        if self.links.contains_key(inside) {
            return Ok(FileMetadata::new(false, false, true));
        }
        Err(io::ErrorKind::NotFound.into())
    }

    fn text_of(&self, path: &Path) -> io::Result<&str> {
        let text = self.texts.get(inside(path)?);
        text.map(String::as_str)
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl FileSystem for ResolverFiles {
    fn new() -> Self {
        Self::default()
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        Ok(self.text_of(path)?.as_bytes().to_vec())
    }

    fn read_to_string(&self, path: &Path) -> io::Result<String> {
        Ok(self.text_of(path)?.to_owned())
    }

    fn metadata(&self, path: &Path) -> io::Result<FileMetadata> {
        let found = self.metadata_of(path)?;
        match found.is_symlink() {
            true => Ok(FileMetadata::new(false, true, false)),
            false => Ok(found),
        }
    }

    fn symlink_metadata(&self, path: &Path) -> io::Result<FileMetadata> {
        self.metadata_of(path)
    }

    fn read_link(&self, path: &Path) -> Result<PathBuf, ResolveError> {
        let target = self.links.get(inside(path)?);
        let target = target.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        Ok(absolute(target))
    }

    fn canonicalize(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_owned())
    }
}

/// The path of the project as the resolver spells it.
pub(super) fn absolute(path: &str) -> PathBuf {
    PathBuf::from(format!("{ROOT}/{path}"))
}

/// The path of the project that the resolver means.
pub(super) fn inside(path: &Path) -> io::Result<&str> {
    let text = path.to_str().ok_or(io::ErrorKind::NotFound)?;
    let inside = text.strip_prefix(ROOT).ok_or(io::ErrorKind::NotFound)?;
    match inside.strip_prefix('/') {
        Some(below) => Ok(below.trim_end_matches('/')),
        None if inside.is_empty() => Ok(inside),
        None => Err(io::ErrorKind::NotFound.into()),
    }
}

/// `tsconfig.json`, `tsconfig.build.json`, `jsconfig.json`.
fn is_config(name: &str) -> bool {
    let stem = name.strip_suffix(".json").unwrap_or_default();
    stem.starts_with("tsconfig") || stem == "jsconfig"
}

/// Comments and commas at the end are allowed here.
fn parsed(text: &str) -> Option<serde_json::Value> {
    let mut text = text.trim_start_matches('\u{feff}').to_owned();
    json_strip_comments::strip(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// The files of the project that `extends` names.
fn present(
    project: &IndexedProject<'_>,
    dir: &str,
    extends: Option<&serde_json::Value>,
) -> Vec<String> {
    let one = extends.and_then(serde_json::Value::as_str).into_iter();
    let many = extends.and_then(serde_json::Value::as_array);
    let many = many.into_iter().flatten().filter_map(|it| it.as_str());
    one.chain(many)
        .filter(|specifier| specifier.starts_with('.'))
        .filter_map(|specifier| {
            let path = join(dir, specifier)?;
            let candidates = [
                path.clone(),
                format!("{path}.json"),
                format!("{path}/tsconfig.json"),
            ];
            candidates
                .into_iter()
                .find(|path| project.find(path).is_some())
        })
        .collect()
}

/// Leaves out references that lead nowhere or to the file itself.
fn retain_present(
    project: &IndexedProject<'_>,
    dir: &str,
    own: &str,
    references: &mut serde_json::Value,
) {
    let Some(list) = references.as_array_mut() else {
        return;
    };
    list.retain(|reference| {
        let Some(path) = reference.get("path").and_then(serde_json::Value::as_str) else {
            return false;
        };
        let Some(path) = join(dir, path) else {
            return false;
        };
        let whole = match path.ends_with(".json") {
            true => path,
            false if path.is_empty() => "tsconfig.json".to_owned(),
            false => format!("{path}/tsconfig.json"),
        };
        whole != own && project.find(&whole).is_some()
    });
}
