//! Acts on every run of a filter.

use app::{BulkAct, BulkRequest};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use store::RunFilter;

use crate::problem::{ApiProblem, ProblemCode};
use crate::request::{ApiReply, ApiRequest};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BulkBody {
    act: BulkWord,
    filter: FilterBody,
    /// How many runs the caller has seen (`GET /runs?count=true`).
    count: usize,
    #[serde(default)]
    reason: Option<String>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum BulkWord {
    Cancel,
    Pause,
    Resume,
    Delete,
}

/// The parameters of the list of runs.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct FilterBody {
    /// running, paused, completed, failed or cancelled
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    workflow: Option<String>,
    #[serde(default)]
    tag: Option<String>,
    #[serde(default)]
    since_ms: Option<u64>,
    #[serde(default)]
    before_ms: Option<u64>,
    #[serde(default)]
    top: bool,
}

pub(super) async fn act(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let wanted: BulkBody = asked.body()?;
    let given = wanted.filter;
    let status = given.status.map(|word| {
        serde_json::from_value(Value::from(word.as_str())).map_err(|_| {
            let message = format!("`{word}` is no status of a run");
            ApiProblem::new(ProblemCode::Invalid, message.clone()).at("/filter/status", message)
        })
    });
    let use_cases = asked.use_cases()?;
    let by = use_cases.person();
    let request = BulkRequest {
        act: match wanted.act {
            BulkWord::Cancel => BulkAct::Cancel,
            BulkWord::Pause => BulkAct::Pause,
            BulkWord::Resume => BulkAct::Resume,
            BulkWord::Delete => BulkAct::Delete,
        },
        filter: RunFilter {
            status: status.transpose()?,
            workflow: given.workflow,
            tag: given.tag,
            since_ms: given.since_ms,
            before_ms: given.before_ms,
            is_top: given.top,
        },
        count: wanted.count,
        reason: wanted.reason.unwrap_or_else(|| format!("asked by {by}")),
    };
    let report = use_cases.act_on_runs(&request).await?;
    let failed = report.failed.iter();
    let failed = failed.map(|(run, why)| json!({ "run": run.as_str(), "detail": why }));
    let done = report.done.iter().map(|run| run.as_str());
    Ok(ApiReply::json(json!({
        "done": done.collect::<Vec<_>>(), "failed": failed.collect::<Vec<_>>(),
    })))
}
