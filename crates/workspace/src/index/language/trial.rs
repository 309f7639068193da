//! What the tests of all languages share: facts of one text, and edges of a small project.

use super::{Export, Facts, Language, facts};
use crate::index::{Cache, Index};
use crate::{Limits, Policy, RelPath, Workspace};

pub(super) fn read(path: &str, text: &str) -> Facts {
    let path = RelPath::parse(path).unwrap();
    facts(Language::of(&path), &path, text)
}

/// The names that a text offers, in order.
#[track_caller]
pub(super) fn check_exports(path: &str, text: &str, expected: &[&str]) {
    let facts = read(path, text);
    let names: Vec<&str> = facts.exports.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, expected, "{path}:\n{text}");
}

/// The requests of a text, in order.
#[track_caller]
pub(super) fn check_imports(path: &str, text: &str, expected: &[&str]) {
    let facts = read(path, text);
    let found: Vec<&str> = facts
        .imports
        .iter()
        .map(|one| one.specifier.as_str())
        .collect();
    assert_eq!(found, expected, "{path}:\n{text}");
}

/// Names with their kinds and lines: `name kind line`.
#[track_caller]
pub(super) fn check_places(path: &str, text: &str, expected: &[&str]) {
    let facts = read(path, text);
    let shown = |export: &Export| format!("{} {:?} {}", export.name, export.kind, export.line);
    let places: Vec<String> = facts.exports.iter().map(shown).collect();
    assert_eq!(places, expected, "{path}:\n{text}");
}

/// The files that each file needs: `from -> to`, in order.
#[track_caller]
pub(super) fn check_edges(files: &[(&str, &str)], expected: &[&str]) {
    let edges = edges(files);
    let edges: Vec<&str> = edges.iter().map(String::as_str).collect();
    assert_eq!(edges, expected);
}

fn edges(files: &[(&str, &str)]) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let file = dir.path().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    let space = Workspace::open(dir.path(), Policy::default(), Limits::default()).unwrap();
    let index = Index::build(&space, &Cache::none()).unwrap();
    let mut edges = Vec::new();
    for file in index.files() {
        for to in index.neighbours(&file.path).imports {
            edges.push(format!("{} -> {to}", file.path));
        }
    }
    edges.sort();
    edges
}
