//! The tree of modules that `mod x;` makes of the files, and the files that paths mean in it.

use rustc_hash::FxHashMap;

use super::packages::CargoPackages;
use crate::language::{ImportKind, ImportRequest, ImportResolver, SourceLanguage};
use crate::project::{FileId, IndexedProject, dir_of, join};

/// The most inline modules around a `mod x;`.
const INLINE_MAX: usize = 8;
/// The greatest depth of a module tree; deeper ones are circles.
const DEPTH_MAX: usize = 64;
/// In how many places one file may be a module, as helpers of tests are.
const PARENTS_MAX: usize = 16;

/// The module trees of a project's crates.
pub(super) struct RustModules {
    packages: CargoPackages,
    /// The file of a module, by the file that declares it and its name there.
    children: FxHashMap<FileId, FxHashMap<String, FileId>>,
    /// The files that declare a file, and the module's name there.
    parents: FxHashMap<FileId, Vec<(FileId, String)>>,
}

/// A place in a tree of modules: a file, and the inline modules in it.
#[derive(Clone)]
struct ModuleLocation {
    file: FileId,
    inline: Vec<String>,
}

impl RustModules {
    pub(super) fn new(project: &IndexedProject<'_>) -> Self {
        let mut modules = Self {
            packages: CargoPackages::read(project),
            children: FxHashMap::default(),
            parents: FxHashMap::default(),
        };
        for (file, source) in project.files() {
            if source.language != SourceLanguage::Rust {
                continue;
            }
            for import in &source.facts.imports {
                if import.kind == ImportKind::Part {
                    modules.declare(project, file, &import.specifier);
                }
            }
        }
        modules
    }

    fn declare(&mut self, project: &IndexedProject<'_>, file: FileId, specifier: &str) {
        let name = specifier.split('=').next().unwrap_or_default();
        let Some(child) = part(project, file, specifier).filter(|_| !name.is_empty()) else {
            return;
        };
        // A path given by an attribute comes first, and wins.
        self.children
            .entry(file)
            .or_default()
            .entry(name.to_owned())
            .or_insert(child);
        let parents = self.parents.entry(child).or_default();
        if parents.len() < PARENTS_MAX {
            parents.push((file, name.to_owned()));
        }
    }

    /// Descends from a file as far as the path names modules.
    fn descend(&self, from: FileId, path: &[&str]) -> FileId {
        let mut file = from;
        let mut rest = path;
        'down: loop {
            let Some(children) = self.children.get(&file) else {
                return file;
            };
            for taken in 1..=rest.len().min(INLINE_MAX) {
                let child = if taken == 1 {
                    children.get(rest[0])
                } else {
                    children.get(&rest[..taken].join("::"))
                };
                if let Some(child) = child {
                    file = *child;
                    rest = &rest[taken..];
                    continue 'down;
                }
            }
            return file;
        }
    }

    /// The places one level up.
    fn up(&self, place: &ModuleLocation) -> Vec<ModuleLocation> {
        if !place.inline.is_empty() {
            let mut place = place.clone();
            place.inline.pop();
            return vec![place];
        }
        let parents = self.parents.get(&place.file);
        parents
            .into_iter()
            .flatten()
            .map(|(file, name)| ModuleLocation {
                file: *file,
                inline: inline(name),
            })
            .collect()
    }

    /// Returns the root files of the crates that this file is part of.
    fn roots(&self, file: FileId) -> Vec<FileId> {
        let mut reached = vec![file];
        let mut roots = Vec::new();
        let mut next = 0;
        while let Some(file) = reached.get(next).copied() {
            next += 1;
            match self.parents.get(&file) {
                Some(parents) => {
                    for (parent, _) in parents {
                        if !reached.contains(parent) && reached.len() < DEPTH_MAX {
                            reached.push(*parent);
                        }
                    }
                }
                None => roots.push(file),
            }
        }
        roots
    }

    fn path(&self, project: &IndexedProject<'_>, from: FileId, path: &[&str]) -> Vec<FileId> {
        match path {
            ["crate", rest @ ..] => {
                let roots = self.roots(from);
                roots
                    .into_iter()
                    .map(|root| self.descend(root, rest))
                    .collect()
            }
            ["self", rest @ ..] => vec![self.descend(from, rest)],
            ["super", ..] => self.above(from, path),
            [first, ..] => {
                let child = self.descend(from, path);
                if child != from {
                    return vec![child];
                }
                if let Some(root) = self.packages.find(project.path(from), first) {
                    return vec![self.descend(root, &path[1..])];
                }
                if self.packages.is_2015(project.path(from)) {
                    let mut found = self.path(project, from, &[&["crate"], path].concat());
                    found.retain(|file| !self.roots(from).contains(file));
                    return found;
                }
                Vec::new()
            }
            [] => Vec::new(),
        }
    }

    fn above(&self, from: FileId, path: &[&str]) -> Vec<FileId> {
        let mut places = vec![ModuleLocation {
            file: from,
            inline: Vec::new(),
        }];
        let mut rest = path;
        while let Some((&"super", below)) = rest.split_first() {
            places = places.iter().flat_map(|place| self.up(place)).collect();
            places.truncate(PARENTS_MAX);
            rest = below;
        }
        places
            .into_iter()
            .map(|place| {
                let mut path: Vec<&str> = place.inline.iter().map(String::as_str).collect();
                path.extend(rest);
                self.descend(place.file, &path)
            })
            .collect()
    }
}

