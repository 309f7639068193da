//! The role of a file in a project, told by its path alone.

use workspace::RelPath;

/// The role of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileRole {
    /// A test, or something only tests use.
    Test,
    /// Text for people.
    Document,
    /// Everything else.
    Code,
}

/// Directories in which everything belongs to tests.
const TEST_DIRS: &[&str] = &[
    "test",
    "tests",
    "__tests__",
    "__mocks__",
    "__snapshots__",
    "spec",
    "specs",
    "e2e",
    "testdata",
    "fixtures",
];
/// Directories in which everything is a document.
const DOCUMENT_DIRS: &[&str] = &["doc", "docs", "documentation"];
/// Endings of documents.
const DOCUMENT_ENDINGS: &[&str] = &["md", "mdx", "markdown", "rst", "adoc", "txt", "org"];
/// Names of documents without an extension, or with one that says nothing.
const DOCUMENT_STEMS: &[&str] = &[
    "readme",
    "changelog",
    "changes",
    "contributing",
    "license",
    "authors",
    "notice",
    "openapi",
    "swagger",
];

impl FileRole {
    /// Returns the role of this file.
    pub fn of(path: &RelPath) -> FileRole {
        let name = path.file_name().unwrap_or_default().to_ascii_lowercase();
        let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
        let stem = name.split('.').next().unwrap_or_default();
        let in_one_of = |dirs: &[&str]| {
            let above = path.names().rev().skip(1);
            let mut above = above.map(str::to_ascii_lowercase);
            above.any(|dir| dirs.contains(&dir.as_str()))
        };
        if in_one_of(TEST_DIRS) || is_test_name(&name) {
            FileRole::Test
        } else if DOCUMENT_ENDINGS.contains(&extension.as_str())
            || DOCUMENT_STEMS.contains(&stem)
            || in_one_of(DOCUMENT_DIRS)
        {
            FileRole::Document
        } else {
            FileRole::Code
        }
    }
}

/// `a.test.ts`, `a_test.go`, `test_a.py`, `ATest.java`, `tests.rs`, `conftest.py`.
fn is_test_name(name: &str) -> bool {
    let (stem, _) = name.rsplit_once('.').unwrap_or((name, ""));
    let marked = [
        ".test", ".spec", ".e2e", "_test", "_tests", "_spec", "-test", "-spec",
    ];
    marked.iter().any(|mark| stem.ends_with(mark))
        || stem.starts_with("test_")
        || ["test", "tests", "conftest"].contains(&stem)
        || (name.ends_with(".java") || name.ends_with(".kt") || name.ends_with(".cs"))
            && (stem.ends_with("test") || stem.ends_with("tests"))
}

#[cfg(test)]
mod tests {
    use super::FileRole;
    use workspace::RelPath;

    #[test]
    fn paths_have_roles() {
        let check = |path: &str, role: FileRole| {
            assert_eq!(FileRole::of(&RelPath::parse(path).unwrap()), role, "{path}");
        };
        for path in [
            "tests/login.rs",
            "src/a.test.ts",
            "src/__tests__/a.ts",
            "pkg/a_test.go",
            "test_a.py",
            "src/parser/tests.rs",
            "app/UserTest.java",
            "conftest.py",
            "tests/README.md",
        ] {
            check(path, FileRole::Test);
        }
        for path in [
            "README",
            "README.md",
            "docs/a.png",
            "CLAUDE.md",
            "openapi.yaml",
        ] {
            check(path, FileRole::Document);
        }
        for path in [
            "src/latest.ts",
            "src/attest.go",
            "src/lib.rs",
            "contest.py",
            "package.json",
        ] {
            check(path, FileRole::Code);
        }
    }
}
