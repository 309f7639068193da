//! Diffs that patch programs read, and three-way merges.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use std::time::{Duration, Instant};

use proptest::prelude::{Strategy, prop};
use workspace::diff::{ContentDiff, DIFF_BYTES_MAX, DiffBody, DiffSummary, LineOrigin, unified};
use workspace::merge::{ConflictLabels, MergeResult, three_way, three_way_labelled};

#[track_caller]
fn check_unified(old: &str, new: &str, expected: &str) {
    assert_eq!(unified(old, new, "f"), expected);
}

#[test]
fn unified_diffs_look_like_everybodys() {
    check_unified("a\n", "a\n", "");
    check_unified(
        "a\nb\n",
        "a\nc\n",
        "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n",
    );
    check_unified(
        "a",
        "a\n",
        "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n",
    );
    check_unified(
        "a\r\nb\r\n",
        "a\r\nc\r\n",
        "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n",
    );
    check_unified("", "a\n", "--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+a\n");
}

#[test]
fn created_and_deleted_files_say_so() {
    let created = ContentDiff::between(None, Some(b"a\nb\n"));
    assert!(
        created
            .unified("f")
            .starts_with("--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n")
    );
    assert_eq!(
        created.summary(),
        DiffSummary {
            added: 2,
            removed: 0
        }
    );
    let deleted = ContentDiff::between(Some(b"a\n"), None);
    assert!(deleted.unified("f").starts_with("--- a/f\n+++ /dev/null\n"));
    assert!(!ContentDiff::between(None, Some(b"")).is_empty());
    assert!(ContentDiff::between(Some(b"x"), Some(b"x")).is_empty());
}

#[test]
fn contents_that_cannot_be_shown_are_marked() {
    let binary = ContentDiff::between(Some(b"\xff\xfe"), Some(b"text"));
    assert_eq!(binary.body, DiffBody::Binary);
    assert!(binary.unified("f").contains("not text"));
    let large = "x\n".repeat(DIFF_BYTES_MAX);
    let too_large = ContentDiff::between(Some(b"a"), Some(large.as_bytes()));
    assert_eq!(too_large.body, DiffBody::TooLarge);
    assert!(too_large.unified("f").contains("DIFF_BYTES_MAX"));
}

#[test]
fn the_words_that_differ_are_emphasised() {
    let diff = ContentDiff::between(Some(b"let name = 1;\n"), Some(b"let title = 1;\n"));
    let DiffBody::Lines(hunks) = &diff.body else {
        panic!("{diff:?}");
    };
    let lines = &hunks[0].lines;
    assert_eq!(
        (lines[0].tag, lines[1].tag),
        (LineOrigin::Removed, LineOrigin::Added)
    );
    assert_eq!((lines[0].old_number, lines[0].new_number), (Some(1), None));
    assert_eq!(lines[1].text(), "let title = 1;");
    let emphasised: String = lines[1]
        .parts
        .iter()
        .filter(|part| part.emphasised)
        .map(|part| part.text.as_str())
        .collect();
    assert_eq!(emphasised, "title");
}

/// Every line differs, and none of them can be matched.
fn unalike(lines: usize) -> (String, String) {
    let text = |seed: usize| -> String {
        (0..lines)
            .map(|n| format!("{} {}\n", (n * 7919 + seed) % 104_729, n ^ seed))
            .collect()
    };
    (text(1), text(50_000))
}

#[test]
fn hostile_contents_end_in_time() {
    let (old, new) = unalike(100_000);
    let started = Instant::now();
    let diff = ContentDiff::between(Some(old.as_bytes()), Some(new.as_bytes()));
    assert!(diff.summary().added > 0);
    assert!(
        started.elapsed() < Duration::from_secs(20),
        "{:?}",
        started.elapsed()
    );
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec("[abc]{0,2}", 0..12).prop_map(|lines| lines.join("\n"))
}

proptest::proptest! {
    #[test]
    fn a_diff_applied_gives_the_new_text(old in text(), new in text()) {
        let diff = unified(&old, &new, "f");
        if old == new {
            assert_eq!(diff, "");
        } else {
            let patch = diffy::Patch::from_str(&diff).unwrap();
            assert_eq!(diffy::apply(&old, &patch).unwrap(), new);
        }
    }

    #[test]
    fn merging_one_side_only_takes_that_side(base in text(), other in text()) {
        assert_eq!(three_way(&base, &base, &other).unwrap().text, other);
        assert_eq!(three_way(&base, &other, &base).unwrap().text, other);
    }
}

