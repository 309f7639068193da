//! The outbox: notices wait until they are delivered, and what fails is tried again later.

use flow::RunId;
use flow::engine::{NoticeKind, RunStart};
use serde_json::json;
use store::StoredNotice;

use crate::place::{Place, now_ms, on_both};

on_both!(
    notices_wait_until_they_are_acknowledged,
    what_fails_is_due_later_or_never,
);

/// Two notices: a person has a task in each of two runs.
async fn filled(place: &Place) {
    let store = place.workflows().await;
    let hash = store.keep_workflow("graph TD\n A(Look)\n").await.unwrap();
    for run in ["a", "b"] {
        let start = RunStart::new(run, json!({}));
        store.start(&hash, start).await.unwrap().unwrap();
    }
}

fn runs(notices: &[StoredNotice]) -> Vec<&str> {
    notices.iter().map(|one| one.notice.run.as_str()).collect()
}

async fn notices_wait_until_they_are_acknowledged(place: &Place) {
    filled(place).await;
    let (outbox, other) = (place.open().await, place.open().await);
    let first = outbox.claim_notices(now_ms(), 60_000, 1).await.unwrap();
    assert_eq!((runs(&first), first[0].tries), (vec!["a"], 0));
    assert_eq!(first[0].notice.kind, NoticeKind::TaskForYou);
    let rest = other.claim_notices(now_ms(), 60_000, 9).await.unwrap();
    assert_eq!(runs(&rest), ["b"], "each goes to one reader");
    assert_eq!(other.claim_notices(now_ms(), 1, 9).await.unwrap(), vec![]);
    let later = now_ms() + 90_000;
    let again = other.claim_notices(later, 60_000, 9).await.unwrap();
    assert_eq!(runs(&again), ["a", "b"], "whoever took them has died");
    let removed = outbox.acknowledge_notices(&[first[0].id, 999]).await;
    assert_eq!(removed.unwrap(), 1, "of two, one was there");
    assert_eq!(runs(&outbox.list_notices(9).await.unwrap()), ["b"]);
    outbox.acknowledge_notices(&[]).await.unwrap();
    let left = place.workflows().await.notices(9).await.unwrap();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].1.run, RunId::new("b"));
}

async fn what_fails_is_due_later_or_never(place: &Place) {
    filled(place).await;
    let outbox = place.open().await;
    let taken = outbox.claim_notices(now_ms(), 1, 9).await.unwrap();
    let later = now_ms() + 60_000;
    outbox
        .postpone_notice(taken[0].id, Some(later))
        .await
        .unwrap();
    outbox.postpone_notice(taken[1].id, None).await.unwrap();
    assert_eq!(outbox.claim_notices(later - 1, 1, 9).await.unwrap(), vec![]);
    let due = outbox.claim_notices(later, 1, 9).await.unwrap();
    assert_eq!((runs(&due), due[0].tries), (vec!["a"], 1));
    let all = outbox.list_notices(9).await.unwrap();
    assert_eq!(all[1].due_ms, None, "it is there, and not tried any more");
}
