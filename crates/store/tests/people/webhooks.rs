//! Webhooks: kept with their secrets, and every message delivered once to each.

use store::{DatabaseErrorKind, DeliveryAttempt, DeliveryStatus, NewDelivery, SigningSecrets};
use store::{WebhookEndpoint, WebhookId};

use crate::place::{Database, Place, now_ms, on_both};

on_both!(
    webhooks_are_added_edited_and_removed,
    a_message_is_kept_once_and_claimed_by_one,
    attempts_are_counted_until_the_last,
);

fn endpoint(url: &str) -> WebhookEndpoint {
    WebhookEndpoint {
        id: WebhookId(0),
        url: url.to_owned(),
        description: "to the chat".to_owned(),
        events: vec!["run.failed".to_owned()],
        secrets: SigningSecrets(vec!["whsec_one".to_owned()]),
        is_enabled: true,
        revision: 0,
        created_ms: 0,
        updated_ms: 0,
    }
}

fn message(webhook: WebhookId, id: &str) -> NewDelivery {
    NewDelivery {
        webhook,
        message: id.to_owned(),
        event: "run.failed".to_owned(),
        body: "{\"run\":\"r1\"}".to_owned(),
    }
}

async fn with_webhook(place: &Place) -> (Box<dyn Database>, WebhookEndpoint) {
    let store = place.open().await;
    let added = store
        .add_webhook(&endpoint("https://x.org/a"))
        .await
        .unwrap();
    (store, added)
}

async fn webhooks_are_added_edited_and_removed(place: &Place) {
    let (store, added) = with_webhook(place).await;
    assert_eq!(store.webhook(added.id).await.unwrap(), Some(added.clone()));
    let rotated = WebhookEndpoint {
        secrets: SigningSecrets(vec!["whsec_two".to_owned(), "whsec_one".to_owned()]),
        ..added.clone()
    };
    let edited = store.edit_webhook(&rotated).await.unwrap();
    assert_eq!((edited.revision, edited.secrets.0.len()), (2, 2));
    assert!(!format!("{edited:?}").contains("whsec"), "{edited:?}");
    let stale = store.edit_webhook(&rotated).await.unwrap_err();
    assert_eq!(stale.kind(), DatabaseErrorKind::Conflict, "{stale}");
    let wrong = |url: &str, secrets: &[&str]| WebhookEndpoint {
        secrets: SigningSecrets(secrets.iter().map(|secret| (*secret).to_owned()).collect()),
        ..endpoint(url)
    };
    for wrong in [
        wrong("ftp://x.org", &["a"]),
        wrong("", &["a"]),
        wrong("https://x.org", &[]),
        wrong("https://x.org", &["a", "b", "c"]),
    ] {
        let refused = store.add_webhook(&wrong).await.unwrap_err();
        assert_eq!(refused.kind(), DatabaseErrorKind::Invalid, "{refused}");
    }
    store.add_delivery(&message(added.id, "m1")).await.unwrap();
    store.remove_webhook(added.id).await.unwrap();
    assert!(store.webhooks().await.unwrap().is_empty());
    let gone = store.remove_webhook(added.id).await.unwrap_err();
    assert_eq!(gone.kind(), DatabaseErrorKind::Missing);
    assert!(!store.add_delivery(&message(added.id, "m2")).await.unwrap());
}

async fn a_message_is_kept_once_and_claimed_by_one(place: &Place) {
    let (store, webhook) = with_webhook(place).await;
    assert!(
        store
            .add_delivery(&message(webhook.id, "m1"))
            .await
            .unwrap()
    );
    assert!(
        !store
            .add_delivery(&message(webhook.id, "m1"))
            .await
            .unwrap()
    );
    let other = place.open().await;
    let (one, two) = tokio::join!(
        store.claim_deliveries(60_000, 9),
        other.claim_deliveries(60_000, 9)
    );
    assert_eq!(one.unwrap().len() + two.unwrap().len(), 1);
    // A lease that has ended lets another server try.
    store
        .add_delivery(&message(webhook.id, "m2"))
        .await
        .unwrap();
    assert_eq!(store.claim_deliveries(1, 9).await.unwrap().len(), 1);
    tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    assert_eq!(other.claim_deliveries(60_000, 9).await.unwrap().len(), 1);
    let off = WebhookEndpoint {
        is_enabled: false,
        ..webhook.clone()
    };
    store.edit_webhook(&off).await.unwrap();
    store
        .add_delivery(&message(webhook.id, "m3"))
        .await
        .unwrap();
    assert!(store.claim_deliveries(1, 9).await.unwrap().is_empty());
}

async fn attempts_are_counted_until_the_last(place: &Place) {
    let (store, webhook) = with_webhook(place).await;
    for id in ["m1", "m2", "m3"] {
        store.add_delivery(&message(webhook.id, id)).await.unwrap();
    }
    let claimed = store.claim_deliveries(60_000, 9).await.unwrap();
    let failed = |retry_ms| DeliveryAttempt {
        http_status: Some(503),
        error: Some("the address answered 503".to_owned()),
        retry_ms,
    };
    let accepted = DeliveryAttempt {
        http_status: Some(204),
        error: None,
        retry_ms: None,
    };
    store.note_delivery(claimed[0].id, &accepted).await.unwrap();
    store
        .note_delivery(claimed[1].id, &failed(None))
        .await
        .unwrap();
    store
        .note_delivery(claimed[2].id, &failed(Some(now_ms() + 60_000)))
        .await
        .unwrap();
    let listed = store.deliveries(webhook.id, None, 9).await.unwrap();
    let states: Vec<_> = listed
        .iter()
        .map(|one| (one.status, one.attempts, one.last_status))
        .collect();
    assert_eq!(
        states,
        [
            (DeliveryStatus::Waiting, 1, Some(503)),
            (DeliveryStatus::Failed, 1, Some(503)),
            (DeliveryStatus::Delivered, 1, Some(204)),
        ]
    );
    let next = store
        .deliveries(webhook.id, Some(listed[1].id), 9)
        .await
        .unwrap();
    assert_eq!(next, listed[2..]);
    assert!(store.claim_deliveries(1, 9).await.unwrap().is_empty());
    let again = store.retry_delivery(listed[1].id).await.unwrap();
    assert_eq!(again.status, DeliveryStatus::Waiting);
    assert_eq!(store.claim_deliveries(1, 9).await.unwrap().len(), 1);
    let missing = store.retry_delivery(9_999).await.unwrap_err();
    assert_eq!(missing.kind(), DatabaseErrorKind::Missing);
    assert_eq!(store.sweep_deliveries(now_ms() + 1_000).await.unwrap(), 1);
}
