//! `search_files`: lines that match a regular expression, in linear time.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use workspace::{ContentMatches, ContentQuery, LineKind, RelPath, SearchStop, Workspace};

use super::on_files::OnFiles;
use super::{declare, path, refused};
use crate::tool::{CallEffect, ToolAction, ToolError, ToolOutput};

const DOC: &str = "Searches the project's text files for lines that match a regular expression (Rust \
syntax: no look-around, no back-references). What `.gitignore` names is left out. Matching lines come as \
`NUMBER: TEXT`, context lines as `NUMBER- TEXT`.";

/// Matching lines when not said otherwise, and at most.
const RESULTS_DEFAULT: usize = 100;
const RESULTS_MAX: usize = 2_000;
/// Passed-over files that are named.
const SKIPPED_SHOWN_MAX: usize = 10;

#[derive(Deserialize)]
pub(super) struct SearchFilesArguments {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    max_results: Option<usize>,
    context: Option<usize>,
}

pub(super) fn tool(workspace: Arc<Workspace>) -> OnFiles<SearchFilesArguments> {
    let schema = json!({
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "minLength": 1, "description": "A regular expression, matched line by line; `(?i)` in front ignores case."},
            "path": {"type": "string", "description": "A directory or file to look in; the whole project if left out."},
            "glob": {"type": "string", "description": "Only files that match, such as `*.rs` or `src/**/*.ts`; with `!` in front, only others."},
            "max_results": {"type": "integer", "minimum": 1, "maximum": RESULTS_MAX, "description": "How many matching lines to return; 100 if left out."},
            "context": {"type": "integer", "minimum": 0, "maximum": 20, "description": "How many lines to show before and after a match."},
        },
        "required": ["pattern"],
        "additionalProperties": false,
    });
    let declaration = declare("search_files", DOC, schema);
    OnFiles::new(
        workspace,
        declaration,
        CallEffect::Reads,
        |workspace, wanted, _| search(workspace, wanted),
    )
}

fn search(workspace: &Workspace, wanted: SearchFilesArguments) -> Result<ToolOutput, ToolError> {
    let path = wanted.path.as_deref().map_or(Ok(RelPath::root()), path)?;
    let query = ContentQuery {
        path: path.clone(),
        globs: wanted.glob.into_iter().collect(),
        results_max: wanted
            .max_results
            .unwrap_or(RESULTS_DEFAULT)
            .min(RESULTS_MAX),
        context_lines: wanted.context.unwrap_or(0),
        ..ContentQuery::new(wanted.pattern)
    };
    let found = workspace.search(&query).map_err(refused)?;
    let deed = ToolAction::Searched {
        pattern: query.pattern.clone(),
        path,
        hits: found.matches as u64,
    };
    Ok(ToolOutput::new(shown(&found, &query)).having(deed))
}

fn shown(found: &ContentMatches, query: &ContentQuery) -> Value {
    let files: Vec<Value> = found
        .files
        .iter()
        .map(|file| {
            let lines: Vec<String> = file
                .lines
                .iter()
                .map(|line| {
                    let sign = if line.kind == LineKind::Match {
                        ':'
                    } else {
                        '-'
                    };
                    let cut = if line.cut { " […]" } else { "" };
                    format!("{}{sign} {}{cut}", line.number, line.text)
                })
                .collect();
            json!({"path": file.path.as_str(), "lines": lines.join("\n")})
        })
        .collect();
    let mut value = json!({
        "matches": found.matches, "files_searched": found.searched, "files": files,
    });
    if let Some(stop) = found.stop {
        value["more"] = json!(match stop {
            SearchStop::Results => format!(
                "There are more matches than max_results = {}; narrow the search.",
                query.results_max
            ),
            other => format!("The search was ended by {}; narrow it.", other.limit()),
        });
    }
    let skipped: Vec<String> = found
        .skipped
        .iter()
        .take(SKIPPED_SHOWN_MAX)
        .map(|skipped| format!("{}: {}", skipped.path, skipped.why))
        .collect();
    if !skipped.is_empty() {
        value["skipped"] = json!(skipped);
    }
    value
}
