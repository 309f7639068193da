//! Tokens: shown once, let in no more than their user, and end when they should.

use std::time::Duration;

use store::{DatabaseErrorKind, NewToken, TokenCheck, TokenId, TokenSecret, User, UserRole};

use crate::place::{Database, Place, now_ms, on_both};
use crate::users::{person, slug};

on_both!(
    a_token_lets_its_user_in_and_is_kept_without_its_secret,
    a_token_never_lets_do_more_than_its_user_may_now,
    tokens_that_ended_or_were_revoked_let_nobody_in,
    a_name_is_free_again_when_its_token_is_revoked,
    scopes_stay_with_their_token,
    what_cannot_be_a_token_is_refused_and_nothing_is_kept,
);

fn secret(seed: u8) -> TokenSecret {
    TokenSecret::new([seed; 32])
}

fn token(user: &str, name: &str) -> NewToken {
    NewToken {
        user: slug(user),
        name: name.to_owned(),
        role: UserRole::Viewer,
        scopes: Vec::new(),
        expires_ms: None,
    }
}

async fn opened(place: &Place) -> (Box<dyn Database>, User) {
    let store = place.open().await;
    let ada = store.add_user(&person("ada", "ada@x.org")).await.unwrap();
    (store, ada)
}

#[track_caller]
fn granted(admission: TokenCheck) -> (String, UserRole) {
    match admission {
        TokenCheck::Granted(bearer) => (bearer.user.slug.to_string(), bearer.role),
        refused => panic!("{refused:?}"),
    }
}

async fn a_token_lets_its_user_in_and_is_kept_without_its_secret(place: &Place) {
    let (store, ada) = opened(place).await;
    let added = store
        .add_token(&token("ada", "ci"), &secret(7))
        .await
        .unwrap();
    assert_eq!((added.used_ms, added.revoked_ms), (None, None));
    let store = place.open().await;
    let TokenCheck::Granted(bearer) = store.admit(&secret(7)).await.unwrap() else {
        panic!("a token that is good is refused");
    };
    assert_eq!((bearer.user, bearer.token), (ada, added.id));
    assert_eq!(store.admit(&secret(8)).await.unwrap(), TokenCheck::Unknown);

    store.note_token_use(added.id).await.unwrap();
    let used = store.tokens(Some(&slug("ada"))).await.unwrap().remove(0);
    assert!(used.used_ms.unwrap() >= added.created_ms);
    // Not every use is worth a write.
    tokio::time::sleep(Duration::from_millis(5)).await;
    store.note_token_use(added.id).await.unwrap();
    assert_eq!(store.tokens(None).await.unwrap(), [used]);
    if let Place::File(folder) = place {
        let shown = secret(7).reveal();
        let digits = &shown.as_bytes()[3..];
        for entry in std::fs::read_dir(folder.path().join(".drawloom")).unwrap() {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            assert!(!bytes.windows(64).any(|window| window == digits));
            assert!(!bytes.windows(32).any(|window| window == [7; 32]));
        }
    }
}

async fn a_token_never_lets_do_more_than_its_user_may_now(place: &Place) {
    let (store, ada) = opened(place).await;
    let reviewer = NewToken {
        role: UserRole::Reviewer,
        ..token("ada", "bot")
    };
    store.add_token(&reviewer, &secret(1)).await.unwrap();
    store
        .add_token(&token("ada", "look"), &secret(2))
        .await
        .unwrap();
    let admitted = async |seed: u8| store.admit(&secret(seed)).await.unwrap();
    assert_eq!(
        granted(admitted(1).await),
        ("ada".to_owned(), UserRole::Reviewer)
    );
    assert_eq!(
        granted(admitted(2).await),
        ("ada".to_owned(), UserRole::Viewer)
    );
    let promoted = User {
        role: UserRole::Admin,
        ..ada
    };
    let promoted = store.edit_user(&promoted).await.unwrap();
    assert_eq!(granted(admitted(1).await).1, UserRole::Reviewer);
    let demoted = User {
        role: UserRole::Viewer,
        ..promoted
    };
    let demoted = store.edit_user(&demoted).await.unwrap();
    assert_eq!(granted(admitted(1).await).1, UserRole::Viewer);
    let gone = User {
        is_active: false,
        ..demoted
    };
    store.edit_user(&gone).await.unwrap();
    assert!(matches!(admitted(1).await, TokenCheck::Inactive(_)));
}

