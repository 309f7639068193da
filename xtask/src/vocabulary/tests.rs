//! Small trees with known names, and the counts they must bring.

use super::{Survey, VocabularyCounts, idioms, types};
use crate::tidy::Tree;

const MAP: &str = "# Map\n\n## Glossary\n\n- **run, step**: what the engine does.\n";

fn counts_of(files: &[(&str, &str)]) -> VocabularyCounts {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files.iter().chain(&[("ARCHITECTURE.md", MAP)]) {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    Survey::of(&Tree::read(folder.path()).unwrap()).counts()
}

#[test]
fn types_are_counted_by_words_and_by_shared_names() {
    let counts = counts_of(&[
        (
            "crates/a/src/lib.rs",
            "//! A.\nstruct Run;\nenum Desk {}\ntrait RowCache { fn get_row(&self); }\nenum Error {}\n",
        ),
        (
            "crates/b/src/lib.rs",
            "//! B.\nstruct Desk;\nenum Error {}\n",
        ),
    ]);
    assert_eq!(counts.types, 6);
    // Every crate may have its `Error`.
    assert_eq!(counts.one_word_types, 3);
    // `Run` is in the glossary.
    assert_eq!(counts.one_word_types_outside_glossary, 2);
    assert_eq!(counts.types_sharing_a_name, 2);
}

#[test]
fn test_code_does_not_count() {
    let counts = counts_of(&[
        (
            "crates/a/src/lib.rs",
            "//! A.\n#[cfg(test)]\nmod tests {\n    struct Desk;\n    fn of() {}\n}\n#[test]\nfn it() {}\n",
        ),
        ("crates/a/tests/all.rs", "//! T.\nstruct Shelf;\n"),
    ]);
    assert_eq!((counts.types, counts.functions), (0, 0));
}

#[test]
fn functions_of_one_word_are_counted() {
    let counts = counts_of(&[(
        "crates/a/src/lib.rs",
        "//! A.\nfn of() {}\nstruct RowCache;\nimpl RowCache {\n    fn prefetch_rows(&self) {}\n}\n",
    )]);
    assert_eq!((counts.functions, counts.one_word_functions), (2, 1));
}

#[test]
fn idioms_count_in_comments_strings_and_documents() {
    let counts = counts_of(&[
        (
            "crates/a/src/lib.rs",
            "//! A.\n\n/// What whoever asks is told.\nconst VALUE: &str = \"nobody\";\n\
             fn f() { println!(\"nobody answers\"); }\n",
        ),
        ("README.md", "Somebody reads it. Nobodys does not count.\n"),
    ]);
    assert_eq!(counts.idioms, 3);
    assert_eq!(counts.idioms_in_tests, 0);
    assert_eq!(counts.comments_opening_oddly, 1);
}

#[test]
fn idioms_of_tests_count_apart() {
    let counts = counts_of(&[
        (
            "crates/a/src/lib.rs",
            "//! A.\n#[cfg(test)]\nmod tests {\n    // Whoever asks.\n    const A: &str = \"nobody asks\";\n\
             #[test]\nfn nobody_asks() {}\n}\n",
        ),
        (
            "crates/a/tests/all.rs",
            "//! T.\n#[tokio::test]\nasync fn it_stands() {}\nfn nobody() {}\n",
        ),
    ]);
    assert_eq!((counts.idioms, counts.idioms_in_tests), (0, 3));
}

#[test]
fn phrases_count_as_whole_words_and_by_the_words_after_them() {
    for (text, expected) in [
        ("It stands there.", 1),
        ("It stands for the rest, a tag stands alone, a stand-in.", 0),
        ("What is kept is known.", 1),
        ("What was kept before this run is known.", 1),
        ("What is kept, is known.", 0),
        ("What it is.", 0),
        ("What is a run?", 0),
        ("Nobodys and nobody, or `nobody`", 1),
    ] {
        assert_eq!(idioms::count(text), expected, "{text}");
    }
}

#[test]
fn odd_openings_are_seen_behind_every_comment_mark() {
    for comment in ["/// What is kept", "//! Whoever asks", "// Whether it ran"] {
        assert!(idioms::opens_oddly(comment), "{comment}");
    }
    for comment in ["/// Returns what is kept", "//! Whatever", "// Somewhat"] {
        assert!(!idioms::opens_oddly(comment), "{comment}");
    }
}

#[test]
fn the_glossary_is_the_bold_terms_of_its_section() {
    let text = "**no** \n## Glossary\n\n- **Run, step**: x. **task**: y.\n\n## Next\n**later**";
    assert_eq!(types::glossary(text), ["run", "step", "task"]);
}
