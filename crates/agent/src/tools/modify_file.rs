//! `modify_file`: pieces of a file replaced, all of them or none.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use workspace::{RelPath, Workspace};

use super::on_files::OnFiles;
use super::{FileRewrite, declare, ended, existing, path, write};
use crate::patch::{FileLines, dominant_ending, nearest::nearest};
use crate::tool::{CallEffect, ToolError, ToolOutput};

const DOC: &str = "Changes a file that exists. With `edits`, each `old` text must be in the file exactly \
once, white space included, and is replaced by `new`; the edits are made in order, all of them or, if one \
does not fit, none. With `content`, the whole file gets that content. Give one of the two.";

#[derive(Deserialize)]
pub(super) struct ModifyFileArguments {
    path: String,
    content: Option<String>,
    edits: Option<Vec<TextReplacement>>,
}

#[derive(Deserialize)]
struct TextReplacement {
    old: String,
    new: String,
}

pub(super) fn tool(workspace: Arc<Workspace>) -> OnFiles<ModifyFileArguments> {
    let edit = json!({
        "type": "object",
        "properties": {
            "old": {"type": "string", "minLength": 1, "description": "Text that is in the file exactly once."},
            "new": {"type": "string", "description": "What takes its place."},
        },
        "required": ["old", "new"],
        "additionalProperties": false,
    });
    let schema = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file, relative to the project's root."},
            "edits": {"type": "array", "minItems": 1, "items": edit, "description": "Replacements, made in order."},
            "content": {"type": "string", "description": "The whole new content, instead of `edits`."},
        },
        "required": ["path"],
        "additionalProperties": false,
    });
    let declaration = declare("modify_file", DOC, schema);
    OnFiles::new(
        workspace,
        declaration,
        CallEffect::Changes,
        |workspace, wanted, _| modify(workspace, wanted),
    )
}

fn modify(workspace: &Workspace, wanted: ModifyFileArguments) -> Result<ToolOutput, ToolError> {
    let path = path(&wanted.path)?;
    let old = existing(workspace, &path)?;
    let (new, edits) = match (wanted.content, wanted.edits) {
        (Some(content), None) => (ended(content, dominant_ending(&old)), Vec::new()),
        (None, Some(edits)) => edited(&path, &old, &edits)?,
        _ => {
            return Err(ToolError::tell(
                "Give either `edits` or `content`, and not both.",
            ));
        }
    };
    let change = if new == old { "unchanged" } else { "modified" };
    let value = json!({"path": path.as_str(), "change": change, "edits": edits});
    write(
        workspace,
        &[FileRewrite {
            path,
            old: Some(old),
            new: Some(new),
        }],
        value,
    )
}

/// Returns the text with all edits made, and the line of each.
fn edited(
    path: &RelPath,
    text: &str,
    edits: &[TextReplacement],
) -> Result<(String, Vec<Value>), ToolError> {
    let mut text = text.to_owned();
    let mut made = Vec::new();
    for (at, edit) in edits.iter().enumerate() {
        let which = format!("Edit {} of {}", at + 1, edits.len());
        let (old, new) = in_files_endings(&text, edit);
        let places: Vec<usize> = text.match_indices(&old).map(|(place, _)| place).collect();
        match places.as_slice() {
            [place] => {
                made.push(json!({"edit": at + 1, "line": line_at(&text, *place)}));
                text.replace_range(*place..place + old.len(), &new);
            }
            [] => return Err(missed(path, &text, &which, &edit.old)),
            several => {
                let lines: Vec<String> = several
                    .iter()
                    .take(20)
                    .map(|place| line_at(&text, *place).to_string())
                    .collect();
                return Err(ToolError::tell(format!(
                    "{which}: `old` is in `{path}` {} times (lines {}). Make it longer, so that it \
                     fits once. Nothing was written.",
                    several.len(),
                    lines.join(", ")
                )));
            }
        }
    }
    Ok((text, made))
}

/// Makes an edit with line feeds only fit a file that ends its lines otherwise.
fn in_files_endings(text: &str, edit: &TextReplacement) -> (String, String) {
    let plain = !edit.old.contains('\r') && !edit.new.contains('\r');
    if plain && dominant_ending(text) == "\r\n" && !text.contains(&edit.old) {
        let fitted = |text: &str| text.replace('\n', "\r\n");
        return (fitted(&edit.old), fitted(&edit.new));
    }
    (edit.old.clone(), edit.new.clone())
}

fn missed(path: &RelPath, text: &str, which: &str, old: &str) -> ToolError {
    let wanted: Vec<&str> = old.lines().collect();
    ToolError::Tell(json!({
        "error": format!(
            "{which}: `old` is not in `{path}` (after the edits before it). Nothing was written."
        ),
        "nearest": nearest(&FileLines::of(text), &wanted),
    }))
}

fn line_at(text: &str, place: usize) -> usize {
    text[..place].matches('\n').count() + 1
}
