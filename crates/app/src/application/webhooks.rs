//! Webhooks: added, edited, tested and looked at by admins.

use reqwest::Url;
use store::{NewDelivery, SigningSecrets, WebhookDelivery, WebhookEndpoint, WebhookId};

use super::UseCases;
use super::access::Permission;
use crate::outbound::{self, AddressRule};
use crate::people::explained;
use crate::webhooks::{self, WEBHOOK_EVENTS, signing};
use crate::{AppErrorCode, Error};

/// A webhook to add.
#[derive(Clone, Debug, Default)]
pub struct NewWebhook {
    pub url: String,
    pub description: String,
    /// Kinds of events, or `run.*`; empty means all.
    pub events: Vec<String>,
}

/// A change of a webhook; what is left out stays.
#[derive(Clone, Debug, Default)]
pub struct WebhookChange {
    /// The number of the version that was seen.
    pub revision: u64,
    pub url: Option<String>,
    pub description: Option<String>,
    pub events: Option<Vec<String>>,
    pub is_enabled: Option<bool>,
}

impl UseCases {
    /// Lists all webhooks.
    pub async fn webhooks(&self) -> Result<Vec<WebhookEndpoint>, Error> {
        self.permit(Permission::ManageWebhooks)?;
        self.app().ports().webhooks().await.map_err(explained)
    }

    /// Returns a webhook.
    pub async fn webhook(&self, id: WebhookId) -> Result<WebhookEndpoint, Error> {
        self.permit(Permission::ManageWebhooks)?;
        let found = self.app().ports().webhook(id).await.map_err(explained)?;
        found.ok_or_else(|| {
            let message = format!("there is no webhook {id}");
            Error::new(AppErrorCode::NotFound, message).hint("GET /api/v1/webhooks lists them")
        })
    }

    /// Adds a webhook with a new secret, which is the first of its secrets.
    pub async fn add_webhook(&self, wish: NewWebhook) -> Result<WebhookEndpoint, Error> {
        self.permit(Permission::ManageWebhooks)?;
        self.check_webhook(&wish.url, &wish.events)?;
        let endpoint = WebhookEndpoint {
            id: WebhookId(0),
            url: wish.url,
            description: wish.description,
            events: wish.events,
            secrets: SigningSecrets(vec![signing::new_secret()?]),
            is_enabled: true,
            revision: 0,
            created_ms: 0,
            updated_ms: 0,
        };
        let added = self.app().ports().add_webhook(&endpoint).await;
        added.map_err(explained)
    }

    /// Changes a webhook that was seen in a version.
    pub async fn edit_webhook(
        &self,
        id: WebhookId,
        change: WebhookChange,
    ) -> Result<WebhookEndpoint, Error> {
        let mut endpoint = self.webhook(id).await?;
        if endpoint.revision != change.revision {
            let message = format!("the webhook {id} was edited meanwhile");
            return Err(Error::new(AppErrorCode::Stale, message).hint("look at it again"));
        }
        endpoint.url = change.url.unwrap_or(endpoint.url);
        endpoint.description = change.description.unwrap_or(endpoint.description);
        endpoint.events = change.events.unwrap_or(endpoint.events);
        endpoint.is_enabled = change.is_enabled.unwrap_or(endpoint.is_enabled);
        self.check_webhook(&endpoint.url, &endpoint.events)?;
        let edited = self.app().ports().edit_webhook(&endpoint).await;
        edited.map_err(explained)
    }

    /// Gives a webhook a new secret; the old one signs beside it for a day.
    pub async fn rotate_webhook(&self, id: WebhookId) -> Result<WebhookEndpoint, Error> {
        let mut endpoint = self.webhook(id).await?;
        let secrets = &mut endpoint.secrets.0;
        secrets.insert(0, signing::new_secret()?);
        secrets.truncate(store::WEBHOOK_SECRETS_MAX);
        let edited = self.app().ports().edit_webhook(&endpoint).await;
        edited.map_err(explained)
    }

    /// Removes a webhook with its deliveries.
    pub async fn remove_webhook(&self, id: WebhookId) -> Result<(), Error> {
        self.permit(Permission::ManageWebhooks)?;
        let removed = self.app().ports().remove_webhook(id).await;
        removed.map_err(explained)
    }

    /// Queues a message that only tests the way to a webhook, and returns its id.
    pub async fn test_webhook(&self, id: WebhookId) -> Result<String, Error> {
        let endpoint = self.webhook(id).await?;
        let now_ms = self.app().now_ms();
        let mut salt = [0; 8];
        // The time still tells tests apart where the system gives no random bytes.
        let _ = getrandom::fill(&mut salt);
        let message = format!("msg_test_{now_ms}_{:016x}", u64::from_be_bytes(salt));
        let data = serde_json::json!({ "webhook": endpoint.id.0, "by": self.person() });
        let delivery = NewDelivery {
            webhook: endpoint.id,
            message: message.clone(),
            event: "webhook.test".to_owned(),
            body: webhooks::body("webhook.test", now_ms, &data),
        };
        let added = self.app().ports().add_delivery(&delivery).await;
        added.map_err(explained)?;
        Ok(message)
    }

    /// Lists the deliveries of a webhook, the newest first, from behind a number.
    pub async fn webhook_deliveries(
        &self,
        id: WebhookId,
        after: Option<u64>,
        max: usize,
    ) -> Result<Vec<WebhookDelivery>, Error> {
        self.webhook(id).await?;
        let listed = self.app().ports().deliveries(id, after, max).await;
        listed.map_err(explained)
    }

    /// Makes a delivery due again.
    pub async fn retry_delivery(&self, delivery: u64) -> Result<WebhookDelivery, Error> {
        self.permit(Permission::ManageWebhooks)?;
        let retried = self.app().ports().retry_delivery(delivery).await;
        retried.map_err(explained)
    }

    /// Refuses an address that may not be called, and events that never happen.
    fn check_webhook(&self, url: &str, events: &[String]) -> Result<(), Error> {
        let wrong = |message: String| Error::new(AppErrorCode::Data, message);
        let read = Url::parse(url).map_err(|cause| wrong(format!("`url` is no URL: {cause}")))?;
        if !read.username().is_empty() || read.password().is_some() {
            let message = "`url` must not have a user name or a password in it";
            return Err(wrong(message.to_owned()).hint("messages are signed: check the signature"));
        }
        let allowed = &self.project().settings.workflows.http_allow;
        let rule = AddressRule::read(allowed).map_err(wrong)?;
        outbound::prepare(&read, &rule, std::time::Duration::from_secs(1)).map_err(wrong)?;
        let is_known = |event: &String| match event.strip_suffix(".*") {
            Some(kind) => {
                let mut kinds = WEBHOOK_EVENTS
                    .iter()
                    .filter_map(|name| name.split('.').next());
                kinds.any(|known| known == kind)
            }
            None => WEBHOOK_EVENTS.contains(&event.as_str()),
        };
        match events.iter().find(|event| !is_known(event)) {
            None => Ok(()),
            Some(event) => {
                let hint = match crate::nearest(event, WEBHOOK_EVENTS) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("the events are {}", WEBHOOK_EVENTS.join(", ")),
                };
                Err(wrong(format!("`{event}` is no event")).hint(hint))
            }
        }
    }
}
