//! Sessions: found by their secret, ended by time, by idleness and by people.

use std::time::Duration;

use store::{DatabaseErrorKind, NewSession, OpaqueSecret, SessionCheck, SessionId, User};

use crate::place::{Database, Place, now_ms, on_both};
use crate::users::{person, slug};

on_both!(
    a_session_is_found_by_its_secret_and_kept_without_it,
    sessions_end_by_time_and_by_idleness,
    sessions_are_listed_and_ended,
    a_user_who_takes_part_no_more_has_no_session,
);

fn secret(seed: u8) -> OpaqueSecret {
    OpaqueSecret::new([seed; 32])
}

fn session(user: &str) -> NewSession {
    NewSession {
        user: slug(user),
        expires_ms: now_ms() + 60_000,
        idle_ms_max: 30_000,
        user_agent: "Mozilla/5.0 (X11)".to_owned(),
        address: "127.0.0.1".to_owned(),
    }
}

async fn opened(place: &Place) -> (Box<dyn Database>, User) {
    let store = place.open().await;
    let ada = store.add_user(&person("ada", "ada@x.org")).await.unwrap();
    (store, ada)
}

async fn a_session_is_found_by_its_secret_and_kept_without_it(place: &Place) {
    let (store, ada) = opened(place).await;
    let begun = store
        .begin_session(&session("ada"), &secret(5))
        .await
        .unwrap();
    assert_eq!(
        (begun.seen_ms, begun.user_agent.as_str()),
        (begun.created_ms, "Mozilla/5.0 (X11)")
    );
    let store = place.open().await;
    let checked = store.check_session(&secret(5)).await.unwrap();
    let granted = SessionCheck::Granted {
        session: Box::new(begun.clone()),
        user: Box::new(ada),
    };
    assert_eq!(checked, granted);
    assert_eq!(
        store.check_session(&secret(6)).await.unwrap(),
        SessionCheck::Unknown
    );
    // Not every request is worth a write.
    store.note_session_use(begun.id).await.unwrap();
    assert_eq!(store.sessions(None, 9).await.unwrap(), [begun]);
    let missing = store
        .begin_session(&session("eve"), &secret(7))
        .await
        .unwrap_err();
    assert_eq!(missing.kind(), DatabaseErrorKind::Missing);
    if let Place::File(folder) = place {
        for entry in std::fs::read_dir(folder.path().join(".drawloom")).unwrap() {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            assert!(!bytes.windows(32).any(|window| window == [5; 32]));
        }
    }
}

async fn sessions_end_by_time_and_by_idleness(place: &Place) {
    let (store, _) = opened(place).await;
    let short = NewSession {
        expires_ms: now_ms() + 40,
        ..session("ada")
    };
    let idle = NewSession {
        idle_ms_max: 40,
        ..session("ada")
    };
    store.begin_session(&short, &secret(1)).await.unwrap();
    store.begin_session(&idle, &secret(2)).await.unwrap();
    store
        .begin_session(&session("ada"), &secret(3))
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_millis(80)).await;
    for seed in [1, 2] {
        assert_eq!(
            store.check_session(&secret(seed)).await.unwrap(),
            SessionCheck::Ended
        );
    }
    assert_eq!(
        store.sessions(Some(&slug("ada")), 9).await.unwrap().len(),
        1
    );
    assert_eq!(store.sweep_sessions().await.unwrap(), 2);
    assert_eq!(
        store.check_session(&secret(1)).await.unwrap(),
        SessionCheck::Unknown
    );
}

async fn sessions_are_listed_and_ended(place: &Place) {
    let (store, _) = opened(place).await;
    store.add_user(&person("bob", "bob@x.org")).await.unwrap();
    let mut ids = Vec::new();
    for (user, seed) in [("ada", 1), ("bob", 2), ("ada", 3), ("ada", 4)] {
        ids.push(
            store
                .begin_session(&session(user), &secret(seed))
                .await
                .unwrap()
                .id,
        );
    }
    let listed = async |user: Option<&str>| -> Vec<SessionId> {
        let user = user.map(slug);
        let found = store.sessions(user.as_ref(), 9).await.unwrap();
        found.iter().map(|session| session.id).collect()
    };
    assert_eq!(listed(None).await, [ids[3], ids[2], ids[1], ids[0]]);
    assert_eq!(listed(Some("ada")).await, [ids[3], ids[2], ids[0]]);
    store.end_session(ids[0]).await.unwrap();
    let again = store.end_session(ids[0]).await.unwrap_err();
    assert_eq!(again.kind(), DatabaseErrorKind::Missing);
    assert_eq!(
        store
            .end_sessions(&slug("ada"), Some(ids[3]))
            .await
            .unwrap(),
        1
    );
    assert_eq!(listed(None).await, [ids[3], ids[1]]);
    assert_eq!(store.end_sessions(&slug("ada"), None).await.unwrap(), 1);
    assert_eq!(listed(None).await, [ids[1]]);
}

async fn a_user_who_takes_part_no_more_has_no_session(place: &Place) {
    let (store, ada) = opened(place).await;
    store
        .begin_session(&session("ada"), &secret(1))
        .await
        .unwrap();
    let gone = User {
        is_active: false,
        ..ada
    };
    store.edit_user(&gone).await.unwrap();
    assert_eq!(
        store.check_session(&secret(1)).await.unwrap(),
        SessionCheck::Inactive
    );
}
