//! `/mcp`: both revisions on one address, with the caller's token deciding about everything.

use std::time::Duration;

use app::TokenRequest;
use app::people::{UserKind, UserRole};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use server::ServerLimits;
use store::TokenId;
use tower::ServiceExt as _;

use crate::test_server::{CheckedAnswer, TestServer, limits};

/// The revision in which every request stands alone.
const STATELESS: &str = "2026-07-28";
/// The revision with sessions.
const SESSIONS: &str = "2025-11-25";

/// A program that speaks MCP with a token.
struct McpProgram<'s> {
    server: &'s TestServer,
    bearer: String,
    /// The session, in the revision that has them.
    session: Option<String>,
}

impl<'s> McpProgram<'s> {
    fn stateless(server: &'s TestServer, token: &str) -> McpProgram<'s> {
        McpProgram {
            server,
            bearer: format!("Bearer {token}"),
            session: None,
        }
    }

    async fn with_session(server: &'s TestServer, token: &str) -> McpProgram<'s> {
        let mut program = McpProgram::stateless(server, token);
        let opened = program.open().await;
        assert_eq!(opened.status, 200, "{opened:?}");
        let named = result(&opened)["serverInfo"]["name"].clone();
        assert_eq!(named, "drawloom", "{opened:?}");
        program.session = Some(opened.header("mcp-session-id").to_owned());
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let accepted = program.post(&[], &ready.to_string()).await;
        assert_eq!(accepted.status, 202, "{accepted:?}");
        program
    }

    /// Asks for a session.
    async fn open(&self) -> CheckedAnswer {
        let params = json!({
            "protocolVersion": SESSIONS, "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        let asked = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        self.post(&[], &asked.to_string()).await
    }

    async fn post(&self, more: &[(&str, &str)], body: &str) -> CheckedAnswer {
        let mut headers = vec![
            ("authorization", self.bearer.as_str()),
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ];
        if let Some(session) = &self.session {
            headers.push(("mcp-session-id", session));
            headers.push(("mcp-protocol-version", SESSIONS));
        }
        headers.extend(more);
        self.server.send("POST /mcp", &headers, Some(body)).await
    }

    async fn request(&self, method: &str, mut params: Value) -> CheckedAnswer {
        let named = params.get("name").or(params.get("uri"));
        let name = named.and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut more = Vec::new();
        if self.session.is_none() {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": STATELESS,
                "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            more.extend([("mcp-protocol-version", STATELESS), ("mcp-method", method)]);
            if !name.is_empty() {
                more.push(("mcp-name", name.as_str()));
            }
        }
        let asked = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        self.post(&more, &asked.to_string()).await
    }

    async fn call(&self, tool: &str, arguments: Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        let answered = self.request("tools/call", params).await;
        result(&answered)
    }

    /// Calls a tool that must succeed.
    async fn done(&self, tool: &str, arguments: Value) -> Value {
        let called = self.call(tool, arguments).await;
        assert_ne!(called["isError"], true, "{tool}: {called}");
        called["structuredContent"].clone()
    }

    /// Calls a tool that must refuse; the sentence.
    async fn refused(&self, tool: &str, arguments: Value) -> String {
        let called = self.call(tool, arguments).await;
        assert_eq!(called["isError"], true, "{tool}: {called}");
        called["content"][0]["text"].as_str().unwrap().to_owned()
    }
}

/// The message of an answer: its body, or the last event of its stream.
fn message(answered: &CheckedAnswer) -> Value {
    let Value::String(text) = &answered.body else {
        return answered.body.clone();
    };
    let mut data = text.lines().filter_map(|line| line.strip_prefix("data:"));
    let last = data.rfind(|data| !data.trim().is_empty());
    last.map_or(Value::Null, |data| serde_json::from_str(data).unwrap())
}

#[track_caller]
fn result(answered: &CheckedAnswer) -> Value {
    let message = message(answered);
    assert!(message["result"].is_object(), "{answered:?}");
    message["result"].clone()
}

#[tokio::test]
async fn both_revisions_are_answered_on_one_address() {
    let server = TestServer::start().await;
    let token = server.token(UserRole::Operator);
    for program in [
        McpProgram::stateless(&server, token),
        McpProgram::with_session(&server, token).await,
    ] {
        let listed = result(&program.request("tools/list", json!({})).await);
        let tools = listed["tools"].as_array().unwrap();
        assert!(tools.iter().any(|tool| tool["name"] == "run_recipe"));
        // Sets that the settings leave out are not there.
        assert!(tools.iter().all(|tool| tool["name"] != "save_workflow"));
        let name = format!("x{}", program.session.is_some());
        let values = json!({ "name": "hello", "values": { "name": name } });
        let ran = program.done("run_recipe", values).await;
        assert_eq!(ran["status"], "done", "{ran}");
        let file = server.folder.path().join(format!("{name}.txt"));
        let written = std::fs::read_to_string(file).unwrap();
        assert_eq!(written, format!("Hello {name}\n"));
        let uri = json!({ "uri": "drawloom://recipe/hello" });
        let read = result(&program.request("resources/read", uri).await);
        assert!(read["contents"][0]["text"].is_string(), "{read}");
    }
}

/// A request line, its headers and the status it gets.
type RefusedRequest<'r> = (&'r str, &'r [(&'r str, &'r str)], u16);

#[tokio::test]
async fn only_a_token_opens_the_door() {
    let server = TestServer::start().await;
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
    let list = list.to_string();
    let good = format!("Bearer {}", server.token(UserRole::Viewer));
    let secret = "drawloom_session=x; __Host-drawloom_session=x";
    let cases: [RefusedRequest<'_>; 8] = [
        ("POST /mcp", &[], 401),
        ("GET /mcp", &[], 401),
        ("DELETE /mcp", &[], 401),
        ("POST /mcp", &[("authorization", "Bearer dl_wrong")], 401),
        ("POST /mcp", &[("cookie", secret)], 401),
        (
            "POST /mcp",
            &[("authorization", &good), ("host", "evil.example")],
            421,
        ),
        (
            "POST /mcp",
            &[("authorization", &good), ("origin", "http://evil.example")],
            403,
        ),
        (
            "GET /mcp",
            &[("authorization", &good), ("origin", "http://evil.example")],
            403,
        ),
    ];
    for (line, headers, status) in cases {
        let answered = server.send(line, headers, Some(&list)).await;
        assert_eq!(answered.status, status, "{line} {headers:?}: {answered:?}");
        let challenge = answered.header("www-authenticate");
        assert_eq!(
            challenge.starts_with("Bearer "),
            status == 401,
            "{answered:?}"
        );
    }
}

#[tokio::test]
async fn a_session_is_no_use_to_another_token() {
    let server = TestServer::start().await;
    let owner = McpProgram::with_session(&server, server.token(UserRole::Operator)).await;
    let mut thief = McpProgram::stateless(&server, server.token(UserRole::Admin));
    thief.session = owner.session.clone();
    for method in ["tools/list", "ping"] {
        let answered = thief.request(method, json!({})).await;
        assert_eq!(answered.status, 404, "{answered:?}");
    }
    let session = owner.session.as_deref().unwrap();
    let headers = |bearer| [("authorization", bearer), ("mcp-session-id", session)];
    for line in ["GET /mcp", "DELETE /mcp"] {
        let answered = server.send(line, &headers(&thief.bearer), None).await;
        assert_eq!(answered.status, 404, "{answered:?}");
    }
    result(&owner.request("tools/list", json!({})).await);
    let ended = server
        .send("DELETE /mcp", &headers(&owner.bearer), None)
        .await;
    assert_eq!(ended.status, 202, "{ended:?}");
    let answered = owner.request("tools/list", json!({})).await;
    assert_eq!(answered.status, 404, "{answered:?}");
}

#[tokio::test]
async fn sessions_are_limited_and_idle_ones_end() {
    let limits = ServerLimits {
        mcp_sessions_per_token_max: 2,
        mcp_session_idle_max: Duration::from_secs(1),
        ..limits()
    };
    let server = TestServer::with(None, limits).await;
    let token = server.token(UserRole::Viewer);
    let first = McpProgram::with_session(&server, token).await;
    let _second = McpProgram::with_session(&server, token).await;
    let refused = first.server;
    let refused = McpProgram::stateless(refused, token).open().await;
    assert_eq!(refused.status, 429, "{refused:?}");
    let detail = refused.body["detail"].as_str().unwrap();
    assert!(detail.contains("mcp_sessions_per_token_max"), "{detail}");
    // Another token has sessions of its own.
    McpProgram::with_session(&server, server.token(UserRole::Admin)).await;
    // The idle ones make room. What is asked in between opens no session, and keeps none alive.
    for _ in 0..200 {
        let opened = McpProgram::stateless(&server, token).open().await;
        if opened.status == 200 {
            let answered = first.request("tools/list", json!({})).await;
            assert_eq!(answered.status, 404, "{answered:?}");
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the idle sessions did not end");
}

async fn add_token(server: &TestServer, user: &str, scopes: &[&str]) -> (TokenId, String) {
    let wish = TokenRequest {
        user: user.parse().unwrap(),
        name: scopes.join("-"),
        role: UserRole::Operator,
        scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
        life: None,
    };
    let terminal = server.app.acting(server.app.terminal());
    let (token, secret) = terminal.add_token(&wish).await.unwrap();
    (token.id, secret.reveal())
}

#[tokio::test]
async fn the_role_and_the_scopes_of_the_token_hold() {
    let server = TestServer::start().await;
    let recipe = json!({ "name": "hello", "values": { "name": "y" } });
    let viewer = McpProgram::stateless(&server, server.token(UserRole::Viewer));
    viewer.done("list_recipes", json!({})).await;
    let sentence = viewer.refused("run_recipe", recipe.clone()).await;
    assert!(sentence.contains("may not run recipes"), "{sentence}");
    let run = server.start_review().await;
    let (id, token) = add_token(&server, "operator", &["runs.read"]).await;
    let narrow = McpProgram::with_session(&server, &token).await;
    narrow.done("get_run", json!({ "id": run })).await;
    for (tool, arguments) in [
        ("start_run", json!({ "workflow": "review" })),
        ("list_workflows", json!({})),
        ("run_recipe", recipe),
    ] {
        let sentence = narrow.refused(tool, arguments).await;
        assert!(
            sentence.contains("the scopes of this token leave out"),
            "{sentence}"
        );
    }
    let listed = result(&narrow.request("resources/list", json!({})).await);
    assert_eq!(listed["resources"], json!([]));
    let uri = json!({ "uri": "drawloom://workflow/review" });
    let read = narrow.request("resources/read", uri).await;
    assert!(message(&read)["error"].is_object(), "{read:?}");
    assert!(!server.folder.path().join("y.txt").exists());
    // A token that is revoked ends in the middle of its session.
    let terminal = server.app.acting(server.app.terminal());
    terminal.revoke_token(id).await.unwrap();
    let answered = narrow.request("tools/list", json!({})).await;
    assert_eq!(answered.status, 401, "{answered:?}");
}

#[tokio::test]
async fn no_token_makes_an_agent_a_person() {
    let server = TestServer::start().await;
    let prompt = "You help.".to_owned();
    let nature = UserKind::Agent { prompt };
    let robot = server.add_user("robot", UserRole::Admin, nature).await;
    for token in [server.token(UserRole::Admin), &robot] {
        let program = McpProgram::stateless(&server, token);
        let input = json!({ "workflow": "review", "input": { "what": "it" } });
        let started = program.done("start_run", input).await;
        server.work().await;
        let own = format!("{}/A", started["run"].as_str().unwrap());
        let others = format!("{}/A", server.start_review().await);
        server.work().await;
        for (task, reason) in [
            (&own, "you started this run"),
            (&others, "waits for a person"),
        ] {
            let answer = json!({ "id": task, "output": { "ok": true } });
            let sentence = program.refused("answer_task", answer).await;
            assert!(sentence.contains(reason), "{sentence}");
        }
        // The person answers as a person does.
        let line = format!("POST /api/v1/tasks/{}/answer", own.replace('/', "%2F"));
        let yes = json!({ "output": { "ok": true } });
        server.done(UserRole::Admin, &line, yes).await;
        server.work().await;
        let run = json!({ "id": started["run"] });
        let ended = program.done("get_run", run).await;
        assert_eq!(ended["status"], "completed", "{ended}");
    }
}

#[tokio::test]
async fn calls_that_change_something_are_in_the_audit_log() {
    let server = TestServer::start().await;
    let operator = McpProgram::stateless(&server, server.token(UserRole::Operator));
    let viewer = McpProgram::stateless(&server, server.token(UserRole::Viewer));
    let recipe = json!({ "name": "hello", "values": { "name": "z" } });
    operator.done("run_recipe", recipe.clone()).await;
    operator.done("list_recipes", json!({})).await;
    viewer.refused("run_recipe", recipe).await;
    let wrong = json!({ "workflow": "no-such-workflow" });
    operator.refused("start_run", wrong).await;
    let log = server
        .done(UserRole::Admin, "GET /api/v1/audit", Value::Null)
        .await;
    let lines: Vec<String> = log["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|line| line["action"].as_str().unwrap().starts_with("MCP "))
        .map(|line| {
            let text = |name: &str| line[name].as_str().unwrap().to_owned();
            let actor = text("actor");
            let (who, _) = actor.split_once(" by token ").unwrap();
            format!(
                "{who} {} {} {}",
                text("action"),
                text("object"),
                text("outcome")
            )
        })
        .collect();
    let expected = [
        "operator MCP start_run runs/no-such-workflow failed",
        "viewer MCP run_recipe recipes/hello refused",
        "operator MCP run_recipe recipes/hello done",
    ];
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn invalid_messages_are_refused_and_change_nothing() {
    let server = TestServer::with(
        None,
        ServerLimits {
            body_bytes_max: 100_000,
            ..limits()
        },
    )
    .await;
    let token = server.token(UserRole::Operator);
    let program = McpProgram::stateless(&server, token);
    let long = "x".repeat(200_000);
    let nested = "[".repeat(50_000);
    let wrong_version = [("mcp-protocol-version", "1999-01-01")];
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;
    for (more, body, statuses) in [
        (&[][..], long.as_str(), &[413][..]),
        (&[], nested.as_str(), &[400, 415]),
        (&[], "{", &[400, 415]),
        (&[], "", &[400, 415]),
        (&[], "[]", &[400, 415]),
        (&[], "{\"jsonrpc\":\"1.0\"}", &[400, 415, 422]),
        (&wrong_version[..], list, &[400]),
        // A request of the old revision without a session.
        (&[], list, &[400, 422]),
    ] {
        let answered = program.post(more, body).await;
        let shown: String = body.chars().take(40).collect();
        assert!(statuses.contains(&answered.status), "{shown}: {answered:?}");
    }
    let unknown = program.request("no/such/method", json!({})).await;
    assert_eq!(message(&unknown)["error"]["code"], -32601, "{unknown:?}");
    let session = McpProgram::with_session(&server, token).await;
    let unknown = session.request("no/such/method", json!({})).await;
    assert_eq!(message(&unknown)["error"]["code"], -32601, "{unknown:?}");
    for line in ["PUT /mcp", "PATCH /mcp", "OPTIONS /mcp"] {
        let answered = server
            .send(line, &[("authorization", &program.bearer)], None)
            .await;
        assert_eq!(answered.status, 405, "{line}: {answered:?}");
    }
}

/// Waits until the audit log has a line about a call.
async fn noted(server: &TestServer, tool: &str) -> Value {
    let line = format!("GET /api/v1/audit?action=MCP%20{tool}");
    for _ in 0..600 {
        let log = server.done(UserRole::Admin, &line, Value::Null).await;
        if let Some(found) = log["items"].as_array().unwrap().first() {
            return found.clone();
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{tool} was not noted");
}

/// The answer is dropped as soon as it begins: the client has gone in the middle of the second pass.
#[tokio::test]
async fn a_client_that_hangs_up_leaves_a_whole_file() {
    for is_stateless in [true, false] {
        let server = TestServer::start().await;
        let token = server.token(UserRole::Operator);
        let program = match is_stateless {
            true => McpProgram::stateless(&server, token),
            false => McpProgram::with_session(&server, token).await,
        };
        let mut params = json!({ "name": "run_recipe", "arguments": {
            "name": "hello", "values": { "name": "gone" },
        } });
        if is_stateless {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": STATELESS,
                "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        let asked = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let mut request = axum::http::Request::post("/mcp")
            .header("host", "127.0.0.1:7331")
            .header("authorization", &program.bearer)
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        request = match &program.session {
            Some(session) => request
                .header("mcp-session-id", session)
                .header("mcp-protocol-version", SESSIONS),
            None => request
                .header("mcp-protocol-version", STATELESS)
                .header("mcp-method", "tools/call")
                .header("mcp-name", "run_recipe"),
        };
        let request = request.body(axum::body::Body::from(asked.to_string()));
        let response = server.router().oneshot(request.unwrap()).await.unwrap();
        assert_eq!(response.status(), 200);
        drop(response);
        let line = noted(&server, "run_recipe").await;
        assert_eq!(line["outcome"], "done", "{line}");
        let written = std::fs::read_to_string(server.folder.path().join("gone.txt")).unwrap();
        assert_eq!(written, "Hello gone\n");
    }
}

#[tokio::test]
async fn a_waiting_stream_ends_with_the_server() {
    let server = TestServer::start().await;
    let program = McpProgram::with_session(&server, server.token(UserRole::Viewer)).await;
    let request = axum::http::Request::get("/mcp")
        .header("host", "127.0.0.1:7331")
        .header("authorization", &program.bearer)
        .header("accept", "text/event-stream")
        .header("mcp-protocol-version", SESSIONS)
        .header("mcp-session-id", program.session.as_deref().unwrap());
    let request = request.body(axum::body::Body::empty()).unwrap();
    let response = server.router().oneshot(request).await.unwrap();
    assert_eq!(response.status(), 200);
    server.state.close();
    // It would wait for ever otherwise.
    response.into_body().collect().await.unwrap();
}

#[tokio::test]
async fn an_empty_list_of_sets_switches_it_off() {
    let server = TestServer::with_variable("DRAWLOOM_MCP_TOOLS", "").await;
    let token = server.add_person("ada", UserRole::Admin).await;
    let program = McpProgram::stateless(&server, &token);
    let answered = program.request("tools/list", json!({})).await;
    assert_eq!(answered.status, 404, "{answered:?}");
    let server = TestServer::with_variable("DRAWLOOM_MCP_TOOLS", "look").await;
    let token = server.add_person("ada", UserRole::Admin).await;
    let program = McpProgram::stateless(&server, &token);
    let listed = result(&program.request("tools/list", json!({})).await);
    let names: Vec<&str> = listed["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["project_index", "impact"]);
}
