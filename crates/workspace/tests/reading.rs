//! Reading, listing, walking and globbing; and the plain functions outside a root.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests build their own fixtures"
)]

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use tempfile::TempDir;
use workspace::{PathKind, RelPath, Root, WorkspaceErrorKind, fs};

fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

fn project() -> (TempDir, Root) {
    let dir = tempfile::tempdir().unwrap();
    for name in [
        "b.txt",
        "a/z.yml",
        "a/deep/kit.yml",
        "a/deep/x.txt",
        "c/kit.yml",
        "a-b/kit.yml",
    ] {
        let file = dir.path().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, name).unwrap();
    }
    symlink("a/z.yml", dir.path().join("link")).unwrap();
    symlink("a", dir.path().join("dirlink")).unwrap();
    let root = Root::open(dir.path()).unwrap();
    (dir, root)
}

#[test]
fn files_are_read_and_absence_is_not_an_error() {
    let (dir, root) = project();
    assert_eq!(
        root.read_text(&path("b.txt")).unwrap().as_deref(),
        Some("b.txt")
    );
    assert_eq!(
        root.read_text(&path("link")).unwrap().as_deref(),
        Some("a/z.yml")
    );
    assert_eq!(
        root.read_text(&path("dirlink/z.yml")).unwrap().as_deref(),
        Some("a/z.yml")
    );
    for missing in ["nope", "nope/deep", "b.txt/below"] {
        assert_eq!(root.read(&path(missing)).unwrap(), None, "{missing}");
        assert!(!root.exists(&path(missing)).unwrap());
    }
    assert_eq!(
        root.read(&path("a")).unwrap_err().kind(),
        WorkspaceErrorKind::Conflict
    );
    std::fs::write(dir.path().join("latin1"), b"caf\xe9").unwrap();
    let error = root.read_text(&path("latin1")).unwrap_err();
    assert_eq!(error.kind(), WorkspaceErrorKind::NotText);
    assert!(error.to_string().contains("offset 3"), "{error}");
    let error = root.read_at_most(&path("b.txt"), 4).unwrap_err();
    assert_eq!(error.kind(), WorkspaceErrorKind::Limit);
}

#[test]
fn kinds_do_not_follow_and_is_dir_does() {
    let (_dir, root) = project();
    assert_eq!(root.kind(&path("b.txt")).unwrap(), Some(PathKind::File));
    assert_eq!(root.kind(&path("a")).unwrap(), Some(PathKind::Dir));
    assert_eq!(
        root.kind(&path("dirlink")).unwrap(),
        Some(PathKind::Symlink)
    );
    assert_eq!(root.kind(&path("nope")).unwrap(), None);
    assert_eq!(root.kind(&RelPath::root()).unwrap(), Some(PathKind::Dir));
    assert!(root.is_dir(&path("dirlink")).unwrap());
    assert!(!root.is_dir(&path("b.txt")).unwrap());
}

#[test]
fn listings_are_sorted_and_leave_out_what_cannot_be_spelled() {
    let (dir, root) = project();
    std::fs::write(dir.path().join(std::ffi::OsStr::from_bytes(b"bad\xff")), "").unwrap();
    std::fs::write(dir.path().join("back\\slash"), "").unwrap();
    let names: Vec<String> = root
        .list(&RelPath::root())
        .unwrap()
        .iter()
        .map(|entry| entry.path.to_string())
        .collect();
    assert_eq!(names, ["a", "a-b", "b.txt", "c", "dirlink", "link"]);
    assert_eq!(
        root.list(&path("nope")).unwrap_err().kind(),
        WorkspaceErrorKind::NotFound
    );
}

#[test]
fn walks_enter_directories_but_not_symlinks() {
    let (_dir, root) = project();
    let walk = |dir: &RelPath| -> Vec<String> {
        let entries = root.walk(dir).unwrap();
        entries.iter().map(|entry| entry.path.to_string()).collect()
    };
    assert_eq!(
        walk(&RelPath::root()),
        [
            "a/deep/kit.yml",
            "a/deep/x.txt",
            "a/z.yml",
            "a-b/kit.yml",
            "b.txt",
            "c/kit.yml",
            "dirlink",
            "link"
        ]
    );
    assert_eq!(walk(&path("a/deep")), ["a/deep/kit.yml", "a/deep/x.txt"]);
    assert!(walk(&path("nope")).is_empty());
    let without = root
        .walk_where(&RelPath::root(), |entry| entry.path.as_str() != "a")
        .unwrap();
    assert_eq!(without.len(), 5);
}

#[test]
fn globs_match_from_the_directory_given() {
    let (_dir, root) = project();
    #[track_caller]
    fn check(root: &Root, dir: &str, globs: &[&str], expected: &[&str]) {
        let found = root.glob(&path(dir), globs).unwrap();
        let found: Vec<&str> = found.iter().map(RelPath::as_str).collect();
        assert_eq!(found, expected, "{dir} {globs:?}");
    }
    check(&root, ".", &["*/kit.yml"], &["a-b/kit.yml", "c/kit.yml"]);
    check(
        &root,
        ".",
        &["**/kit.yml"],
        &["a/deep/kit.yml", "a-b/kit.yml", "c/kit.yml"],
    );
    check(&root, "a", &["./*/kit.yml"], &["a/deep/kit.yml"]);
    check(
        &root,
        ".",
        &["b.txt", "a/*.{yml,yaml}"],
        &["a/z.yml", "b.txt"],
    );
    check(&root, ".", &[], &[]);
    let error = root.glob(&RelPath::root(), &["a/[z"]).unwrap_err();
    assert!(error.to_string().contains("\"a/[z\""), "{error}");
}

#[test]
fn a_root_must_be_a_directory() {
    let (dir, _root) = project();
    let error = Root::open(&dir.path().join("nope")).unwrap_err();
    assert_eq!(error.kind(), WorkspaceErrorKind::NotFound);
    let error = Root::open(&dir.path().join("b.txt")).unwrap_err();
    assert_eq!(error.kind(), WorkspaceErrorKind::Conflict, "{error}");
    let made = Root::create(&dir.path().join("x/y")).unwrap();
    assert!(made.path().ends_with("x/y") && made.path().is_absolute());
}

#[test]
fn plain_functions_outside_a_root() {
    let (dir, _root) = project();
    let deep = dir.path().join("a/deep");
    let found = fs::find_upward(&deep, "b.txt").unwrap();
    assert_eq!(found, fs::canonical(dir.path()).unwrap());
    assert_eq!(fs::find_upward(&deep, "no-such-name-anywhere"), None);
    assert_eq!(fs::find_upward(&dir.path().join("nope"), "b.txt"), None);
    assert_eq!(fs::read_text(&dir.path().join("nope")).unwrap(), None);
    assert_eq!(
        fs::read(dir.path()).unwrap_err().kind(),
        WorkspaceErrorKind::Conflict
    );

    let target = dir.path().join("new/dir/file");
    fs::write_atomic(&target, b"one").unwrap();
    fs::write_atomic(&target, b"two").unwrap();
    assert_eq!(fs::read_text(&target).unwrap().as_deref(), Some("two"));
    let beside = std::fs::read_dir(target.parent().unwrap()).unwrap().count();
    assert_eq!(beside, 1, "no temporary file is left");

    let scratch = fs::scratch_dir().unwrap();
    let kept = scratch.path().to_owned();
    assert!(fs::is_dir(&kept));
    drop(scratch);
    assert!(!fs::exists(&kept));
    fs::remove_tree(&dir.path().join("new")).unwrap();
    fs::remove_tree(&dir.path().join("new")).unwrap();
    assert!(!fs::exists(&target));
}
