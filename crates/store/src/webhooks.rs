//! Webhooks: addresses that get a message about changes, and every delivery to them.
//!
//! A delivery has a message id, and one webhook gets one message once: a dispatcher that dies after
//! reading events and before storing its position adds the same deliveries again, and the second
//! time has no effect. Deliveries are claimed under a lease, so that several servers share the
//! work.

use std::fmt;
use std::str::FromStr;

use crate::error::{DatabaseErrorKind, Error, Result};
use crate::record::DatabaseFuture;
use crate::tables::{ColumnRead, SharedTables, TableRow, TableStatement, read_rows, row_limit};
use crate::users::{check_line, invalid, limited};

/// The longest address of a webhook.
pub(crate) const WEBHOOK_URL_CHARS_MAX: usize = 2_000;

/// The most secrets that a webhook may have at once: the new one and the one that it replaces.
pub const WEBHOOK_SECRETS_MAX: usize = 2;

/// The number of a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WebhookId(pub i64);

impl fmt::Display for WebhookId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The secrets that sign a webhook's messages, the newest first. Nothing prints them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SigningSecrets(pub Vec<String>);

impl fmt::Debug for SigningSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningSecrets({} of them)", self.0.len())
    }
}

/// An address that gets messages about changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookEndpoint {
    /// Its number; 0 before it is added.
    pub id: WebhookId,
    /// The address.
    pub url: String,
    /// A line for people.
    pub description: String,
    /// The kinds of events it gets, such as `run.completed`; empty means all.
    pub events: Vec<String>,
    /// The secrets that sign its messages (`whsec_…`), the newest first: a message carries a signature
    /// of each while a secret is being replaced.
    pub secrets: SigningSecrets,
    /// Says that it gets messages.
    pub is_enabled: bool,
    /// Counts its edits; an edit names the one it has seen.
    pub revision: u64,
    /// The time at which it was added, in milliseconds since 1970.
    pub created_ms: u64,
    /// The time of the last edit.
    pub updated_ms: u64,
}

/// The state of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryStatus {
    /// Not delivered yet; the next try comes when it is due.
    Waiting,
    /// The address has accepted it.
    Delivered,
    /// Given up; there is no next try.
    Failed,
}

impl DeliveryStatus {
    /// Returns the word in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            DeliveryStatus::Waiting => "waiting",
            DeliveryStatus::Delivered => "delivered",
            DeliveryStatus::Failed => "failed",
        }
    }
}

impl FromStr for DeliveryStatus {
    type Err = Error;

    fn from_str(text: &str) -> Result<DeliveryStatus> {
        let all = [
            DeliveryStatus::Waiting,
            DeliveryStatus::Delivered,
            DeliveryStatus::Failed,
        ];
        let found = all.into_iter().find(|status| status.as_str() == text);
        found.ok_or_else(|| invalid(format!("`{text}` is no status of a delivery.")))
    }
}

/// A message for a webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewDelivery {
    /// The webhook.
    pub webhook: WebhookId,
    /// The id of the message (`webhook-id`): one webhook gets it once.
    pub message: String,
    /// The kind of event.
    pub event: String,
    /// The content, as it is sent and signed.
    pub body: String,
}

/// A message for a webhook, and the attempts to deliver it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookDelivery {
    /// Its number, which is the cursor of lists.
    pub id: u64,
    /// The message.
    pub message: NewDelivery,
    /// Its state.
    pub status: DeliveryStatus,
    /// Counts the attempts that have ended.
    pub attempts: u64,
    /// The time of the next attempt, in milliseconds since 1970.
    pub due_ms: u64,
    /// The time at which it was added.
    pub created_ms: u64,
    /// The time of the last attempt.
    pub tried_ms: Option<u64>,
    /// The status of HTTP that the last attempt got.
    pub last_status: Option<u64>,
    /// The sentence that says why the last attempt failed.
    pub last_error: Option<String>,
}

/// The end of one attempt to deliver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryAttempt {
    /// The status of HTTP; `None` without an answer.
    pub http_status: Option<u16>,
    /// The reason why it failed; `None` if it was accepted.
    pub error: Option<String>,
    /// The time of the next attempt after a failure; `None` for no more.
    pub retry_ms: Option<u64>,
}

