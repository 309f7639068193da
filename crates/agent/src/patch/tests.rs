//! Patches through one `check`: the patched text, or the message about a patch that fails.

use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use serde_json::{Value, json};

use super::{PatchAction, apply, read};

/// Applies the only section of `patch` to `text`; the reports as JSON, or the miss.
#[track_caller]
fn applied(text: &str, patch: &str) -> Result<(String, Value), Value> {
    let sections = read(patch, Some("f")).map_err(Value::String)?;
    assert_eq!(sections.len(), 1, "{sections:?}");
    let PatchAction::Update { hunks, .. } = &sections[0].action else {
        panic!("not an update: {sections:?}");
    };
    let (text, reports) = apply(text, hunks).map_err(|miss| miss.0)?;
    Ok((text, serde_json::to_value(reports).unwrap()))
}

#[track_caller]
fn check(text: &str, patch: &str, expected: &str, report: Value) {
    let (new, reports) = applied(text, patch).unwrap_or_else(|miss| panic!("missed: {miss}"));
    assert_eq!(new, expected);
    assert_eq!(reports, report);
}

#[track_caller]
fn check_miss(text: &str, patch: &str, sentence: &str) -> Value {
    let miss = applied(text, patch).expect_err("it has no place");
    let said = miss.as_str().or(miss["error"].as_str()).unwrap();
    assert!(said.contains(sentence), "{said}");
    miss
}

fn envelope(hunks: &str) -> String {
    format!("*** Begin Patch\n*** Update File: f\n{hunks}*** End Patch\n")
}

#[test]
fn each_strictness_is_tried_in_turn_and_reported() {
    let patch = "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n";
    let exact = json!([{"hunk": 1, "line": 1, "matched": "exact"}]);
    check("a\nb\nc\n", patch, "a\nB\nc\n", exact);
    let trailing = json!([{"hunk": 1, "line": 1, "matched": "trailing_white_space"}]);
    check("a  \nb\t\nc\n", patch, "a  \nB\nc\n", trailing);
    let spaced = "@@ -1,2 +1,2 @@\n f( x )\n-g(y)\n+h(y)\n";
    let white = json!([{"hunk": 1, "line": 1, "matched": "white_space"}]);
    check("f(x)\ng( y )\n", spaced, "f(x)\nh(y)\n", white);
    let quotes = "@@ -1,2 +1,2 @@\n say \"it's\"\n-a - b\n+a + b\n";
    let alike = json!([{"hunk": 1, "line": 1, "matched": "look_alikes"}]);
    check("say “it’s”\na – b\n", quotes, "say “it’s”\na + b\n", alike);
}

#[test]
fn what_moved_is_found_and_the_offset_told() {
    let text = "0\n0\na\nb\nc\n";
    let patch = "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n";
    let report = json!([{"hunk": 1, "line": 3, "offset": 2, "matched": "exact"}]);
    check(text, patch, "0\n0\na\nB\nc\n", report);
}

#[test]
fn lines_that_fit_at_several_places_are_refused_unless_the_patch_names_one() {
    let text = "x\na\nx\na\n";
    check_miss(
        text,
        &envelope("@@\n-a\n+b\n"),
        "several places (lines 2, 4)",
    );
    check_miss(
        text,
        "@@ -9,1 +9,1 @@\n-a\n+b\n",
        "several places (lines 2, 4)",
    );
    let stated = json!([{"hunk": 1, "line": 4, "matched": "exact"}]);
    check(text, "@@ -4,1 +4,1 @@\n-a\n+b\n", "x\na\nx\nb\n", stated);
    let text = "def one():\n    a\ndef two():\n    a\n";
    let anchored = json!([{"hunk": 1, "line": 4, "matched": "exact"}]);
    let patch = envelope("@@ def two():\n-    a\n+    b\n");
    check(
        text,
        &patch,
        "def one():\n    a\ndef two():\n    b\n",
        anchored,
    );
    let end = envelope("@@\n-    a\n+    b\n*** End of File\n");
    let report = json!([{"hunk": 1, "line": 4, "matched": "exact"}]);
    check(text, &end, "def one():\n    a\ndef two():\n    b\n", report);
}

#[test]
fn a_hunk_indented_wrongly_throughout_is_indented_right_and_says_so() {
    let text = "class A:\n    def f(self):\n        return 1\n";
    let patch = envelope("@@\n def f(self):\n-    return 1\n+    x = 1\n+    return x\n");
    let report = json!([{"hunk": 1, "line": 2, "matched": "white_space",
        "reindented": "added lines were indented by \"    \""}]);
    let new = "class A:\n    def f(self):\n        x = 1\n        return x\n";
    check(text, &patch, new, report);
}

