//! A project of literal files, and one `check` for each kind of statement about it.

use std::path::Path;

use index::{IndexCache, IndexFocus, SourceIndex};
use tempfile::TempDir;
use workspace::{AccessPolicy, Limits, RelPath, Workspace};

/// A file: its path and its content.
pub(crate) type Files<'f> = &'f [(&'f str, &'f str)];

pub(crate) fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

pub(crate) fn write(dir: &Path, files: Files<'_>) {
    for (name, text) in files {
        let file = dir.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
}

pub(crate) fn folder(files: Files<'_>) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), files);
    dir
}

pub(crate) fn open(dir: &Path) -> Workspace {
    Workspace::open(dir, AccessPolicy::default(), Limits::default()).unwrap()
}

pub(crate) fn index(files: Files<'_>) -> SourceIndex {
    let dir = folder(files);
    SourceIndex::build(&open(dir.path()), &IndexCache::none()).unwrap()
}

/// The whole index as text.
pub(crate) fn lines(index: &SourceIndex) -> Vec<String> {
    let text = index.render(None, &IndexFocus::default());
    text.lines().map(str::to_owned).collect()
}

/// Every import of a file by another: `from -> to`.
pub(crate) fn edges(index: &SourceIndex) -> Vec<String> {
    let mut edges = Vec::new();
    for file in index.files() {
        for target in index.neighbours(&file.path).imports {
            edges.push(format!("{} -> {target}", file.path));
        }
    }
    edges
}

/// A project has these lines in its index.
#[track_caller]
pub(crate) fn check_lines(files: Files<'_>, expected: &[&str]) {
    assert_eq!(lines(&index(files)), expected);
}

/// A project has these imports.
#[track_caller]
pub(crate) fn check_edges(files: Files<'_>, expected: &[&str]) {
    assert_eq!(edges(&index(files)), expected);
}
