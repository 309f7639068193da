//! Proofs of identity: one claim of a fresh server, passwords, one-time links, foreign identities.

use std::sync::Arc;

use store::{ClaimProof, DatabaseErrorKind, ForeignIdentity, LinkPurpose, NewLink, OpaqueSecret};
use store::{NewSession, PasswordHash, SessionCheck, UserRole};

use crate::place::{Database, Place, now_ms, on_both};
use crate::users::{agent, person, slug};

on_both!(
    a_fresh_server_is_claimed_once,
    of_many_claims_at_once_one_wins,
    a_claim_needs_a_good_link_and_leaves_nothing_without_one,
    a_claim_raises_the_person_who_is_there_already,
    a_reset_link_sets_a_password_once_and_ends_sessions,
    passwords_are_of_people_only,
    an_identity_belongs_to_one_user,
);

fn hash(name: &str) -> PasswordHash {
    format!("$argon2id$v=19$m=19456,t=2,p=1$c2FsdA${name}")
        .parse()
        .unwrap()
}

fn secret(seed: u8) -> OpaqueSecret {
    OpaqueSecret::new([seed; 32])
}

fn claim_link() -> NewLink {
    NewLink {
        purpose: LinkPurpose::Claim,
        user: None,
        expires_ms: now_ms() + 60_000,
    }
}

async fn with_claim_links(place: &Place, seeds: std::ops::Range<u8>) -> Arc<dyn Database> {
    let store: Arc<dyn Database> = Arc::from(place.open().await);
    for seed in seeds {
        store.add_link(&claim_link(), &secret(seed)).await.unwrap();
    }
    store
}

async fn a_fresh_server_is_claimed_once(place: &Place) {
    let store = with_claim_links(place, 1..3).await;
    assert!(!store.is_claimed().await.unwrap());
    assert!(store.usable_link(&secret(1)).await.unwrap().is_some());
    let (ada, one) = (person("ada", "Ada@x.org"), secret(1));
    let owner = store
        .claim_server(ClaimProof::Link(&one), &ada, &hash("a"))
        .await
        .unwrap();
    assert_eq!((owner.role, owner.is_active), (UserRole::Admin, true));
    assert!(store.is_claimed().await.unwrap());
    assert_eq!(store.password(&slug("ada")).await.unwrap(), Some(hash("a")));
    let found = store.person_with_email("aDA@X.org").await.unwrap();
    assert_eq!(found, Some(owner));
    // The other link is of no use any more, and there are no new ones.
    assert_eq!(store.usable_link(&secret(2)).await.unwrap(), None);
    let (bob, two) = (person("bob", "bob@x.org"), secret(2));
    for proof in [ClaimProof::Link(&two), ClaimProof::Operator] {
        let late = store
            .claim_server(proof, &bob, &hash("b"))
            .await
            .unwrap_err();
        assert_eq!(late.kind(), DatabaseErrorKind::Conflict, "{late}");
    }
    assert_eq!(store.user(&slug("bob")).await.unwrap(), None);
    let late = store.add_link(&claim_link(), &secret(3)).await.unwrap_err();
    assert_eq!(late.kind(), DatabaseErrorKind::Conflict, "{late}");
}

async fn of_many_claims_at_once_one_wins(place: &Place) {
    let store = with_claim_links(place, 0..8).await;
    let mut claims = tokio::task::JoinSet::new();
    for seed in 0..8 {
        let store: Arc<dyn Database> = Arc::from(place.open().await);
        claims.spawn(async move {
            let owner = person(&format!("u{seed}"), &format!("u{seed}@x.org"));
            let proof = secret(seed);
            let claimed = store
                .claim_server(ClaimProof::Link(&proof), &owner, &hash("x"))
                .await;
            claimed.map(|owner| owner.slug)
        });
    }
    let ended = claims.join_all().await;
    let won: Vec<_> = ended.iter().flatten().collect();
    assert_eq!(won.len(), 1, "{ended:?}");
    for lost in ended.iter().filter_map(|end| end.as_ref().err()) {
        assert_eq!(lost.kind(), DatabaseErrorKind::Conflict, "{lost}");
    }
    let users = store.users(store::UserFilter::Everybody).await.unwrap();
    assert_eq!(users.len(), 1, "nobody else was added");
    assert_eq!(&users[0].slug, won[0]);
}

async fn a_claim_needs_a_good_link_and_leaves_nothing_without_one(place: &Place) {
    let store = with_claim_links(place, 1..2).await;
    let soon = NewLink {
        expires_ms: now_ms() + 30,
        ..claim_link()
    };
    store.add_link(&soon, &secret(2)).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(60)).await;
    for bad in [secret(2), secret(9)] {
        let ada = person("ada", "ada@x.org");
        let refused = store
            .claim_server(ClaimProof::Link(&bad), &ada, &hash("a"))
            .await;
        let refused = refused.unwrap_err();
        assert_eq!(refused.kind(), DatabaseErrorKind::Missing, "{refused}");
    }
    assert!(
        store
            .users(store::UserFilter::Everybody)
            .await
            .unwrap()
            .is_empty()
    );
    let robot = agent("robot", "Do it.");
    let one = secret(1);
    let refused = store
        .claim_server(ClaimProof::Link(&one), &robot, &hash("a"))
        .await;
    assert_eq!(refused.unwrap_err().kind(), DatabaseErrorKind::Invalid);
    let past = NewLink {
        expires_ms: 1,
        ..claim_link()
    };
    let refused = store.add_link(&past, &secret(4)).await.unwrap_err();
    assert_eq!(refused.kind(), DatabaseErrorKind::Invalid);
    assert!(!store.is_claimed().await.unwrap());
}

