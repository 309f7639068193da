//! Workflows: checked, drawn, saved without undoing what others saved, exported and imported.

use app::people::UserRole;
use serde_json::{Value, json};

use crate::test_server::{REVIEW, TestServer};

#[tokio::test]
async fn texts_are_saved_only_over_what_was_seen() {
    check_saving(&TestServer::start().await).await;
}

pub(crate) async fn check_saving(server: &TestServer) {
    let line = "PUT /api/v1/workflows/review";
    let shown = server
        .ask(
            UserRole::Viewer,
            "GET /api/v1/workflows/review",
            Value::Null,
        )
        .await;
    assert_eq!(shown.body["text"], json!(REVIEW));
    let tag = shown.header("etag").to_owned();
    let text = REVIEW.replace("Approve", "Approve now");
    let seen = [("if-match", tag.as_str())];
    let body = json!({ "text": text, "message": "clearer" });
    let saved = server
        .ask_with(UserRole::Operator, line, &seen, body.clone())
        .await;
    assert_eq!(
        (saved.status, &saved.body["version"]),
        (200, &json!(1)),
        "{saved:?}"
    );
    let file = server.folder.path().join(".drawloom/workflows/review.mmd");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    let stale = server.ask_with(UserRole::Operator, line, &seen, body).await;
    assert_eq!((stale.status, stale.code()), (412, "stale"), "{stale:?}");
    // A change in the file counts as well.
    std::fs::write(&file, REVIEW).unwrap();
    let tag = saved.header("etag").to_owned();
    let late = server
        .ask_with(
            UserRole::Operator,
            line,
            &[("if-match", &tag)],
            json!({ "text": text }),
        )
        .await;
    assert_eq!(late.status, 412, "{late:?}");
    let new = [("if-match", "\"new\"")];
    let created = server
        .ask_with(
            UserRole::Operator,
            "PUT /api/v1/workflows/other",
            &new,
            json!({ "text": "graph TD\n A(Do it)\n" }),
        )
        .await;
    assert_eq!(created.status, 201, "{created:?}");
    let names = server
        .done(UserRole::Viewer, "GET /api/v1/workflows", Value::Null)
        .await;
    assert_eq!(names["items"][0]["name"], json!("other"), "{names}");
    let versions = server
        .done(
            UserRole::Viewer,
            "GET /api/v1/workflows/review/versions",
            Value::Null,
        )
        .await;
    assert_eq!(versions["items"][0]["message"], json!("clearer"));
    assert_eq!(versions["items"][0]["author"], json!("operator"));
}

#[tokio::test]
async fn problems_have_their_place() {
    let server = TestServer::start().await;
    let body = json!({ "text": "graph TD\n A{Which?} -->|\"output. == 1\"| B[x]\n" });
    let checked = server
        .done(
            UserRole::Viewer,
            "POST /api/v1/workflows/check",
            body.clone(),
        )
        .await;
    assert_eq!(checked["isFine"], json!(false), "{checked}");
    assert_eq!(checked["problems"][0]["line"], json!(2), "{checked}");
    let new = [("if-match", "\"new\"")];
    let none = server
        .ask_with(
            UserRole::Operator,
            "PUT /api/v1/workflows/bad",
            &new,
            json!({ "text": "no diagram" }),
        )
        .await;
    assert_eq!(none.code(), "invalid", "{none:?}");
    let drawn = server
        .done(
            UserRole::Viewer,
            "GET /api/v1/workflows/review/svg",
            Value::Null,
        )
        .await;
    assert!(drawn.as_str().unwrap().starts_with("<svg"));
    let step = server
        .done(
            UserRole::Viewer,
            "GET /api/v1/workflows/review/steps/D",
            Value::Null,
        )
        .await;
    assert_eq!(step["edges"][0]["when"], json!("condition"), "{step}");
    let none = server
        .ask(
            UserRole::Viewer,
            "GET /api/v1/workflows/review/steps/Z",
            Value::Null,
        )
        .await;
    assert_eq!(none.status, 404);
}

#[tokio::test]
async fn exported_workflows_can_be_imported() {
    let server = TestServer::start().await;
    let document = server
        .done(
            UserRole::Viewer,
            "GET /api/v1/workflows/review/export",
            Value::Null,
        )
        .await;
    let body = json!({ "document": document, "name": "copy" });
    let imported = server
        .ask(UserRole::Operator, "POST /api/v1/workflows/import", body)
        .await;
    assert_eq!(imported.status, 201, "{imported:?}");
    assert_eq!(imported.header("location"), "/api/v1/workflows/copy");
    let outside = json!({ "document": "graph TD\n A(x)\n", "name": "../../outside" });
    let refused = server
        .ask(UserRole::Operator, "POST /api/v1/workflows/import", outside)
        .await;
    assert_eq!(refused.status, 422, "{refused:?}");
}
