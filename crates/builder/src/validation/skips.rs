//! Finds tests that a change turns off: skipped, ignored, or left out because another one is
//! `only`.
//!
//! A passing check says nothing about a test that does not run any more, so the reviewer must know.

use workspace::RelPath;

use crate::job_repository::ChangedPath;
use crate::role::FileRole;

/// The markers that turn tests off, by file extension.
const MARKS: [(&[&str], &[&str]); 5] = [
    (
        &[
            "js", "jsx", "ts", "tsx", "mjs", "cjs", "mts", "cts", "vue", "svelte",
        ],
        &[
            ".skip(",
            ".skipIf(",
            ".todo(",
            ".only(",
            ".fails(",
            "xit(",
            "xtest(",
            "xdescribe(",
            "fit(",
            "fdescribe(",
            "skip: true",
            "this.skip()",
        ],
    ),
    (&["rs"], &["#[ignore", "#[cfg(any())]", "#[cfg(FALSE)]"]),
    (
        &["py"],
        &[
            "mark.skip",
            "mark.xfail",
            "pytest.skip(",
            "@skip",
            "unittest.skip",
            "skipTest(",
            "expectedFailure",
        ],
    ),
    (&["go"], &[".Skip(", ".SkipNow(", ".Skipf("]),
    (&["java", "kt", "cs"], &["@Disabled", "@Ignore", "Skip ="]),
];

/// The lines by which these changes turn tests off, as `file:line: text`.
pub(crate) fn new_skips(changes: &[ChangedPath]) -> Vec<String> {
    let mut found = Vec::new();
    for moved in changes {
        let diff = String::from_utf8_lossy(&moved.change.diff);
        found.extend(of_diff(&moved.path, &diff));
        let is_gone = moved.change.kind == vcs::ChangeKind::Deleted;
        if is_gone && FileRole::of(&moved.path) == FileRole::Test {
            found.push(format!("{}: the test file is deleted", moved.path));
        }
    }
    found
}

fn of_diff(path: &RelPath, diff: &str) -> Vec<String> {
    let ending = path.extension().unwrap_or_default();
    let marks = MARKS.iter().find(|(endings, _)| endings.contains(&ending));
    let Some((_, marks)) = marks else {
        return Vec::new();
    };
    let has_mark = |text: &str| {
        let text = text.trim_start();
        let is_comment = text.starts_with("//") || text.starts_with("# ");
        !is_comment && marks.iter().any(|mark| marked(text, mark))
    };
    let mut removed = 0_usize;
    let mut added = Vec::new();
    let mut line = 0_u64;
    for text in diff.lines().skip_while(|text| !text.starts_with("@@")) {
        match text.as_bytes().first() {
            Some(b'@') => line = first_line(text).unwrap_or(line),
            Some(b'-') => removed += usize::from(has_mark(&text[1..])),
            Some(b'+') => {
                if has_mark(&text[1..]) {
                    added.push(format!("{path}:{line}: {}", text[1..].trim()));
                }
                line += 1;
            }
            _ => line += 1,
        }
    }
    // A skip that only moved, or was reworded, turned off no test.
    added.split_off(removed.min(added.len()))
}

/// Returns true if the mark occurs as a whole word: `fit(` is not in `benefit(`.
fn marked(text: &str, mark: &str) -> bool {
    text.match_indices(mark).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        !mark.starts_with(char::is_alphanumeric)
            || before.is_none_or(|c| !c.is_alphanumeric() && c != '_')
    })
}

/// The first line of a hunk in the new file: `@@ -1,2 +3,4 @@` is 3.
fn first_line(header: &str) -> Option<u64> {
    let rest = header.split_once('+')?.1;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::of_diff;
    use workspace::RelPath;

    #[track_caller]
    fn check(path: &str, lines: &[&str], expected: &[&str]) {
        let diff = format!(
            "--- a/{path}\n+++ b/{path}\n@@ -1,9 +7,9 @@\n{}\n",
            lines.join("\n")
        );
        let found = of_diff(&RelPath::parse(path).unwrap(), &diff);
        assert_eq!(found, expected, "{diff}");
    }

    #[test]
    fn tests_that_are_turned_off_are_found_with_their_lines() {
        check(
            "a.test.ts",
            &[" import x", "-test('adds', f)", "+test.skip('adds', f)"],
            &["a.test.ts:8: test.skip('adds', f)"],
        );
        check(
            "a.test.ts",
            &["+it.only('one', f)"],
            &["a.test.ts:7: it.only('one', f)"],
        );
        check(
            "src/lib.rs",
            &["+    #[ignore]"],
            &["src/lib.rs:7: #[ignore]"],
        );
        check(
            "tests/test_a.py",
            &["+@pytest.mark.skip(reason='later')"],
            &["tests/test_a.py:7: @pytest.mark.skip(reason='later')"],
        );
        check(
            "a_test.go",
            &["+\tt.Skip(\"later\")"],
            &["a_test.go:7: t.Skip(\"later\")"],
        );
    }

    #[test]
    fn what_was_skipped_before_and_what_only_looks_like_it_is_no_remark() {
        check(
            "a.test.ts",
            &["-test.skip('a', f)", "+test.skip('b', f)"],
            &[],
        );
        check("a.test.ts", &["+// test.skip('a', f)", "+benefit(1)"], &[]);
        check("a.md", &["+use test.skip('a')"], &[]);
        check("a.test.ts", &["-test.skip('a', f)", "+test('a', f)"], &[]);
    }
}
