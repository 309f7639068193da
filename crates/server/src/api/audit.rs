//! The audit log.

use app::Permission;
use axum::http::Method;
use serde_json::json;
use store::AuditFilter;

use super::{cut, page};
use crate::cursor;
use crate::problem::ApiProblem;
use crate::request::{ApiReply, ApiRequest};
use crate::table::{ApiRoute, RouteAccess};

pub(crate) fn routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::new(
            Method::GET,
            "/audit",
            RouteAccess::Needs(Permission::ReadAudit),
            "Lists who did, or tried to do, what; the newest first.",
            |asked| Box::pin(list(asked)),
        )
        .query(&[
            ("actor", "only of this actor"),
            ("action", "only this action"),
            ("object", "only about this object"),
            ("sinceMs", "only then or later"),
            ("beforeMs", "only before"),
            ("limit", "how many, at most page_items_max"),
            ("cursor", "nextCursor of the page before"),
        ])
        .answers(200, &["items", "nextCursor"]),
    ]
}

async fn list(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    asked.use_cases()?.permit(Permission::ReadAudit)?;
    let max = cursor::page_items(&asked)?;
    let text = |name: &str| asked.query(name).map(str::to_owned);
    let filter = AuditFilter {
        actor: text("actor"),
        action: text("action"),
        object: text("object"),
        outcome: None,
        since_ms: asked.query_as("sinceMs", "milliseconds since 1970")?,
        before_ms: asked.query_as("beforeMs", "milliseconds since 1970")?,
    };
    let after = cursor::read::<u64>(&asked)?;
    let ports = asked.state().app().ports();
    let rows = ports.audit_entries(&filter, after, max + 1).await;
    let (rows, next) = cut(rows.map_err(app::Error::from)?, max, |row| row.id);
    let items = rows.iter().map(|row| {
        let entry = &row.entry;
        json!({
            "id": row.id, "atMs": row.at_ms, "actor": entry.actor, "action": entry.action,
            "object": entry.object, "outcome": entry.outcome.as_str(), "detail": entry.detail,
            "address": entry.address,
        })
    });
    Ok(page(&asked, items.collect(), next))
}
