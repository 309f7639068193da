//! Migrations between versions of a recipe: what an update does before it renders anew.
//!
//! A newer recipe may call a variable differently or put a file elsewhere. Its `migrations` say so, and
//! what an older version recorded is carried over instead of being asked for or generated twice.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use workspace::RelPath;

use crate::error::Error;
use crate::generation_record::RecordedRun;
use crate::manifest::{ManifestText, RecipeManifest, RecipeMigration};
use crate::scope::VariableScope;
use crate::session::RecipeSession;

/// Old paths of files, by their new path.
pub(crate) type MovedFiles = BTreeMap<RelPath, RelPath>;

/// Returns the migrations between the recorded version and the recipe's own, in their order.
pub(crate) fn pending<'m>(
    manifest: &'m RecipeManifest,
    recorded: Option<&str>,
) -> Vec<&'m RecipeMigration> {
    let now = manifest.version.as_deref().map(numbers);
    let then = recorded.map(numbers);
    let mut pending: Vec<&RecipeMigration> = manifest
        .migrations
        .iter()
        .filter(|migration| {
            let version = numbers(&migration.version);
            then.as_ref().is_none_or(|then| version > *then)
                && now.as_ref().is_none_or(|now| version <= *now)
        })
        .collect();
    pending.sort_by_key(|migration| numbers(&migration.version));
    pending
}

/// Renames the values that a run recorded.
pub(crate) fn rename_values(run: &mut RecordedRun, migration: &RecipeMigration) {
    for (old, new) in &migration.variables {
        if let Some(value) = run.values.remove(old) {
            run.values.entry(new.clone()).or_insert(value);
        }
    }
}

/// Moves the files that a run recorded; where each was before.
pub(crate) fn move_files(
    session: &RecipeSession<'_>,
    run: &mut RecordedRun,
    migration: &RecipeMigration,
) -> Result<MovedFiles, Error> {
    let mut moved = MovedFiles::new();
    for (from, to) in &migration.files {
        let (from, to) = (
            path(session, &run.values, from)?,
            path(session, &run.values, to)?,
        );
        if let Some(base) = run.files.remove(&from) {
            run.files.insert(to.clone(), base);
            moved.insert(to, from);
        }
    }
    Ok(moved)
}

fn path(
    session: &RecipeSession<'_>,
    values: &Map<String, Value>,
    text: &ManifestText,
) -> Result<RelPath, Error> {
    let rendered = session.say(Some(text), &VariableScope::of(values), &json!(null));
    Ok(RelPath::parse(rendered.unwrap_or_default().trim())?)
}

/// Splits a version into numbers, so that `1.10.0` comes after `1.9`.
fn numbers(version: &str) -> Vec<u64> {
    let parts = version.trim_start_matches('v').split(['.', '-', '+']);
    let mut numbers: Vec<u64> = parts.map_while(|part| part.parse().ok()).collect();
    while numbers.last() == Some(&0) {
        numbers.pop();
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::numbers;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert!(numbers("1.10.0") > numbers("1.9"));
        assert!(numbers("v2") > numbers("1.99.99"));
        assert_eq!(numbers("1.0"), numbers("1"));
    }
}
