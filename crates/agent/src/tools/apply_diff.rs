//! `apply_diff`: a patch over one or many files, verified whole and then written whole.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use workspace::{RelPath, Workspace};

use super::on_files::OnFiles;
use super::{FileRewrite, declare, path, refused, write};
use crate::patch::{self, HunkReport, PatchAction, PatchSection};
use crate::tool::{CallEffect, ToolError, ToolOutput};

const DOC: &str = "Applies a patch: a unified diff, or an envelope of this form:\n\
*** Begin Patch\n*** Update File: src/a.txt\n@@ a line above the change, such as a function's head\n \
context\n-removed\n+added\n*** Add File: src/b.txt\n+every line of it\n*** Delete File: src/c.txt\n\
*** End Patch\n`*** Move to: PATH` below `*** Update File:` renames the file. Give three lines of context \
around a change, as they are in the file. Every hunk must have exactly one place: all of them are looked \
for first, and if one has none, nothing is written and the nearest lines are shown. The result says where \
each hunk went and how exactly it matched.";

#[derive(Deserialize)]
pub(super) struct ApplyDiffArguments {
    path: Option<String>,
    diff: String,
}

pub(super) fn tool(workspace: Arc<Workspace>) -> OnFiles<ApplyDiffArguments> {
    let schema = json!({
        "type": "object",
        "properties": {
            "diff": {"type": "string", "minLength": 1, "description": "The patch."},
            "path": {"type": "string", "description": "The file a unified diff of one file is for, relative to the project's root; its header counts if this is left out."},
        },
        "required": ["diff"],
        "additionalProperties": false,
    });
    let declaration = declare("apply_diff", DOC, schema);
    OnFiles::new(
        workspace,
        declaration,
        CallEffect::Changes,
        |workspace, wanted, _| apply(workspace, &wanted),
    )
}

fn apply(workspace: &Workspace, wanted: &ApplyDiffArguments) -> Result<ToolOutput, ToolError> {
    let sections = patch::read(&wanted.diff, None)
        .or_else(|error| match &wanted.path {
            Some(path) => patch::read(&wanted.diff, Some(path)),
            None => Err(error),
        })
        .map_err(|error| ToolError::tell(format!("{error} Nothing was written.")))?;
    let sections = named(sections, wanted.path.as_deref())?;
    let mut desk = StagedFiles {
        workspace,
        files: BTreeMap::new(),
    };
    let mut reports = Vec::new();
    for section in &sections {
        reports.push(desk.take(section)?);
    }
    let rewrites: Vec<FileRewrite> = desk
        .files
        .into_iter()
        .map(|(path, (old, new))| FileRewrite { path, old, new })
        .collect();
    write(workspace, &rewrites, json!({"files": reports}))
}

/// Lets `path` override the file name in a patch of one file.
fn named(
    mut sections: Vec<PatchSection>,
    path: Option<&str>,
) -> Result<Vec<PatchSection>, ToolError> {
    if let Some(path) = path {
        match sections.as_mut_slice() {
            [section] => section.path = path.to_owned(),
            _ => {
                return Err(ToolError::tell(format!(
                    "The patch is for {} files; leave `path` out, or send one file's part. Nothing was written.",
                    sections.len()
                )));
            }
        }
    }
    Ok(sections)
}

/// The files as they are and as they will be.
struct StagedFiles<'a> {
    workspace: &'a Workspace,
    files: BTreeMap<RelPath, (Option<String>, Option<String>)>,
}

impl StagedFiles<'_> {
    /// Works one section in, without writing anything.
    fn take(&mut self, section: &PatchSection) -> Result<Value, ToolError> {
        let path = path(&section.path)?;
        let at = path.as_str();
        match &section.action {
            PatchAction::Add { content } => {
                if self.now(&path)?.is_some() {
                    return Err(ToolError::tell(format!(
                        "`{path}` exists already; update it instead of adding it. Nothing was written."
                    )));
                }
                self.put(path.clone(), Some(content.clone()));
                Ok(json!({"path": at, "change": "created"}))
            }
            PatchAction::Delete { hunks } => {
                let text = self.there(&path)?;
                let (left, _) = placed(&path, &text, hunks)?;
                if !hunks.is_empty() && !left.is_empty() {
                    return Err(ToolError::tell(format!(
                        "The diff deletes `{path}` and leaves lines of it; remove all of them. Nothing was written."
                    )));
                }
                self.put(path.clone(), None);
                Ok(json!({"path": at, "change": "deleted"}))
            }
            PatchAction::Update { hunks, move_to } => {
                let text = self.there(&path)?;
                let (text, reports) = placed(&path, &text, hunks)?;
                let Some(target) = move_to else {
                    self.put(path.clone(), Some(text));
                    return Ok(json!({"path": at, "change": "modified", "hunks": reports}));
                };
                self.move_to(&path, target, text)?;
                Ok(json!({"path": at, "change": "moved", "moved_to": target, "hunks": reports}))
            }
        }
    }

    fn move_to(&mut self, from: &RelPath, target: &str, text: String) -> Result<(), ToolError> {
        let target = path(target)?;
        if target != *from && self.now(&target)?.is_some() {
            return Err(ToolError::tell(format!(
                "`{from}` cannot be moved to `{target}`, which exists already. Nothing was written."
            )));
        }
        self.put(from.clone(), None);
        self.put(target, Some(text));
        Ok(())
    }

    fn there(&mut self, path: &RelPath) -> Result<String, ToolError> {
        let text = self.now(path)?;
        text.ok_or_else(|| {
            ToolError::tell(format!("`{path}` does not exist. Nothing was written."))
        })
    }

    /// Returns the file's content after the sections before.
    fn now(&mut self, path: &RelPath) -> Result<Option<String>, ToolError> {
        if let Some((_, new)) = self.files.get(path) {
            return Ok(new.clone());
        }
        let text = self.workspace.read_text(path).map_err(refused)?;
        self.files
            .insert(path.clone(), (text.clone(), text.clone()));
        Ok(text)
    }

    fn put(&mut self, path: RelPath, text: Option<String>) {
        self.files.entry(path).or_default().1 = text;
    }
}

fn placed(
    path: &RelPath,
    text: &str,
    hunks: &[patch::PatchHunk],
) -> Result<(String, Vec<HunkReport>), ToolError> {
    patch::apply(text, hunks).map_err(|miss| {
        let mut value = miss.0;
        value["path"] = json!(path.as_str());
        ToolError::Tell(value)
    })
}
