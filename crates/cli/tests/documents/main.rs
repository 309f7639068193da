//! The documents are tests: every file block is written, every command block is run unchanged from an
//! empty directory, and what it prints is compared with the text. CONTRIBUTING.md has the conventions.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests build their own fixtures, start the binary as a user would, and fail by panicking"
)]

mod blocks;
mod playing;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use playing::play;

/// Makes a test of each document.
macro_rules! documents {
    ($($name:ident $path:literal,)*) => {
        const PLAYED: &[&str] = &[$($path),*];

        $(
            #[test]
            fn $name() {
                play($path);
            }
        )*
    };
}

documents! {
    readme "README.md",
    ai "docs/ai.md",
    builder "docs/builder.md",
    index "docs/index.md",
    mcp "docs/mcp.md",
    people "docs/people.md",
    recipes "docs/recipes.md",
    tasks "docs/tasks.md",
    templates "docs/templates.md",
    workflows "docs/workflows.md",
}

/// Documents that are not played, and why.
const NOT_PLAYED: &[(&str, &str)] = &[
    (
        "docs/cli.md",
        "it is written from the commands themselves, and compared with them by `reference`",
    ),
    (
        "docs/pages.md",
        "it describes pages, which the tests of the server open",
    ),
    (
        "docs/security.md",
        "it shows what a stranger's project meets; the suite `attacks` does what it describes",
    ),
    (
        "docs/server.md",
        "its commands need a server that runs; the tests of the server send the same requests",
    ),
];

#[test]
fn every_document_is_played_or_says_why_not() {
    let folder = playing::repository().join("docs");
    let entries = std::fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut found: Vec<String> = names
        .filter(|name| name.ends_with(".md"))
        .map(|name| format!("docs/{name}"))
        .chain(["README.md".to_owned()])
        .collect();
    found.sort();
    let left_out = NOT_PLAYED.iter().map(|(path, _)| *path);
    let mut listed: Vec<&str> = PLAYED.iter().copied().chain(left_out).collect();
    listed.sort_unstable();
    assert_eq!(found, listed);
}

/// A file in `examples` that no document runs may be wrong without notice.
#[test]
fn every_example_is_run_by_a_document() {
    let texts: Vec<String> = PLAYED
        .iter()
        .map(|path| playing::commands_of(path))
        .collect();
    let mut folders = vec![playing::repository().join("examples")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let shown = path.display().to_string();
            let at = shown.rfind("/examples/").unwrap();
            let name = &shown[at + 1..];
            let is_run = texts.iter().any(|text| text.contains(name));
            assert!(is_run, "no document runs {name}");
        }
    }
}

/// The tables of findings say which test fails if one comes back: a name that no test has proves nothing.
#[test]
fn every_test_that_a_table_of_findings_names_is_there() {
    let crates = playing::repository().join("crates");
    let mut tables = Vec::new();
    let mut functions = BTreeSet::new();
    for path in files_below(&crates) {
        if path.ends_with("tests/README.md") {
            tables.push(path);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(path).unwrap();
            let names = text.split("fn ").skip(1);
            let names = names.filter_map(|rest| rest.split(['(', '<']).next());
            functions.extend(names.map(str::to_owned));
        }
    }
    assert!(!tables.is_empty());
    let mut lacking = Vec::new();
    for table in tables {
        let text = std::fs::read_to_string(&table).unwrap();
        let rows = text.lines().filter(|line| line.starts_with('|'));
        let quoted = rows.flat_map(|row| row.split('`').skip(1).step_by(2));
        let tests = quoted.map(|name| name.rsplit("::").next().unwrap_or(name));
        let gone = tests.filter(|name| is_test_name(name) && !functions.contains(*name));
        lacking.extend(gone.map(|name| format!("{}: {name}", table.display())));
    }
    assert!(lacking.is_empty(), "no such test: {lacking:#?}");
}

/// A sentence with underscores, and not an expression, a setting or a limit.
fn is_test_name(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    text.matches('_').count() > 1 && text.chars().all(is_part)
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(files_below(&path)),
            false => files.push(path),
        }
    }
    files
}

/// A document that is wrong must fail, or the tests above prove nothing.
#[test]
fn a_wrong_document_fails() {
    for wrong in [
        "```console\n$ echo a\nb\n```\n",
        "```console\n$ false\n```\n",
        "```sh\nfalse\n```\n",
        "```yaml\na: [\n```\n",
        "```json\n{\n```\n",
        "Nothing names it.\n\n```text x.txt\nx\n```\n",
        "```console\n$ echo a; echo b\na\n```\n",
        "```text\ndrawloom run hello\n```\n",
        "```\n$ drawloom run hello\n```\n",
    ] {
        let played = std::panic::catch_unwind(|| playing::play_text("wrong.md", wrong));
        assert!(played.is_err(), "{wrong}");
    }
    let right = "`x.txt` is a file:\n\n```text x.txt\nx\n```\n\n```console\n$ cat x.txt; exit 3\n…\n[exit code 3]\n```\n";
    playing::play_text("right.md", right);
}
