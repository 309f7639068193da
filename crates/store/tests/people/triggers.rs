//! Changes that triggers have seen: of those who note a change at the same time, one does.

use crate::place::{Place, on_both};

on_both!(what_was_seen_is_noted_by_one_of_those_who_saw_it);

async fn what_was_seen_is_noted_by_one_of_those_who_saw_it(place: &Place) {
    let store = place.open().await;
    assert_eq!(store.seen("files").await.unwrap(), None);
    assert!(store.note_seen("files", None, "1").await.unwrap());
    assert!(!store.note_seen("files", None, "2").await.unwrap());
    assert!(store.note_seen("files", Some("1"), "2").await.unwrap());
    assert!(!store.note_seen("files", Some("1"), "3").await.unwrap());
    assert_eq!(store.seen("files").await.unwrap().as_deref(), Some("2"));
    assert_eq!(store.seen("other").await.unwrap(), None);
}
