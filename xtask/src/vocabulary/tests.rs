//! Small trees with known names, and the counts they must bring.

use super::{VocabularyCounts, VocabularyLimits, count, idioms, types};
use crate::tidy::Tree;

const MAP: &str = "# Map\n\n## Glossary\n\n- **run, step**: what the engine does.\n";

fn counts_of(files: &[(&str, &str)]) -> VocabularyCounts {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files.iter().chain(&[("ARCHITECTURE.md", MAP)]) {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    count(&Tree::read(folder.path()).unwrap())
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
    assert_eq!(counts.one_word_types, 5);
    // `Run` is in the glossary.
    assert_eq!(counts.one_word_types_outside_glossary, 4);
    // Every crate may have its `Error`.
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
fn idioms_count_as_whole_words_in_comments_and_documents() {
    let counts = counts_of(&[
        (
            "crates/a/src/lib.rs",
            "//! A.\n\n/// What whoever asks is told.\nconst NOBODY: &str = \"nobody\";\n",
        ),
        ("README.md", "Somebody reads it. Nobodys does not count.\n"),
    ]);
    assert_eq!(counts.idioms, 2);
    assert_eq!(counts.comments_opening_oddly, 1);
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

#[test]
fn a_count_over_its_limit_is_said_with_the_limit() {
    let limits = VocabularyLimits::read("idioms_max = 1\ntypes_sharing_a_name_max = 9\n").unwrap();
    let counts = VocabularyCounts {
        idioms: 2,
        ..VocabularyCounts::default()
    };
    let sentences = limits.exceeded_by(&counts);
    assert_eq!(sentences.len(), 1);
    assert!(
        sentences[0].starts_with("2 is more than idioms_max = 1"),
        "{sentences:?}"
    );
}
