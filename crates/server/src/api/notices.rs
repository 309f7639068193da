//! Notices that wait to be delivered.

use app::Permission;
use axum::http::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::problem::ApiProblem;
use crate::request::{ApiReply, ApiRequest};
use crate::table::{ApiRoute, RouteAccess, schema};

pub(crate) fn routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::new(
            Method::GET,
            "/notices",
            RouteAccess::Needs(Permission::Look),
            "Lists notices that were not delivered yet.",
            |asked| Box::pin(list(asked)),
        )
        .answers(200, &["items"]),
        ApiRoute::new(
            Method::POST,
            "/notices/acknowledge",
            RouteAccess::Needs(Permission::ControlRuns),
            "Removes notices that are dealt with.",
            |asked| Box::pin(acknowledge(asked)),
        )
        .body(schema::<AcknowledgeBody>)
        .answers(200, &["acknowledged"]),
    ]
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AcknowledgeBody {
    ids: Vec<u64>,
}

async fn list(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let max = asked.state().limits().page_items_max;
    let notices = asked.use_cases()?.notices(max).await?;
    let items: Vec<Value> = notices
        .iter()
        .map(|kept| {
            let notice = serde_json::to_value(&kept.notice).unwrap_or_default();
            json!({ "id": kept.id, "notice": notice })
        })
        .collect();
    Ok(ApiReply::json(json!({ "items": items })))
}

async fn acknowledge(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let AcknowledgeBody { ids } = asked.body()?;
    asked.use_cases()?.acknowledge(&ids).await?;
    Ok(ApiReply::json(json!({ "acknowledged": ids.len() })))
}
