//! Chains, loops and a foreach with its join, to their ends.

use flow::RunId;
use flow::engine::{RunStatus, TaskStatus, What};
use serde_json::{Value, json};

use crate::{place, working};

const CHAIN: &str = "graph TD\n A[One] --> B[Two] --> C[Three]\n";

const FAN: &str = "graph TD
 A[List] --> E[[Each: Do]]
 E --> J[Join all]
%% === WORKFLOW_CONFIG ===
%% @E: { \"stepType\": \"foreach\", \"itemsPath\": \"output.items\", \"itemVariable\": \"item\", \"prompt\": \"Do {{item}}.\", \"maxItems\": 10000, \"maxConcurrency\": 100 }
%% @J: { \"stepType\": \"join\", \"execution\": \"automated\" }
%% === END_CONFIG ===
";

/// Runs the workflow to its end: so many tasks are completed, and the events have no gap.
async fn check(source: &str, first: Value, completed: usize) {
    let folder = tempfile::tempdir().unwrap();
    let store = place::sqlite(folder.path()).await;
    let status = working::work_off(&store, source, json!({}), |task| match task.step.as_str() {
        "A" => first.clone(),
        _ => json!({ "ok": true }),
    })
    .await;
    assert_eq!(status, RunStatus::Completed);
    let run = RunId::new("r1");
    let events = store.events(&run, 0, usize::MAX).await.unwrap();
    for (at, event) in events.iter().enumerate() {
        assert_eq!(event.seq, at as u64 + 1);
    }
    let completed_now = events.iter().filter(|event| match &event.what {
        What::TaskMoved { by, .. } => by.to() == TaskStatus::Completed,
        _ => false,
    });
    assert_eq!(completed_now.count(), completed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_comes_to_its_end() {
    check(CHAIN, json!({ "n": 1 }), 3).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_item_of_a_foreach_is_joined() {
    let items: Vec<u32> = (0..1_000).collect();
    check(FAN, json!({ "items": items }), 1_003).await;
}
