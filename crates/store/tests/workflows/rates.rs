//! How many tasks begin within a span of time, over all workers of a database.

use std::sync::Arc;
use std::time::{Duration, Instant};

use flow::engine::{EventKind, StatusMove};
use flow::{ClaimRequest, ClaimedTask, RateLimit, RateScope, RunId, StepHandler, WorkflowStore};
use serde_json::json;

use crate::cluster::{Cluster, Flush};
use crate::place;
use crate::working::{begin, claim};

const SPAN_MS: u64 = 1_500;

const MIXED: &str = "graph TD
 H1[Call] --> Z[End]
 H2[Call] --> Z
 H3[Call] --> Z
 C1[Run] --> Z
%% === WORKFLOW_CONFIG ===
%% @H1: { \"handler\": \"http\", \"config\": { \"url\": \"https://example.org\" } }
%% @H2: { \"handler\": \"http\", \"config\": { \"url\": \"https://example.org\" } }
%% @H3: { \"handler\": \"http\", \"config\": { \"url\": \"https://example.org\" } }
%% @C1: { \"handler\": \"command\", \"config\": { \"run\": \"true\" } }
%% === END_CONFIG ===
";

fn calls(max: u32, per_ms: u64) -> RateLimit {
    RateLimit {
        name: "calls".to_owned(),
        scope: RateScope::Handler(StepHandler::Http),
        max,
        per_ms,
    }
}

async fn claimed(store: &Arc<dyn WorkflowStore>, max: usize, rates: &[RateLimit]) -> Vec<String> {
    let claim = ClaimRequest {
        rates: rates.to_vec(),
        ..claim(max, 60_000)
    };
    let claimed: Vec<ClaimedTask> = store.claim(claim).await.unwrap();
    let mut steps: Vec<String> = claimed
        .iter()
        .map(|one| one.task.id.step.to_string())
        .collect();
    steps.sort();
    steps
}

/// Tasks of a handler whose limit is reached hold up no other task, and begin when the span is over.
async fn check_lanes(store: Arc<dyn WorkflowStore>) {
    begin(&store, MIXED).await;
    let rates = [calls(1, SPAN_MS)];
    // One at a time: a task that has to wait comes before the one that is found.
    let mut found = claimed(&store, 1, &rates).await;
    found.extend(claimed(&store, 1, &rates).await);
    found.sort();
    assert_eq!(found, ["C1", "H1"]);
    let begun = Instant::now();
    while found.len() < 4 {
        found.extend(claimed(&store, 8, &rates).await);
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(begun.elapsed() < Duration::from_secs(60), "{found:?}");
    }
    let events = store.events(&RunId::new("r1"), 0, 1_000).await.unwrap();
    let calls = events.iter().filter_map(|event| match &event.what {
        EventKind::TaskMoved { task, by, .. } if *by == StatusMove::Claim => {
            task.step.as_str().starts_with('H').then_some(event.at_ms)
        }
        _ => None,
    });
    let calls: Vec<u64> = calls.collect();
    assert_eq!(calls.len(), 3);
    for pair in calls.windows(2) {
        assert!(pair[1] - pair[0] >= SPAN_MS, "{calls:?}");
    }
    let row = store.run(&RunId::new("r1")).await.unwrap().unwrap();
    assert_eq!(row.status.name(), "running");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_limit_holds_in_sqlite_and_keeps_no_other_handler_back() {
    let folder = tempfile::tempdir().unwrap();
    check_lanes(place::sqlite(folder.path()).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_limit_holds_in_postgres_and_keeps_no_other_handler_back() {
    let cluster = Cluster::start(Flush::No).await;
    check_lanes(place::postgres(&cluster.database("rates").await).await).await;
}

const ONE_CALL: &str = "graph TD
 H[Call]
%% === WORKFLOW_CONFIG ===
%% @H: { \"handler\": \"http\", \"config\": { \"url\": \"https://example.org\" } }
%% === END_CONFIG ===
";

/// Several connections claim at the same moment, each from runs of its own.
async fn check_together(stores: Vec<Arc<dyn WorkflowStore>>) {
    const RUNS: usize = 12;
    let hash = stores[0].keep_workflow(ONE_CALL).await.unwrap();
    for number in 0..RUNS {
        let start = flow::engine::RunStart::new(format!("r{number}").as_str(), json!({}));
        stores[0].start(&hash, start).await.unwrap().unwrap();
    }
    let mut claims = tokio::task::JoinSet::new();
    for store in stores {
        claims.spawn(async move {
            let rates = [calls(3, 3_600_000)];
            let mut begun = 0;
            for _ in 0..6 {
                begun += claimed(&store, 2, &rates).await.len();
            }
            begun
        });
    }
    let begun: usize = claims.join_all().await.into_iter().sum();
    assert_eq!(begun, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_who_claim_at_once_share_one_rate_limit_in_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let mut stores = Vec::new();
    for _ in 0..3 {
        stores.push(place::sqlite(folder.path()).await);
    }
    check_together(stores).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_who_claim_at_once_share_one_rate_limit_in_postgres() {
    let cluster = Cluster::start(Flush::No).await;
    let address = cluster.database("together").await;
    let mut stores = Vec::new();
    for _ in 0..4 {
        stores.push(place::postgres(&address).await);
    }
    check_together(stores).await;
}
