//! Helpers for the tests of all languages: facts of one text, and edges of a small project.
#![allow(clippy::disallowed_methods, reason = "tests build their own fixtures")]

use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, prop_assert, proptest};
use proptest::sample::select;

use super::{ExportedName, SourceFacts, SourceLanguage, facts};
use crate::{IndexCache, SourceIndex};
use workspace::{AccessPolicy, Limits, RelPath, Workspace};

pub(super) fn read(path: &str, text: &str) -> SourceFacts {
    let path = RelPath::parse(path).unwrap();
    facts(SourceLanguage::of(&path), &path, text)
}

/// The names that a text offers, in order.
#[track_caller]
pub(super) fn check_exports(path: &str, text: &str, expected: &[&str]) {
    let facts = read(path, text);
    let names: Vec<&str> = facts.exports.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, expected, "{path}:\n{text}");
}

/// The requests of a text, in order.
#[track_caller]
pub(super) fn check_imports(path: &str, text: &str, expected: &[&str]) {
    let facts = read(path, text);
    let found: Vec<&str> = facts
        .imports
        .iter()
        .map(|one| one.specifier.as_str())
        .collect();
    assert_eq!(found, expected, "{path}:\n{text}");
}

/// Names with their kinds and lines: `name kind line`.
#[track_caller]
pub(super) fn check_places(path: &str, text: &str, expected: &[&str]) {
    let facts = read(path, text);
    let shown =
        |export: &ExportedName| format!("{} {:?} {}", export.name, export.kind, export.line);
    let places: Vec<String> = facts.exports.iter().map(shown).collect();
    assert_eq!(places, expected, "{path}:\n{text}");
}

/// The files that each file needs: `from -> to`, in order.
#[track_caller]
pub(super) fn check_edges(files: &[(&str, &str)], expected: &[&str]) {
    let edges = edges(files);
    let edges: Vec<&str> = edges.iter().map(String::as_str).collect();
    assert_eq!(edges, expected);
}

fn edges(files: &[(&str, &str)]) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let file = dir.path().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    let space = Workspace::open(dir.path(), AccessPolicy::default(), Limits::default()).unwrap();
    let index = SourceIndex::build(&space, &IndexCache::none()).unwrap();
    let mut edges = Vec::new();
    for file in index.files() {
        for to in index.neighbours(&file.path).imports {
            edges.push(format!("{} -> {to}", file.path));
        }
    }
    edges.sort();
    edges
}

/// Names of files of every language.
const PATHS: [&str; 26] = [
    "a.rs",
    "a.py",
    "a.go",
    "A.java",
    "a.c",
    "a.cpp",
    "a.h",
    "a.md",
    "a.rst",
    "a.toml",
    "a.yml",
    "a.json",
    "a.sh",
    "Makefile",
    "Dockerfile",
    "a.sql",
    "a.rb",
    "a.proto",
    "a.kt",
    "a.cs",
    "a.swift",
    "a.scala",
    "a.dart",
    "a.php",
    "a.css",
    "a.graphql",
];

/// Fragments that a hostile text may repeat far too often.
const REPEATED: [&str; 64] = [
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<",
    ">",
    "\"",
    "'",
    "`",
    "\\",
    "/*",
    "*/",
    "//",
    "#",
    "@",
    "$",
    ":",
    "::",
    ";",
    ",",
    ".",
    "=",
    "*",
    "\n",
    " ",
    "\t",
    "a",
    "a ",
    "a::",
    "a.",
    "a(",
    "a<",
    "a{",
    "a\n",
    "(}",
    "[)",
    "{(",
    "use a::{b, ",
    "mod a {",
    "pub mod a {",
    "pub ",
    "#[",
    "#if\n",
    "#else\n",
    "#if 0\n",
    "#define a\n",
    "namespace a {",
    "template<",
    "struct ",
    "enum {a, ",
    "operator",
    "f'{",
    "f'{a:",
    "'''",
    "if a:\n ",
    "def a(",
    "from a import (",
    "import ",
    "class A {",
    "type (\n",
    "func (a",
    "r#\"",
];

#[test]
fn no_text_takes_long_or_deep() {
    for path in PATHS {
        for repeated in REPEATED {
            let bytes = if repeated == "(" { 100_000 } else { 10_000 };
            let text = repeated.repeat(bytes / repeated.len());
            let begun = std::time::Instant::now();
            read(path, &text);
            let taken = begun.elapsed();
            assert!(taken.as_secs() < 5, "{path} of {repeated:?}: {taken:?}");
        }
    }
}

#[test]
fn every_beginning_of_a_text_can_be_read() {
    let text = "use a::{b as c, d::*}; #[path = \"é.rs\"] pub(crate) mod x { r#\"\"# } 'a' 'b: // \n\
        from .a import (b, c)\nf'{a['b']:{c}}' '''x'''\nimport \"x\"\nfunc (a *B[C]) D() {}\n\
        #include <a.h>\n#define X(a) \\\n 1\ntemplate <class T> class A<T>::B final : C { int operator()(int); };\n\
        u8R\"x(\")x\" package a.b; import static a.B.*; @interface A {} \"\"\" ü {\"k\": [1]}\n---\n# T\n===\n";
    for path in PATHS {
        for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
            read(path, &text[..end]);
            read(path, &text[end..]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_mixture_can_be_read(parts in vec(select(&REPEATED[..]), 0..300)) {
        let text = parts.concat();
        for path in PATHS {
            let facts = read(path, &text);
            let lines = u32::try_from(text.split('\n').count()).unwrap();
            prop_assert!(facts.exports.iter().all(|one| (1..=lines).contains(&one.line)));
            prop_assert!(facts.imports.iter().all(|one| (1..=lines).contains(&one.line)));
        }
    }
}
