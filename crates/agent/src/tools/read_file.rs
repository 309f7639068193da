//! `read_file`: numbered lines of a text file.

use std::fmt::Write as _;
use std::io::Read as _;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use workspace::{RelPath, Workspace};

use super::on_files::OnFiles;
use super::{declare, path, refused};
use crate::tool::{CallEffect, ToolAction, ToolError, ToolOutput};

const DOC: &str = "Reads a text file of the project. Lines come as `NUMBER | TEXT`, numbered from 1; \
the prefix is not part of the file. Without a range the file is read from its beginning, as far as \
one result goes; `end_line` and `total_lines` say how far that was. Ranges beyond the end are cut to it.";

#[derive(Deserialize)]
pub(super) struct ReadFileArguments {
    path: String,
    start_line: Option<u64>,
    end_line: Option<u64>,
}

pub(super) fn tool(workspace: Arc<Workspace>) -> OnFiles<ReadFileArguments> {
    let schema = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file, relative to the project's root."},
            "start_line": {"type": "integer", "minimum": 1, "description": "The first line wanted; 1 if left out."},
            "end_line": {"type": "integer", "minimum": 1, "description": "The last line wanted; the end of the file if left out."},
        },
        "required": ["path"],
        "additionalProperties": false,
    });
    let declaration = declare("read_file", DOC, schema);
    OnFiles::new(
        workspace,
        declaration,
        CallEffect::Reads,
        |workspace, wanted, bytes_max| read(workspace, &wanted, bytes_max),
    )
}

fn read(
    workspace: &Workspace,
    wanted: &ReadFileArguments,
    bytes_max: usize,
) -> Result<ToolOutput, ToolError> {
    let path = path(&wanted.path)?;
    let Some(mut reader) = workspace.reader(&path).map_err(refused)? else {
        return Err(ToolError::tell(format!(
            "`{path}` does not exist. Use `list_files` or `search_files` to find it."
        )));
    };
    let size = reader.size_bytes();
    let mut bytes = Vec::new();
    reader
        .read_to_end(&mut bytes)
        .map_err(|error| ToolError::tell(format!("Reading `{path}` failed: {error}.")))?;
    let whole = bytes.len() as u64 >= size;
    let Some(text) = text(bytes, whole) else {
        return Err(ToolError::tell(format!(
            "`{path}` ({size} bytes) is not UTF-8 text and cannot be shown."
        )));
    };
    Ok(shown(
        &path,
        &text,
        wanted,
        bytes_max,
        whole.then_some(size),
    ))
}

/// Converts the bytes to text; where the file is cut, the last character may be too.
fn text(bytes: Vec<u8>, whole: bool) -> Option<String> {
    match String::from_utf8(bytes) {
        Ok(text) if text.contains('\0') => None,
        Ok(text) => Some(text),
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let mut bytes = error.into_bytes();
            let cut_short = !whole && bytes.len() - valid < 4;
            bytes.truncate(valid);
            cut_short.then(|| String::from_utf8(bytes).ok()).flatten()
        }
    }
}

fn shown(
    path: &RelPath,
    text: &str,
    wanted: &ReadFileArguments,
    bytes_max: usize,
    size: Option<u64>,
) -> ToolOutput {
    let total = super::line_count(text) as u64;
    let start = wanted.start_line.unwrap_or(1).clamp(1, total.max(1));
    let end = wanted
        .end_line
        .unwrap_or(u64::MAX)
        .min(total)
        .max(start.saturating_sub(1));
    // Numbers and JSON's escapes take room too.
    let room = bytes_max - bytes_max / 4;
    let (content, last) = numbered(text, start, end, room);
    let mut value = json!({
        "path": path.as_str(), "start_line": start, "end_line": last, "total_lines": total,
        "content": content,
    });
    if last < end {
        let note = format!(
            "Lines {} to {end} are not shown (agent.output_bytes_max = {bytes_max}); ask for them with start_line.",
            last + 1
        );
        value["more"] = Value::String(note);
    }
    if size.is_none() {
        value["cut"] = json!(
            "The file is larger than what can be read; total_lines counts its beginning only."
        );
    }
    let deed = ToolAction::Read {
        path: path.clone(),
        start_line: start,
        end_line: last,
    };
    ToolOutput::new(value).having(deed)
}

/// Numbers the lines while there is room, at least one; returns the number of the last, too.
fn numbered(text: &str, start: u64, end: u64, room: usize) -> (String, u64) {
    let mut content = String::new();
    let mut last = start.saturating_sub(1);
    let wanted = (1_u64..).zip(text.lines());
    for (number, line) in wanted.skip_while(|(number, _)| *number < start) {
        if number > end || (last >= start && content.len() + line.len() > room) {
            break;
        }
        writeln!(content, "{number} | {line}").ok();
        last = number;
    }
    (content, last)
}
