//! Counts how the code base talks: one-word types, names that several types share, idioms to avoid.
//!
//! `cargo xtask vocabulary` prints the figures; `cargo xtask tidy` refuses an increase over the limits
//! in `xtask/vocabulary.toml`, so that the figures can only fall.

mod idioms;
mod types;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;

use crate::limits::NamedCount;
use crate::tidy::{Source, TextFile, Tree};
use types::{FileNames, TypeName};

pub(crate) use types::is_test_only;

/// The figures of one tree. Every figure is a count that should fall.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct VocabularyCounts {
    pub(crate) types: usize,
    pub(crate) one_word_types: usize,
    pub(crate) one_word_types_outside_glossary: usize,
    pub(crate) types_sharing_a_name: usize,
    pub(crate) functions: usize,
    pub(crate) one_word_functions: usize,
    pub(crate) comments_opening_oddly: usize,
    /// In the comments and strings of production code, and in documents.
    pub(crate) idioms: usize,
    /// In the comments and names of tests.
    pub(crate) idioms_in_tests: usize,
}

/// Prints the figures and the names that most types share.
pub(crate) fn run(root: &Path) -> Result<ExitCode> {
    let tree = Tree::read(root)?;
    let survey = Survey::of(&tree);
    let counts = survey.counts();
    let percent = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
    println!("types                               {:6}", counts.types);
    for (label, part, whole) in [
        ("one-word types", counts.one_word_types, counts.types),
        (
            "  of them outside the glossary",
            counts.one_word_types_outside_glossary,
            counts.types,
        ),
        (
            "types that share their name",
            counts.types_sharing_a_name,
            counts.types,
        ),
        (
            "one-word functions",
            counts.one_word_functions,
            counts.functions,
        ),
    ] {
        println!("{label:35} {part:6}  {:5.1} %", percent(part, whole));
    }
    for found in survey.outside_glossary() {
        println!("  {}: {}", found.crate_name, found.name);
    }
    for (label, places) in [
        (
            "comments that open with What, Whether …",
            &survey.comments_opening_oddly,
        ),
        ("idioms of the list", &survey.idioms),
        ("idioms of the list in tests", &survey.idioms_in_tests),
    ] {
        println!("{label:35} {:6}", places.len());
        for place in places {
            println!("  {place}");
        }
    }
    println!("\nNames that most types share");
    for (name, paths) in survey.shared_names().into_iter().take(20) {
        println!("  {:3} {name}: {}", paths.len(), paths.join(" "));
    }
    Ok(ExitCode::SUCCESS)
}

/// Everything that is counted, with its place.
#[derive(Default)]
pub(crate) struct Survey {
    glossary: Vec<String>,
    types: Vec<TypeName>,
    functions: Vec<String>,
    comments_opening_oddly: Vec<String>,
    idioms: Vec<String>,
    idioms_in_tests: Vec<String>,
}

impl Survey {
    fn of(tree: &Tree) -> Self {
        let mut survey = Self::new(tree);
        for file in &tree.files {
            survey.read_document(file);
            if file.is_rust()
                && let Ok(source) = Source::parse(file)
            {
                survey.read(&source);
            }
        }
        survey
    }

    /// Makes an empty survey with the glossary of the tree.
    pub(crate) fn new(tree: &Tree) -> Self {
        let architecture = tree.file("ARCHITECTURE.md");
        Self {
            glossary: architecture.map_or_else(Vec::new, |file| types::glossary(&file.text)),
            ..Self::default()
        }
    }

    /// Adds a file if it is a document.
    pub(crate) fn read_document(&mut self, file: &TextFile) {
        if file.extension() == "md" && !file.is_data() {
            for (at, line) in file.text.lines().enumerate() {
                let found = format!("{}:{}: {}", file.path, at + 1, line.trim());
                add(&mut self.idioms, idioms::count(line), &found);
            }
        }
    }

    /// Adds a Rust file if it belongs to a crate.
    pub(crate) fn read(&mut self, source: &Source<'_>) {
        let file = source.file;
        if !file.path.starts_with("crates/") {
            return;
        }
        let names = FileNames::of(source);
        let is_test = |line: usize| file.is_test() || names.is_test_line(line);
        let found = |line: &usize, text: &str| format!("{}:{line}: {}", file.path, text.trim());
        for (line, comment) in &source.comments {
            let found = found(line, comment);
            if is_test(*line) {
                add(&mut self.idioms_in_tests, idioms::count(comment), &found);
                continue;
            }
            add(&mut self.idioms, idioms::count(comment), &found);
            let is_odd = idioms::opens_oddly(comment);
            add(
                &mut self.comments_opening_oddly,
                usize::from(is_odd),
                &found,
            );
        }
        for (line, text) in source.strings.iter().filter(|(line, _)| !is_test(*line)) {
            let found = found(line, text);
            add(&mut self.idioms, idioms::count_in_string(text), &found);
        }
        for name in &names.tests {
            let count = idioms::count(&name.replace('_', " "));
            add(&mut self.idioms_in_tests, count, &found(&1, name));
        }
        if !file.is_test() {
            self.types.extend(names.types);
            self.functions.extend(names.functions);
        }
    }

    /// Names carried by two types or more, most frequent first, each with its crates.
    fn shared_names(&self) -> Vec<(&str, Vec<&str>)> {
        let mut by_name: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for found in self.types.iter().filter(|found| !found.may_be_shared()) {
            by_name
                .entry(&found.name)
                .or_default()
                .push(&found.crate_name);
        }
        let mut shared: Vec<_> = by_name
            .into_iter()
            .filter(|(_, crates)| crates.len() > 1)
            .collect();
        shared.sort_by_key(|(name, crates)| (std::cmp::Reverse(crates.len()), *name));
        shared
    }

    /// Returns the types with a name of one word that the glossary does not have.
    fn outside_glossary(&self) -> impl Iterator<Item = &TypeName> {
        self.types.iter().filter(|found| {
            found.is_one_word() && !self.glossary.contains(&found.name.to_lowercase())
        })
    }

    pub(crate) fn counts(&self) -> VocabularyCounts {
        let one_word = self.types.iter().filter(|found| found.is_one_word());
        VocabularyCounts {
            types: self.types.len(),
            one_word_types: one_word.count(),
            one_word_types_outside_glossary: self.outside_glossary().count(),
            types_sharing_a_name: self
                .shared_names()
                .iter()
                .map(|(_, crates)| crates.len())
                .sum(),
            functions: self.functions.len(),
            one_word_functions: self
                .functions
                .iter()
                .filter(|name| !name.trim_matches('_').contains('_'))
                .count(),
            comments_opening_oddly: self.comments_opening_oddly.len(),
            idioms: self.idioms.len(),
            idioms_in_tests: self.idioms_in_tests.len(),
        }
    }
}

fn add(places: &mut Vec<String>, count: usize, place: &str) {
    places.extend(std::iter::repeat_n(place.to_owned(), count));
}

impl VocabularyCounts {
    /// Returns the counts that have a limit.
    pub(crate) fn limited(&self) -> Vec<NamedCount> {
        vec![
            (
                "one_word_types_outside_glossary_max",
                self.one_word_types_outside_glossary,
            ),
            ("types_sharing_a_name_max", self.types_sharing_a_name),
            ("comments_opening_oddly_max", self.comments_opening_oddly),
            ("idioms_max", self.idioms),
            ("idioms_in_tests_max", self.idioms_in_tests),
        ]
    }
}

#[cfg(test)]
mod tests;
