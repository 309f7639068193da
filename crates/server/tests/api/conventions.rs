//! Conventions of every route: problems, headers, cursors, repetitions.

use app::people::UserRole;
use serde_json::{Value, json};

use crate::test_server::{TestServer, limits};

#[expect(clippy::too_many_lines, reason = "one table of wrong requests")]
#[tokio::test]
async fn wrong_requests_get_a_problem_that_says_where_and_what_to_do() {
    let server = TestServer::start().await;
    let json_type = ("content-type", "application/json");
    let cases = [
        ("GET /api/v1/nothing", None, 404, "not_found"),
        ("GET /nothing", None, 404, "not_found"),
        ("PUT /api/v1/runs", None, 405, "method_not_allowed"),
        ("GET /api/v1/runs?colour=red", None, 400, "bad_request"),
        ("GET /api/v1/runs?limit=0", None, 400, "bad_request"),
        ("GET /api/v1/runs?limit=201", None, 400, "bad_request"),
        ("GET /api/v1/runs?cursor=nonsense", None, 422, "invalid"),
        ("GET /api/v1/runs?status=green", None, 400, "bad_request"),
        ("GET /api/v1/runs?tag=a&tag=b", None, 400, "bad_request"),
        ("GET /api/v1/runs?tag=a%00b", None, 422, "invalid"),
        ("GET /api/v1/runs/zzz", None, 404, "not_found"),
        ("GET /api/v1/tasks/zzz", None, 422, "invalid"),
        (
            "GET /api/v1/workflows/..%2F..%2Fetc%2Fpasswd",
            None,
            422,
            "invalid",
        ),
        ("GET /api/v1/workflows/reviw", None, 404, "not_found"),
        ("POST /api/v1/runs", Some("{"), 400, "bad_request"),
        ("POST /api/v1/runs", Some("[]"), 422, "invalid"),
        (
            "POST /api/v1/runs",
            Some("{\"workflow\":\"review\",\"colour\":1}"),
            422,
            "invalid",
        ),
        (
            "POST /api/v1/runs",
            Some("{\"workflow\":\"/etc/passwd\"}"),
            422,
            "invalid",
        ),
        (
            "POST /api/v1/runs",
            Some("{\"workflow\":\"review\",\"inputs\":[]}"),
            422,
            "invalid",
        ),
        (
            "PUT /api/v1/workflows/review",
            Some("{\"text\":\"graph TD\\n A[x]\"}"),
            428,
            "match_required",
        ),
        (
            "PATCH /api/v1/users/viewer",
            Some("{\"role\":\"admin\"}"),
            428,
            "match_required",
        ),
    ];
    let bearer = format!("Bearer {}", server.token(UserRole::Admin));
    for (line, body, status, code) in cases {
        let headers = [("authorization", bearer.as_str()), json_type];
        let answered = server.send(line, &headers, body).await;
        assert_eq!(
            (answered.status, answered.code()),
            (status, code),
            "{line} {answered:?}"
        );
        assert_eq!(answered.header("content-type"), "application/problem+json");
        assert_eq!(answered.body["status"], json!(status));
        assert_eq!(
            answered.body["requestId"],
            json!(answered.header("x-request-id"))
        );
        for field in ["type", "title", "detail", "instance"] {
            assert!(answered.body[field].is_string(), "{line}: {field}");
        }
    }
    let not_json = [
        ("authorization", bearer.as_str()),
        ("content-type", "text/plain"),
    ];
    let answered = server
        .send("POST /api/v1/runs", &not_json, Some("{}"))
        .await;
    assert_eq!(answered.code(), "media_type");
    let allowed = server.send("PUT /api/v1/runs", &not_json, None).await;
    assert_eq!(allowed.header("allow"), "GET, POST");
}

#[tokio::test]
async fn bodies_and_hosts_are_checked() {
    let small = server::ServerLimits {
        body_bytes_max: 1_000,
        ..limits()
    };
    let server = TestServer::with(None, small).await;
    let big = json!({ "workflow": "x".repeat(2_000) });
    let answered = server
        .ask(UserRole::Operator, "POST /api/v1/runs", big)
        .await;
    assert_eq!(answered.code(), "too_large");
    let other = [("host", "evil.example")];
    let answered = server
        .ask_with(UserRole::Viewer, "GET /api/v1/runs", &other, Value::Null)
        .await;
    assert_eq!(answered.code(), "wrong_host");
    let page = server.send("GET /login", &other, None).await;
    assert_eq!(page.status, 421);
    assert_eq!(server.send("GET /healthz", &other, None).await.status, 200);
    assert_eq!(server.send("GET /readyz", &other, None).await.status, 200);
}

