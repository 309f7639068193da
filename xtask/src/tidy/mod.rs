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

use crate::vocabulary::{self, VocabularyLimits};

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
    for file in &tree.files {
        findings.extend(allowance::check(file));
        findings.extend(text::check(file));
        if file.is_rust() {
            check_rust(file, &mut findings);
        }
    }
    findings.extend(links::check(&tree));
    findings.extend(check_vocabulary(&tree)?);
    findings.sort();
    Ok(findings)
}

/// Refuses an increase of what `cargo xtask vocabulary` counts.
fn check_vocabulary(tree: &Tree) -> Result<Vec<Finding>> {
    const LIMITS: &str = "xtask/vocabulary.toml";
    let Some(file) = tree.file(LIMITS) else {
        return Ok(Vec::new());
    };
    let limits = VocabularyLimits::read(&file.text)?;
    let sentences = limits.exceeded_by(&vocabulary::count(tree));
    let findings = sentences.into_iter();
    Ok(findings
        .map(|advice| Finding::new(LIMITS, 1, Rule::Vocabulary, advice))
        .collect())
}

fn check_rust(file: &tree::TextFile, findings: &mut Vec<Finding>) {
    findings.extend(header::check(file));
    match rust::Source::parse(file) {
        Ok(source) => {
            findings.extend(size::check(&source));
            findings.extend(names::check(&source));
            findings.extend(leftovers::check(&source));
        }
        Err(finding) => findings.push(finding),
    }
}