async fn a_claim_raises_the_person_who_is_there_already(place: &Place) {
    let store = with_claim_links(place, 1..2).await;
    store.add_user(&person("ada", "ada@x.org")).await.unwrap();
    let other = person("somebody", "ADA@x.org");
    let one = secret(1);
    let owner = store
        .claim_server(ClaimProof::Link(&one), &other, &hash("a"))
        .await
        .unwrap();
    assert_eq!((owner.slug, owner.role), (slug("ada"), UserRole::Admin));
    assert_eq!(
        store
            .users(store::UserFilter::Everybody)
            .await
            .unwrap()
            .len(),
        1
    );
}

async fn a_reset_link_sets_a_password_once_and_ends_sessions(place: &Place) {
    let store = place.open().await;
    store.add_user(&person("ada", "ada@x.org")).await.unwrap();
    store
        .set_password(&slug("ada"), &hash("old"))
        .await
        .unwrap();
    let session = NewSession {
        user: slug("ada"),
        expires_ms: now_ms() + 60_000,
        idle_ms_max: 60_000,
        user_agent: String::new(),
        address: String::new(),
    };
    store.begin_session(&session, &secret(7)).await.unwrap();
    let link = NewLink {
        purpose: LinkPurpose::PasswordReset,
        user: Some(slug("ada")),
        expires_ms: now_ms() + 60_000,
    };
    store.add_link(&link, &secret(1)).await.unwrap();
    // A newer link replaces it.
    store.add_link(&link, &secret(2)).await.unwrap();
    let gone = store
        .reset_password(&secret(1), &hash("x"))
        .await
        .unwrap_err();
    assert_eq!(gone.kind(), DatabaseErrorKind::Missing, "{gone}");
    let reset = store
        .reset_password(&secret(2), &hash("new"))
        .await
        .unwrap();
    assert_eq!(reset, slug("ada"));
    assert_eq!(
        store.password(&slug("ada")).await.unwrap(),
        Some(hash("new"))
    );
    let checked = store.check_session(&secret(7)).await.unwrap();
    assert_eq!(checked, SessionCheck::Unknown);
    let again = store
        .reset_password(&secret(2), &hash("x"))
        .await
        .unwrap_err();
    assert_eq!(again.kind(), DatabaseErrorKind::Missing, "{again}");
    // A link for one purpose does nothing for another.
    store.add_link(&link, &secret(3)).await.unwrap();
    let (eve, three) = (person("eve", "eve@x.org"), secret(3));
    let refused = store
        .claim_server(ClaimProof::Link(&three), &eve, &hash("x"))
        .await;
    assert_eq!(refused.unwrap_err().kind(), DatabaseErrorKind::Missing);
}

async fn passwords_are_of_people_only(place: &Place) {
    let store = place.open().await;
    store.add_user(&agent("robot", "Do it.")).await.unwrap();
    let refused = store
        .set_password(&slug("robot"), &hash("x"))
        .await
        .unwrap_err();
    assert_eq!(refused.kind(), DatabaseErrorKind::Invalid, "{refused}");
    let missing = store
        .set_password(&slug("eve"), &hash("x"))
        .await
        .unwrap_err();
    assert_eq!(missing.kind(), DatabaseErrorKind::Missing, "{missing}");
    assert_eq!(store.password(&slug("robot")).await.unwrap(), None);
    for wrong in [
        "",
        "correct horse battery staple",
        "$argon2i$v=19$x",
        "$argon2id$ä",
    ] {
        let error = wrong.parse::<PasswordHash>().unwrap_err();
        assert!(
            wrong.is_empty() || !error.to_string().contains(wrong),
            "{error}"
        );
    }
    assert_eq!(format!("{:?}", hash("x")), "PasswordHash(…)");
    assert_eq!(format!("{:?}", secret(1)), "OpaqueSecret(…)");
    let shown = secret(1).reveal();
    assert_eq!(shown.parse::<OpaqueSecret>().unwrap(), secret(1));
    assert!(shown[1..].parse::<OpaqueSecret>().is_err());
}

async fn an_identity_belongs_to_one_user(place: &Place) {
    let store = place.open().await;
    for name in ["ada", "bob"] {
        store
            .add_user(&person(name, &format!("{name}@x.org")))
            .await
            .unwrap();
    }
    let identity = ForeignIdentity {
        issuer: "https://id.x.org".to_owned(),
        subject: "1".to_owned(),
    };
    assert_eq!(store.user_of_identity(&identity).await.unwrap(), None);
    for _ in 0..2 {
        store.link_identity(&identity, &slug("ada")).await.unwrap();
    }
    let taken = store
        .link_identity(&identity, &slug("bob"))
        .await
        .unwrap_err();
    assert_eq!(taken.kind(), DatabaseErrorKind::Conflict, "{taken}");
    let missing = ForeignIdentity {
        subject: "2".to_owned(),
        ..identity.clone()
    };
    let missing = store
        .link_identity(&missing, &slug("eve"))
        .await
        .unwrap_err();
    assert_eq!(missing.kind(), DatabaseErrorKind::Missing, "{missing}");
    let found = store.user_of_identity(&identity).await.unwrap();
    assert_eq!(found, Some(slug("ada")));
}