#[tokio::test]
async fn answers_keep_browsers_careful() {
    let server = TestServer::start().await;
    for line in [
        "GET /api/v1/openapi.json",
        "GET /login",
        "GET /nothing",
        "GET /healthz",
    ] {
        let answered = server.send(line, &[], None).await;
        let policy = answered.header("content-security-policy");
        assert!(
            policy.contains("frame-ancestors 'none'"),
            "{line}: {policy}"
        );
        assert!(!policy.contains("unsafe-inline"), "{line}: {policy}");
        assert_eq!(
            answered.header("x-content-type-options"),
            "nosniff",
            "{line}"
        );
        assert_eq!(answered.header("cache-control"), "no-store", "{line}");
    }
}

#[tokio::test]
async fn lists_are_read_page_by_page_and_do_not_shift() {
    check_pages(&TestServer::start().await).await;
}

pub(crate) async fn check_pages(server: &TestServer) {
    let inputs: Vec<Value> = (0..7).map(|number| json!({ "what": number })).collect();
    let body = json!({ "workflow": "review", "inputs": inputs, "tags": ["page"] });
    let started = server
        .done(UserRole::Operator, "POST /api/v1/runs", body)
        .await;
    let mut expected: Vec<&str> = started["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|id| id.as_str().unwrap())
        .collect();
    let mut seen = Vec::new();
    let mut line = "GET /api/v1/runs?limit=3&tag=page".to_owned();
    loop {
        let page = server.ask(UserRole::Viewer, &line, Value::Null).await;
        let items = page.body["items"].as_array().unwrap().clone();
        seen.extend(
            items
                .iter()
                .map(|item| item["id"].as_str().unwrap().to_owned()),
        );
        // A run that begins meanwhile does not shift the next page.
        server.start_review().await;
        let Some(cursor) = page.body["nextCursor"].as_str() else {
            assert_eq!(page.header("link"), "");
            break;
        };
        assert!(page.header("link").contains("rel=\"next\""));
        line = format!("GET /api/v1/runs?limit=3&tag=page&cursor={cursor}");
    }
    let mut sorted = seen.clone();
    sorted.sort_unstable();
    expected.sort_unstable();
    assert_eq!(sorted, expected);
}

#[tokio::test]
async fn a_repeated_request_is_done_once() {
    check_repetition(&TestServer::start().await).await;
}

pub(crate) async fn check_repetition(server: &TestServer) {
    let key = [("idempotency-key", "order-66")];
    let body = json!({ "workflow": "review", "input": { "what": "once" } });
    let line = "POST /api/v1/runs";
    let first = server
        .ask_with(UserRole::Operator, line, &key, body.clone())
        .await;
    assert_eq!(first.status, 201, "{first:?}");
    let again = server
        .ask_with(UserRole::Operator, line, &key, body.clone())
        .await;
    assert_eq!((again.status, &again.body), (201, &first.body));
    assert_eq!(again.header("location"), first.header("location"));
    assert_eq!(again.header("idempotency-replayed"), "true");
    let other = json!({ "workflow": "review", "input": { "what": "other" } });
    let reused = server.ask_with(UserRole::Operator, line, &key, other).await;
    assert_eq!(
        (reused.status, reused.code()),
        (422, "idempotency_key_reused")
    );
    let long = "k".repeat(256);
    for odd in ["two words", "a\tb", " ", &long] {
        let key = [("idempotency-key", odd)];
        let refused = server
            .ask_with(UserRole::Operator, line, &key, body.clone())
            .await;
        assert_eq!(refused.code(), "bad_request", "{odd:?}");
    }
    // Another's key is another key.
    let others = server.ask_with(UserRole::Admin, line, &key, body).await;
    assert_ne!(others.body, first.body);
    let runs = server
        .done(UserRole::Viewer, "GET /api/v1/runs?count=true", Value::Null)
        .await;
    assert_eq!(runs["count"], json!(2));
}
