//! Detects changed files: compares them with the last look, by size and time.

use std::collections::BTreeMap;

use flow::WorkflowStore;
use serde_json::json;
use store::TriggerMemory;
use workspace::{RelPath, fs};

use super::{DeclaredTrigger, digest, start_triggered};
use crate::people::explained;
use crate::{Error, Project};

/// Time a file must be unchanged before it counts: it may still be written.
const SETTLED_MS: u128 = 1_000;
/// Number of files that one trigger looks at.
const FILES_MAX: usize = 10_000;
/// Number of changed files that a run is told of.
const TOLD_MAX: usize = 1_000;

/// Starts one run for everything that has changed since the last look.
pub(super) async fn tend(
    (declared, patterns): (&DeclaredTrigger, &[String]),
    (seen, runs): (&dyn TriggerMemory, &dyn WorkflowStore),
    project: &Project,
    now_ms: u64,
) -> Result<(), Error> {
    let name = declared.name();
    let before = seen.seen(&name).await.map_err(explained)?;
    let known: BTreeMap<String, String> = before
        .as_deref()
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    // The first look only records the existing files, including those still being written.
    let settled_ms = before.as_ref().map(|_| now_ms);
    let there = looked(project, patterns, &known, settled_ms)?;
    if before.is_some() && there == known {
        return Ok(());
    }
    let changed: Vec<&String> = there
        .iter()
        .filter(|(path, mark)| known.get(*path) != Some(*mark))
        .map(|(path, _)| path)
        .collect();
    let now = json!(there).to_string();
    if before.is_some() && !changed.is_empty() {
        let told: Vec<&&String> = changed.iter().take(TOLD_MAX).collect();
        let cause = json!({ "files": told, "count": changed.len() });
        let id = format!("{name} {}", digest(&now));
        start_triggered((project, runs), declared, (&id, cause), 0).await?;
    }
    let noted = seen.note_seen(&name, before.as_deref(), &now).await;
    noted.map_err(explained)?;
    Ok(())
}

/// Lists the matching files, each with a mark that changes when the file does.
fn looked(
    project: &Project,
    patterns: &[String],
    known: &BTreeMap<String, String>,
    now_ms: Option<u64>,
) -> Result<BTreeMap<String, String>, Error> {
    let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
    let paths = project.root.glob(&RelPath::root(), &patterns)?;
    let mut there = BTreeMap::new();
    for path in paths.into_iter().take(FILES_MAX) {
        let Some(changed) = fs::changed_ns(&project.folder().join(path.as_str())) else {
            continue;
        };
        let is_settled =
            now_ms.is_none_or(|now_ms| changed / 1_000_000 + SETTLED_MS <= u128::from(now_ms));
        match (is_settled, known.get(path.as_str())) {
            (true, _) => there.insert(path.as_str().to_owned(), changed.to_string()),
            (false, Some(mark)) => there.insert(path.as_str().to_owned(), mark.clone()),
            (false, None) => None,
        };
    }
    Ok(there)
}
