//! Counts how the code base talks: one-word types, names that several types share, idioms to avoid.
//!
//! `cargo xtask vocabulary` prints the figures; `cargo xtask tidy` refuses an increase over the limits
//! in `xtask/vocabulary.toml`, so that the figures can only fall.

mod idioms;
mod types;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::tidy::{Source, TextFile, Tree};
use types::TypeName;

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
    pub(crate) idioms: usize,
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
    println!(
        "comments that open with What/Whoever {:5}",
        counts.comments_opening_oddly
    );
    println!("idioms of the list                  {:6}", counts.idioms);
    println!("\nNames that most types share");
    for (name, paths) in survey.shared_names().into_iter().take(20) {
        println!("  {:3} {name}: {}", paths.len(), paths.join(" "));
    }
    Ok(ExitCode::SUCCESS)
}

/// Counts over a tree that has been read already.
pub(crate) fn count(tree: &Tree) -> VocabularyCounts {
    Survey::of(tree).counts()
}

/// Everything that is counted, with its place.
struct Survey {
    glossary: Vec<String>,
    types: Vec<TypeName>,
    functions: Vec<String>,
    comments_opening_oddly: usize,
    idioms: usize,
}

impl Survey {
    fn of(tree: &Tree) -> Self {
        let mut survey = Self {
            glossary: tree
                .file("ARCHITECTURE.md")
                .map_or_else(Vec::new, |file| types::glossary(&file.text)),
            types: Vec::new(),
            functions: Vec::new(),
            comments_opening_oddly: 0,
            idioms: 0,
        };
        for file in &tree.files {
            survey.read(file);
        }
        survey
    }

    fn read(&mut self, file: &TextFile) {
        if file.extension() == "md" && !file.is_data() {
            self.idioms += idioms::count(&file.text);
            return;
        }
        let is_production = file.path.starts_with("crates/") && file.is_rust() && !file.is_test();
        if !is_production {
            return;
        }
        let Ok(source) = Source::parse(file) else {
            return;
        };
        types::read(&source, &mut self.types, &mut self.functions);
        for (_, comment) in &source.comments {
            self.idioms += idioms::count(comment);
            self.comments_opening_oddly += usize::from(idioms::opens_oddly(comment));
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

    fn counts(&self) -> VocabularyCounts {
        let one_word = self.types.iter().filter(|found| found.is_one_word());
        VocabularyCounts {
            types: self.types.len(),
            one_word_types: one_word.clone().count(),
            one_word_types_outside_glossary: one_word
                .filter(|found| !self.glossary.contains(&found.name.to_lowercase()))
                .count(),
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
            comments_opening_oddly: self.comments_opening_oddly,
            idioms: self.idioms,
        }
    }
}

/// The limits that tidy holds the counts against.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct VocabularyLimits(Vec<(String, usize)>);

impl VocabularyLimits {
    pub(crate) fn read(text: &str) -> Result<Self> {
        let table: toml::Table = text.parse().context("vocabulary.toml is not TOML")?;
        let mut limits = Vec::new();
        for (name, value) in table {
            let max = value.as_integer().and_then(|it| usize::try_from(it).ok());
            limits.push((name, max.context("a limit in vocabulary.toml is a number")?));
        }
        Ok(Self(limits))
    }

    /// Returns a sentence for each count that is over its limit.
    pub(crate) fn exceeded_by(&self, counts: &VocabularyCounts) -> Vec<String> {
        let figures = [
            (
                "one_word_types_outside_glossary_max",
                counts.one_word_types_outside_glossary,
            ),
            ("types_sharing_a_name_max", counts.types_sharing_a_name),
            ("comments_opening_oddly_max", counts.comments_opening_oddly),
            ("idioms_max", counts.idioms),
        ];
        let mut sentences = Vec::new();
        for (name, count) in figures {
            let limit = self.0.iter().find(|(limit, _)| limit == name);
            if let Some((_, max)) = limit.filter(|(_, max)| count > *max) {
                sentences.push(format!(
                    "{count} is more than {name} = {max}; `cargo xtask vocabulary` lists them, and the limit only falls"
                ));
            }
        }
        sentences
    }
}

#[cfg(test)]
mod tests;
