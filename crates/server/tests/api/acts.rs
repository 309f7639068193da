//! What people do beside answering: send back, cancel, run again, update, many at once.

use std::sync::Arc;

use app::people::{UserKind, UserRole};
use builder::{BuildJob, JobId, JobStore as _, Options};
use serde_json::{Value, json};
use store::SqliteDatabase;

use crate::test_server::{REVIEW, TestServer};

/// A model that is not there: the first try fails, and a person decides what follows.
const HELD: &str = "graph TD\n A[Write]\n%% === WORKFLOW_CONFIG ===\n\
    %% @A: { \"prompt\": \"Write a poem.\", \"retry\": { \"attempts\": 1 } }\n%% === END_CONFIG ===\n";

#[tokio::test]
async fn a_task_on_hold_is_sent_back_with_a_comment() {
    check_sending_back(&TestServer::start().await).await;
}

pub(crate) async fn check_sending_back(server: &TestServer) {
    server.put_workflow("poem", HELD);
    let body = json!({ "workflow": "poem" });
    let started = server
        .done(UserRole::Operator, "POST /api/v1/runs", body)
        .await;
    let run = started["runs"][0].as_str().unwrap();
    server.work().await;
    let task = format!("/api/v1/tasks/{run}%2FA");
    let held = server
        .done(UserRole::Viewer, &format!("GET {task}"), Value::Null)
        .await;
    assert_eq!(held["status"], json!("on_hold"), "{held}");
    let line = format!("POST {task}/send-back");
    for (role, body, status) in [
        (UserRole::Viewer, json!({ "comment": "shorter" }), 403),
        (UserRole::Reviewer, json!({ "comment": " " }), 422),
        (UserRole::Reviewer, json!({}), 422),
        (
            UserRole::Reviewer,
            json!({ "comment": "In {{fewer}} words." }),
            200,
        ),
        // It is under way again.
        (UserRole::Reviewer, json!({ "comment": "shorter" }), 409),
    ] {
        let answered = server.ask(role, &line, body).await;
        assert_eq!(answered.status, status, "{answered:?}");
    }
    let line = format!("GET {task}/comments");
    let comments = server.done(UserRole::Viewer, &line, Value::Null).await;
    assert_eq!(comments["items"].as_array().unwrap().len(), 1, "{comments}");
    assert_eq!(comments["items"][0]["author"], json!("reviewer"));
    let line = format!("GET {task}/layers");
    let layers = server.done(UserRole::Viewer, &line, Value::Null).await;
    assert_eq!(layers["wasSent"], json!(false), "{layers}");
    let text = layers["layers"].to_string();
    assert!(
        text.contains("reviewer has sent the last answer back"),
        "{text}"
    );
    let line = format!("GET {task}/attempts");
    let attempts = server.done(UserRole::Viewer, &line, Value::Null).await;
    assert_eq!(attempts["items"][0]["by"], json!("worker"), "{attempts}");
    let line = format!("GET {task}/conversation");
    let calls = server.done(UserRole::Viewer, &line, Value::Null).await;
    assert_eq!(calls["items"], json!([]), "nothing was sent");
}

#[tokio::test]
async fn only_a_task_that_is_all_its_run_does_is_cancelled() {
    let server = TestServer::start().await;
    let run = server.start_review().await;
    let line = format!("POST /api/v1/tasks/{run}%2FA/cancel");
    let refused = server.ask(UserRole::Operator, &line, Value::Null).await;
    assert_eq!(refused.status, 409, "{refused:?}");
    assert!(
        refused.body["hint"]
            .as_str()
            .unwrap()
            .contains("cancel the run")
    );
    let new = json!({ "title": "Water the ficus" });
    let added = server
        .done(UserRole::Operator, "POST /api/v1/tasks", new)
        .await;
    let task = added["task"].as_str().unwrap().replace('/', "%2F");
    let line = format!("POST /api/v1/tasks/{task}/cancel");
    let body = json!({ "reason": "It was plastic." });
    let done = server.done(UserRole::Operator, &line, body).await;
    assert_eq!(done["status"], json!("cancelled"), "{done}");
    let again = server.ask(UserRole::Operator, &line, Value::Null).await;
    assert_eq!(again.status, 409, "{again:?}");
}

#[tokio::test]
async fn many_tasks_are_answered_if_their_number_is_known() {
    check_many_tasks(&TestServer::start().await).await;
}

