//! Webhooks out: events of the one stream become signed messages, and messages are delivered until they
//! are accepted or given up.
//!
//! A message is kept before the reader of the stream moves on, and one address gets one message once,
//! however many servers read the stream (`store::WebhookEndpoints`). Signatures are those of Standard
//! Webhooks 1.0. Addresses follow the same rule as `http` steps (`crate::outbound`).

mod message;
mod sending;
pub(crate) mod signing;

use std::time::Duration;

use store::{NewDelivery, StreamFilter, StreamPosition, WebhookEndpoint};

use crate::people::explained;
use crate::{App, Error};

pub use message::WEBHOOK_EVENTS;
pub(crate) use message::body;

/// The name under which the reader of the stream keeps how far it has come.
const READER: &str = "webhooks";
/// How many events are read at a time.
const PAGE_EVENTS: usize = 200;
/// How many messages are taken at a time, and for how long they are this process's.
const CLAIMED_MAX: usize = 20;
const LEASE: Duration = Duration::from_secs(120);
/// For how long settled deliveries can be looked at.
const KEPT: Duration = Duration::from_hours(24 * 30);
/// For how long a replaced secret signs beside the new one.
const OLD_SECRET_LIFE: Duration = Duration::from_hours(24);

/// When a message is tried again, and when an address is given up.
#[derive(Clone, Debug)]
pub struct DeliveryPolicy {
    /// The waits after the first, second and further failures; after the last one the message is given up.
    pub waits: Vec<Duration>,
    /// How many messages in a row are given up before the webhook is switched off.
    pub given_up_max: usize,
    /// How long an answer may take.
    pub timeout: Duration,
}

impl Default for DeliveryPolicy {
    fn default() -> Self {
        let minutes = [5, 30, 2 * 60, 5 * 60, 10 * 60, 14 * 60, 20 * 60, 24 * 60];
        let first = Duration::from_secs(5);
        let later = minutes.map(|minutes| Duration::from_secs(minutes * 60));
        DeliveryPolicy {
            waits: [first].into_iter().chain(later).collect(),
            given_up_max: 5,
            timeout: Duration::from_secs(15),
        }
    }
}

/// Reads the stream for webhooks and delivers what is due.
pub struct WebhookDispatcher {
    app: App,
    policy: DeliveryPolicy,
    position: Option<StreamPosition>,
}

impl WebhookDispatcher {
    pub fn new(app: App, policy: DeliveryPolicy) -> WebhookDispatcher {
        WebhookDispatcher {
            app,
            policy,
            position: None,
        }
    }

    /// Takes one look at the stream and at what is due; returns `true` if there was something to do.
    ///
    /// # Errors
    ///
    /// When the database does not answer: the next look goes on where this one stood.
    pub async fn look(&mut self) -> Result<bool, Error> {
        let has_read = self.read_events().await?;
        let has_sent = self.deliver_due().await?;
        Ok(has_read || has_sent)
    }

    /// Makes messages of the next events.
    async fn read_events(&mut self) -> Result<bool, Error> {
        let ports = self.app.ports();
        let endpoints = ports.webhooks().await.map_err(explained)?;
        let enabled: Vec<&WebhookEndpoint> = endpoints.iter().filter(|it| it.is_enabled).collect();
        if enabled.is_empty() {
            // Without a webhook, events pass unread.
            let head = ports.stream_head().await.map_err(explained)?;
            if self.position != Some(head) {
                let kept = ports.keep_reader_position(READER, head).await;
                kept.map_err(explained)?;
                self.position = Some(head);
            }
            return Ok(false);
        }
        let kept = ports.reader_position(READER).await.map_err(explained)?;
        let at = match self.position {
            // Another server may have read more.
            Some(position) => position.max(kept),
            None if kept == StreamPosition::START => {
                ports.stream_head().await.map_err(explained)?
            }
            None => kept,
        };
        let filter = StreamFilter::default();
        let page = ports.events_after(at, &filter, PAGE_EVENTS).await;
        let page = page.map_err(explained)?;
        for event in &page.events {
            let Some(made) = message::of(self.app.store().as_ref(), event).await? else {
                continue;
            };
            let wanted = enabled
                .iter()
                .filter(|endpoint| wants(endpoint, made.event));
            for endpoint in wanted {
                let delivery = NewDelivery {
                    webhook: endpoint.id,
                    message: made.id.clone(),
                    event: made.event.to_owned(),
                    body: made.body.clone(),
                };
                ports.add_delivery(&delivery).await.map_err(explained)?;
            }
        }
        let next = match page.must_resync {
            true => page.head,
            false => page.next,
        };
        if self.position != Some(next) {
            let kept = ports.keep_reader_position(READER, next).await;
            kept.map_err(explained)?;
        }
        self.position = Some(next);
        Ok(!page.events.is_empty())
    }

    /// Sends the messages that are due, all at once.
    async fn deliver_due(&self) -> Result<bool, Error> {
        let ports = self.app.ports();
        let claimed = ports.claim_deliveries(span_ms(LEASE), CLAIMED_MAX).await;
        let claimed = claimed.map_err(explained)?;
        let is_any = !claimed.is_empty();
        let mut sending = tokio::task::JoinSet::new();
        for delivery in claimed {
            let (app, policy) = (self.app.clone(), self.policy.clone());
            sending.spawn(async move { sending::settle(&app, &policy, delivery).await });
        }
        while let Some(settled) = sending.join_next().await {
            if let Ok(Err(error)) = settled {
                return Err(error);
            }
        }
        Ok(is_any)
    }

    /// Forgets old deliveries, and secrets that were replaced a day ago.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub async fn sweep(&self) -> Result<(), Error> {
        let ports = self.app.ports();
        let now_ms = self.app.now_ms();
        let before_ms = now_ms.saturating_sub(span_ms(KEPT));
        ports.sweep_deliveries(before_ms).await.map_err(explained)?;
        for mut endpoint in ports.webhooks().await.map_err(explained)? {
            let age_ms = now_ms.saturating_sub(endpoint.updated_ms);
            if endpoint.secrets.0.len() > 1 && age_ms > span_ms(OLD_SECRET_LIFE) {
                endpoint.secrets.0.truncate(1);
                // An edit at the same moment is seen the next time.
                let _ = ports.edit_webhook(&endpoint).await;
            }
        }
        Ok(())
    }
}

/// Returns whether a webhook is told of a kind of event: its name, `run.*`, or everything.
fn wants(endpoint: &WebhookEndpoint, event: &str) -> bool {
    let fits = |wanted: &String| match wanted.strip_suffix(".*") {
        Some(kind) => event.split('.').next() == Some(kind),
        None => wanted == event,
    };
    endpoint.events.is_empty() || endpoint.events.iter().any(fits)
}

fn span_ms(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
