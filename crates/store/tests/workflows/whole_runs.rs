//! Chains, and a foreach of a thousand with its join, to their ends.

use std::sync::Arc;

use flow::WorkflowStore;
use serde_json::{Value, json};

use crate::cluster::{Cluster, Flush};
use crate::{place, working};

pub(crate) const CHAIN: &str = "graph TD\n A[One] --> B[Two] --> C[Three]\n";

pub(crate) const FAN: &str = "graph TD
 A[List] --> E[[Each: Do]]
 E --> J[Join all]
%% === WORKFLOW_CONFIG ===
%% @E: { \"stepType\": \"foreach\", \"itemsPath\": \"output.items\", \"itemVariable\": \"item\", \"prompt\": \"Do {{item}}.\", \"maxItems\": 10000, \"maxConcurrency\": 100, \"retry\": { \"attempts\": 1000, \"delay\": 0.01, \"maxDelay\": 0.01 } }
%% @J: { \"stepType\": \"join\", \"execution\": \"automated\" }
%% === END_CONFIG ===
";

async fn check(store: Arc<dyn WorkflowStore>, source: &str, items: u32, completed: usize) {
    working::begin(&store, source).await;
    working::work_off(&store, |task| give(task, items)).await;
    working::hold_to_events(&store, completed).await;
}

/// The first step lists the items.
pub(crate) fn give(task: &flow::TaskId, items: u32) -> Value {
    match task.step.as_str() {
        "A" => json!({ "items": (0..items).collect::<Vec<_>>() }),
        _ => json!({ "ok": true }),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whole_runs_in_sqlite_come_to_their_end() {
    for (source, items, completed) in [(CHAIN, 0, 3), (FAN, 1_000, 1_003)] {
        let folder = tempfile::tempdir().unwrap();
        check(place::sqlite(folder.path()).await, source, items, completed).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whole_runs_in_postgres_come_to_their_end() {
    let cluster = Cluster::start(Flush::No).await;
    for (name, source, items, completed) in [("chain", CHAIN, 0, 3), ("fan", FAN, 1_000, 1_003)] {
        let address = cluster.database(name).await;
        check(place::postgres(&address).await, source, items, completed).await;
    }
}