#[track_caller]
fn check_merge(base: &str, ours: &str, theirs: &str, expected: (&str, usize)) {
    let merged = three_way(base, ours, theirs).unwrap();
    let (text, conflicts) = expected;
    assert_eq!(
        merged,
        MergeResult {
            text: text.to_owned(),
            conflicts
        }
    );
}

#[test]
fn separate_changes_merge() {
    check_merge(
        "a\nb\nc\nd\n",
        "A\nb\nc\nd\n",
        "a\nb\nc\nD\n",
        ("A\nb\nc\nD\n", 0),
    );
    check_merge("a\n", "a\n", "a\nb\n", ("a\nb\n", 0));
    check_merge("a\nb\n", "a\nx\n", "a\nx\n", ("a\nx\n", 0));
}

#[test]
fn collisions_are_marked_and_counted() {
    check_merge(
        "a\n",
        "b\n",
        "c\n",
        (
            "<<<<<<< ours\nb\n||||||| base\na\n=======\nc\n>>>>>>> theirs\n",
            1,
        ),
    );
    check_merge(
        "a",
        "b",
        "c",
        (
            "<<<<<<< ours\nb\n||||||| base\na\n=======\nc\n>>>>>>> theirs\n",
            1,
        ),
    );
    let labels = ConflictLabels {
        ours: "yours",
        base: "template 1.0",
        theirs: "template 2.0",
    };
    let merged = three_way_labelled(
        "a\nm\nn\no\nz\n",
        "b\nm\nn\no\ny\n",
        "c\nm\nn\no\nx\n",
        labels,
    )
    .unwrap();
    assert_eq!(merged.conflicts, 2);
    assert!(merged.text.contains("<<<<<<< yours\n"), "{}", merged.text);
    assert!(merged.text.contains("||||||| template 1.0\n"));
    assert!(merged.text.contains(">>>>>>> template 2.0\n"));
}

#[test]
fn markers_in_the_texts_do_not_confuse_the_count() {
    let base = "<<<<<<< ours\na\n=======\n";
    let merged = three_way(
        base,
        "<<<<<<< ours\nb\n=======\n",
        "<<<<<<< ours\nc\n=======\n",
    )
    .unwrap();
    assert_eq!(merged.conflicts, 1);
    assert!(
        merged.text.contains("<<<<<<<< ours\nb\n"),
        "{}",
        merged.text
    );
}

#[test]
fn the_merge_has_the_line_endings_of_ours() {
    // Theirs is a template with LF, ours was saved with CRLF.
    check_merge(
        "a\nb\nc\n",
        "A\r\nb\r\nc\r\n",
        "a\nb\nC\n",
        ("A\r\nb\r\nC\r\n", 0),
    );
    check_merge(
        "a\r\nb\r\nc\r\n",
        "A\nb\nc\n",
        "a\r\nb\r\nC\r\n",
        ("A\nb\nC\n", 0),
    );
    check_merge(
        "a\r\n",
        "b\r\n",
        "c\r\n",
        (
            "<<<<<<< ours\r\nb\r\n||||||| base\r\na\r\n=======\r\nc\r\n>>>>>>> theirs\r\n",
            1,
        ),
    );
    // Mixed endings are left as they are.
    check_merge(
        "a\r\nb\nc\n",
        "a\r\nb\nX\n",
        "a\r\nb\nc\n",
        ("a\r\nb\nX\n", 0),
    );
}

#[test]
fn hostile_merges_end_in_time() {
    let (ours, theirs) = unalike(10_000);
    let started = Instant::now();
    let merged = three_way("a\n", &ours, &theirs).unwrap();
    assert!(merged.conflicts > 0);
    let (base, other) = unalike(10_001);
    let error = three_way(&base, &other, &base).unwrap_err();
    assert!(error.to_string().contains("MERGE_LINES_MAX"), "{error}");
    // A long text with a short change is no trouble.
    let long = format!("{base}{base}{base}");
    let edited = long.replacen("5", "five", 1);
    assert_eq!(three_way(&long, &edited, &long).unwrap().text, edited);
    assert!(
        started.elapsed() < Duration::from_secs(20),
        "{:?}",
        started.elapsed()
    );
}
