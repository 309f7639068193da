//! `insert_content`: lines put into a file.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;
use workspace::Workspace;

use super::on_files::OnFiles;
use super::{FileRewrite, declare, ended, existing, line_count, path, write};
use crate::patch::{FileLines, dominant_ending};
use crate::tool::{CallEffect, ToolError, ToolOutput};

const DOC: &str = "Puts new lines into a file that exists, before line `line`; the lines from there on \
move down. `line` 0, or one more than the file has lines, puts them at the end.";

#[derive(Deserialize)]
pub(super) struct InsertContentArguments {
    path: String,
    line: usize,
    content: String,
}

pub(super) fn tool(workspace: Arc<Workspace>) -> OnFiles<InsertContentArguments> {
    let schema = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file, relative to the project's root."},
            "line": {"type": "integer", "minimum": 0, "description": "The number the first new line will have, from 1; 0 for the end of the file."},
            "content": {"type": "string", "minLength": 1, "description": "The new lines."},
        },
        "required": ["path", "line", "content"],
        "additionalProperties": false,
    });
    let declaration = declare("insert_content", DOC, schema);
    OnFiles::new(
        workspace,
        declaration,
        CallEffect::Changes,
        |workspace, wanted, _| insert(workspace, wanted),
    )
}

fn insert(workspace: &Workspace, wanted: InsertContentArguments) -> Result<ToolOutput, ToolError> {
    let path = path(&wanted.path)?;
    let old = existing(workspace, &path)?;
    let file = FileLines::of(&old);
    let total = file.len();
    if wanted.line > total + 1 {
        return Err(ToolError::tell(format!(
            "`{path}` has {total} lines, so `line` is at most {}. Nothing was written.",
            total + 1
        )));
    }
    let at = if wanted.line == 0 {
        total
    } else {
        wanted.line - 1
    };
    let ending = dominant_ending(&old);
    let mut content = wanted.content;
    if ending == "\r\n" && !content.contains('\r') {
        content = content.replace('\n', "\r\n");
    }
    let content = ended(content, ending);
    let added = line_count(&content);
    let (before, after) = file.lines.split_at(at);
    let mut new = ended(before.concat(), ending);
    new.push_str(&content);
    new.push_str(&after.concat());
    let value = json!({
        "path": path.as_str(), "change": "modified", "start_line": at + 1, "end_line": at + added,
        "total_lines": line_count(&new),
    });
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
