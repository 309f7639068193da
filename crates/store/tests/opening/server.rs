//! Version 9 of SQLite and 8 of PostgreSQL: the tables that a server needs.

use store::{
    AuditFilter, AuditOutcome, ClaimProof, DeliveryAttempt, ForeignIdentity, KeyClaim, KeyTimes,
    LinkPurpose, NewAuditEntry, NewDelivery, NewLink, NewSession, NewVersion, OpaqueSecret,
    PasswordHash, RequestKey, SessionCheck, SigningSecrets, StoredResponse, StreamFilter,
    StreamPosition, TaskDetails, VersionOrigin, WebhookEndpoint, WebhookId,
};

use crate::database::Opened;
use crate::parts::{slug, user};

const LATER_MS: u64 = 9_000_000_000_000;

fn hash() -> PasswordHash {
    "$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA"
        .parse()
        .unwrap()
}

fn secret(seed: u8) -> OpaqueSecret {
    OpaqueSecret::new([seed; 32])
}

fn key() -> RequestKey {
    RequestKey {
        owner: "ada".to_owned(),
        key: "k1".to_owned(),
    }
}

fn times() -> KeyTimes {
    KeyTimes {
        lease_ms: 60_000,
        keep_ms: LATER_MS,
    }
}

fn response() -> StoredResponse {
    StoredResponse {
        status: 201,
        headers: "{}".to_owned(),
        body: b"{\"id\":1}".to_vec(),
    }
}

fn identity() -> ForeignIdentity {
    ForeignIdentity {
        issuer: "https://id.example.org".to_owned(),
        subject: "248289761001".to_owned(),
    }
}

async fn fill_access(opened: &Opened) {
    let credentials = opened.credentials();
    let email = "own@example.org".to_owned();
    let owner = user("own", store::UserKind::Person { email });
    let hash = hash();
    let claim = credentials.claim_server(ClaimProof::Operator, &owner, &hash);
    claim.await.unwrap();
    let reset = NewLink {
        purpose: LinkPurpose::PasswordReset,
        user: Some(slug("own")),
        expires_ms: LATER_MS,
    };
    credentials.add_link(&reset, &secret(3)).await.unwrap();
    let identity = identity();
    let linked = credentials.link_identity(&identity, &owner.slug);
    linked.await.unwrap();
    let session = NewSession {
        user: slug("own"),
        expires_ms: LATER_MS,
        idle_ms_max: LATER_MS,
        user_agent: "Mozilla/5.0".to_owned(),
        address: "127.0.0.1".to_owned(),
    };
    let sessions = opened.sessions();
    sessions.begin_session(&session, &secret(4)).await.unwrap();
    let keys = opened.keys();
    keys.claim_key(&key(), [1; 32], times()).await.unwrap();
    keys.finish_key(&key(), &response()).await.unwrap();
    let entry = NewAuditEntry {
        actor: "own".to_owned(),
        action: "server.claim".to_owned(),
        object: String::new(),
        outcome: AuditOutcome::Done,
        detail: String::new(),
        address: String::new(),
    };
    opened.audit().add_audit_entry(&entry).await.unwrap();
}

async fn fill_work(opened: &Opened) {
    let webhooks = opened.webhooks();
    let endpoint = WebhookEndpoint {
        id: WebhookId(0),
        url: "https://example.org/hook".to_owned(),
        description: String::new(),
        events: vec!["run.completed".to_owned()],
        secrets: SigningSecrets(vec!["whsec_aGVsbG8=".to_owned()]),
        is_enabled: true,
        revision: 0,
        created_ms: 0,
        updated_ms: 0,
    };
    let added = webhooks.add_webhook(&endpoint).await.unwrap();
    let delivery = NewDelivery {
        webhook: added.id,
        message: "msg_1".to_owned(),
        event: "run.completed".to_owned(),
        body: "{}".to_owned(),
    };
    assert!(webhooks.add_delivery(&delivery).await.unwrap());
    let version = NewVersion {
        name: "review".to_owned(),
        expected: 0,
        source: "graph TD\n A(Review)\n".to_owned(),
        author: "own".to_owned(),
        message: "first".to_owned(),
        origin: VersionOrigin::File(".drawloom/workflows/review.mmd".to_owned()),
    };
    opened.versions().save_version(&version).await.unwrap();
    let notes = opened.notes();
    let task = "r9/A".parse().unwrap();
    let details = TaskDetails {
        title: "Look at it".to_owned(),
        tags: vec!["soon".to_owned()],
        ..TaskDetails::of(&task)
    };
    notes.keep_details(&details).await.unwrap();
    notes.add_comment(&task, "own", "Fine.").await.unwrap();
    let position = "1.65".parse().unwrap();
    let stream = opened.stream();
    stream
        .keep_reader_position("webhooks", position)
        .await
        .unwrap();
}

pub(crate) async fn fill(opened: &Opened) {
    fill_access(opened).await;
    fill_work(opened).await;
}

pub(crate) async fn find(opened: &Opened) {
    let credentials = opened.credentials();
    assert!(credentials.is_claimed().await.unwrap());
    let found = credentials.user_of_identity(&identity()).await.unwrap();
    assert_eq!(found, Some(slug("own")));
    let checked = opened.sessions().check_session(&secret(4)).await.unwrap();
    assert!(
        matches!(checked, SessionCheck::Granted { .. }),
        "{checked:?}"
    );
    let reset = credentials.reset_password(&secret(3), &hash()).await;
    assert_eq!(reset.unwrap(), slug("own"));
    let claim = opened.keys().claim_key(&key(), [1; 32], times()).await;
    assert_eq!(claim.unwrap(), KeyClaim::Done(response()));
    let audit = opened.audit();
    let entries = audit.audit_entries(&AuditFilter::default(), None, 9).await;
    assert_eq!(entries.unwrap()[0].entry.action, "server.claim");
    let webhooks = opened.webhooks();
    let due = webhooks.claim_deliveries(1, 9).await.unwrap();
    assert_eq!(due[0].message.message, "msg_1");
    let accepted = DeliveryAttempt {
        http_status: Some(204),
        error: None,
        retry_ms: None,
    };
    webhooks.note_delivery(due[0].id, &accepted).await.unwrap();
    let (version, text) = opened
        .versions()
        .version("review", None)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (version.number, text.as_str()),
        (1, "graph TD\n A(Review)\n")
    );
    let notes = opened.notes();
    let tagged = notes.details_with_tag("soon", None, 9).await.unwrap();
    notes.keep_details(&tagged[0]).await.unwrap();
    let comments = notes.comments(&tagged[0].task, None, 9).await.unwrap();
    assert_eq!(comments[0].body, "Fine.");
    let stream = opened.stream();
    let position = stream.reader_position("webhooks").await.unwrap();
    assert_eq!(position.to_string(), "1.65");
    let all = StreamFilter::default();
    let page = stream
        .events_after(StreamPosition::START, &all, 999)
        .await
        .unwrap();
    assert!(!page.events.is_empty() && !page.must_resync, "{page:?}");
}
