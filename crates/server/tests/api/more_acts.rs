//! Acts on runs and tasks that change how they go on, and on many runs at once.

use app::people::UserRole;
use serde_json::{Value, json};

use crate::test_server::{REVIEW, TestServer};

/// A workflow that waits for a signal, and one whose recipe asks a question.
const SIGNAL: &str = "graph TD\n W[Wait]\n%% === WORKFLOW_CONFIG ===\n\
    %% @W: { \"stepType\": \"wait\", \"signal\": \"go\" }\n%% === END_CONFIG ===\n";

#[tokio::test]
async fn a_step_is_run_again_with_everything_after_it() {
    let server = TestServer::start().await;
    let run = server.start_review().await;
    let answer = format!("POST /api/v1/tasks/{run}%2FA/answer");
    let yes = json!({ "output": { "ok": true } });
    server.done(UserRole::Reviewer, &answer, yes).await;
    server.work().await;
    let line = format!("POST /api/v1/runs/{run}/rerun");
    let again = server
        .done(UserRole::Operator, &line, json!({ "step": "A" }))
        .await;
    assert_eq!(again["status"], json!("running"), "{again}");
    for (body, status) in [
        (json!({ "step": "Z" }), 404),
        (json!({ "step": "" }), 422),
        (json!({ "version": "newest" }), 422),
    ] {
        let refused = server.ask(UserRole::Operator, &line, body).await;
        assert_eq!(refused.status, status, "{refused:?}");
    }
}

#[tokio::test]
async fn acts_on_tasks_depend_on_the_task_status() {
    let server = TestServer::start().await;
    let run = server.start_review().await;
    for (act, body, status) in [
        // A task that waits for an answer has no output to accept, and did not fail.
        ("accept", Value::Null, 422),
        ("retry", Value::Null, 409),
        ("assign", json!({ "assignee": "reviewer" }), 200),
        ("assign", json!({ "assignee": null }), 200),
        ("fail", json!({}), 422),
        ("answer", json!({ "output": { "ok": true } }), 200),
        ("answer", json!({ "output": { "ok": true } }), 409),
        ("fail", json!({ "reason": "too late" }), 409),
    ] {
        let line = format!("POST /api/v1/tasks/{run}%2FA/{act}");
        let answered = server.ask(UserRole::Operator, &line, body).await;
        assert_eq!(answered.status, status, "{act}: {answered:?}");
    }
}

#[tokio::test]
async fn a_signal_reaches_the_step_that_waits_for_it() {
    let server = TestServer::start().await;
    server.put_workflow("signal", SIGNAL);
    let body = json!({ "workflow": "signal" });
    let started = server
        .ask(UserRole::Operator, "POST /api/v1/runs", body)
        .await;
    assert_eq!(started.status, 201, "{started:?}");
    server.work().await;
    let run = started.body["runs"][0].as_str().unwrap();
    let line = format!("POST /api/v1/runs/{run}/signal");
    let signal = json!({ "name": "go", "payload": { "ok": 1 } });
    server.done(UserRole::Operator, &line, signal).await;
    server.work().await;
    let line = format!("GET /api/v1/runs/{run}");
    let ended = server.done(UserRole::Viewer, &line, Value::Null).await;
    assert_eq!(ended["status"], json!("completed"), "{ended}");
}

#[tokio::test]
async fn a_recipe_with_a_question_is_answered_before_it_writes() {
    let server = TestServer::start().await;
    server.put_recipe(
        "ask",
        "name: ask\nsteps:\n  - name: file\n    tool: template\n    template: ask.jig\n",
        (
            "ask.jig",
            "---\nto: said.txt\n---\n@ai('greeting')\n  @prompt()\n    Say hello.\n  @end\n  @output()\n    A sentence.\n  @end\n@end\n",
        ),
    );
    let begun = server
        .ask(
            UserRole::Operator,
            "POST /api/v1/recipes/ask/runs",
            json!({}),
        )
        .await;
    assert_eq!(
        (begun.status, &begun.body["status"]),
        (201, &json!("answers_needed")),
        "{begun:?}"
    );
    let location = begun.header("location").to_owned();
    let early = server
        .ask(
            UserRole::Operator,
            &format!("POST {location}/apply"),
            Value::Null,
        )
        .await;
    assert_eq!(early.status, 409, "{early:?}");
    let answers = json!({ "answers": { "greeting": "Hello there" } });
    let line = format!("PUT {location}/answers");
    let ready = server.done(UserRole::Operator, &line, answers).await;
    assert_eq!(ready["status"], json!("ready"), "{ready}");
    let line = format!("POST {location}/apply");
    let done = server.done(UserRole::Operator, &line, Value::Null).await;
    assert_eq!(done["status"], json!("done"), "{done}");
    let said = std::fs::read_to_string(server.folder.path().join("said.txt")).unwrap();
    assert!(said.contains("Hello there"), "{said}");
}

