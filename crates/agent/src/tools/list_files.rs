//! `list_files`: what is in a directory, or below it.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use workspace::{PathKind, RelPath, WalkOptions, Workspace};

use super::on_files::OnFiles;
use super::{declare, path, refused};
use crate::tool::{CallEffect, ToolAction, ToolError, ToolOutput};

const DOC: &str = "Lists a directory of the project. Names of directories end in `/`, of symbolic links \
in `@`. Without `recursive`, everything in the directory is named, also what may not be read. With it, \
the files below are listed too, without what `.gitignore` names and what may not be read.";

/// Entries that are listed at most.
const ENTRIES_MAX: usize = 2_000;
/// Levels when not said otherwise.
const DEPTH_DEFAULT: usize = 20;

#[derive(Deserialize)]
pub(super) struct ListFilesArguments {
    path: Option<String>,
    recursive: Option<bool>,
    max_depth: Option<usize>,
}

pub(super) fn tool(workspace: Arc<Workspace>) -> OnFiles<ListFilesArguments> {
    let schema = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The directory; the project's root if left out."},
            "recursive": {"type": "boolean", "description": "Whether to list what is below it too."},
            "max_depth": {"type": "integer", "minimum": 1, "maximum": 128, "description": "How many levels to go down; 1 is the directory alone. Implies `recursive`."},
        },
        "additionalProperties": false,
    });
    let declaration = declare("list_files", DOC, schema);
    OnFiles::new(
        workspace,
        declaration,
        CallEffect::Reads,
        |workspace, wanted, _| list(workspace, &wanted),
    )
}

fn list(workspace: &Workspace, wanted: &ListFilesArguments) -> Result<ToolOutput, ToolError> {
    let dir = wanted.path.as_deref().map_or(Ok(RelPath::root()), path)?;
    let recursive = wanted.recursive.unwrap_or(wanted.max_depth.is_some());
    let (entries, notes, more) = if recursive {
        below(workspace, &dir, wanted.max_depth.unwrap_or(DEPTH_DEFAULT))?
    } else {
        inside(workspace, &dir)?
    };
    let deed = ToolAction::Listed {
        path: dir.clone(),
        entries: entries.len() as u64,
    };
    let shown = if dir.is_root() { "." } else { dir.as_str() };
    let mut value = json!({"path": shown, "entries": entries});
    if !notes.is_empty() {
        value["not_readable"] = Value::Array(notes);
    }
    if more {
        value["more"] = json!(format!(
            "There are more than {ENTRIES_MAX} entries; list a directory further down."
        ));
    }
    Ok(ToolOutput::new(value).having(deed))
}

type FileEntries = (Vec<String>, Vec<Value>, bool);

fn inside(workspace: &Workspace, dir: &RelPath) -> Result<FileEntries, ToolError> {
    let listing = workspace.list(dir).map_err(refused)?;
    let more = listing.entries.len() > ENTRIES_MAX;
    let listed = &listing.entries[..listing.entries.len().min(ENTRIES_MAX)];
    let names = listed
        .iter()
        .map(|entry| named(&entry.path, entry.kind))
        .collect();
    let notes = listed.iter().filter_map(|entry| {
        let denial = entry.denial.as_ref()?;
        Some(json!({"path": entry.path.as_str(), "why": denial.why()}))
    });
    Ok((names, notes.collect(), more))
}

fn below(workspace: &Workspace, dir: &RelPath, depth_max: usize) -> Result<FileEntries, ToolError> {
    let options = WalkOptions {
        depth_max,
        entries_max: ENTRIES_MAX,
        ..WalkOptions::new(dir.clone())
    };
    let tree = workspace.walk(&options).map_err(refused)?;
    let names = tree
        .entries
        .iter()
        .map(|entry| named(&entry.path, entry.kind));
    Ok((names.collect(), Vec::new(), tree.more))
}

fn named(path: &RelPath, kind: PathKind) -> String {
    match kind {
        PathKind::Dir => format!("{path}/"),
        PathKind::Symlink => format!("{path}@"),
        PathKind::File | PathKind::Other => path.to_string(),
    }
}