pub(crate) async fn check_many_tasks(server: &TestServer) {
    for _ in 0..3 {
        server.start_review().await;
    }
    let line = "GET /api/v1/tasks?waiting=true&limit=2&count=true";
    let first = server.done(UserRole::Viewer, line, Value::Null).await;
    assert_eq!(first["count"], json!(3), "{first}");
    let cursor = first["nextCursor"].as_str().unwrap();
    let line = format!("GET /api/v1/tasks?waiting=true&limit=2&cursor={cursor}");
    let second = server.done(UserRole::Viewer, &line, Value::Null).await;
    assert_eq!(second["items"].as_array().unwrap().len(), 1, "{second}");
    let wrong = server
        .ask(
            UserRole::Viewer,
            "GET /api/v1/tasks?cursor=bm8",
            Value::Null,
        )
        .await;
    assert_eq!(wrong.status, 422, "{wrong:?}");
    let act = |count: u32, act: &str| {
        json!({
            "act": act, "filter": { "waiting": true }, "count": count,
            "output": { "ok": true },
        })
    };
    let line = "POST /api/v1/tasks/bulk";
    for (role, body, status) in [
        (UserRole::Reviewer, act(2, "answer"), 409),
        (UserRole::Reviewer, act(3, "retry"), 403),
        (UserRole::Reviewer, act(3, "fail"), 422),
        (UserRole::Viewer, act(3, "answer"), 403),
    ] {
        let refused = server.ask(role, line, body).await;
        assert_eq!(refused.status, status, "{refused:?}");
    }
    let done = server
        .done(UserRole::Reviewer, line, act(3, "answer"))
        .await;
    assert_eq!(done["done"].as_array().unwrap().len(), 3, "{done}");
    assert_eq!(done["failed"], json!([]));
}

#[tokio::test]
async fn a_run_begins_again_with_its_text_or_the_current_one() {
    check_running_again(&TestServer::start().await).await;
}

pub(crate) async fn check_running_again(server: &TestServer) {
    let run = server.start_review().await;
    let line = format!("POST /api/v1/runs/{run}/rerun");
    let body = json!({ "input": { "what": "that" } });
    let again = server.done(UserRole::Operator, &line, body).await;
    assert_ne!(again["id"], json!(run), "{again}");
    let shown = format!("GET /api/v1/runs/{}", again["id"].as_str().unwrap());
    let shown = server.done(UserRole::Viewer, &shown, Value::Null).await;
    assert_eq!(shown["input"], json!({ "what": "that" }));
    server.put_workflow("review", &REVIEW.replace("Approve {{", "Really approve {{"));
    let both = json!({ "step": "A", "input": {} });
    let refused = server.ask(UserRole::Operator, &line, both).await;
    assert_eq!(refused.status, 422, "{refused:?}");
    // A step goes on with the text that the workflow has now.
    let moved = json!({ "step": "A", "version": "current" });
    let moved = server.done(UserRole::Operator, &line, moved).await;
    assert_eq!(
        (&moved["id"], &moved["status"]),
        (&json!(run), &json!("running"))
    );
    assert_ne!(moved["textHash"], again["textHash"], "{moved}");
    let questions = server
        .done(UserRole::Viewer, "GET /api/v1/questions", Value::Null)
        .await;
    let prompts = questions["items"].as_array().unwrap().iter();
    let prompts: Vec<&str> = prompts.map(|one| one["prompt"].as_str().unwrap()).collect();
    assert!(prompts.contains(&"Really approve it?"), "{prompts:?}");
    for (version, is_same) in [("pinned", false), ("current", true)] {
        let begun = format!("POST /api/v1/runs/{}/rerun", again["id"].as_str().unwrap());
        let body = json!({ "version": version });
        let begun = server.done(UserRole::Operator, &begun, body).await;
        assert_eq!(begun["textHash"] == moved["textHash"], is_same, "{begun}");
    }
}

#[tokio::test]
async fn a_workflow_is_created_once_and_says_what_its_steps_can_refer_to() {
    let server = TestServer::start().await;
    let new = json!({ "name": "second", "text": REVIEW });
    let line = "POST /api/v1/workflows";
    let created = server.ask(UserRole::Operator, line, new.clone()).await;
    assert_eq!(created.status, 201, "{created:?}");
    assert_eq!(created.header("location"), "/api/v1/workflows/second");
    let twice = server.ask(UserRole::Operator, line, new).await;
    assert_eq!(twice.status, 409, "{twice:?}");
    let run = server.start_review().await;
    let answer = format!("POST /api/v1/tasks/{run}%2FA/answer");
    let yes = json!({ "output": { "ok": true } });
    server.done(UserRole::Reviewer, &answer, yes).await;
    let line = "GET /api/v1/workflows/review/steps/B";
    let step = server.done(UserRole::Viewer, line, Value::Null).await;
    let references = step["references"].as_array().unwrap();
    let wanted = json!({ "path": "steps.A.output.ok", "sample": "true" });
    assert!(references.contains(&wanted), "{references:?}");
    let body = json!({ "text": REVIEW, "name": "review", "step": "B" });
    let line = "POST /api/v1/workflows/check";
    let checked = server.done(UserRole::Viewer, line, body).await;
    assert!(
        checked["references"].as_array().unwrap().contains(&wanted),
        "{checked}"
    );
}