/// The port to webhooks and their deliveries.
pub trait WebhookEndpoints: Send + Sync {
    /// Adds a webhook; its number, revision and times are set here.
    fn add_webhook<'a>(
        &'a self,
        endpoint: &'a WebhookEndpoint,
    ) -> DatabaseFuture<'a, WebhookEndpoint>;

    /// Returns a webhook.
    fn webhook(&self, id: WebhookId) -> DatabaseFuture<'_, Option<WebhookEndpoint>>;

    /// Returns all webhooks in the order of their numbers.
    fn webhooks(&self) -> DatabaseFuture<'_, Vec<WebhookEndpoint>>;

    /// Keeps an edited webhook, secrets included. [`DatabaseErrorKind::Conflict`] if it was edited since this
    /// revision, [`DatabaseErrorKind::Missing`] if it is gone.
    fn edit_webhook<'a>(
        &'a self,
        endpoint: &'a WebhookEndpoint,
    ) -> DatabaseFuture<'a, WebhookEndpoint>;

    /// Removes a webhook with its deliveries. [`DatabaseErrorKind::Missing`] if there is no such webhook.
    fn remove_webhook(&self, id: WebhookId) -> DatabaseFuture<'_, ()>;

    /// Adds a delivery that is due now; returns `false` if the webhook has this message already or is
    /// gone.
    fn add_delivery<'a>(&'a self, delivery: &'a NewDelivery) -> DatabaseFuture<'a, bool>;

    /// Takes deliveries of enabled webhooks that are due, the longest due first. No other server gets
    /// them before the lease has ended: each is settled by [`WebhookEndpoints::note_delivery`] before that.
    fn claim_deliveries(
        &self,
        lease_ms: u64,
        max: usize,
    ) -> DatabaseFuture<'_, Vec<WebhookDelivery>>;

    /// Records the end of an attempt.
    fn note_delivery<'a>(&'a self, id: u64, attempt: &'a DeliveryAttempt)
    -> DatabaseFuture<'a, ()>;

    /// Makes a delivery due again now, whatever its state. [`DatabaseErrorKind::Missing`] if it is gone.
    fn retry_delivery(&self, id: u64) -> DatabaseFuture<'_, WebhookDelivery>;

    /// Returns the deliveries of a webhook, the newest first, from behind the one with the number
    /// `after`.
    fn deliveries(
        &self,
        webhook: WebhookId,
        after: Option<u64>,
        max: usize,
    ) -> DatabaseFuture<'_, Vec<WebhookDelivery>>;

    /// Removes deliveries that were settled before a time; returns how many.
    fn sweep_deliveries(&self, before_ms: u64) -> DatabaseFuture<'_, usize>;
}

macro_rules! endpoint_columns {
    () => {
        "id, url, description, events, secrets, is_enabled, revision, created_ms, updated_ms"
    };
}

macro_rules! delivery_columns {
    () => {
        "id, webhook, message, event, body, status, attempts, due_ms, created_ms, tried_ms, \
         last_status, last_error"
    };
}

const ADD: &str = concat!(
    "INSERT INTO webhooks (url, description, events, secrets, is_enabled, revision, created_ms, \
     updated_ms) VALUES ($1, $2, $3, $4, $5, 1, $6, $6) RETURNING ",
    endpoint_columns!()
);
const FIND: &str = concat!(
    "SELECT ",
    endpoint_columns!(),
    " FROM webhooks WHERE id = $1"
);
const LIST: &str = concat!("SELECT ", endpoint_columns!(), " FROM webhooks ORDER BY id");
const EDIT: &str = concat!(
    "UPDATE webhooks SET url = $1, description = $2, events = $3, secrets = $4, is_enabled = $5, \
     revision = revision + 1, updated_ms = $6 WHERE id = $7 AND revision = $8 RETURNING ",
    endpoint_columns!()
);
const REMOVE_DELIVERIES: &str = "DELETE FROM webhook_deliveries WHERE webhook = $1 RETURNING id";
const REMOVE: &str = "DELETE FROM webhooks WHERE id = $1 RETURNING id";
const ADD_DELIVERY: &str = "INSERT INTO webhook_deliveries (webhook, message, event, body, status, \
     attempts, due_ms, created_ms) SELECT id, $2, $3, $4, 'waiting', 0, $5, $5 FROM webhooks \
     WHERE id = $1 ON CONFLICT (webhook, message) DO NOTHING RETURNING id";
pub(crate) const CLAIM: &str = concat!(
    "UPDATE webhook_deliveries SET due_ms = $2 WHERE id IN (SELECT delivery.id \
     FROM webhook_deliveries AS delivery JOIN webhooks ON webhooks.id = delivery.webhook \
     WHERE delivery.status = 'waiting' AND delivery.due_ms <= $1 AND webhooks.is_enabled = $4 \
     ORDER BY delivery.due_ms, delivery.id LIMIT $3) AND due_ms <= $1 AND status = 'waiting' \
     RETURNING ",
    delivery_columns!()
);
const NOTE: &str = "UPDATE webhook_deliveries SET status = $2, due_ms = $3, \
     attempts = attempts + 1, tried_ms = $4, last_status = $5, last_error = $6 \
     WHERE id = $1 RETURNING id";