#[tokio::test]
async fn many_runs_are_acted_on_only_if_their_count_was_seen() {
    let server = TestServer::start().await;
    for _ in 0..3 {
        server.start_review().await;
    }
    let line = "POST /api/v1/runs/bulk";
    let body = |act: &str, count: usize| json!({ "act": act, "filter": { "status": "running" }, "count": count, "reason": "tidying" });
    let stale = server
        .ask(UserRole::Operator, line, body("cancel", 2))
        .await;
    assert_eq!((stale.status, stale.code()), (409, "conflict"), "{stale:?}");
    assert!(
        stale.body["detail"].as_str().unwrap().contains('3'),
        "{stale:?}"
    );
    let running = server
        .done(
            UserRole::Viewer,
            "GET /api/v1/runs?status=running&count=true",
            Value::Null,
        )
        .await;
    assert_eq!(running["count"], json!(3), "nothing was done");
    let done = server
        .done(UserRole::Operator, line, body("cancel", 3))
        .await;
    assert_eq!(done["done"].as_array().unwrap().len(), 3, "{done}");
    let delete = json!({ "act": "delete", "filter": { "status": "cancelled" }, "count": 3 });
    let refused = server.ask(UserRole::Operator, line, delete.clone()).await;
    assert_eq!(refused.status, 403, "only admins delete");
    server.done(UserRole::Admin, line, delete).await;
    let left = server
        .done(UserRole::Viewer, "GET /api/v1/runs", Value::Null)
        .await;
    assert_eq!(left["items"], json!([]));
    for (body, status) in [
        (json!({ "act": "explode", "filter": {}, "count": 0 }), 422),
        (
            json!({ "act": "cancel", "filter": { "colour": 1 }, "count": 0 }),
            422,
        ),
        (json!({ "act": "cancel", "count": 0 }), 422),
    ] {
        let refused = server.ask(UserRole::Operator, line, body).await;
        assert_eq!(refused.status, status, "{refused:?}");
    }
}

#[tokio::test]
async fn two_versions_and_two_runs_are_compared() {
    let server = TestServer::start().await;
    let line = "PUT /api/v1/workflows/review";
    let mut tag = server
        .ask(
            UserRole::Viewer,
            "GET /api/v1/workflows/review",
            Value::Null,
        )
        .await
        .header("etag")
        .to_owned();
    for word in ["Approve now", "Approve later"] {
        let text = REVIEW.replace("Approve", word);
        let seen = [("if-match", tag.as_str())];
        let body = json!({ "text": text });
        let saved = server.ask_with(UserRole::Operator, line, &seen, body).await;
        assert_eq!(saved.status, 200, "{saved:?}");
        tag = saved.header("etag").to_owned();
    }
    let line = "GET /api/v1/workflows/review/diff?from=1&to=2";
    let diff = server.done(UserRole::Viewer, line, Value::Null).await;
    let text = diff["diff"].as_str().unwrap();
    assert!(
        text.contains("-") && text.contains("Approve later"),
        "{text}"
    );
    for wrong in ["?from=1", "?from=1&to=9", "?from=one&to=2"] {
        let line = format!("GET /api/v1/workflows/review/diff{wrong}");
        let refused = server.ask(UserRole::Viewer, &line, Value::Null).await;
        assert!(matches!(refused.status, 400 | 404), "{wrong}: {refused:?}");
    }
    let (left, right) = (server.start_review().await, server.start_review().await);
    let answer = format!("POST /api/v1/tasks/{right}%2FA/answer");
    let yes = json!({ "output": { "ok": true } });
    server.done(UserRole::Reviewer, &answer, yes).await;
    let line = format!("GET /api/v1/runs/{left}/compare/{right}");
    let compared = server.done(UserRole::Viewer, &line, Value::Null).await;
    assert_eq!(compared["hasSameText"], json!(true), "{compared}");
    assert_eq!(compared["hasSameInput"], json!(true));
    let first = &compared["steps"][0];
    assert_eq!(first["step"], json!("A"));
    assert_eq!(first["isSame"], json!(false), "{first}");
    assert_eq!(first["right"]["output"], json!({ "ok": true }));
}