#[tokio::test]
async fn a_recipe_is_updated_in_three_ways() {
    let server = TestServer::start().await;
    let lines = "---\nto: \"{{ name }}.txt\"\n---\none\ntwo\nthree\nfour\nfive\n";
    let write = |text: &str| {
        let file = server
            .folder
            .path()
            .join(".drawloom/recipes/hello/hello.edge");
        std::fs::write(file, text).unwrap();
    };
    let line = "POST /api/v1/recipes/hello/update";
    let none = server.ask(UserRole::Operator, line, Value::Null).await;
    assert_eq!(none.status, 404, "{none:?}");
    write(lines);
    let body = json!({ "values": { "name": "World" } });
    let begun = server
        .ask(UserRole::Operator, "POST /api/v1/recipes/hello/runs", body)
        .await;
    let apply = format!("POST {}/apply", begun.header("location"));
    server.done(UserRole::Operator, &apply, Value::Null).await;
    // A person edits the file, and the recipe changes elsewhere in it.
    let file = server.folder.path().join("World.txt");
    std::fs::write(&file, "one, edited\ntwo\nthree\nfour\nfive\n").unwrap();
    write(&lines.replace("five", "five, newer"));
    let begun = server.ask(UserRole::Operator, line, Value::Null).await;
    assert_eq!(
        (begun.status, &begun.body["status"]),
        (201, &json!("ready")),
        "{begun:?}"
    );
    assert_eq!(
        begun.body["plan"]["files"][0]["status"],
        json!("merged"),
        "{begun:?}"
    );
    assert!(!std::fs::read_to_string(&file).unwrap().contains("newer"));
    let apply = format!("POST {}/apply", begun.header("location"));
    let done = server.done(UserRole::Operator, &apply, Value::Null).await;
    assert_eq!(done["report"]["conflicts"], json!(0), "{done}");
    let merged = std::fs::read_to_string(&file).unwrap();
    assert_eq!(merged, "one, edited\ntwo\nthree\nfour\nfive, newer\n");
}

