//! Counts what makes code hard to follow although every file and function is small: types spread over
//! many files, parameters hidden in tuples, names that are public for no one.
//!
//! `cargo xtask structure` lists them; `cargo xtask tidy` refuses an increase over the limits in
//! `xtask/structure.toml`.

mod habits;
mod public_items;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;

use crate::limits::NamedCount;
use crate::tidy::{Source, TextFile, Tree};
use habits::FileHabits;
use public_items::PublicItems;

/// Most files that the inherent methods of one type may be in.
const FILES_OF_A_TYPE_MAX: usize = 3;
/// Most parameters of a function; each element of a tuple counts as one.
const PARAMETERS_MAX: usize = 5;

/// A crate and the name of a type in it.
type TypePath = (String, String);
/// The files with inherent methods of a type, and how many methods each has.
type MethodFiles = BTreeMap<String, usize>;

/// Everything that is counted, with its places.
#[derive(Default)]
pub(crate) struct Structure {
    methods: BTreeMap<TypePath, MethodFiles>,
    wide_functions: Vec<String>,
    bool_matches: Vec<String>,
    shadowed_lets: Vec<String>,
    public_items: PublicItems,
}

/// Prints the counts and the places behind them.
pub(crate) fn run(root: &Path) -> Result<ExitCode> {
    let structure = Structure::of(&Tree::read(root)?);
    println!("Types whose methods are in more than {FILES_OF_A_TYPE_MAX} files");
    for ((crate_name, name), files) in structure.spread_types() {
        let methods: usize = files.values().sum();
        println!(
            "  {crate_name}::{name}: {methods} methods in {} files",
            files.len()
        );
    }
    for (title, places) in [
        (
            "Functions that hide parameters in tuples",
            &structure.wide_functions,
        ),
        ("Matches on true and false", &structure.bool_matches),
        ("Names shadowed by the next line", &structure.shadowed_lets),
    ] {
        println!("\n{title}");
        for place in places {
            println!("  {place}");
        }
    }
    println!("\nPublic items that no other crate names");
    for place in structure.public_items.unnamed() {
        println!("  {place}");
    }
    println!();
    for (name, count) in structure.counts() {
        println!("{name:40} {count:5}");
    }
    Ok(ExitCode::SUCCESS)
}

impl Structure {
    fn of(tree: &Tree) -> Self {
        let mut structure = Self::default();
        for file in tree.files.iter().filter(|file| file.is_rust()) {
            if let Ok(source) = Source::parse(file) {
                structure.read(&source);
            }
        }
        structure
    }

    /// Adds one file of ours.
    pub(crate) fn read(&mut self, source: &Source<'_>) {
        let file = source.file;
        self.public_items.read(source);
        let Some(crate_name) = production_crate(file) else {
            return;
        };
        let habits = FileHabits::of(&source.syntax);
        for (name, methods) in habits.methods {
            let key = (crate_name.to_owned(), name);
            let files = self.methods.entry(key).or_default();
            *files.entry(file.path.clone()).or_default() += methods;
        }
        let at = |line: &usize| format!("{}:{line}", file.path);
        let wide = habits.parameters.iter();
        let wide = wide.filter(|(_, count)| *count > PARAMETERS_MAX);
        self.wide_functions
            .extend(wide.map(|(line, count)| format!("{}: {count}", at(line))));
        self.bool_matches.extend(habits.bool_matches.iter().map(at));
        self.shadowed_lets
            .extend(habits.shadowed_lets.iter().map(at));
    }

    /// Returns the types over the limit, those in most files first.
    fn spread_types(&self) -> Vec<(&TypePath, &MethodFiles)> {
        let over = self.methods.iter();
        let mut over: Vec<_> = over
            .filter(|(_, files)| files.len() > FILES_OF_A_TYPE_MAX)
            .collect();
        over.sort_by_key(|(name, files)| (std::cmp::Reverse(files.len()), *name));
        over
    }

    pub(crate) fn counts(&self) -> Vec<NamedCount> {
        let spread = self.spread_types();
        let files = spread.iter().map(|(_, files)| files.len());
        vec![
            ("types_in_more_than_three_files_max", spread.len()),
            ("files_of_those_types_max", files.sum()),
            (
                "functions_with_hidden_parameters_max",
                self.wide_functions.len(),
            ),
            ("matches_on_bool_max", self.bool_matches.len()),
            ("shadowed_lets_max", self.shadowed_lets.len()),
            (
                "public_items_unnamed_elsewhere_max",
                self.public_items.unnamed().len(),
            ),
        ]
    }
}

/// Returns the crate of a file of production code.
fn production_crate(file: &TextFile) -> Option<&str> {
    let rest = file.path.strip_prefix("crates/")?;
    let (name, path) = rest.split_once('/')?;
    (path.starts_with("src/") && !file.is_test()).then_some(name)
}

#[cfg(test)]
mod tests;
