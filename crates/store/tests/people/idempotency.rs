//! Idempotency keys: one request does the work, its repetitions get the same response.

use std::sync::Arc;

use store::{
    DatabaseErrorKind, IDEMPOTENCY_BODY_BYTES_MAX, KeyClaim, KeyTimes, RequestKey, StoredResponse,
};

use crate::place::{Database, Place, on_both};

on_both!(
    a_repetition_gets_the_stored_response,
    of_many_requests_at_once_one_does_the_work,
    keys_are_free_again_when_their_time_is_over,
    what_cannot_be_kept_is_refused,
);

const TIMES: KeyTimes = KeyTimes {
    lease_ms: 60_000,
    keep_ms: 86_400_000,
};

fn key(owner: &str) -> RequestKey {
    RequestKey {
        owner: owner.to_owned(),
        key: "c0ffee".to_owned(),
    }
}

fn response(body: &[u8]) -> StoredResponse {
    StoredResponse {
        status: 201,
        headers: "{\"location\":\"/api/v1/runs/r1\"}".to_owned(),
        body: body.to_vec(),
    }
}

async fn a_repetition_gets_the_stored_response(place: &Place) {
    let store = place.open().await;
    let claim = async |owner: &str, digest: u8| {
        let key = key(owner);
        store.claim_key(&key, [digest; 32], TIMES).await.unwrap()
    };
    assert_eq!(claim("ada", 1).await, KeyClaim::Fresh);
    assert_eq!(claim("ada", 1).await, KeyClaim::UnderWay);
    assert_eq!(claim("ada", 2).await, KeyClaim::OtherRequest);
    assert_eq!(
        claim("bob", 2).await,
        KeyClaim::Fresh,
        "keys are their owner's"
    );
    store
        .finish_key(&key("ada"), &response(b"{\0}"))
        .await
        .unwrap();
    let store = place.open().await;
    let again = store.claim_key(&key("ada"), [1; 32], TIMES).await.unwrap();
    assert_eq!(again, KeyClaim::Done(response(b"{\0}")));
    let other = store.claim_key(&key("ada"), [2; 32], TIMES).await.unwrap();
    assert_eq!(other, KeyClaim::OtherRequest);
    // One that is done is not let go, one that failed is.
    store.release_key(&key("ada")).await.unwrap();
    store.release_key(&key("bob")).await.unwrap();
    assert_eq!(claim("ada", 1).await, KeyClaim::Done(response(b"{\0}")));
    assert_eq!(claim("bob", 3).await, KeyClaim::Fresh);
}

async fn of_many_requests_at_once_one_does_the_work(place: &Place) {
    let mut claims = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let store: Arc<dyn Database> = Arc::from(place.open().await);
        claims.spawn(async move { store.claim_key(&key("ada"), [1; 32], TIMES).await.unwrap() });
    }
    let ended = claims.join_all().await;
    let fresh = ended.iter().filter(|end| **end == KeyClaim::Fresh).count();
    let waits = ended
        .iter()
        .filter(|end| **end == KeyClaim::UnderWay)
        .count();
    assert_eq!((fresh, waits), (1, 7), "{ended:?}");
}

async fn keys_are_free_again_when_their_time_is_over(place: &Place) {
    let store = place.open().await;
    let short = KeyTimes {
        lease_ms: 20,
        keep_ms: 60,
    };
    let claim = async || store.claim_key(&key("ada"), [1; 32], short).await.unwrap();
    assert_eq!(claim().await, KeyClaim::Fresh);
    tokio::time::sleep(std::time::Duration::from_millis(40)).await;
    assert_eq!(claim().await, KeyClaim::Fresh, "the first one died");
    store
        .finish_key(&key("ada"), &response(b"x"))
        .await
        .unwrap();
    assert_eq!(claim().await, KeyClaim::Done(response(b"x")));
    tokio::time::sleep(std::time::Duration::from_millis(80)).await;
    assert_eq!(store.sweep_keys().await.unwrap(), 1);
    assert_eq!(claim().await, KeyClaim::Fresh);
}

async fn what_cannot_be_kept_is_refused(place: &Place) {
    let store = place.open().await;
    for text in ["", "a\nb", &"x".repeat(256)] {
        let wrong = RequestKey {
            owner: "ada".to_owned(),
            key: text.to_owned(),
        };
        let error = store.claim_key(&wrong, [1; 32], TIMES).await.unwrap_err();
        assert_eq!(error.kind(), DatabaseErrorKind::Invalid, "{error}");
    }
    store.claim_key(&key("ada"), [1; 32], TIMES).await.unwrap();
    let large = response(&vec![0; IDEMPOTENCY_BODY_BYTES_MAX + 1]);
    let error = store.finish_key(&key("ada"), &large).await.unwrap_err();
    assert!(
        error.to_string().contains("IDEMPOTENCY_BODY_BYTES_MAX"),
        "{error}"
    );
}
