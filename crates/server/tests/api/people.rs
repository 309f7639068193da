//! Users, agents and schedules.

use app::people::UserRole;
use serde_json::{Value, json};

use crate::test_server::TestServer;

#[tokio::test]
async fn users_and_agents_are_added_and_edited_by_admins() {
    check_people(&TestServer::start().await).await;
}

pub(crate) async fn check_people(server: &TestServer) {
    let agent = json!({ "slug": "helper", "agentPrompt": "You help.", "displayName": "Helper" });
    let added = server
        .ask(UserRole::Admin, "POST /api/v1/agents", agent.clone())
        .await;
    assert_eq!(
        (added.status, added.header("location")),
        (201, "/api/v1/agents/helper")
    );
    let twice = server
        .ask(UserRole::Admin, "POST /api/v1/agents", agent)
        .await;
    assert_eq!(twice.status, 409, "{twice:?}");
    let shown = server
        .ask(UserRole::Viewer, "GET /api/v1/agents/helper", Value::Null)
        .await;
    assert_eq!(shown.body["agentPrompt"], json!("You help."));
    let tag = shown.header("etag").to_owned();
    let edit = json!({ "agentPrompt": "You help well." });
    let line = "PATCH /api/v1/agents/helper";
    let edited = server
        .ask_with(UserRole::Admin, line, &[("if-match", &tag)], edit.clone())
        .await;
    assert_eq!(
        edited.body["agentPrompt"],
        json!("You help well."),
        "{edited:?}"
    );
    let stale = server
        .ask_with(UserRole::Admin, line, &[("if-match", &tag)], edit)
        .await;
    assert_eq!(stale.status, 412, "{stale:?}");
    // A person is no agent, and the other way round.
    for line in ["GET /api/v1/agents/viewer", "GET /api/v1/users/helper"] {
        assert_eq!(
            server.ask(UserRole::Viewer, line, Value::Null).await.status,
            404,
            "{line}"
        );
    }
    // Addresses are for admins and for the person.
    for (role, line, is_seen) in [
        (UserRole::Admin, "GET /api/v1/users/viewer", true),
        (UserRole::Viewer, "GET /api/v1/users/viewer", true),
        (UserRole::Viewer, "GET /api/v1/users/admin", false),
        (UserRole::Operator, "GET /api/v1/users/viewer", false),
    ] {
        let shown = server.done(role, line, Value::Null).await;
        assert_eq!(shown["email"].is_string(), is_seen, "{role:?} {line}");
    }
    let odd = json!({ "slug": "Not A Slug", "email": "a@example.org" });
    let refused = server.ask(UserRole::Admin, "POST /api/v1/users", odd).await;
    assert_eq!(
        refused.body["errors"][0]["pointer"],
        json!("/slug"),
        "{refused:?}"
    );
}

#[tokio::test]
async fn the_last_admin_stays() {
    let server = TestServer::start().await;
    let shown = server
        .ask(UserRole::Admin, "GET /api/v1/users/admin", Value::Null)
        .await;
    let seen = [("if-match", shown.header("etag"))];
    for edit in [json!({ "role": "viewer" }), json!({ "isActive": false })] {
        let refused = server
            .ask_with(UserRole::Admin, "PATCH /api/v1/users/admin", &seen, edit)
            .await;
        assert_eq!(refused.status, 409, "{refused:?}");
    }
}

#[tokio::test]
async fn schedules_are_added_switched_and_removed() {
    let server = TestServer::start().await;
    let new = json!({ "slug": "nightly", "workflow": "review", "cron": "0 3 * * *" });
    let added = server
        .ask(UserRole::Operator, "POST /api/v1/schedules", new)
        .await;
    assert_eq!(added.status, 201, "{added:?}");
    let off = server
        .done(
            UserRole::Operator,
            "POST /api/v1/schedules/nightly/disable",
            Value::Null,
        )
        .await;
    assert_eq!(off["isEnabled"], json!(false));
    for (body, status) in [
        (
            json!({ "slug": "x", "workflow": "review", "cron": "every day" }),
            422,
        ),
        (
            json!({ "slug": "x", "workflow": "nothing", "cron": "0 3 * * *" }),
            404,
        ),
        (
            json!({ "slug": "x", "workflow": "../review", "cron": "0 3 * * *" }),
            422,
        ),
    ] {
        let refused = server
            .ask(UserRole::Operator, "POST /api/v1/schedules", body)
            .await;
        assert_eq!(refused.status, status, "{refused:?}");
    }
    assert_eq!(
        server
            .ask(
                UserRole::Operator,
                "DELETE /api/v1/schedules/nightly",
                Value::Null
            )
            .await
            .status,
        204
    );
}

#[tokio::test]
async fn changes_and_refusals_are_in_the_audit_log() {
    let server = TestServer::start().await;
    server.start_review().await;
    server
        .ask(UserRole::Viewer, "POST /api/v1/runs", json!({}))
        .await;
    let log = server
        .done(UserRole::Admin, "GET /api/v1/audit", Value::Null)
        .await;
    let outcomes: Vec<(&str, &str)> = log["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| {
            (
                entry["action"].as_str().unwrap(),
                entry["outcome"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        outcomes,
        [("POST /runs", "refused"), ("POST /runs", "done")]
    );
}

#[tokio::test]
async fn a_step_meets_its_agent_as_the_agent_is_now() {
    let server = TestServer::start().await;
    // The server's settings were read before: they know neither the agent nor the new name.
    let agent = json!({ "slug": "writer", "agentPrompt": "You write.", "displayName": "Writer" });
    server
        .done(UserRole::Admin, "POST /api/v1/agents", agent)
        .await;
    server.put_workflow(
        "named",
        "graph TD\n A[One] --> B(Two)\n%% === WORKFLOW_CONFIG ===\n\
         %% @A: { \"handler\": \"command\", \"defaultAssigneeId\": \"writer\", \
         \"config\": { \"run\": \"echo {{agent.displayName}}\" } }\n%% === END_CONFIG ===\n",
    );
    check_name(&server, "Writer").await;
    let stored = server
        .ask(UserRole::Admin, "GET /api/v1/agents/writer", Value::Null)
        .await;
    let version = stored.header("etag").to_owned();
    let seen = [("if-match", version.as_str())];
    let line = "PATCH /api/v1/agents/writer";
    let name = json!({ "displayName": "Author" });
    let edited = server.ask_with(UserRole::Admin, line, &seen, name).await;
    assert_eq!(edited.status, 200);
    check_name(&server, "Author").await;
}

/// Runs the step of the agent and expects it to print the agent's name.
async fn check_name(server: &TestServer, name: &str) {
    let body = json!({ "workflow": "named" });
    let started = server
        .done(UserRole::Operator, "POST /api/v1/runs", body)
        .await;
    server.work().await;
    let task = format!(
        "GET /api/v1/tasks/{}%2FA",
        started["runs"][0].as_str().unwrap()
    );
    let task = server.done(UserRole::Viewer, &task, Value::Null).await;
    assert_eq!(task["output"]["stdout"], format!("{name}\n"), "{task}");
}
