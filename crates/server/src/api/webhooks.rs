//! Webhooks: addresses that are told of events by signed messages.

use app::webhooks::WEBHOOK_EVENTS;
use app::{NewWebhook, Permission, WebhookChange};
use axum::http::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use store::{WebhookDelivery, WebhookEndpoint, WebhookId};

use super::{cut, page};
use crate::cursor;
use crate::problem::{ApiProblem, ProblemCode};
use crate::request::{ApiReply, ApiRequest};
use crate::table::{ApiRoute, RouteAccess, schema};

/// The fields of a webhook that are always there.
const FIELDS: &[&str] = &["id", "url", "events", "isEnabled", "revision"];

#[expect(
    clippy::too_many_lines,
    reason = "one table of routes: splitting it would hide gaps"
)]
pub(crate) fn routes() -> Vec<ApiRoute> {
    let manages = RouteAccess::Needs(Permission::ManageWebhooks);
    vec![
        ApiRoute::new(
            Method::GET,
            "/webhooks",
            manages,
            "Lists webhooks, and the events that they can be told of.",
            |asked| Box::pin(list(asked)),
        )
        .answers(200, &["items", "events"])
        .items(FIELDS),
        ApiRoute::new(
            Method::POST,
            "/webhooks",
            manages,
            "Adds a webhook; its secret is in this answer and in no other.",
            |asked| Box::pin(add(asked)),
        )
        .body(schema::<WebhookBody>)
        .secret()
        .answers(201, FIELDS),
        ApiRoute::new(
            Method::GET,
            "/webhooks/{webhook}",
            manages,
            "Returns a webhook.",
            |asked| Box::pin(show(asked)),
        )
        .answers(200, FIELDS),
        ApiRoute::new(
            Method::PATCH,
            "/webhooks/{webhook}",
            manages,
            "Edits a webhook, or switches it on and off.",
            |asked| Box::pin(edit(asked)),
        )
        .body(schema::<WebhookEdit>)
        .needs_match()
        .answers(200, FIELDS),
        ApiRoute::new(
            Method::DELETE,
            "/webhooks/{webhook}",
            manages,
            "Removes a webhook with its deliveries.",
            |asked| Box::pin(remove(asked)),
        )
        .needs_match(),
        ApiRoute::new(
            Method::POST,
            "/webhooks/{webhook}/rotate",
            manages,
            "Gives a webhook a new secret; the old one signs beside it for a day.",
            |asked| Box::pin(rotate(asked)),
        )
        .secret()
        .answers(200, FIELDS),
        ApiRoute::new(
            Method::POST,
            "/webhooks/{webhook}/test",
            manages,
            "Sends a message that only tests the way.",
            |asked| Box::pin(test(asked)),
        )
        .answers(202, &["message"]),
        ApiRoute::new(
            Method::GET,
            "/webhooks/{webhook}/deliveries",
            manages,
            "Lists messages and the attempts to deliver them, the newest first.",
            |asked| Box::pin(deliveries(asked)),
        )
        .query(&[
            ("limit", "how many, at most page_items_max"),
            ("cursor", "nextCursor of the page before"),
        ])
        .answers(200, &["items", "nextCursor"]),
        ApiRoute::new(
            Method::POST,
            "/webhooks/{webhook}/deliveries/{delivery}/retry",
            manages,
            "Delivers a message again.",
            |asked| Box::pin(retry(asked)),
        )
        .answers(200, &["id", "status"]),
    ]
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WebhookBody {
    /// The address, with https or http.
    url: String,
    /// A line for people.
    #[serde(default)]
    description: String,
    /// Kinds of events such as `run.completed` or `run.*`; all if left out.
    #[serde(default)]
    events: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct WebhookEdit {
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    events: Option<Vec<String>>,
    #[serde(default)]
    is_enabled: Option<bool>,
}

async fn list(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let webhooks = asked.use_cases()?.webhooks().await?;
    let items: Vec<Value> = webhooks.iter().map(document).collect();
    Ok(ApiReply::json(
        json!({ "items": items, "events": WEBHOOK_EVENTS }),
    ))
}

async fn add(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let new: WebhookBody = asked.body()?;
    let wish = NewWebhook {
        url: new.url,
        description: new.description,
        events: new.events,
    };
    let added = asked.use_cases()?.add_webhook(wish).await?;
    let location = format!("/api/v1/webhooks/{}", added.id);
    Ok(ApiReply::created(with_secret(&added), &location).etag(added.revision))
}

async fn show(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let webhook = asked.use_cases()?.webhook(id_of(&asked)?).await?;
    Ok(ApiReply::json(document(&webhook)).etag(webhook.revision))
}

async fn edit(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let edit: WebhookEdit = asked.body()?;
    let change = WebhookChange {
        revision: asked.if_match_revision()?,
        url: edit.url,
        description: edit.description,
        events: edit.events,
        is_enabled: edit.is_enabled,
    };
    let use_cases = asked.use_cases()?;
    let edited = use_cases.edit_webhook(id_of(&asked)?, change).await?;
    Ok(ApiReply::json(document(&edited)).etag(edited.revision))
}

async fn remove(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let (use_cases, id) = (asked.use_cases()?, id_of(&asked)?);
    let webhook = use_cases.webhook(id).await?;
    asked.require_revision(webhook.revision)?;
    use_cases.remove_webhook(id).await?;
    Ok(ApiReply::nothing())
}

async fn rotate(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let rotated = asked.use_cases()?.rotate_webhook(id_of(&asked)?).await?;
    Ok(ApiReply::json(with_secret(&rotated)).etag(rotated.revision))
}

async fn test(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let id = id_of(&asked)?;
    let message = asked.use_cases()?.test_webhook(id).await?;
    asked.state().shared.deliveries.notify_one();
    let location = format!("/api/v1/webhooks/{id}/deliveries");
    Ok(ApiReply::accepted(json!({ "message": message }), &location))
}

async fn deliveries(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let max = cursor::page_items(&asked)?;
    let after = cursor::read::<u64>(&asked)?;
    let use_cases = asked.use_cases()?;
    let id = id_of(&asked)?;
    let listed = use_cases.webhook_deliveries(id, after, max + 1).await?;
    let (rows, next) = cut(listed, max, |delivery| delivery.id);
    Ok(page(&asked, rows.iter().map(delivery).collect(), next))
}

async fn retry(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let id = id_of(&asked)?;
    let number: u64 = asked.path_as("delivery")?;
    let use_cases = asked.use_cases()?;
    use_cases.webhook(id).await?;
    let retried = use_cases.retry_delivery(number).await?;
    if retried.message.webhook != id {
        let message = format!("the webhook {id} has no delivery {number}");
        return Err(ApiProblem::new(ProblemCode::NotFound, message));
    }
    asked.state().shared.deliveries.notify_one();
    Ok(ApiReply::json(delivery(&retried)))
}

fn id_of(asked: &ApiRequest) -> Result<WebhookId, ApiProblem> {
    asked.path_as("webhook").map(WebhookId)
}

/// A webhook as programs see it. Its secrets are counted, not shown.
fn document(webhook: &WebhookEndpoint) -> Value {
    json!({
        "id": webhook.id.0,
        "url": webhook.url,
        "description": webhook.description,
        "events": webhook.events,
        "isEnabled": webhook.is_enabled,
        "secrets": webhook.secrets.0.len(),
        "revision": webhook.revision,
        "createdMs": webhook.created_ms,
        "updatedMs": webhook.updated_ms,
    })
}

fn with_secret(webhook: &WebhookEndpoint) -> Value {
    let mut shown = document(webhook);
    shown["secret"] = json!(webhook.secrets.0.first());
    shown
}

fn delivery(delivery: &WebhookDelivery) -> Value {
    let message = &delivery.message;
    let body: Value = serde_json::from_str(&message.body).unwrap_or_default();
    json!({
        "id": delivery.id,
        "message": message.message,
        "event": message.event,
        "body": body,
        "status": delivery.status.as_str(),
        "attempts": delivery.attempts,
        "dueMs": delivery.due_ms,
        "createdMs": delivery.created_ms,
        "triedMs": delivery.tried_ms,
        "lastStatus": delivery.last_status,
        "lastError": delivery.last_error,
    })
}

/// How long a dispatcher rests when nothing is due.
const REST: std::time::Duration = std::time::Duration::from_millis(500);
/// How many rests pass between two sweeps of old deliveries.
const RESTS_BETWEEN_SWEEPS: u32 = 1_200;

/// Delivers messages for as long as the server runs.
pub(crate) async fn dispatch(state: crate::state::ServerState) {
    let policy = state.limits().webhooks.clone();
    let mut dispatcher = app::webhooks::WebhookDispatcher::new(state.app().clone(), policy);
    let mut rests = 0_u32;
    loop {
        match dispatcher.look().await {
            Ok(true) => continue,
            Ok(false) => {}
            Err(error) => {
                let cause = error.to_string();
                tracing::warn!(cause = cause.as_str(), "webhooks wait");
            }
        }
        rests = rests.wrapping_add(1);
        if rests.is_multiple_of(RESTS_BETWEEN_SWEEPS) && dispatcher.sweep().await.is_err() {
            tracing::warn!("old deliveries of webhooks stay until the next time");
        }
        tokio::select! {
            () = tokio::time::sleep(REST) => {}
            () = state.shared.deliveries.notified() => {}
        }
    }
}