#[tokio::test]
async fn questions_of_every_kind_are_answered_in_one_way() {
    let server = TestServer::start().await;
    let run = server.start_review().await;
    keep_build(&server, "0planned1", "plan_ready").await;
    let begun = server
        .done(
            UserRole::Operator,
            "POST /api/v1/recipes/hello/runs",
            Value::Null,
        )
        .await;
    let listed = server
        .done(UserRole::Operator, "GET /api/v1/questions", Value::Null)
        .await;
    let questions = listed["items"].as_array().unwrap();
    let kinds: Vec<&str> = questions
        .iter()
        .map(|one| one["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["build", "recipe", "task"], "{listed}");
    assert!(
        questions.iter().all(|one| one["schema"].is_object()),
        "{listed}"
    );
    // The run of a recipe is its owner's.
    let others = server
        .done(
            UserRole::Admin,
            "GET /api/v1/questions?kind=recipe",
            Value::Null,
        )
        .await;
    assert_eq!(others["items"], json!([]));
    let id = begun["id"].as_str().unwrap();
    let recipe = format!("POST /api/v1/questions/recipe:hello%2F{id}/answer");
    let task = format!("POST /api/v1/questions/task:{run}%2FA/answer");
    let build = "POST /api/v1/questions/build:0planned1/answer".to_owned();
    for (role, line, answer, status) in [
        (UserRole::Viewer, &task, json!({ "ok": true }), 403),
        (UserRole::Reviewer, &task, json!({ "ok": "maybe" }), 422),
        (UserRole::Reviewer, &task, json!({ "ok": true }), 200),
        (UserRole::Reviewer, &task, json!({ "ok": true }), 409),
        (UserRole::Operator, &recipe, json!("World"), 422),
        (UserRole::Admin, &recipe, json!({ "name": "World" }), 404),
        (UserRole::Operator, &recipe, json!({ "name": "World" }), 200),
        (UserRole::Reviewer, &build, json!({ "approved": "no" }), 422),
        (
            UserRole::Reviewer,
            &build,
            json!({ "approved": false }),
            200,
        ),
        (
            UserRole::Reviewer,
            &build,
            json!({ "approved": false }),
            409,
        ),
    ] {
        let answered = server.ask(role, line, json!({ "answer": answer })).await;
        assert_eq!(answered.status, status, "{line}: {answered:?}");
    }
    let rest = server
        .done(UserRole::Operator, "GET /api/v1/questions", Value::Null)
        .await;
    assert_eq!(rest["items"], json!([]), "{rest}");
}

#[tokio::test]
async fn a_question_that_is_not_there_is_not_answered() {
    let server = TestServer::start().await;
    for name in ["nothing", "cat:1", "recipe:hello", "task:none%2FA"] {
        let line = format!("POST /api/v1/questions/{name}/answer");
        let none = server
            .ask(UserRole::Operator, &line, json!({ "answer": 1 }))
            .await;
        assert_eq!(none.status, 404, "{name}: {none:?}");
    }
}

/// Keeps a build in a status, as its process would have left it.
async fn keep_build(server: &TestServer, id: &str, status: &str) {
    let job = BuildJob::new(
        JobId::parse(id).unwrap(),
        "add a page that lists users",
        Options::default(),
        server.app.now_ms(),
    );
    let mut job = serde_json::to_value(job.unwrap()).unwrap();
    job["status"] = json!(status);
    let job: BuildJob = serde_json::from_value(job).unwrap();
    let file = server.folder.path().join(".drawloom/drawloom.db");
    let options = store::Options {
        clock: Arc::new(StoppedClock),
        scrub: None,
        bytes_max: None,
        pid: 1,
    };
    let database = SqliteDatabase::open(&file, options).await.unwrap();
    database.create(&job).await.unwrap();
}

struct StoppedClock;

impl agent::AgentClock for StoppedClock {
    fn now_ms(&self) -> u64 {
        1_000
    }
}

#[tokio::test]
async fn a_build_shows_its_events_and_its_changes() {
    let server = TestServer::start().await;
    keep_build(&server, "0planned1", "plan_ready").await;
    keep_build(&server, "0planned2", "failed").await;
    let first = server
        .done(
            UserRole::Viewer,
            "GET /api/v1/builder/jobs?limit=1",
            Value::Null,
        )
        .await;
    assert_eq!(first["items"][0]["id"], json!("0planned2"), "{first}");
    let cursor = first["nextCursor"].as_str().unwrap();
    let line = format!("GET /api/v1/builder/jobs?limit=1&cursor={cursor}");
    let second = server.done(UserRole::Viewer, &line, Value::Null).await;
    assert_eq!(second["items"][0]["id"], json!("0planned1"), "{second}");
    assert_eq!(second["nextCursor"], Value::Null);
    for part in ["events", "diff"] {
        let line = format!("GET /api/v1/builder/jobs/0planned1/{part}");
        let shown = server.done(UserRole::Viewer, &line, Value::Null).await;
        assert_eq!(shown["items"], json!([]), "{part}");
    }
    for (act, body, status) in [
        // No model is set up here to build.
        ("approve", Value::Null, 503),
        ("review", json!({}), 409),
        (
            "review",
            json!({ "remarks": [{ "path": "a", "decision": "maybe" }] }),
            422,
        ),
        ("publish", Value::Null, 503),
        (
            "follow-up",
            json!({ "prompt": "and a page that edits them" }),
            503,
        ),
        ("reject", Value::Null, 200),
        ("reject", Value::Null, 409),
    ] {
        let line = format!("POST /api/v1/builder/jobs/0planned1/{act}");
        let answered = server.ask(UserRole::Operator, &line, body).await;
        assert_eq!(answered.status, status, "{act}: {answered:?}");
    }
}

#[tokio::test]
async fn an_agent_is_tried_and_sessions_are_ended() {
    let server = TestServer::start().await;
    let agent = UserKind::Agent {
        prompt: "You answer in rhymes.".to_owned(),
    };
    server.add_user("poet", UserRole::Operator, agent).await;
    let line = "POST /api/v1/agents/poet/test";
    for (role, line, body, status) in [
        (UserRole::Viewer, line, json!({ "text": "Hello" }), 403),
        (UserRole::Operator, line, json!({ "text": "" }), 422),
        (
            UserRole::Operator,
            "POST /api/v1/agents/nobody/test",
            json!({ "text": "Hello" }),
            404,
        ),
    ] {
        let refused = server.ask(role, line, body).await;
        assert_eq!(refused.status, status, "{refused:?}");
    }
    let tried = server
        .done(UserRole::Operator, line, json!({ "text": "Hello" }))
        .await;
    assert_eq!(
        tried["agentPrompt"],
        json!("You answer in rhymes."),
        "{tried}"
    );
    assert!(tried["layers"].to_string().contains("Hello"), "{tried}");
    let line = "GET /api/v1/users/viewer/sessions";
    let none = server.done(UserRole::Admin, line, Value::Null).await;
    assert_eq!(none["items"], json!([]));
    let line = "DELETE /api/v1/users/viewer/sessions";
    let ended = server.ask(UserRole::Admin, line, Value::Null).await;
    assert_eq!(ended.status, 204, "{ended:?}");
}