const RETRY: &str = concat!(
    "UPDATE webhook_deliveries SET status = 'waiting', due_ms = $2 WHERE id = $1 RETURNING ",
    delivery_columns!()
);
pub(crate) const DELIVERIES: &str = concat!(
    "SELECT ",
    delivery_columns!(),
    " FROM webhook_deliveries WHERE webhook = $1 AND id < $2 ORDER BY id DESC LIMIT $3"
);
const SWEEP: &str = "DELETE FROM webhook_deliveries WHERE id IN (SELECT id FROM webhook_deliveries \
     WHERE status <> 'waiting' AND created_ms < $1 ORDER BY id LIMIT 10000) RETURNING id";

impl<T: SharedTables> WebhookEndpoints for T {
    fn add_webhook<'a>(
        &'a self,
        endpoint: &'a WebhookEndpoint,
    ) -> DatabaseFuture<'a, WebhookEndpoint> {
        Box::pin(async move {
            check_endpoint(endpoint)?;
            let statement = described(self, TableStatement::new(ADD), endpoint)?;
            let rows = self.change_rows(statement).await?;
            let added = read_rows(self, "a webhook", &rows, read_endpoint)?.pop();
            added.ok_or_else(|| self.unreadable_row("a webhook", "it was not added"))
        })
    }

    fn webhook(&self, id: WebhookId) -> DatabaseFuture<'_, Option<WebhookEndpoint>> {
        Box::pin(async move {
            let rows = self.look(TableStatement::new(FIND).with(id.0)).await?;
            Ok(read_rows(self, "a webhook", &rows, read_endpoint)?.pop())
        })
    }

    fn webhooks(&self) -> DatabaseFuture<'_, Vec<WebhookEndpoint>> {
        Box::pin(async move {
            let rows = self.look(TableStatement::new(LIST)).await?;
            read_rows(self, "a webhook", &rows, read_endpoint)
        })
    }

    fn edit_webhook<'a>(
        &'a self,
        endpoint: &'a WebhookEndpoint,
    ) -> DatabaseFuture<'a, WebhookEndpoint> {
        Box::pin(async move {
            check_endpoint(endpoint)?;
            let statement = described(self, TableStatement::new(EDIT), endpoint)?
                .with(endpoint.id.0)
                .with(endpoint.revision);
            let rows = self.change_rows(statement).await?;
            match read_rows(self, "a webhook", &rows, read_endpoint)?.pop() {
                Some(edited) => Ok(edited),
                None if self.webhook(endpoint.id).await?.is_none() => Err(no_webhook(endpoint.id)),
                None => Err(Error::new(
                    DatabaseErrorKind::Conflict,
                    format!(
                        "The webhook {} was edited meanwhile. Look at it and edit it again.",
                        endpoint.id
                    ),
                )),
            }
        })
    }

    fn remove_webhook(&self, id: WebhookId) -> DatabaseFuture<'_, ()> {
        Box::pin(async move {
            let removed = self.change_together(vec![
                TableStatement::optional(REMOVE_DELIVERIES).with(id.0),
                TableStatement::new(REMOVE).with(id.0),
            ]);
            removed.await?.map(drop).map_err(|_| no_webhook(id))
        })
    }

    fn add_delivery<'a>(&'a self, delivery: &'a NewDelivery) -> DatabaseFuture<'a, bool> {
        Box::pin(async move {
            let statement = TableStatement::optional(ADD_DELIVERY)
                .with(delivery.webhook.0)
                .with(delivery.message.as_str())
                .with(delivery.event.as_str())
                .with(self.scrubbed(&delivery.body))
                .with(self.time_ms());
            Ok(!self.change_rows(statement).await?.is_empty())
        })
    }

    fn claim_deliveries(
        &self,
        lease_ms: u64,
        max: usize,
    ) -> DatabaseFuture<'_, Vec<WebhookDelivery>> {
        Box::pin(async move {
            let now_ms = self.time_ms();
            let statement = TableStatement::optional(CLAIM)
                .with(now_ms)
                .with(now_ms.saturating_add(lease_ms))
                .with(row_limit(max))
                .with(true);
            let rows = self.change_rows(statement).await?;
            let mut claimed = read_rows(self, "a delivery", &rows, read_delivery)?;
            claimed.sort_by_key(|delivery| delivery.id);
            Ok(claimed)
        })
    }

    fn note_delivery<'a>(
        &'a self,
        id: u64,
        attempt: &'a DeliveryAttempt,
    ) -> DatabaseFuture<'a, ()> {
        Box::pin(async move {
            let now_ms = self.time_ms();
            let status = match (&attempt.error, attempt.retry_ms) {
                (None, _) => DeliveryStatus::Delivered,
                (Some(_), Some(_)) => DeliveryStatus::Waiting,
                (Some(_), None) => DeliveryStatus::Failed,
            };
            let error = attempt.error.as_deref().map(|error| self.scrubbed(error));
            let statement = TableStatement::optional(NOTE)
                .with(id)
                .with(status.as_str())
                .with(attempt.retry_ms.unwrap_or(now_ms))
                .with(now_ms)
                .with(attempt.http_status.map(u64::from))
                .with(error);
            self.change_rows(statement).await?;
            Ok(())
        })
    }

    fn retry_delivery(&self, id: u64) -> DatabaseFuture<'_, WebhookDelivery> {
        Box::pin(async move {
            let statement = TableStatement::optional(RETRY)
                .with(id)
                .with(self.time_ms());
            let rows = self.change_rows(statement).await?;
            let found = read_rows(self, "a delivery", &rows, read_delivery)?.pop();
            found.ok_or_else(|| {
                Error::new(
                    DatabaseErrorKind::Missing,
                    format!("There is no delivery {id} any more."),
                )
            })
        })
    }

    fn deliveries(
        &self,
        webhook: WebhookId,
        after: Option<u64>,
        max: usize,
    ) -> DatabaseFuture<'_, Vec<WebhookDelivery>> {
        Box::pin(async move {
            let statement = TableStatement::new(DELIVERIES)
                .with(webhook.0)
                .with(after.unwrap_or(u64::MAX))
                .with(row_limit(max));
            let rows = self.look(statement).await?;
            read_rows(self, "a delivery", &rows, read_delivery)
        })
    }

    fn sweep_deliveries(&self, before_ms: u64) -> DatabaseFuture<'_, usize> {
        Box::pin(async move {
            let statement = TableStatement::optional(SWEEP).with(before_ms);
            Ok(self.change_rows(statement).await?.len())
        })
    }
}

