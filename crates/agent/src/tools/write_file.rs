//! `write_file`: a file with this content, made or replaced.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;
use workspace::Workspace;

use super::on_files::OnFiles;
use super::{FileRewrite, declare, ended, line_count, path, refused, write};
use crate::tool::{CallEffect, ToolError, ToolOutput};

const DOC: &str = "Writes a whole file: creates it, with the directories above it, or replaces what is \
there. A missing line end at its end is added. To change a part of a file, `apply_diff` or `modify_file` \
are shorter and safer.";

#[derive(Deserialize)]
pub(super) struct WriteFileArguments {
    path: String,
    content: String,
}

pub(super) fn tool(workspace: Arc<Workspace>) -> OnFiles<WriteFileArguments> {
    let schema = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file, relative to the project's root."},
            "content": {"type": "string", "description": "The whole content."},
        },
        "required": ["path", "content"],
        "additionalProperties": false,
    });
    let declaration = declare("write_file", DOC, schema);
    OnFiles::new(
        workspace,
        declaration,
        CallEffect::Changes,
        |workspace, wanted, _| write_whole(workspace, wanted),
    )
}

fn write_whole(workspace: &Workspace, wanted: WriteFileArguments) -> Result<ToolOutput, ToolError> {
    let path = path(&wanted.path)?;
    let denied = workspace.policy().check_write(&path);
    denied.map_err(|denial| refused(denial.into()))?;
    // The replaced file may hold anything, even binary data; it is only compared.
    let old = workspace.read(&path).map_err(refused)?;
    let old = old.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let new = ended(wanted.content, "\n");
    let (lines, bytes) = (line_count(&new), new.len());
    let unchanged = old.as_ref() == Some(&new);
    let rewrite = FileRewrite {
        path: path.clone(),
        old,
        new: Some(new),
    };
    let change = match unchanged {
        true => json!("unchanged"),
        false => json!(rewrite.change()),
    };
    let value = json!({"path": path.as_str(), "change": change, "lines": lines, "bytes": bytes});
    write(workspace, &[rewrite], value)
}
