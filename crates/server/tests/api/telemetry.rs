//! Traces of runs, as a collector gets them: OTLP in JSON over real HTTP.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use app::people::UserRole;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use server::{ServeOptions, TraceCollector};

use crate::faults::ListeningServer;
use crate::test_server::limits;

/// A workflow whose second step fails.
const FAILING: &str = "graph TD\n A(Approve) --> B[Fails]\n%% === WORKFLOW_CONFIG ===\n\
    %% @B: { \"handler\": \"command\", \"config\": { \"run\": \"ls sk-secret\" }, \
    \"retry\": { \"attempts\": 1 } }\n\
    %% === END_CONFIG ===\n";

type CollectedSpans = Arc<Mutex<Vec<Value>>>;

async fn collect(State(spans): State<CollectedSpans>, Json(message): Json<Value>) -> Json<Value> {
    let resource = &message["resourceSpans"][0];
    let about = resource["resource"]["attributes"].to_string();
    assert!(
        about.contains("service.name") && about.contains("drawloom"),
        "{about}"
    );
    let sent = resource["scopeSpans"][0]["spans"].as_array().unwrap();
    spans.lock().unwrap().extend(sent.iter().cloned());
    Json(json!({}))
}

/// A collector at a port of its own.
async fn collector(routes: Router) -> TraceCollector {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, routes).await });
    TraceCollector::read(&address).unwrap()
}

async fn started(collector: TraceCollector) -> ListeningServer {
    ListeningServer::with(ServeOptions {
        limits: limits(),
        collector: Some(collector),
        ..ServeOptions::default()
    })
    .await
}

/// Runs a workflow whose person says yes, to its end.
async fn run_to_end(listening: &ListeningServer, workflow: &str) -> String {
    let server = &listening.server;
    let body = json!({ "workflow": workflow, "input": { "what": "a secret plan" } });
    let begun = server
        .done(UserRole::Operator, "POST /api/v1/runs", body)
        .await;
    let run = begun["runs"][0].as_str().unwrap().to_owned();
    let line = format!("POST /api/v1/tasks/{run}%2FA/answer");
    let answer = json!({ "output": { "ok": true } });
    server.done(UserRole::Reviewer, &line, answer).await;
    server.work().await;
    run
}

fn attribute(span: &Value, key: &str) -> Option<String> {
    let attributes = span["attributes"].as_array().unwrap();
    let found = attributes.iter().find(|one| one["key"] == key)?;
    let value = &found["value"];
    let text = value["stringValue"].as_str().or(value["intValue"].as_str());
    text.map(str::to_owned)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_a_trace_with_a_span_for_each_attempt() {
    let spans = CollectedSpans::default();
    let routes = Router::new().route("/v1/traces", post(collect));
    let listening = started(collector(routes.with_state(Arc::clone(&spans))).await).await;
    listening.server.put_workflow("failing", FAILING);
    let good = run_to_end(&listening, "review").await;
    let bad = run_to_end(&listening, "failing").await;
    // The last spans are sent when the server stops, or before.
    let of = |run: &str| -> Vec<Value> {
        let spans = spans.lock().unwrap();
        let is_own = |span: &&Value| attribute(span, "drawloom.run").as_deref() == Some(run);
        spans.iter().filter(is_own).cloned().collect()
    };
    for _ in 0..200 {
        if !of(&bad).is_empty() && of(&good).len() >= 3 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    listening.stop().await;
    let trace = of(&good);
    let root = trace.iter().find(|span| span["parentSpanId"].is_null());
    let root = root.unwrap_or_else(|| panic!("{trace:#?}"));
    assert_eq!(root["name"], "run review");
    assert_eq!(
        attribute(root, "drawloom.status").as_deref(),
        Some("completed")
    );
    let attempts: Vec<&Value> = trace
        .iter()
        .filter(|span| span["parentSpanId"] == root["spanId"])
        .collect();
    assert_eq!(attempts.len(), 2, "{trace:#?}");
    for span in &trace {
        assert_eq!(span["traceId"], root["traceId"]);
        let time = |name: &str| span[name].as_str().unwrap().parse::<u128>().unwrap();
        assert!(
            time("startTimeUnixNano") <= time("endTimeUnixNano"),
            "{span}"
        );
        assert!(span["status"].is_null(), "{span}");
    }
    let failed = of(&bad);
    assert_ne!(failed[0]["traceId"], root["traceId"]);
    let wrong = failed.iter().find(|span| span["status"]["code"] == 2);
    let wrong = wrong.unwrap_or_else(|| panic!("{failed:#?}"));
    assert!(attribute(wrong, "error.type").is_some(), "{wrong}");
    let all = format!("{:?}", spans.lock().unwrap());
    for secret in ["sk-secret", "secret plan", "Approve"] {
        assert!(!all.contains(secret), "{secret}: {all}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_hangs_or_refuses_delays_nothing() {
    let hangs = Router::new().route("/v1/traces", post(std::future::pending::<StatusCode>));
    let refuses = Router::new().route("/v1/traces", post(async || StatusCode::BAD_REQUEST));
    for (routes, counts_failures) in [(hangs, false), (refuses, true)] {
        let listening = started(collector(routes).await).await;
        for _ in 0..3 {
            let run = run_to_end(&listening, "review").await;
            let line = format!("GET /api/v1/runs/{run}");
            let shown = listening
                .server
                .done(UserRole::Viewer, &line, Value::Null)
                .await;
            assert_eq!(shown["status"], "completed");
        }
        listening.is_well().await;
        let mut failed = false;
        for _ in 0..100 {
            let metrics = listening.metrics().await;
            assert!(
                metrics.contains("drawloom_trace_events_dropped_total 0"),
                "{metrics}"
            );
            failed = !metrics.contains("drawloom_trace_spans_total{outcome=\"failed\"} 0");
            if failed || !counts_failures {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert_eq!(failed, counts_failures);
        let stopped = tokio::time::timeout(Duration::from_secs(60), listening.stop()).await;
        assert!(stopped.is_ok(), "a collector holds the server up");
    }
}
