//! `look`: the project's files, what they define and who imports whom.

use std::path::PathBuf;

use app::indexing;
use index::IndexFocus;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::CallOutcome;
use crate::DrawloomServer;
use crate::failure::ToolFailure;

/// How many tokens the index takes when nothing is said.
const BUDGET_DEFAULT: usize = 2_000;
/// How far changes are followed.
const DEPTH_MAX: u32 = 10;

/// Arguments of `project_index`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProjectIndex {
    /// The most tokens to show; 2000 if left out.
    #[serde(default)]
    budget: Option<usize>,
    /// Words to look for.
    #[serde(default)]
    focus: Vec<String>,
}

/// Arguments of `impact`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ImpactOf {
    /// Files of the project.
    files: Vec<String>,
}

pub(crate) async fn index(server: &DrawloomServer, arguments: ProjectIndex) -> CallOutcome {
    let surroundings = server.use_cases.app().surroundings().clone();
    let indexed = blocking(move || indexing::index(&surroundings, None)).await?;
    let focus = IndexFocus {
        words: arguments.focus,
        ..IndexFocus::default()
    };
    let budget = arguments.budget.unwrap_or(BUDGET_DEFAULT);
    let selection = indexed.index.select(Some(budget), &focus);
    Ok(json!({ "index": selection.to_string(), "left_out": selection.left_out }))
}

pub(crate) async fn impact(server: &DrawloomServer, arguments: ImpactOf) -> CallOutcome {
    let surroundings = server.use_cases.app().surroundings().clone();
    let files: Vec<PathBuf> = arguments.files.into_iter().map(PathBuf::from).collect();
    let (_, reached) = blocking(move || indexing::impact(&surroundings, &files, DEPTH_MAX)).await?;
    let list = |list: &[index::ImpactedFile]| -> Vec<Value> {
        let entry =
            |it: &index::ImpactedFile| json!({ "path": it.path, "depth": it.depth, "via": it.via });
        list.iter().map(entry).collect()
    };
    Ok(json!({
        "files": list(&reached.impact.files),
        "tests": list(&reached.impact.tests),
    }))
}

/// Does what reads many files on a thread of its own.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, app::Error> + Send + 'static,
) -> Result<T, ToolFailure> {
    let done = tokio::task::spawn_blocking(work).await;
    let done = done.map_err(|cause| ToolFailure::new(format!("the work ended: {cause}")))?;
    Ok(done?)
}
