//! The server as its operators see it: its log, its metrics and its readiness.

use std::sync::{Arc, Mutex};

use app::people::UserRole;
use serde_json::{Value, json};
use tracing::subscriber::DefaultGuard;

use crate::test_server::{TestServer, limits};

/// Lines that were logged while it lives.
struct WrittenLog {
    lines: Arc<Mutex<Vec<u8>>>,
    _guard: DefaultGuard,
}

#[derive(Clone)]
struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl WrittenLog {
    fn start() -> WrittenLog {
        let lines = Arc::<Mutex<Vec<u8>>>::default();
        let buffer = SharedBuffer(Arc::clone(&lines));
        let subscriber = tracing_subscriber::fmt()
            .json()
            .flatten_event(true)
            .with_writer(move || buffer.clone())
            .finish();
        WrittenLog {
            lines,
            _guard: tracing::subscriber::set_default(subscriber),
        }
    }

    fn text(&self) -> String {
        String::from_utf8(self.lines.lock().unwrap().clone()).unwrap()
    }

    /// The lines about requests.
    fn requests(&self) -> Vec<Value> {
        let text = self.text();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        lines
            .filter(|line: &Value| line["message"] == json!("request"))
            .collect()
    }
}

#[tokio::test]
async fn every_request_is_one_line_without_secrets() {
    let server = TestServer::empty(None, limits()).await;
    let access = server.app.access_control();
    let link = access.make_claim_link().await.unwrap().unwrap().reveal();
    let token = server.add_person("ada", UserRole::Viewer).await;
    let log = WrittenLog::start();
    let bearer = format!("Bearer {token}");
    let with = [("authorization", bearer.as_str())];
    let shown = server.send("GET /api/v1/runs?limit=5", &with, None).await;
    server
        .send("GET /api/v1/runs/19a8c%0Aforged", &with, None)
        .await;
    server.send(&format!("GET /claim/{link}"), &[], None).await;
    server.send("GET /nothing/here", &[], None).await;
    server.send("GET /healthz", &[], None).await;
    let text = log.text();
    for secret in [&link, &token] {
        assert!(!text.contains(secret.as_str()), "{text}");
    }
    let told: Vec<_> = log
        .requests()
        .iter()
        .map(|line| {
            assert!(
                line["ms"].is_number() && line["requestId"].is_string(),
                "{line}"
            );
            assert_eq!(line["method"], json!("GET"));
            json!([line["route"], line["status"], line["actor"], line["run"]])
        })
        .collect();
    let expected = [
        json!(["/api/v1/runs", 200, "ada", null]),
        json!(["/api/v1/runs/{run}", 404, "ada", "19a8c\nforged"]),
        json!(["/claim/{secret}", 200, null, null]),
        json!(["none", 404, null, null]),
    ];
    assert_eq!(told, expected, "{text}");
    let id = log.requests()[0]["requestId"].clone();
    assert_eq!(id, json!(shown.header("x-request-id")));
}

#[tokio::test]
async fn the_reason_of_a_500_is_in_the_log_and_nowhere_else() {
    let server = TestServer::start().await;
    server.break_table("audit_entries").await;
    let log = WrittenLog::start();
    let failed = server
        .ask(UserRole::Admin, "GET /api/v1/audit", Value::Null)
        .await;
    assert_eq!((failed.status, failed.code()), (500, "internal"));
    assert!(
        !failed.body.to_string().contains("audit_entries"),
        "{failed:?}"
    );
    let lines = log.requests();
    let line = lines.first().unwrap();
    assert_eq!(line["level"], json!("ERROR"));
    assert_eq!(line["requestId"], failed.body["requestId"]);
    let cause = line["cause"].as_str().unwrap();
    assert!(cause.contains("audit_entries"), "{cause}");
}

#[tokio::test]
async fn a_server_says_if_it_is_ready() {
    let server = TestServer::start().await;
    let ready = server.send("GET /readyz", &[], None).await;
    assert_eq!(
        (ready.status, &ready.body["tables"]),
        (200, &json!("current"))
    );
    assert!(ready.body["freeBytes"].as_u64().unwrap() > 0, "{ready:?}");
    server.set_table_version(999).await;
    let newer = server.send("GET /readyz", &[], None).await;
    assert_eq!((newer.status, newer.code()), (503, "unavailable"));
    assert_eq!(server.send("GET /healthz", &[], None).await.status, 200);
    let huge = server::ServerLimits {
        disk_bytes_min: u64::MAX,
        ..limits()
    };
    let full = TestServer::with(None, huge).await;
    let full = full.send("GET /readyz", &[], None).await;
    assert_eq!(full.status, 503);
    let detail = full.body["detail"].as_str().unwrap();
    assert!(detail.contains("disk_bytes_min"), "{detail}");
}

#[tokio::test]
async fn metrics_count_requests_and_work() {
    let server = TestServer::start().await;
    let stranger = server.send("GET /metrics", &[], None).await;
    assert_eq!(stranger.status, 401);
    let _background = server.state.start_background();
    let run = server.start_review().await;
    let line = format!("POST /api/v1/tasks/{run}%2FA/answer");
    let answer = json!({ "output": { "ok": true } });
    server.done(UserRole::Reviewer, &line, answer).await;
    server.work().await;
    server.start_review().await;
    let wanted = [
        "drawloom_runs{status=\"running\"} 1",
        "drawloom_tasks{status=\"pending\"} 1",
        "drawloom_runs_ended_total{status=\"completed\"} 1",
        "drawloom_attempts_ended_total{outcome=\"completed\"} 2",
        "drawloom_queue_wait_seconds_count 2",
        "drawloom_http_requests_total{method=\"POST\",route=\"/api/v1/runs\",status=\"201\"} 2",
        "drawloom_http_request_seconds_bucket{route=\"/api/v1/runs\",le=\"+Inf\"} 2",
    ];
    let mut text = String::new();
    for _ in 0..100 {
        let shown = server
            .ask(UserRole::Viewer, "GET /metrics", Value::Null)
            .await;
        assert!(shown.header("content-type").starts_with("text/plain"));
        text = shown.body.as_str().unwrap().to_owned();
        if wanted.iter().all(|line| text.contains(line)) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    for line in wanted {
        assert!(text.contains(line), "{line} is missing in {text}");
    }
    assert!(!text.contains(&run), "no name of a run is a label: {text}");
}