fn described(
    tables: &impl SharedTables,
    statement: TableStatement,
    endpoint: &WebhookEndpoint,
) -> Result<TableStatement> {
    let written = |list: &[String]| {
        serde_json::to_string(list)
            .map_err(|cause| invalid(format!("a list cannot be kept: {cause}.")))
    };
    Ok(statement
        .with(endpoint.url.as_str())
        .with(tables.scrubbed(&endpoint.description))
        .with(written(&endpoint.events)?)
        .with(written(&endpoint.secrets.0)?)
        .with(endpoint.is_enabled)
        .with(tables.time_ms()))
}

/// Refuses a webhook that could not be called.
fn check_endpoint(endpoint: &WebhookEndpoint) -> Result<()> {
    let limit = ("WEBHOOK_URL_CHARS_MAX", WEBHOOK_URL_CHARS_MAX);
    check_line("the webhook's address", &endpoint.url, limit)?;
    if !endpoint.url.starts_with("https://") && !endpoint.url.starts_with("http://") {
        let message = "the webhook's address begins with https:// or http://.";
        return Err(invalid(message.to_owned()));
    }
    limited(
        "the list of secrets",
        endpoint.secrets.0.len(),
        ("WEBHOOK_SECRETS_MAX", WEBHOOK_SECRETS_MAX),
    )?;
    match endpoint.secrets.0.is_empty() {
        true => Err(invalid(
            "a webhook needs a secret that signs its messages.".to_owned(),
        )),
        false => Ok(()),
    }
}

fn no_webhook(id: WebhookId) -> Error {
    Error::new(
        DatabaseErrorKind::Missing,
        format!("There is no webhook {id}."),
    )
}

fn read_endpoint(row: &TableRow) -> ColumnRead<WebhookEndpoint> {
    let list = |name: &str| -> ColumnRead<Vec<String>> {
        serde_json::from_str(&row.text(name)?).map_err(|cause| cause.to_string())
    };
    Ok(WebhookEndpoint {
        id: WebhookId(row.integer("id")?),
        url: row.text("url")?,
        description: row.text("description")?,
        events: list("events")?,
        secrets: SigningSecrets(list("secrets")?),
        is_enabled: row.flag("is_enabled")?,
        revision: row.count("revision")?,
        created_ms: row.count("created_ms")?,
        updated_ms: row.count("updated_ms")?,
    })
}

fn read_delivery(row: &TableRow) -> ColumnRead<WebhookDelivery> {
    Ok(WebhookDelivery {
        id: row.count("id")?,
        message: NewDelivery {
            webhook: WebhookId(row.integer("webhook")?),
            message: row.text("message")?,
            event: row.text("event")?,
            body: row.text("body")?,
        },
        status: row.parsed("status")?,
        attempts: row.count("attempts")?,
        due_ms: row.count("due_ms")?,
        created_ms: row.count("created_ms")?,
        tried_ms: row.maybe_count("tried_ms")?,
        last_status: row.maybe_count("last_status")?,
        last_error: row.maybe_text("last_error")?,
    })
}
