//! Runs and tasks: a program that has only the API starts a workflow, answers its person's step and
//! fetches its result.

use app::people::{UserKind, UserRole};
use serde_json::{Value, json};

use crate::test_server::TestServer;

#[tokio::test]
async fn a_program_takes_a_run_from_start_to_result() {
    check_whole_run(&TestServer::start().await).await;
}

#[expect(clippy::too_many_lines, reason = "one story from start to result")]
pub(crate) async fn check_whole_run(server: &TestServer) {
    let run = server.start_review().await;
    let shown = server
        .done(
            UserRole::Viewer,
            &format!("GET /api/v1/runs/{run}"),
            Value::Null,
        )
        .await;
    assert_eq!(shown["status"], json!("running"), "{shown}");
    assert_eq!(shown["input"], json!({ "what": "it" }));
    assert_eq!(shown["waiting"][0]["step"], json!("A"), "{shown}");
    let questions = server
        .done(UserRole::Viewer, "GET /api/v1/questions", Value::Null)
        .await;
    let question = &questions["items"][0];
    assert_eq!(question["prompt"], json!("Approve it?"));
    assert_eq!(question["outputSchema"]["required"], json!(["ok"]));
    let line = format!("POST {}", question["answer"].as_str().unwrap());
    let wrong = server
        .ask(
            UserRole::Reviewer,
            &line,
            json!({ "output": { "ok": "maybe" } }),
        )
        .await;
    assert_eq!((wrong.status, wrong.code()), (422, "invalid"), "{wrong:?}");
    let looking = server
        .ask(UserRole::Viewer, &line, json!({ "output": { "ok": true } }))
        .await;
    assert_eq!(looking.status, 403);
    let answered = server
        .done(
            UserRole::Reviewer,
            &line,
            json!({ "output": { "ok": true } }),
        )
        .await;
    assert_eq!(answered["status"], json!("completed"));
    let twice = server
        .ask(
            UserRole::Reviewer,
            &line,
            json!({ "output": { "ok": true } }),
        )
        .await;
    assert_eq!(twice.status, 409, "{twice:?}");
    server.work().await;
    let ended = server
        .done(
            UserRole::Viewer,
            &format!("GET /api/v1/runs/{run}"),
            Value::Null,
        )
        .await;
    assert_eq!(ended["status"], json!("completed"), "{ended}");
    assert_eq!(ended["output"], json!({ "ok": true }), "{ended}");
    let explained = server
        .done(
            UserRole::Viewer,
            &format!("GET /api/v1/runs/{run}/explain"),
            Value::Null,
        )
        .await;
    let decision = &explained["decisions"][0]["data"];
    assert_eq!(decision["to"], json!("B"), "{explained}");
    let events = server
        .done(
            UserRole::Viewer,
            &format!("GET /api/v1/runs/{run}/events?limit=2"),
            Value::Null,
        )
        .await;
    assert_eq!(events["items"].as_array().unwrap().len(), 2);
    assert_eq!(events["nextSeq"], json!(2));
    let task = server
        .done(
            UserRole::Viewer,
            &format!("GET /api/v1/tasks/{run}%2FA"),
            Value::Null,
        )
        .await;
    assert_eq!(
        task["workflow"]["step"]["edges"][0]["to"],
        json!("D"),
        "{task}"
    );
}

#[tokio::test]
async fn runs_are_controlled() {
    let server = TestServer::start().await;
    let run = server.start_review().await;
    for (act, body, status) in [
        ("pause", json!({ "reason": "lunch" }), "paused"),
        ("resume", Value::Null, "running"),
        ("cancel", Value::Null, "cancelled"),
    ] {
        let line = format!("POST /api/v1/runs/{run}/{act}");
        let shown = server.done(UserRole::Operator, &line, body).await;
        assert_eq!(shown["status"], json!(status), "{shown}");
    }
    let again = server
        .ask(
            UserRole::Operator,
            &format!("POST /api/v1/runs/{run}/cancel"),
            Value::Null,
        )
        .await;
    assert_eq!(again.status, 409, "{again:?}");
    let line = format!("DELETE /api/v1/runs/{run}");
    assert_eq!(
        server
            .ask(UserRole::Operator, &line, Value::Null)
            .await
            .status,
        403
    );
    assert_eq!(
        server.ask(UserRole::Admin, &line, Value::Null).await.status,
        204
    );
    assert_eq!(
        server.ask(UserRole::Admin, &line, Value::Null).await.status,
        404
    );
}

#[tokio::test]
async fn tasks_are_assigned_commented_and_failed() {
    let server = TestServer::start().await;
    let run = server.start_review().await;
    let task = format!("/api/v1/tasks/{run}%2FA");
    let given = server
        .done(
            UserRole::Operator,
            &format!("POST {task}/assign"),
            json!({ "assignee": "viewer" }),
        )
        .await;
    assert_eq!(given["assignee"], json!("viewer"));
    let mine = server
        .done(
            UserRole::Viewer,
            "GET /api/v1/tasks?assignee=viewer&waiting=true",
            Value::Null,
        )
        .await;
    assert_eq!(mine["items"].as_array().unwrap().len(), 1);
    let said = server
        .done(
            UserRole::Reviewer,
            &format!("POST {task}/comments"),
            json!({ "body": "why?" }),
        )
        .await;
    assert_eq!(said["author"], json!("reviewer"));
    let listed = server
        .done(
            UserRole::Viewer,
            &format!("GET {task}/comments"),
            Value::Null,
        )
        .await;
    assert_eq!(listed["items"][0]["body"], json!("why?"));
    let failed = server
        .done(
            UserRole::Reviewer,
            &format!("POST {task}/fail"),
            json!({ "reason": "nobody knows" }),
        )
        .await;
    assert_eq!(failed["status"], json!("failed"), "{failed}");
    let line = format!("GET /api/v1/runs/{run}/events");
    let events = server.done(UserRole::Viewer, &line, Value::Null).await;
    assert!(events.to_string().contains("nobody knows"), "{events}");
}

#[tokio::test]
async fn an_agent_does_not_answer_for_a_person() {
    let server = TestServer::start().await;
    let prompt = "You do as you are told.".to_owned();
    let token = server
        .add_user("robot", UserRole::Admin, UserKind::Agent { prompt })
        .await;
    let run = server.start_review().await;
    let bearer = format!("Bearer {token}");
    let headers = [
        ("authorization", bearer.as_str()),
        ("content-type", "application/json"),
    ];
    let line = format!("POST /api/v1/tasks/{run}%2FA/answer");
    let refused = server
        .send(&line, &headers, Some("{\"output\":{\"ok\":true}}"))
        .await;
    assert_eq!(
        (refused.status, refused.code()),
        (403, "forbidden"),
        "{refused:?}"
    );
}

#[tokio::test]
async fn looking_changes_nothing() {
    let server = TestServer::start().await;
    let run = server.start_review().await;
    let before = server
        .done(
            UserRole::Viewer,
            &format!("GET /api/v1/runs/{run}"),
            Value::Null,
        )
        .await;
    for _ in 0..20 {
        for line in ["/answer", "/accept", "/fail", "/retry", ""] {
            server
                .ask(
                    UserRole::Admin,
                    &format!("GET /api/v1/tasks/{run}%2FA{line}"),
                    Value::Null,
                )
                .await;
        }
    }
    let after = server
        .done(
            UserRole::Viewer,
            &format!("GET /api/v1/runs/{run}"),
            Value::Null,
        )
        .await;
    assert_eq!(before, after);
}
