//! The audit log: added to, listed by filters page by page, and thrown away when it is old.

use store::{AUDIT_DETAIL_CHARS_MAX, AuditFilter, AuditOutcome, DatabaseErrorKind, NewAuditEntry};

use crate::place::{Database, Place, now_ms, on_both};

on_both!(
    entries_are_listed_by_what_a_filter_says,
    a_list_goes_on_behind_its_cursor,
    entries_are_cut_scrubbed_and_swept,
);

fn entry(actor: &str, action: &str, object: &str) -> NewAuditEntry {
    NewAuditEntry {
        actor: actor.to_owned(),
        action: action.to_owned(),
        object: object.to_owned(),
        outcome: match action {
            "login" => AuditOutcome::Refused,
            _ => AuditOutcome::Done,
        },
        detail: String::new(),
        address: "127.0.0.1".to_owned(),
    }
}

async fn filled(place: &Place) -> Box<dyn Database> {
    let store = place.open().await;
    for (actor, action, object) in [
        ("ada", "login", ""),
        ("ada", "runs.start", "run:r1"),
        ("bob", "runs.cancel", "run:r1"),
        ("bob", "runs.start", "run:r2"),
    ] {
        store
            .add_audit_entry(&entry(actor, action, object))
            .await
            .unwrap();
    }
    store
}

async fn entries_are_listed_by_what_a_filter_says(place: &Place) {
    let store = filled(place).await;
    let all = AuditFilter::default();
    let of = |actor: &str, object: &str, action: &str| {
        let maybe = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        AuditFilter {
            actor: maybe(actor),
            object: maybe(object),
            action: maybe(action),
            ..AuditFilter::default()
        }
    };
    let refused = AuditFilter {
        outcome: Some(AuditOutcome::Refused),
        ..all.clone()
    };
    let later = AuditFilter {
        since_ms: Some(now_ms() + 60_000),
        ..all.clone()
    };
    let earlier = AuditFilter {
        before_ms: Some(5),
        ..all.clone()
    };
    let (start, cancel, login) = ("ada runs.start", "bob runs.cancel", "ada login");
    for (filter, expected) in [
        (all, vec!["bob runs.start", cancel, start, login]),
        (of("ada", "", ""), vec![start, login]),
        (of("", "run:r1", ""), vec![cancel, start]),
        (of("ada", "run:r1", ""), vec![start]),
        (of("", "", "runs.start"), vec!["bob runs.start", start]),
        (refused, vec![login]),
        (later, vec![]),
        (earlier, vec![]),
    ] {
        let found = store.audit_entries(&filter, None, 9).await.unwrap();
        let found: Vec<String> = found
            .iter()
            .map(|found| format!("{} {}", found.entry.actor, found.entry.action))
            .collect();
        assert_eq!(found, expected, "{filter:?}");
    }
}

async fn a_list_goes_on_behind_its_cursor(place: &Place) {
    let store = filled(place).await;
    let all = AuditFilter::default();
    let first = store.audit_entries(&all, None, 3).await.unwrap();
    // Entries that are added meanwhile do not shift the next page.
    store
        .add_audit_entry(&entry("eve", "login", ""))
        .await
        .unwrap();
    let next = store
        .audit_entries(&all, Some(first[2].id), 3)
        .await
        .unwrap();
    assert_eq!(next.len(), 1);
    assert_eq!(next[0].entry.action, "login");
    assert_eq!(next[0].entry.actor, "ada");
}

async fn entries_are_cut_scrubbed_and_swept(place: &Place) {
    let store = place.open().await;
    let long = NewAuditEntry {
        detail: format!("sk-secret-1 \0 {}", "ä".repeat(5_000)),
        ..entry("ada", "x", "o")
    };
    let added = store.add_audit_entry(&long).await.unwrap();
    assert_eq!(added.entry.detail.chars().count(), AUDIT_DETAIL_CHARS_MAX);
    assert!(
        added.entry.detail.starts_with("[key removed] "),
        "{added:?}"
    );
    let refused = store
        .add_audit_entry(&entry("", "x", "o"))
        .await
        .unwrap_err();
    assert_eq!(refused.kind(), DatabaseErrorKind::Invalid);
    assert_eq!(store.sweep_audit(added.at_ms).await.unwrap(), 0);
    assert_eq!(store.sweep_audit(added.at_ms + 1).await.unwrap(), 1);
}
