//! One attempt to deliver a message, and what follows from it.

use std::time::Duration;

use reqwest::Url;
use store::{DeliveryAttempt, DeliveryStatus, WebhookDelivery, WebhookEndpoint};

use super::{DeliveryPolicy, signing, span_ms};
use crate::outbound::{self, AddressRule};
use crate::people::explained;
use crate::{App, Error};

/// How a webhook says that it wants no more messages.
const GONE: u16 = 410;

/// Sends a message and keeps the result.
pub(super) async fn settle(
    app: &App,
    policy: &DeliveryPolicy,
    delivery: WebhookDelivery,
) -> Result<(), Error> {
    let ports = app.ports();
    let endpoint = ports.webhook(delivery.message.webhook).await;
    let Some(endpoint) = endpoint.map_err(explained)? else {
        return Ok(());
    };
    let sent = send(app, (&endpoint, &delivery), policy.timeout).await;
    let (http_status, error) = match sent {
        Ok(status) if (200..300).contains(&status) => (Some(status), None),
        Ok(status) => (Some(status), Some(format!("It answered {status}."))),
        Err(cause) => (None, Some(cause)),
    };
    let tried = usize::try_from(delivery.attempts).unwrap_or(usize::MAX);
    let wait = policy
        .waits
        .get(tried)
        .filter(|_| http_status != Some(GONE));
    let attempt = DeliveryAttempt {
        http_status,
        retry_ms: wait.map(|wait| app.now_ms().saturating_add(span_ms(*wait))),
        error,
    };
    let noted = ports.note_delivery(delivery.id, &attempt).await;
    noted.map_err(explained)?;
    let is_given_up = attempt.error.is_some() && attempt.retry_ms.is_none();
    if is_given_up && (http_status == Some(GONE) || is_hopeless(app, policy, &endpoint).await?) {
        switch_off(app, endpoint).await;
    }
    Ok(())
}

/// Returns whether the last messages were all given up.
async fn is_hopeless(
    app: &App,
    policy: &DeliveryPolicy,
    endpoint: &WebhookEndpoint,
) -> Result<bool, Error> {
    let listed = app.ports().deliveries(endpoint.id, None, 200).await;
    let listed = listed.map_err(explained)?;
    let mut settled = listed
        .iter()
        .filter(|delivery| delivery.status != DeliveryStatus::Waiting)
        .take(policy.given_up_max);
    let count = settled.clone().count();
    let all_failed = settled.all(|delivery| delivery.status == DeliveryStatus::Failed);
    Ok(count == policy.given_up_max && all_failed)
}

async fn switch_off(app: &App, mut endpoint: WebhookEndpoint) {
    endpoint.is_enabled = false;
    // Edited at this moment by a person, who then knows better.
    if app.ports().edit_webhook(&endpoint).await.is_ok() {
        let id = endpoint.id.to_string();
        let access = app.access_control();
        access.note("server", ("webhooks.disable", &id), None).await;
    }
}

/// Sends a message once and returns the status of the answer.
async fn send(
    app: &App,
    (endpoint, delivery): (&WebhookEndpoint, &WebhookDelivery),
    timeout: Duration,
) -> Result<u16, String> {
    let url = Url::parse(&endpoint.url).map_err(|cause| format!("It has no URL: {cause}."))?;
    let rule = AddressRule::read(&app.project().settings.workflows.http_allow)?;
    let client = outbound::prepare(&url, &rule, timeout)?;
    let id = delivery.message.message.as_str();
    let seconds = app.now_ms() / 1_000;
    let body = delivery.message.body.clone();
    let signature = signing::sign(&endpoint.secrets.0, (id, seconds), &body);
    let sent = client
        .post(url)
        .header("content-type", "application/json")
        .header("webhook-id", id)
        .header("webhook-timestamp", seconds.to_string())
        .header("webhook-signature", signature)
        .body(body)
        .send()
        .await;
    let response = sent.map_err(|cause| outbound::explained(&cause.without_url()))?;
    // A redirect is no acceptance: the address is to be corrected.
    Ok(response.status().as_u16())
}