impl ImportResolver for RustModules {
    fn resolve(
        &self,
        project: &IndexedProject<'_>,
        from: FileId,
        import: &ImportRequest,
    ) -> Vec<FileId> {
        if import.kind == ImportKind::Part {
            return part(project, from, &import.specifier).into_iter().collect();
        }
        let path: Vec<&str> = import.specifier.split("::").collect();
        let mut found = self.path(project, from, &path);
        if found.is_empty() && path[0] == "crate" {
            found.extend(self.packages.library(project.path(from)));
        }
        found.sort_unstable();
        found.dedup();
        found.retain(|file| *file != from);
        found
    }
}

/// The file of `mod x;`, or the file that is included.
fn part(project: &IndexedProject<'_>, from: FileId, specifier: &str) -> Option<FileId> {
    let path = project.path(from);
    let dir = dir_of(path);
    if let Some((_, file)) = specifier.split_once('=') {
        return project.find(&join(dir, file)?);
    }
    let name = path[dir.len()..].trim_start_matches('/');
    let stem = name.strip_suffix(".rs").unwrap_or(name);
    let below = specifier.replace("::", "/");
    let beside = join(dir, &below)?;
    let inside = join(dir, &format!("{stem}/{below}"))?;
    // The root file of a crate has its modules beside it, and so has `mod.rs`; any other file has
    // them in a directory of its name. A manifest can name any file as the root, so both places are
    // searched.
    let order = if matches!(stem, "mod" | "lib" | "main" | "build") || is_program(project, dir) {
        [beside, inside]
    } else {
        [inside, beside]
    };
    order.iter().find_map(|at| {
        project
            .find(&format!("{at}.rs"))
            .or_else(|| project.find(&format!("{at}/mod.rs")))
    })
}

/// Returns true if every file directly in this directory is a separate crate: a test, a program.
fn is_program(project: &IndexedProject<'_>, dir: &str) -> bool {
    let above = dir_of(dir);
    let manifest = |dir: &str| join(dir, "Cargo.toml").and_then(|path| project.find(&path));
    match dir[above.len()..].trim_start_matches('/') {
        "tests" | "benches" | "examples" => manifest(above).is_some(),
        "bin" => above.ends_with("src"),
        _ => false,
    }
}

/// The inline modules around a part of this name.
fn inline(name: &str) -> Vec<String> {
    let mut names: Vec<String> = name.split("::").map(str::to_owned).collect();
    names.pop();
    names
}
