//! Recipes in two passes over HTTP.

use app::people::UserRole;
use serde_json::{Value, json};

use crate::test_server::TestServer;

#[tokio::test]
async fn a_recipe_asks_shows_and_writes() {
    let server = TestServer::start().await;
    let form = server
        .done(UserRole::Viewer, "GET /api/v1/recipes/hello", Value::Null)
        .await;
    assert_eq!(form["variables"][0]["name"], json!("name"), "{form}");
    let body = json!({ "values": { "name": "World" } });
    let begun = server
        .ask(UserRole::Operator, "POST /api/v1/recipes/hello/runs", body)
        .await;
    assert_eq!(
        (begun.status, &begun.body["status"]),
        (201, &json!("ready")),
        "{begun:?}"
    );
    let file = server.folder.path().join("World.txt");
    assert!(!file.exists(), "a preview writes nothing");
    let location = begun.header("location").to_owned();
    let others = server
        .ask(
            UserRole::Admin,
            &format!("POST {location}/apply"),
            Value::Null,
        )
        .await;
    assert_eq!(others.status, 404, "the run is another's");
    let done = server
        .done(
            UserRole::Operator,
            &format!("POST {location}/apply"),
            Value::Null,
        )
        .await;
    assert_eq!(done["status"], json!("done"), "{done}");
    assert_eq!(std::fs::read_to_string(file).unwrap(), "Hello World\n");
    let again = server
        .ask(
            UserRole::Operator,
            &format!("POST {location}/apply"),
            Value::Null,
        )
        .await;
    assert_eq!(again.status, 404);
    let viewer = server
        .ask(
            UserRole::Viewer,
            "POST /api/v1/recipes/hello/runs",
            Value::Null,
        )
        .await;
    assert_eq!(viewer.status, 403);
    let none = server
        .ask(
            UserRole::Operator,
            "POST /api/v1/recipes/helo/runs",
            Value::Null,
        )
        .await;
    assert!(
        none.body["hint"].as_str().unwrap().contains("hello"),
        "{none:?}"
    );
}

#[tokio::test]
async fn a_recipe_that_misses_a_value_asks_for_it() {
    let server = TestServer::start().await;
    let begun = server
        .done(
            UserRole::Operator,
            "POST /api/v1/recipes/hello/runs",
            Value::Null,
        )
        .await;
    assert_eq!(begun["status"], json!("answers_needed"), "{begun}");
    let questions = begun["questions"].to_string();
    assert!(questions.contains("name"), "{questions}");
}
