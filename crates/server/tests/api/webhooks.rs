//! Webhooks, checked by the library that their receivers use; and callbacks.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use app::people::UserRole;
use app::webhooks::DeliveryPolicy;
use serde_json::{Value, json};

use crate::test_server::{TestServer, limits};

/// Verifies every message with npm's `standardwebhooks`, and prints what it got as a line of JSON. A path
/// `/fail/N` refuses the first N messages, `/gone` all of them for good.
const RECEIVER: &str = r#"
const { Webhook } = require("standardwebhooks");
const http = require("http");
let secret = "";
let seen = 0;
const server = http.createServer((request, response) => {
  let body = "";
  request.on("data", (part) => (body += part));
  request.on("end", () => {
    if (request.url === "/secret") { secret = body; response.end(); return; }
    seen += 1;
    let verified = null;
    try { verified = new Webhook(secret).verify(body, request.headers); }
    catch (error) { verified = { error: String(error) }; }
    const refuses = request.url === "/gone" ? 410
      : seen <= Number(request.url.split("/fail/")[1] || 0) ? 500 : 200;
    const { "webhook-id": id, "webhook-signature": signature, "drawloom-callback-url": back,
      "drawloom-callback-token": token } = request.headers;
    console.log(JSON.stringify({ id, signatures: (signature || "").split(" ").length, status: refuses,
      body: verified, back, token }));
    response.statusCode = refuses;
    response.end("{}");
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
"#;

struct WebhookReceiver {
    child: Child,
    port: u16,
    lines: Receiver<String>,
}

impl Drop for WebhookReceiver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The folder with the library, installed once.
fn library() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("standardwebhooks");
    let line = "exec 9>\"$1.lock\"; flock 9; test -d \"$1/node_modules/standardwebhooks\" || { \
        mkdir -p \"$1\" && cd \"$1\" && npm init -y >/dev/null && npm install --silent standardwebhooks@1; }";
    let installed = Command::new("bash")
        .args(["-c", line, "install"])
        .arg(&folder)
        .status();
    assert!(installed.unwrap().success(), "npm did not install it");
    folder
}

impl WebhookReceiver {
    fn start() -> WebhookReceiver {
        let folder = library();
        let mut child = Command::new("node")
            .args(["-e", RECEIVER])
            .current_dir(folder)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let out = child.stdout.take().unwrap();
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                let _ = tell.send(line);
            }
        });
        let port = lines.recv_timeout(Duration::from_secs(20)).unwrap();
        WebhookReceiver {
            child,
            port: port.parse().unwrap(),
            lines,
        }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Tells the receiver the secret that messages are verified with.
    fn learn(&self, secret: &str) {
        use std::io::{Read as _, Write as _};
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let length = secret.len();
        let request = format!(
            "POST /secret HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{secret}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        stream.read_to_end(&mut Vec::new()).unwrap();
    }

    /// The next message. The server goes on meanwhile.
    async fn next(&self) -> Value {
        for _ in 0..400 {
            if let Ok(line) = self.lines.try_recv() {
                return serde_json::from_str(&line).unwrap();
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("no message came");
    }
}

/// A server that tries again soon.
async fn quick(database: Option<&str>) -> TestServer {
    let quick = server::ServerLimits {
        webhooks: DeliveryPolicy {
            waits: vec![Duration::from_millis(10); 2],
            given_up_max: 2,
            timeout: Duration::from_secs(5),
        },
        ..limits()
    };
    TestServer::with(database, quick).await
}

async fn add(server: &TestServer, url: String, events: Value) -> Value {
    let body = json!({ "url": url, "events": events });
    server
        .done(UserRole::Admin, "POST /api/v1/webhooks", body)
        .await
}

#[tokio::test]
async fn messages_are_signed_and_delivered_once() {
    check_delivery(&quick(None).await).await;
}

pub(crate) async fn check_delivery(server: &TestServer) {
    let receiver = WebhookReceiver::start();
    let _background = server.state.start_background();
    let added = add(server, receiver.url("/"), json!(["run.*", "task.waiting"])).await;
    receiver.learn(added["secret"].as_str().unwrap());
    tokio::time::sleep(Duration::from_millis(700)).await;
    let run = server.start_review().await;
    let mut kinds = Vec::new();
    for _ in 0..2 {
        let message = receiver.next().await;
        assert_eq!(message["body"]["data"]["run"], json!(run), "{message}");
        kinds.push(message["body"]["type"].as_str().unwrap().to_owned());
    }
    kinds.sort_unstable();
    assert_eq!(kinds, ["run.started", "task.waiting"]);
    // While a secret is replaced, both sign.
    let line = format!("POST /api/v1/webhooks/{}/rotate", added["id"]);
    let rotated = server.done(UserRole::Admin, &line, Value::Null).await;
    assert_ne!(rotated["secret"], added["secret"]);
    for secret in [&added["secret"], &rotated["secret"]] {
        receiver.learn(secret.as_str().unwrap());
        let line = format!("POST /api/v1/webhooks/{}/test", added["id"]);
        let tested = server.done(UserRole::Admin, &line, Value::Null).await;
        let message = receiver.next().await;
        assert_eq!(message["id"], tested["message"]);
        assert_eq!(message["body"]["type"], json!("webhook.test"), "{message}");
        assert_eq!(message["signatures"], json!(2));
    }
    let line = format!("GET /api/v1/webhooks/{}/deliveries?limit=3", added["id"]);
    let log = server.done(UserRole::Admin, &line, Value::Null).await;
    assert_eq!(log["items"].as_array().unwrap().len(), 3);
    assert!(log["nextCursor"].is_string(), "{log}");
    let secret = rotated["secret"].as_str().unwrap();
    let all = server
        .done(UserRole::Admin, "GET /api/v1/webhooks", Value::Null)
        .await;
    assert!(!all.to_string().contains(secret), "{all}");
    assert_eq!(all["items"][0]["secrets"], json!(2));
}

#[tokio::test]
async fn failed_messages_are_tried_again_and_a_dead_address_is_switched_off() {
    let server = quick(None).await;
    let receiver = WebhookReceiver::start();
    let _background = server.state.start_background();
    let flaky = add(&server, receiver.url("/fail/2"), json!(["webhook.test"])).await;
    receiver.learn(flaky["secret"].as_str().unwrap());
    let test = format!("POST /api/v1/webhooks/{}/test", flaky["id"]);
    server.done(UserRole::Admin, &test, Value::Null).await;
    let mut ids = Vec::new();
    for status in [500, 500, 200] {
        let message = receiver.next().await;
        assert_eq!(message["status"], json!(status));
        ids.push(message["id"].clone());
    }
    ids.dedup();
    assert_eq!(ids.len(), 1, "a repeated message keeps its id");
    // A port without a listener.
    let dead = add(&server, "http://127.0.0.1:9/".to_owned(), json!([])).await;
    let line = format!("GET /api/v1/webhooks/{}", dead["id"]);
    let test = format!("POST /api/v1/webhooks/{}/test", dead["id"]);
    for _ in 0..2 {
        server.done(UserRole::Admin, &test, Value::Null).await;
    }
    let mut shown = Value::Null;
    for _ in 0..200 {
        shown = server.done(UserRole::Admin, &line, Value::Null).await;
        if shown["isEnabled"] == json!(false) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(shown["isEnabled"], json!(false), "{shown}");
    let line = format!("{line}/deliveries");
    let log = server.done(UserRole::Admin, &line, Value::Null).await;
    assert_eq!(log["items"][0]["attempts"], json!(3), "{log}");
    assert!(log["items"][0]["lastError"].is_string(), "{log}");
}

#[tokio::test]
async fn addresses_inside_and_unknown_events_are_refused() {
    let server = TestServer::start().await;
    for (url, events) in [
        ("http://10.0.0.1/", json!([])),
        ("http://169.254.169.254/latest", json!([])),
        ("http://[::1]:80/", json!([])),
        ("ftp://example.org/", json!([])),
        ("https://ada:secret@example.org/", json!([])),
        ("nonsense", json!([])),
        ("https://example.org/", json!(["run.finished"])),
    ] {
        let body = json!({ "url": url, "events": events });
        let refused = server
            .ask(UserRole::Admin, "POST /api/v1/webhooks", body)
            .await;
        assert_eq!((refused.status, refused.code()), (422, "invalid"), "{url}");
    }
    let good = json!({ "url": "https://example.org/" });
    let added = server
        .ask(UserRole::Admin, "POST /api/v1/webhooks", good)
        .await;
    let line = format!("PATCH /api/v1/webhooks/{}", added.body["id"]);
    let off = json!({ "isEnabled": false });
    let seen = [("if-match", added.header("etag"))];
    let edited = server
        .ask_with(UserRole::Admin, &line, &seen, off.clone())
        .await;
    assert_eq!(edited.body["isEnabled"], json!(false), "{edited:?}");
    let stale = server.ask_with(UserRole::Admin, &line, &seen, off).await;
    assert_eq!(stale.status, 412, "{stale:?}");
    let line = format!("DELETE /api/v1/webhooks/{}", added.body["id"]);
    let unseen = server.ask(UserRole::Admin, &line, Value::Null).await;
    assert_eq!(unseen.status, 428, "{unseen:?}");
    let now = [("if-match", edited.header("etag"))];
    let remove = async || {
        server
            .ask_with(UserRole::Admin, &line, &now, Value::Null)
            .await
    };
    assert_eq!(remove().await.status, 204);
    assert_eq!(remove().await.status, 404);
}

#[tokio::test]
async fn a_called_service_answers_by_its_url_once() {
    let server = TestServer::start().await;
    server.app.set_callback_origin("http://127.0.0.1:7331");
    let receiver = WebhookReceiver::start();
    let text = format!(
        "graph TD\n A[Call]\n%% === WORKFLOW_CONFIG ===\n%% @A: {{ \"handler\": \"http\", \
         \"awaitCallback\": true, \"config\": {{ \"url\": \"{}\", \"method\": \"POST\" }} }}\n\
         %% === END_CONFIG ===\n",
        receiver.url("/")
    );
    server.put_workflow("call", &text);
    let body = json!({ "workflow": "call" });
    let started = server
        .done(UserRole::Operator, "POST /api/v1/runs", body)
        .await;
    server.work().await;
    let call = receiver.next().await;
    let back = call["back"].as_str().unwrap();
    let line = format!(
        "POST {}",
        back.strip_prefix("http://127.0.0.1:7331").unwrap()
    );
    let json_type = ("content-type", "application/json");
    let answer = "{\"fine\":true}";
    let long_ago = [
        json_type,
        ("webhook-id", "msg_1"),
        ("webhook-timestamp", "1600000000"),
        ("webhook-signature", "v1,AAAA"),
    ];
    let forged = line.replace("/callbacks/", "/callbacks/x");
    for (line, headers, status) in [
        ("GET /callbacks/nonsense", &[json_type][..], 405),
        ("POST /callbacks/nonsense", &[json_type][..], 404),
        (forged.as_str(), &[json_type][..], 404),
        (line.as_str(), &long_ago[..], 403),
        (line.as_str(), &[json_type][..], 200),
        (line.as_str(), &[json_type][..], 409),
    ] {
        let answered = server.send(line, headers, Some(answer)).await;
        assert_eq!(answered.status, status, "{line}: {answered:?}");
    }
    server.work().await;
    let line = format!("GET /api/v1/runs/{}", started["runs"][0].as_str().unwrap());
    let ended = server.done(UserRole::Viewer, &line, Value::Null).await;
    assert_eq!(ended["output"], json!({ "fine": true }), "{ended}");
}
