//! Views: of an owner, seen by others when they are shared, and edited by who has seen them.

use serde_json::json;
use store::{
    DatabaseErrorKind, NewView, SavedView, VIEW_FILTER_BYTES_MAX, ViewId, ViewStore, ViewedList,
};

use crate::place::{Database, Place, on_both};
use crate::users::{person, slug};

on_both!(
    views_are_kept_and_seen_by_their_owner_and_by_all_when_shared,
    a_name_is_one_views_for_each_owner,
    views_are_edited_and_removed_by_who_has_seen_them,
    what_cannot_be_a_view_is_refused_and_nothing_is_kept,
);

fn view(owner: &str, name: &str) -> NewView {
    NewView {
        owner: slug(owner),
        name: name.to_owned(),
        list: ViewedList::Tasks,
        filter: json!({"status": ["on_hold"], "text": "a'b\" ä \u{0}"}),
        is_shared: false,
    }
}

async fn opened(place: &Place) -> Box<dyn Database> {
    let store = place.open().await;
    for name in ["ada", "bob"] {
        let user = person(name, &format!("{name}@x.org"));
        store.add_user(&user).await.unwrap();
    }
    store
}

async fn seen(views: &(impl ViewStore + ?Sized), by: &str, list: ViewedList) -> Vec<String> {
    let views = views.views(&slug(by), list).await.unwrap();
    views
        .iter()
        .map(|view| format!("{}/{}", view.owner, view.name))
        .collect()
}

async fn views_are_kept_and_seen_by_their_owner_and_by_all_when_shared(place: &Place) {
    let store = opened(place).await;
    let mine = store.add_view(&view("ada", "Mine")).await.unwrap();
    assert_eq!(
        (mine.revision, mine.filter.clone()),
        (1, view("ada", "").filter)
    );
    for new in [
        NewView {
            is_shared: true,
            ..view("bob", "Held")
        },
        view("bob", "Secret"),
        NewView {
            is_shared: true,
            list: ViewedList::Runs,
            ..view("bob", "Runs")
        },
    ] {
        store.add_view(&new).await.unwrap();
    }
    for (by, list, expected) in [
        ("ada", ViewedList::Tasks, vec!["bob/Held", "ada/Mine"]),
        ("bob", ViewedList::Tasks, vec!["bob/Held", "bob/Secret"]),
        ("ada", ViewedList::Runs, vec!["bob/Runs"]),
    ] {
        assert_eq!(seen(&*store, by, list).await, expected, "{by} {list:?}");
    }
    let again = place.open().await;
    assert_eq!(again.view(mine.id).await.unwrap().as_ref(), Some(&mine));
    assert!(mine.is_visible_to(&slug("ada")) && !mine.is_visible_to(&slug("bob")));
    assert_eq!(again.view(ViewId(99)).await.unwrap(), None);
}

async fn a_name_is_one_views_for_each_owner(place: &Place) {
    let store = opened(place).await;
    store.add_view(&view("ada", "Mine")).await.unwrap();
    store.add_view(&view("bob", "Mine")).await.unwrap();
    let other = store.add_view(&view("ada", "Other")).await.unwrap();
    let twice = store.add_view(&view("ada", "Mine")).await.unwrap_err();
    let renamed = SavedView {
        name: "Mine".to_owned(),
        ..other.clone()
    };
    let renamed = store.edit_view(&renamed).await.unwrap_err();
    for error in [twice, renamed] {
        assert_eq!(error.kind(), DatabaseErrorKind::Conflict, "{error}");
        assert!(
            error.to_string().contains("a view `Mine` already"),
            "{error}"
        );
    }
    assert_eq!(store.view(other.id).await.unwrap(), Some(other));
}

async fn views_are_edited_and_removed_by_who_has_seen_them(place: &Place) {
    let store = opened(place).await;
    let seen = store.add_view(&view("ada", "Mine")).await.unwrap();
    let edit = SavedView {
        name: "Ours".to_owned(),
        filter: json!({}),
        is_shared: true,
        ..seen.clone()
    };
    let edited = store.edit_view(&edit).await.unwrap();
    let expected = SavedView {
        revision: 2,
        updated_ms: edited.updated_ms,
        ..edit
    };
    assert_eq!(edited, expected);
    for late in [
        store.edit_view(&seen).await.unwrap_err(),
        store.remove_view(&seen).await.unwrap_err(),
    ] {
        assert_eq!(late.kind(), DatabaseErrorKind::Conflict, "{late}");
        assert!(late.to_string().contains("edited meanwhile"), "{late}");
    }
    // A user who is not the owner has no such view to change.
    let stolen = SavedView {
        owner: slug("bob"),
        ..edited.clone()
    };
    let missing = [
        store.edit_view(&stolen).await.unwrap_err(),
        store.remove_view(&stolen).await.unwrap_err(),
    ];
    store.remove_view(&edited).await.unwrap();
    let gone = store.remove_view(&edited).await.unwrap_err();
    for error in missing.into_iter().chain([gone]) {
        assert_eq!(error.kind(), DatabaseErrorKind::Missing, "{error}");
    }
    assert_eq!(store.view(edited.id).await.unwrap(), None);
}

async fn what_cannot_be_a_view_is_refused_and_nothing_is_kept(place: &Place) {
    let store = opened(place).await;
    let long = "x".repeat(VIEW_FILTER_BYTES_MAX);
    for (new, kind, says) in [
        (
            view("eve", "Mine"),
            DatabaseErrorKind::Missing,
            "no user `eve`",
        ),
        (view("ada", " "), DatabaseErrorKind::Invalid, "one line"),
        (view("ada", "a\nb"), DatabaseErrorKind::Invalid, "one line"),
        (
            view("ada", &"x".repeat(101)),
            DatabaseErrorKind::Invalid,
            "VIEW_NAME_CHARS_MAX = 100",
        ),
        (
            NewView {
                filter: json!([1]),
                ..view("ada", "a")
            },
            DatabaseErrorKind::Invalid,
            "a JSON object",
        ),
        (
            NewView {
                filter: json!({ "text": long }),
                ..view("ada", "a")
            },
            DatabaseErrorKind::Invalid,
            "VIEW_FILTER_BYTES_MAX = 16384",
        ),
    ] {
        let error = store.add_view(&new).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(says), "{error}");
    }
    assert!(seen(&*store, "ada", ViewedList::Tasks).await.is_empty());
}