#[tokio::test]
async fn views_belong_to_their_owner_and_may_be_shared() {
    let server = TestServer::start().await;
    let view = |name: &str, shared: bool| json!({ "name": name, "list": "runs", "filter": { "status": "failed" }, "isShared": shared });
    let own = server
        .ask(UserRole::Viewer, "POST /api/v1/views", view("mine", false))
        .await;
    assert_eq!(own.status, 201, "{own:?}");
    let shared = view("ours", true);
    server
        .done(UserRole::Viewer, "POST /api/v1/views", shared)
        .await;
    let twice = server
        .ask(UserRole::Viewer, "POST /api/v1/views", view("mine", false))
        .await;
    assert_eq!(twice.status, 409, "{twice:?}");
    let names = async |role| {
        let listed = server.done(role, "GET /api/v1/views?list=runs", Value::Null);
        let listed = listed.await;
        let items = listed["items"].as_array().unwrap().clone();
        items
            .iter()
            .map(|item| item["name"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(UserRole::Viewer).await.len(), 2);
    assert_eq!(names(UserRole::Admin).await, [json!("ours")]);
    let line = format!("PATCH /api/v1/views/{}", own.body["id"]);
    let seen = [("if-match", own.header("etag"))];
    let renamed = json!({ "name": "failed ones" });
    let stranger = server
        .ask_with(UserRole::Admin, &line, &seen, renamed.clone())
        .await;
    assert_eq!(stranger.status, 404, "{stranger:?}");
    let edited = server
        .ask_with(UserRole::Viewer, &line, &seen, renamed.clone())
        .await;
    assert_eq!(edited.body["name"], json!("failed ones"), "{edited:?}");
    let stale = server
        .ask_with(UserRole::Viewer, &line, &seen, renamed)
        .await;
    assert_eq!(stale.status, 412, "{stale:?}");
    let line = format!("DELETE /api/v1/views/{}", own.body["id"]);
    let unseen = server.ask(UserRole::Viewer, &line, Value::Null).await;
    assert_eq!(unseen.status, 428, "{unseen:?}");
    let stale = server
        .ask_with(UserRole::Viewer, &line, &seen, Value::Null)
        .await;
    assert_eq!(stale.status, 412, "{stale:?}");
    let now = [("if-match", edited.header("etag"))];
    let removed = server
        .ask_with(UserRole::Viewer, &line, &now, Value::Null)
        .await;
    assert_eq!(removed.status, 204);
}

#[tokio::test]
async fn a_task_without_a_diagram_is_added_edited_and_found() {
    check_added_task(&TestServer::start().await).await;
}

pub(crate) async fn check_added_task(server: &TestServer) {
    let new = json!({ "title": "Water the ficus", "summary": "It is dry.", "urgency": "high" });
    let added = server
        .ask(UserRole::Operator, "POST /api/v1/tasks", new)
        .await;
    assert_eq!(
        (added.status, &added.body["urgency"]),
        (201, &json!("high")),
        "{added:?}"
    );
    let task = added.header("location").to_owned();
    let parent = added.body["task"].clone();
    let part = json!({ "title": "Find the can", "parent": parent });
    server
        .done(UserRole::Operator, "POST /api/v1/tasks", part)
        .await;
    let line = format!("GET {task}/children");
    let children = server.done(UserRole::Viewer, &line, Value::Null).await;
    assert_eq!(
        children["items"][0]["title"],
        json!("Find the can"),
        "{children}"
    );
    let line = format!("PATCH {task}/details");
    let seen = [("if-match", added.header("etag"))];
    let edit = json!({ "title": "Water both plants" });
    let edited = server
        .ask_with(UserRole::Operator, &line, &seen, edit.clone())
        .await;
    assert_eq!(
        edited.body["title"],
        json!("Water both plants"),
        "{edited:?}"
    );
    let stale = server
        .ask_with(UserRole::Operator, &line, &seen, edit)
        .await;
    assert_eq!(stale.status, 412, "{stale:?}");
    let line = format!("GET {task}/activity");
    let activity = server.done(UserRole::Viewer, &line, Value::Null).await;
    assert_eq!(activity["items"][0]["what"], json!("created"), "{activity}");
    for (body, status) in [
        (json!({ "title": "" }), 422),
        (json!({ "title": "x", "urgency": "soon" }), 422),
        (json!({ "title": "x", "workflowId": "nothing" }), 404),
    ] {
        let refused = server
            .ask(UserRole::Operator, "POST /api/v1/tasks", body)
            .await;
        assert_eq!(refused.status, status, "{refused:?}");
    }
    let mut found = Value::Null;
    for _ in 0..50 {
        let line = "GET /api/v1/search?q=ficus";
        found = server.done(UserRole::Viewer, line, Value::Null).await;
        if found["items"] != json!([]) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_ne!(found["items"], json!([]), "{found}");
}

#[tokio::test]
async fn costs_and_budgets_are_shown_for_days() {
    let server = TestServer::start().await;
    for (line, status) in [
        ("GET /api/v1/costs", 200),
        ("GET /api/v1/costs?by=run&limit=5", 200),
        (
            "GET /api/v1/costs?by=model&since=2026-01-01&until=2026-01-31",
            200,
        ),
        ("GET /api/v1/costs?by=mood", 400),
        ("GET /api/v1/costs?since=yesterday", 400),
        ("GET /api/v1/costs?since=1999-01-01", 422),
        ("GET /api/v1/search?kind=cat", 400),
    ] {
        let answered = server.ask(UserRole::Viewer, line, Value::Null).await;
        assert_eq!(answered.status, status, "{line}: {answered:?}");
    }
    let budgets = server
        .done(UserRole::Viewer, "GET /api/v1/budgets", Value::Null)
        .await;
    assert_eq!(budgets["day"]["spent"]["tokens"], json!(0), "{budgets}");
}