#[test]
fn line_ends_and_a_missing_final_one_stay() {
    let exact = || json!([{"hunk": 1, "line": 1, "matched": "exact"}]);
    let patch = "@@ -1,2 +1,3 @@\n a\n-b\n+B\n+c\n";
    check("a\r\nb\r\n", patch, "a\r\nB\r\nc\r\n", exact());
    check("a\nb", patch, "a\nB\nc", exact());
    check("a\r\nb", patch, "a\r\nB\r\nc", exact());
    let ended = "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n";
    check("a\nb", ended, "a\nb\n", exact());
    let unended = "@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n";
    check("a\nb\n", unended, "a\nb", exact());
}

#[test]
fn lines_without_old_ones_go_where_the_patch_says_or_to_the_end() {
    let at = |line: u32| json!([{"hunk": 1, "line": line, "matched": "exact"}]);
    check("a\nb\n", "@@ -1,0 +2,1 @@\n+x\n", "a\nx\nb\n", at(2));
    check("a\nb\n", &envelope("@@\n+x\n"), "a\nb\nx\n", at(3));
    check("a\nb\n", &envelope("@@ a\n+x\n"), "a\nx\nb\n", at(2));
    check("", "@@ -0,0 +1,1 @@\n+x\n", "x\n", at(1));
}

#[test]
fn a_miss_shows_the_nearest_lines_and_what_differs() {
    let text = "one\n\tif ready {\n\t\tstart(now);\n\t}\n";
    let miss = check_miss(
        text,
        &envelope("@@\n if ready {\n-    start(later);\n+    stop();\n }\n"),
        "Hunk 1 of 1: its context and removed lines are not in the file",
    );
    assert_eq!(miss["nearest"]["start_line"], 2);
    assert_eq!(
        miss["nearest"]["lines"],
        "2 | \tif ready {\n3 | \t\tstart(now);\n4 | \t}"
    );
    let differs = miss["nearest"]["differs"].to_string();
    assert!(
        differs.contains("line 2: the file is indented by 1 tab(s), you have nothing"),
        "{differs}"
    );
    assert!(
        differs.contains("line 3: from column 1 the file has"),
        "{differs}"
    );
    let nothing = check_miss("a\n", &envelope("@@\n-zzzzzz\n+y\n"), "not in the file");
    assert_eq!(nothing["nearest"], Value::Null);
    check_miss(
        "a\n",
        &envelope("@@ class Zebra:\n-a\n+y\n"),
        "the `@@` line `class Zebra:` is not in the file",
    );
}

#[test]
fn an_empty_line_after_the_hunk_does_no_harm() {
    let report = json!([{"hunk": 1, "line": 1, "matched": "exact"}]);
    check("a\nb\n", &envelope("@@\n a\n-b\n+c\n\n"), "a\nc\n", report);
}

#[test]
fn counts_that_are_wrong_are_not_believed() {
    let report = json!([{"hunk": 1, "line": 1, "matched": "exact"}]);
    check(
        "a\nb\nc\n",
        "@@ -1,9 +1,9 @@\n a\n-b\n+B\n c\n",
        "a\nB\nc\n",
        report,
    );
    let bare = json!([{"hunk": 1, "line": 2, "matched": "exact"}]);
    check("a\nb\nc\n", "@@ @@\n-b\n+B\n", "a\nB\nc\n", bare);
}

#[test]
fn a_removed_line_that_looks_like_a_header_is_a_line() {
    let report = json!([{"hunk": 1, "line": 1, "matched": "exact"}]);
    check(
        "-- x\n++ y\n",
        "@@ -1,2 +1,1 @@\n--- x\n-++ y\n+z\n",
        "z\n",
        report,
    );
}

#[track_caller]
fn sections(patch: &str) -> Vec<(String, String)> {
    let sections = read(patch, None).unwrap_or_else(|error| panic!("{error}"));
    let shown = sections.into_iter().map(|section| {
        let action = match section.action {
            PatchAction::Add { content } => format!("add {content:?}"),
            PatchAction::Delete { .. } => "delete".to_owned(),
            PatchAction::Update {
                hunks,
                move_to: None,
            } => format!("update {}", hunks.len()),
            PatchAction::Update {
                hunks,
                move_to: Some(to),
            } => format!("move {to} {}", hunks.len()),
        };
        (section.path, action)
    });
    shown.collect()
}

