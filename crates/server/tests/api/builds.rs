//! The builder's routes and their statuses.

use app::people::UserRole;
use serde_json::{Value, json};

use crate::test_server::TestServer;

#[tokio::test]
async fn impossible_builds_are_refused() {
    let server = TestServer::start().await;
    let body = json!({ "prompt": "add a page that lists users" });
    let refused = server
        .ask(UserRole::Operator, "POST /api/v1/builder/generate", body)
        .await;
    assert_eq!(
        (refused.status, refused.code()),
        (503, "unavailable"),
        "{refused:?}"
    );
    for (body, status) in [
        (json!({}), 422),
        (
            json!({ "prompt": "add a page", "options": { "colour": "red" } }),
            422,
        ),
        (json!({ "prompt": "short" }), 422),
    ] {
        let refused = server
            .ask(UserRole::Operator, "POST /api/v1/builder/generate", body)
            .await;
        assert_eq!(refused.status, status, "{refused:?}");
    }
    let none = server
        .done(UserRole::Viewer, "GET /api/v1/builder/jobs", Value::Null)
        .await;
    assert_eq!(none["items"], json!([]));
    for line in [
        "GET /api/v1/builder/jobs/0abc",
        "POST /api/v1/builder/jobs/0abc/approve",
        "POST /api/v1/builder/jobs/0abc/reject",
        "POST /api/v1/builder/jobs/NOT-AN-ID/cancel",
    ] {
        let answered = server.ask(UserRole::Operator, line, Value::Null).await;
        assert_eq!(answered.status, 404, "{line}: {answered:?}");
    }
}
