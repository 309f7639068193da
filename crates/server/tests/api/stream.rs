//! The stream of events: nothing is missing and nothing comes twice, also after a restart.

use std::time::Duration;

use app::people::UserRole;
use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt as _;
use tower::ServiceExt as _;

use crate::test_server::{TestServer, limits};

/// One event as it was sent.
#[derive(Clone, Debug, PartialEq)]
struct Sent {
    id: String,
    event: String,
    data: String,
}

/// Reads a stream until nothing has come for a moment.
async fn read(server: &TestServer, query: &str, last: Option<&str>) -> Vec<Sent> {
    let mut request = Request::get(format!("/api/v1/events{query}"))
        .header("host", "127.0.0.1:7331")
        .header(
            "authorization",
            format!("Bearer {}", server.token(UserRole::Viewer)),
        );
    if let Some(last) = last {
        request = request.header("last-event-id", last);
    }
    let router = server::router(&server.state);
    let response = router
        .oneshot(request.body(Body::empty()).unwrap())
        .await
        .unwrap();
    assert_eq!(response.status(), 200);
    let kind = response.headers()["content-type"].to_str().unwrap();
    assert!(kind.starts_with("text/event-stream"), "{kind}");
    let mut body = response.into_body();
    let mut text = String::new();
    while let Ok(Some(frame)) = tokio::time::timeout(Duration::from_millis(400), body.frame()).await
    {
        let Ok(frame) = frame else { break };
        if let Some(bytes) = frame.data_ref() {
            text.push_str(std::str::from_utf8(bytes).unwrap());
        }
    }
    text.split("\n\n")
        .filter(|block| block.contains("data:"))
        .map(sent)
        .collect()
}

fn sent(block: &str) -> Sent {
    let field = |name: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_default().trim().to_owned()
    };
    Sent {
        id: field("id:"),
        event: field("event:"),
        data: field("data:"),
    }
}

#[tokio::test]
async fn a_reader_misses_nothing_and_gets_nothing_twice() {
    check_stream(&TestServer::start().await).await;
}

pub(crate) async fn check_stream(server: &TestServer) {
    let begin = read(server, "", None).await;
    assert_eq!(begin[0].event, "hello", "{begin:?}");
    let hello: serde_json::Value = serde_json::from_str(&begin[0].data).unwrap();
    let head = hello["head"].as_str().unwrap().to_owned();
    let run = server.start_review().await;
    let whole = read(server, &format!("?after={head}&run={run}"), None).await;
    let whole = &whole[1..];
    assert!(whole.len() >= 2, "{whole:?}");
    assert!(
        whole.iter().all(|sent| sent.data.contains(&run)),
        "{whole:?}"
    );
    // A reader that comes back after its first event gets the rest, and only the rest.
    let rest = read(server, &format!("?run={run}"), Some(&whole[0].id)).await;
    assert_eq!(&rest[1..], &whole[1..]);
    // Another run is not in a stream of this one.
    server.start_review().await;
    let same = read(server, &format!("?run={run}"), Some(&head)).await;
    assert_eq!(&same[1..], whole);
}

#[tokio::test]
async fn a_position_that_was_never_there_asks_to_begin_anew() {
    let server = TestServer::start().await;
    server.start_review().await;
    let events = read(&server, "?after=999999.65", None).await;
    assert_eq!(events[1].event, "resync", "{events:?}");
    let wrong = server
        .ask(
            UserRole::Viewer,
            "GET /api/v1/events?after=soon",
            serde_json::Value::Null,
        )
        .await;
    assert_eq!(wrong.status, 422);
}

#[tokio::test]
async fn a_user_has_so_many_streams_and_no_more() {
    let few = server::ServerLimits {
        streams_per_user_max: 1,
        ..limits()
    };
    let server = TestServer::with(None, few).await;
    let router = server::router(&server.state);
    let open = || {
        let bearer = format!("Bearer {}", server.token(UserRole::Viewer));
        let request = Request::get("/api/v1/events").header("host", "127.0.0.1:7331");
        let request = request.header("authorization", bearer);
        router.clone().oneshot(request.body(Body::empty()).unwrap())
    };
    let first = open().await.unwrap();
    assert_eq!(first.status(), 200);
    assert_eq!(open().await.unwrap().status(), 429);
    drop(first);
    assert_eq!(open().await.unwrap().status(), 200);
}
