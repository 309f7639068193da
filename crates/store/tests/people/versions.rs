//! Named workflows: versions by compare-and-set, listed and read back with their texts.

use std::sync::Arc;

use flow::TextHash;
use store::{DatabaseErrorKind, NewVersion, VersionOrigin};

use crate::place::{Database, Place, on_both};

on_both!(
    versions_are_numbered_and_read_back,
    of_two_authors_the_second_is_told,
    names_are_listed_with_their_newest_version,
    what_cannot_be_a_version_is_refused,
);

const ONE: &str = "graph TD\n    A[One]\n";
const TWO: &str = "graph TD\n    A[Two]\n";

fn version(name: &str, expected: u64, source: &str) -> NewVersion {
    NewVersion {
        name: name.to_owned(),
        expected,
        source: source.to_owned(),
        author: "ada".to_owned(),
        message: "because".to_owned(),
        origin: VersionOrigin::Saved,
    }
}

async fn versions_are_numbered_and_read_back(place: &Place) {
    let store = place.open().await;
    let file = NewVersion {
        origin: VersionOrigin::File(".drawloom/workflows/review.mmd".to_owned()),
        ..version("review", 0, ONE)
    };
    let first = store.save_version(&file).await.unwrap();
    assert_eq!((first.number, &first.hash), (1, &TextHash::of(ONE)));
    assert_eq!(first.origin, file.origin);
    let same = store
        .save_version(&version("review", 1, ONE))
        .await
        .unwrap();
    assert_eq!(same, first, "the same text is no new version");
    let second = store
        .save_version(&version("review", 1, TWO))
        .await
        .unwrap();
    let third = store
        .save_version(&version("review", 2, ONE))
        .await
        .unwrap();
    let store = place.open().await;
    let all = store.versions("review", None, 9).await.unwrap();
    assert_eq!(all, [third.clone(), second.clone(), first.clone()]);
    assert_eq!(
        store.versions("review", Some(3), 1).await.unwrap(),
        std::slice::from_ref(&second)
    );
    let read = store.version("review", Some(2)).await.unwrap();
    assert_eq!(read, Some((second, TWO.to_owned())));
    let newest = store.version("review", None).await.unwrap();
    assert_eq!(newest, Some((third.clone(), ONE.to_owned())));
    let known = store.versions_of_text(&TextHash::of(ONE)).await.unwrap();
    assert_eq!(known, [first, third]);
    assert_eq!(store.version("review", Some(9)).await.unwrap(), None);
    assert_eq!(store.version("other", None).await.unwrap(), None);
    // A run can be pinned to it.
    let kept = place
        .workflows()
        .await
        .workflow(&TextHash::of(TWO))
        .await
        .unwrap();
    assert!(kept.is_some());
}

async fn of_two_authors_the_second_is_told(place: &Place) {
    let store = place.open().await;
    store
        .save_version(&version("review", 0, ONE))
        .await
        .unwrap();
    let mut saves = tokio::task::JoinSet::new();
    for author in 0..6 {
        let store: Arc<dyn Database> = Arc::from(place.open().await);
        saves.spawn(async move {
            let source = format!("graph TD\n    A[{author}]\n");
            store
                .save_version(&version("review", 1, &source))
                .await
                .map(|saved| saved.number)
        });
    }
    let ended = saves.join_all().await;
    let won: Vec<u64> = ended.iter().flatten().copied().collect();
    assert_eq!(won, [2], "{ended:?}");
    for lost in ended.iter().filter_map(|end| end.as_ref().err()) {
        assert_eq!(lost.kind(), DatabaseErrorKind::Conflict, "{lost}");
        assert!(lost.to_string().contains("version 2 by ada"), "{lost}");
    }
    let stale = store.remove_workflow("review", 1).await.unwrap_err();
    assert_eq!(stale.kind(), DatabaseErrorKind::Conflict, "{stale}");
    store.remove_workflow("review", 2).await.unwrap();
    let gone = store.remove_workflow("review", 2).await.unwrap_err();
    assert_eq!(gone.kind(), DatabaseErrorKind::Missing, "{gone}");
}

async fn names_are_listed_with_their_newest_version(place: &Place) {
    let store = place.open().await;
    for (name, expected, source) in [("b", 0, ONE), ("a", 0, ONE), ("b", 1, TWO), ("c", 0, TWO)] {
        store
            .save_version(&version(name, expected, source))
            .await
            .unwrap();
    }
    let listed = async |after: Option<&str>, max: usize| -> Vec<(String, u64)> {
        let found = store.named_workflows(after, max).await.unwrap();
        found
            .into_iter()
            .map(|one| (one.name, one.number))
            .collect()
    };
    let of = |name: &str, number: u64| (name.to_owned(), number);
    assert_eq!(listed(None, 2).await, [of("a", 1), of("b", 2)]);
    assert_eq!(listed(Some("b"), 2).await, [of("c", 1)]);
}

async fn what_cannot_be_a_version_is_refused(place: &Place) {
    let store = place.open().await;
    let long = "x".repeat(201);
    for wrong in [
        version("", 0, ONE),
        version("a\nb", 0, ONE),
        version(&long, 0, ONE),
        version("a", 0, "graph\0"),
    ] {
        let refused = store.save_version(&wrong).await.unwrap_err();
        assert_eq!(refused.kind(), DatabaseErrorKind::Invalid, "{refused}");
    }
    let unknown = store.save_version(&version("a", 3, ONE)).await.unwrap_err();
    assert_eq!(unknown.kind(), DatabaseErrorKind::Missing, "{unknown}");
    assert!(store.named_workflows(None, 9).await.unwrap().is_empty());
}
