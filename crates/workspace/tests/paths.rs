//! Parsing paths as people write them, and their order.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use workspace::{RelPath, WorkspaceErrorKind};

#[track_caller]
fn check(text: &str, expected: Result<&str, (WorkspaceErrorKind, &str)>) {
    match (RelPath::parse(text), expected) {
        (Ok(path), Ok(expected)) => assert_eq!(path.to_string(), expected),
        (Err(error), Err((kind, part))) => {
            assert_eq!(error.kind(), kind, "{text:?}: {error}");
            assert!(error.to_string().contains(part), "{text:?}: {error}");
        }
        (found, expected) => panic!("{text:?}: {found:?}, expected {expected:?}"),
    }
}

#[test]
fn paths_inside_are_normalised() {
    check("src/main.rs", Ok("src/main.rs"));
    check("./src//main.rs", Ok("src/main.rs"));
    check("src/./a/", Ok("src/a"));
    check("src\\win\\main.rs", Ok("src/win/main.rs"));
    check(".", Ok("."));
    check("./", Ok("."));
    check("...", Ok("..."));
    check("a..b/..c", Ok("a..b/..c"));
    check("C:x", Ok("C:x"));
    check("[id]/(group)/page.tsx", Ok("[id]/(group)/page.tsx"));
    check("über/日本.txt", Ok("über/日本.txt"));
}

#[test]
fn paths_that_could_leave_are_refused_with_a_hint() {
    use WorkspaceErrorKind::{InvalidPath, Limit};
    check("", Err((InvalidPath, "is empty")));
    check("/etc/passwd", Err((InvalidPath, "relative to the project")));
    check("\\\\server\\share", Err((InvalidPath, "is absolute")));
    check("C:\\Windows", Err((InvalidPath, "is absolute")));
    check("c:/x", Err((InvalidPath, "is absolute")));
    check("../x", Err((InvalidPath, "stays inside the project")));
    check("a/../../x", Err((InvalidPath, "stays inside the project")));
    check(
        "a\\..\\..\\x",
        Err((InvalidPath, "stays inside the project")),
    );
    check("a/..", Err((InvalidPath, "..")));
    check("~/x", Err((InvalidPath, "home directory")));
    check("a\0b", Err((InvalidPath, "control character")));
    check("a\nb", Err((InvalidPath, "control character")));
    check(&"x".repeat(256), Err((InvalidPath, "NAME_BYTES_MAX (255")));
    check(&"x/".repeat(129), Err((InvalidPath, "PATH_DEPTH_MAX (128")));
    check(&"x/".repeat(3000), Err((Limit, "PATH_BYTES_MAX (4096)")));
}

#[test]
fn the_order_is_that_of_a_tree() {
    let mut paths = ["a-b", "a/b/c", "b", "a", "a/b", "a.txt", "a/b-c"]
        .map(|text| RelPath::parse(text).unwrap());
    paths.sort();
    let sorted = paths.each_ref().map(RelPath::as_str);
    assert_eq!(sorted, ["a", "a/b", "a/b/c", "a/b-c", "a-b", "a.txt", "b"]);
}

#[test]
fn parts_and_relations() {
    let path = RelPath::parse("src/app/page.test.ts").unwrap();
    assert_eq!(path.file_name(), Some("page.test.ts"));
    assert_eq!(path.extension(), Some("ts"));
    assert_eq!(RelPath::parse(".env").unwrap().extension(), None);
    let dir = path.parent().unwrap();
    assert_eq!(dir.as_str(), "src/app");
    assert!(path.is_within(&dir) && path.is_within(&RelPath::root()));
    assert!(!RelPath::parse("src/app2").unwrap().is_within(&dir));
    assert_eq!(path.strip_prefix(&dir).unwrap().as_str(), "page.test.ts");
    assert_eq!(dir.strip_prefix(&dir).unwrap(), RelPath::root());
    assert_eq!(RelPath::root().parent(), None);
    assert_eq!(
        dir.join(&RelPath::parse("x/y").unwrap()).unwrap().as_str(),
        "src/app/x/y"
    );
    let deep = RelPath::parse(&"x/".repeat(100)).unwrap();
    assert!(deep.join(&deep).is_err());
}

proptest::proptest! {
    #[test]
    fn every_parsed_path_stays_inside(text in "[a.~/\\\\:C\u{0}-\u{1f}é]{0,20}") {
        if let Ok(path) = RelPath::parse(&text) {
            let path = std::path::PathBuf::from(path.as_str());
            assert!(path.is_relative());
            assert!(path.components().all(|part| matches!(part, std::path::Component::Normal(_))));
        }
    }
}
