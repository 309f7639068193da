//! The packages of the project itself: the names in `package.json` files, and the places of their
//! sources.

use serde_json::Value;

use crate::project::{FileId, IndexedProject, dir_of, join};

/// Folders of build output. The source of an entry in one of them is elsewhere.
const BUILT: [&str; 10] = [
    "dist", "lib", "build", "out", "esm", "cjs", "es", "output", "target", "types",
];

/// Endings of sources, the likeliest first.
const ENDINGS: [&str; 8] = [".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"];

/// One package of the project.
pub(super) struct NpmPackage {
    pub(super) name: String,
    /// Its folder; empty for the root.
    pub(super) dir: String,
    manifest: Value,
}

/// A `package.json` that can be read.
pub(super) struct NpmManifest {
    pub(super) path: String,
    pub(super) text: String,
    value: Value,
}

/// The packages of the project, no name twice: the one nearest to the root counts.
#[derive(Default)]
pub(super) struct NpmPackages(Vec<NpmPackage>);

/// Reads every `package.json` of the project. A damaged one is skipped.
pub(super) fn manifests(project: &IndexedProject<'_>) -> Vec<NpmManifest> {
    let files = project.files().map(|(_, source)| &source.path);
    let named = files.filter(|path| path.file_name() == Some("package.json"));
    named
        .filter_map(|path| {
            let text = project.text(path.as_str())?;
            let value: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()?;
            value.is_object().then(|| NpmManifest {
                path: path.to_string(),
                text,
                value,
            })
        })
        .collect()
}

impl NpmPackages {
    pub(super) fn new(manifests: &mut [NpmManifest]) -> Self {
        let mut found: Vec<NpmPackage> = Vec::new();
        for manifest in manifests {
            let dir = dir_of(&manifest.path);
            // Installed packages are no part of the project, even if they are stored with the
            // sources.
            if dir.split('/').any(|name| name == "node_modules") {
                continue;
            }
            let Some(name) = manifest.value.get("name").and_then(Value::as_str) else {
                continue;
            };
            if is_name(name) {
                found.push(NpmPackage {
                    name: name.to_owned(),
                    dir: dir.to_owned(),
                    manifest: manifest.value.take(),
                });
            }
        }
        found.sort_by_key(|package| package.dir.split('/').count());
        let mut names = std::collections::HashSet::new();
        found.retain(|package| names.insert(package.name.clone()));
        Self(found)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &NpmPackage> {
        self.0.iter()
    }

    /// Splits a specifier into the package it names and the rest.
    pub(super) fn named<'s>(&self, specifier: &'s str) -> Option<(&NpmPackage, &'s str)> {
        self.0.iter().find_map(|package| {
            let rest = specifier.strip_prefix(package.name.as_str())?;
            match rest.strip_prefix('/') {
                Some(below) => Some((package, below)),
                None if rest.is_empty() => Some((package, "")),
                None => None,
            }
        })
    }
}

impl NpmPackage {
    /// Finds the source of a module `below` this package, if the package has not been built.
    pub(super) fn source(&self, project: &IndexedProject<'_>, below: &str) -> Option<FileId> {
        let mut entries = Vec::new();
        match below {
            "" => {
                for field in ["source", "module", "main", "types", "typings"] {
                    entries.extend(self.manifest.get(field).and_then(Value::as_str));
                }
                if let Some(exports) = self.manifest.get("exports") {
                    texts(exports.get(".").unwrap_or(exports), &mut entries);
                }
            }
            _ => {
                let exports = self.manifest.get("exports");
                if let Some(entry) = exports.and_then(|it| it.get(format!("./{below}"))) {
                    texts(entry, &mut entries);
                }
            }
        }
        let by_entry = entries.iter().find_map(|entry| self.built(project, entry));
        by_entry.or_else(|| self.conventional(project, below))
    }

    /// `dist/a/b.mjs` is made from `src/a/b.ts` or `a/b.ts`.
    fn built(&self, project: &IndexedProject<'_>, entry: &str) -> Option<FileId> {
        let entry = entry.trim_start_matches("./");
        if let Some(found) = project.find(&join(&self.dir, entry)?) {
            return Some(found);
        }
        let mut rest = entry;
        while let Some((first, below)) = rest.split_once('/')
            && BUILT.contains(&first)
        {
            rest = below;
        }
        // The source of `mermaid.core.mjs` or `index.d.ts` has only the first word as its name.
        let (dir, name) = rest.rsplit_once('/').unwrap_or(("", rest));
        let mut stem = name;
        while let Some((shorter, _)) = stem.rsplit_once('.') {
            stem = shorter;
            for folder in ["src", ""] {
                let base = join(&self.dir, &format!("{folder}/{dir}/{stem}"))?;
                if let Some(found) = with_ending(project, &base) {
                    return Some(found);
                }
            }
        }
        None
    }

    fn conventional(&self, project: &IndexedProject<'_>, below: &str) -> Option<FileId> {
        let below = if below.is_empty() { "index" } else { below };
        for folder in ["src", "", "lib"] {
            let base = join(&self.dir, &format!("{folder}/{below}"))?;
            if let Some(found) = project.find(&base).or_else(|| with_ending(project, &base)) {
                return Some(found);
            }
            if let Some(found) = with_ending(project, &format!("{base}/index")) {
                return Some(found);
            }
        }
        None
    }
}

fn with_ending(project: &IndexedProject<'_>, base: &str) -> Option<FileId> {
    ENDINGS
        .iter()
        .find_map(|ending| project.find(&format!("{base}{ending}")))
}

/// Every text in an entry of `exports`, in its order.
fn texts<'v>(entry: &'v Value, found: &mut Vec<&'v str>) {
    match entry {
        Value::String(text) => found.push(text),
        Value::Array(list) => list.iter().for_each(|it| texts(it, found)),
        Value::Object(fields) => {
            let conditions = fields.iter().filter(|(key, _)| !key.starts_with('.'));
            conditions.for_each(|(_, it)| texts(it, found));
        }
        _ => {}
    }
}

/// Returns true if this can be a folder name in `node_modules`.
fn is_name(name: &str) -> bool {
    let parts: Vec<&str> = name.split('/').collect();
    let is_part = |part: &&str| !part.is_empty() && !part.starts_with('.');
    match parts.as_slice() {
        [one] => is_part(one) && !one.starts_with('@'),
        [scope, one] => scope.starts_with('@') && scope.len() > 1 && is_part(one),
        _ => false,
    }
}
