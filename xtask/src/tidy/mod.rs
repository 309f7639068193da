//! The habits of the house that neither rustfmt nor clippy can see, checked over the whole tree.
//!
//! `check` names the rules in order; each rule is a file that turns the tree into findings and knows
//! nothing of the others. What a rule forbids, a file may allow itself by stating a reason in the one
//! form that `allowance` reads.

mod allowance;
mod arrows;
mod finding;
mod header;
mod leftovers;
mod links;
mod names;
mod rust;
mod size;
mod text;
mod tree;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;

use crate::limits::{CountLimits, NamedCount};
use crate::structure::Structure;
use crate::vocabulary::Survey;

use finding::{Finding, Rule};

pub(crate) use rust::Source;
pub(crate) use tree::{TextFile, Tree};

/// Prints every finding as `file:line: rule: what to do`; any finding is a failure.
pub(crate) fn run(root: &Path) -> Result<ExitCode> {
    let findings = check(root)?;
    for finding in &findings {
        println!("{finding}");
    }
    if findings.is_empty() {
        println!("tidy: nothing to do");
        return Ok(ExitCode::SUCCESS);
    }
    println!("tidy: {} to mend", findings.len());
    Ok(ExitCode::FAILURE)
}

fn check(root: &Path) -> Result<Vec<Finding>> {
    let tree = Tree::read(root)?;
    let mut findings = arrows::check(&tree)?;
    let mut survey = Survey::new(&tree);
    let mut structure = Structure::default();
    for file in &tree.files {
        findings.extend(allowance::check(file));
        findings.extend(text::check(file));
        survey.read_document(file);
        if !file.is_rust() {
            continue;
        }
        findings.extend(header::check(file));
        match Source::parse(file) {
            Ok(source) => {
                findings.extend(check_source(&source));
                survey.read(&source);
                structure.read(&source);
            }
            Err(finding) => findings.push(finding),
        }
    }
    findings.extend(links::check(&tree));
    let vocabulary = survey.counts().limited();
    findings.extend(check_counts(&tree, Rule::Vocabulary, &vocabulary)?);
    findings.extend(check_counts(&tree, Rule::Structure, &structure.counts())?);
    findings.sort();
    Ok(findings)
}

fn check_source(source: &Source<'_>) -> Vec<Finding> {
    let rules = [size::check, names::check, leftovers::check];
    rules.iter().flat_map(|rule| rule(source)).collect()
}

/// Refuses an increase of the counts of `cargo xtask vocabulary` or `cargo xtask structure`.
fn check_counts(tree: &Tree, rule: Rule, counts: &[NamedCount]) -> Result<Vec<Finding>> {
    let command = rule.name();
    let path = format!("xtask/{command}.toml");
    let Some(file) = tree.file(&path) else {
        return Ok(Vec::new());
    };
    let limits = CountLimits::read(&path, &file.text)?;
    let sentences = limits.exceeded_by(counts, command).into_iter();
    Ok(sentences
        .map(|advice| Finding::new(&path, 1, rule, advice))
        .collect())
}