#[test]
fn both_languages_name_files_and_their_changes() {
    let own = |all: &[(&str, &str)]| -> Vec<(String, String)> {
        all.iter()
            .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
            .collect()
    };
    let envelope = "*** Begin Patch\n*** Add File: new.txt\n+one\n+\n*** Delete File: old.txt\n\
                    *** Update File: a.txt\n*** Move to: b.txt\n@@\n-x\n+y\n*** End Patch";
    let expected = own(&[
        ("new.txt", "add \"one\\n\\n\""),
        ("old.txt", "delete"),
        ("a.txt", "move b.txt 1"),
    ]);
    assert_eq!(sections(envelope), expected);
    assert_eq!(sections(&format!("```patch\n{envelope}\n```")), expected);
    assert_eq!(
        sections(&format!("apply_patch <<'EOF'\n{envelope}\nEOF\n")),
        expected
    );
    let git = "diff --git a/new.txt b/new.txt\nnew file mode 100644\n--- /dev/null\n+++ b/new.txt\n\
               @@ -0,0 +1,2 @@\n+one\n+\ndiff --git a/old.txt b/old.txt\ndeleted file mode 100644\n\
               --- a/old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\
               diff --git a/a.txt b/b.txt\nsimilarity index 90%\nrename from a.txt\nrename to b.txt\n\
               --- a/a.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-x\n+y\n";
    assert_eq!(sections(git), expected);
    let two = "--- a/x\t2026-01-01\n+++ b/x\t2026-01-01\n@@ -1 +1 @@\n-x\n+y\n--- y\n+++ y\n@@ -1 +1 @@\n-x\n+y\n";
    assert_eq!(sections(two), own(&[("x", "update 1"), ("y", "update 1")]));
}

#[test]
fn what_is_no_patch_says_why() {
    for (patch, why) in [
        ("", "changes nothing"),
        ("hello", "changes nothing"),
        ("@@ -1 +1 @@\n-x\n+y\n", "does not say which file"),
        ("*** Begin Patch\n*** Frobnicate: x\n", "is not understood"),
        (
            "*** Begin Patch\n*** Add File: x\nplain\n*** End Patch",
            "does not begin with `+`",
        ),
        (
            "*** Begin Patch\n*** Update File: x\n*** End Patch",
            "has no hunks",
        ),
        (
            "--- a\n+++ a\n@@ -1 +1 @@\n-x\n+y\nprose\n",
            "begins with neither",
        ),
        ("Binary files a/x and b/x differ\n", "binary data"),
    ] {
        let error = read(patch, None).expect_err(patch);
        assert!(error.contains(why), "{patch:?}: {error}");
    }
}

/// Lines that repeat and that look like parts of patches.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("a".to_owned()),
        Just("b".to_owned()),
        Just(String::new()),
        Just("  indented".to_owned()),
        Just("-- x".to_owned()),
        Just("++ y".to_owned()),
        Just("@@ -1 +1 @@".to_owned()),
        Just("diff --git a/x b/x".to_owned()),
        Just("\\ No newline".to_owned()),
        Just("*** End Patch".to_owned()),
        "[a-c äé“]{0,4}",
    ]
}

fn text() -> impl Strategy<Value = String> {
    let ended = prop_oneof![4 => Just("\n"), 1 => Just("\r\n")];
    let lines = proptest::collection::vec((line(), ended), 0..25);
    (lines, any::<bool>()).prop_map(|(lines, ended)| {
        let mut text: String = lines.into_iter().map(|(line, end)| line + end).collect();
        while !ended && text.ends_with(['\n', '\r']) {
            text.pop();
        }
        text
    })
}

proptest! {
    #[test]
    fn a_diff_of_two_texts_turns_one_into_the_other(old in text(), new in text(), radius in 0_usize..4) {
        // Lines added without context do not say how they end where the file mixes line ends.
        let (old, new) = match radius {
            0 => (old.replace('\r', ""), new.replace('\r', "")),
            _ => (old, new),
        };
        let diff = similar::TextDiff::from_lines(&old, &new);
        let diff = diff.unified_diff().context_radius(radius).header("a/f", "b/f").to_string();
        if old != new {
            let (made, _) = applied(&old, &diff).unwrap_or_else(|miss| panic!("{miss}\n{diff}"));
            proptest::prop_assert_eq!(made, new, "{}", diff);
        }
    }

    #[test]
    fn any_text_as_a_patch_is_survived(text in text(), patch in "(\\PC|\n){0,200}", signs in text()) {
        for patch in [patch.clone(), envelope(&patch), format!("@@ -1,3 +1,2 @@\n{signs}"), envelope(&signs)] {
            for section in read(&patch, Some("f")).unwrap_or_default() {
                if let PatchAction::Update { hunks, .. } = section.action {
                    apply(&text, &hunks).ok();
                }
            }
        }
    }
}
