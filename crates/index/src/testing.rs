//! Recognises test files by the conventions of their languages, from the path alone.

use workspace::RelPath;

/// Folders that hold tests.
const FOLDERS: [&str; 9] = [
    "test",
    "tests",
    "__tests__",
    "__test__",
    "spec",
    "specs",
    "e2e",
    "cypress",
    "testdata",
];

/// Parts before the last dot of a test's name: `user.test.ts`.
const INFIXES: [&str; 8] = [
    ".test", ".spec", ".tests", ".specs", ".e2e", ".cy", ".test-d", "_test",
];

/// Returns true if the file at `path` is a test or belongs to one.
pub(super) fn is_test(path: &RelPath) -> bool {
    let name = path.file_name().unwrap_or_default();
    let folders = path.names().rev().skip(1);
    let is_below = folders.into_iter().any(|folder| FOLDERS.contains(&folder));
    is_below || is_test_name(name)
}

fn is_test_name(name: &str) -> bool {
    let Some((stem, extension)) = name.rsplit_once('.') else {
        return false;
    };
    if INFIXES.iter().any(|infix| stem.ends_with(infix)) {
        return true;
    }
    match extension {
        "py" => stem.starts_with("test_") || matches!(stem, "conftest" | "tests"),
        "rs" => matches!(stem, "tests" | "test"),
        "java" | "kt" | "cs" | "scala" | "php" | "swift" => {
            let endings = ["Test", "Tests", "IT", "TestCase"];
            endings.iter().any(|ending| stem.ends_with(ending))
        }
        "rb" => stem.ends_with("_spec"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_known_by_the_conventions_of_their_languages() {
        let check = |path: &str| is_test(&RelPath::parse(path).unwrap());
        for path in [
            "src/user.test.ts",
            "src/user.spec.tsx",
            "src/__tests__/user.ts",
            "tests/helper.rs",
            "pkg/user_test.go",
            "app/test_user.py",
            "src/test/java/UserTest.java",
            "crates/x/src/apply/tests.rs",
            "types.test-d.ts",
        ] {
            assert!(check(path), "{path}");
        }
        for path in [
            "src/user.ts",
            "src/testing.rs",
            "src/latest.py",
            "src/contest.go",
            "Latest.java",
            "README",
        ] {
            assert!(!check(path), "{path}");
        }
    }
}