async fn tokens_that_ended_or_were_revoked_let_nobody_in(place: &Place) {
    let (store, _) = opened(place).await;
    let short = NewToken {
        expires_ms: Some(now_ms() + 3_000),
        ..token("ada", "short")
    };
    let short = store.add_token(&short, &secret(1)).await.unwrap();
    let other = store
        .add_token(&token("ada", "b"), &secret(2))
        .await
        .unwrap();
    granted(store.admit(&secret(1)).await.unwrap());
    let revoked = store.revoke_token(other.id).await.unwrap();
    assert!(revoked.revoked_ms.is_some());
    let now = store.admit(&secret(2)).await.unwrap();
    assert_eq!(now, TokenCheck::Revoked(other.id));
    // Once is enough: the time does not move.
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert_eq!(store.revoke_token(other.id).await.unwrap(), revoked);
    tokio::time::sleep(Duration::from_millis(3_100)).await;
    let now = store.admit(&secret(1)).await.unwrap();
    assert_eq!(now, TokenCheck::Expired(short.id));
    let missing = store.revoke_token(TokenId(99)).await.unwrap_err();
    assert_eq!(missing.kind(), DatabaseErrorKind::Missing);
    let listed = store.tokens(None).await.unwrap();
    assert_eq!(listed, [revoked, short]);
}

async fn a_name_is_free_again_when_its_token_is_revoked(place: &Place) {
    let (store, _) = opened(place).await;
    let first = store
        .add_token(&token("ada", "ci"), &secret(1))
        .await
        .unwrap();
    let taken = store.add_token(&token("ada", "ci"), &secret(2)).await;
    let taken = taken.unwrap_err();
    assert_eq!(taken.kind(), DatabaseErrorKind::Conflict);
    assert!(
        taken.to_string().contains("a token `ci` already"),
        "{taken}"
    );
    store.revoke_token(first.id).await.unwrap();
    store
        .add_token(&token("ada", "ci"), &secret(2))
        .await
        .unwrap();
    assert_eq!(
        store.admit(&secret(1)).await.unwrap(),
        TokenCheck::Revoked(first.id)
    );
    granted(store.admit(&secret(2)).await.unwrap());
}

async fn scopes_stay_with_their_token(place: &Place) {
    let (store, _) = opened(place).await;
    let scopes = vec!["runs.start".to_owned(), "tasks".to_owned()];
    let narrow = NewToken {
        scopes: scopes.clone(),
        ..token("ada", "narrow")
    };
    let added = store.add_token(&narrow, &secret(1)).await.unwrap();
    assert_eq!(added.scopes, scopes);
    let TokenCheck::Granted(bearer) = store.admit(&secret(1)).await.unwrap() else {
        panic!("a token that is good is refused");
    };
    assert_eq!(bearer.scopes, scopes);
    for wrong in ["Runs", "a b", "", "ä"] {
        let scopes = vec![wrong.to_owned()];
        let wrong = NewToken {
            scopes,
            ..token("ada", "wrong")
        };
        let error = store.add_token(&wrong, &secret(2)).await.unwrap_err();
        assert_eq!(error.kind(), DatabaseErrorKind::Invalid, "{error}");
    }
}

async fn what_cannot_be_a_token_is_refused_and_nothing_is_kept(place: &Place) {
    let (store, _) = opened(place).await;
    let bob = User {
        is_active: false,
        ..person("bob", "bob@x.org")
    };
    store.add_user(&bob).await.unwrap();
    for (new, kind, says) in [
        (
            token("eve", "ci"),
            DatabaseErrorKind::Missing,
            "no user `eve`",
        ),
        (
            token("bob", "ci"),
            DatabaseErrorKind::Invalid,
            "takes part no more",
        ),
        (token("ada", ""), DatabaseErrorKind::Invalid, "one line"),
        (
            token("ada", &"x".repeat(101)),
            DatabaseErrorKind::Invalid,
            "TOKEN_NAME_CHARS_MAX = 100",
        ),
        (
            NewToken {
                role: UserRole::Operator,
                ..token("ada", "ci")
            },
            DatabaseErrorKind::Invalid,
            "is reviewer and cannot have a token for operator",
        ),
        (
            NewToken {
                expires_ms: Some(now_ms() - 60_000),
                ..token("ada", "ci")
            },
            DatabaseErrorKind::Invalid,
            "ended already",
        ),
    ] {
        let error = store.add_token(&new, &secret(1)).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(says), "{error}");
    }
    assert!(store.tokens(None).await.unwrap().is_empty());
}

#[test]
fn secrets_are_read_as_they_are_shown_and_never_printed_otherwise() {
    let secret = TokenSecret::new(std::array::from_fn(|at| u8::try_from(at * 8).unwrap()));
    let shown = secret.reveal();
    assert_eq!(shown.len(), 67);
    assert!(shown.starts_with("dl_00081018"), "{shown}");
    assert_eq!(shown.parse::<TokenSecret>().unwrap(), secret);
    assert_eq!(format!("{secret:?}"), "TokenSecret(dl_…)");
    let (short, long) = (&shown[..66], format!("{shown}0"));
    let (upper, other) = (shown.replace("f8", "F8"), shown.replace("dl_", "xx_"));
    let wide = format!("dl_{}", "ä".repeat(32));
    for wrong in ["", "dl_", short, &long, &upper, &other, &wide, &shown[3..]] {
        let error = wrong.parse::<TokenSecret>().unwrap_err();
        assert_eq!(error.kind(), DatabaseErrorKind::Invalid, "{wrong}");
        assert!(!error.to_string().contains("081018"), "{error}");
    }
}
