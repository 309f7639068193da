//! A worker that does every automated task at once, with what the test says it gives.

use std::sync::Arc;

use flow::engine::{Command, Report, RunStatus, Start};
use flow::{Claim, RunId, Store, TaskId};
use serde_json::Value;

/// How many claims may come back empty before a run is taken to be stuck.
const IDLE_MAX: usize = 200;

/// Begins a run and works until it ends; gives its status.
pub(crate) async fn work_off(
    store: &Arc<dyn Store>,
    source: &str,
    input: Value,
    give: impl Fn(&TaskId) -> Value,
) -> RunStatus {
    let hash = store.keep_workflow(source).await.unwrap();
    let run = RunId::new("r1");
    store
        .start(&hash, Start::new("r1", input))
        .await
        .unwrap()
        .unwrap();
    let mut idle = 0;
    while idle < IDLE_MAX {
        let status = store.run(&run).await.unwrap().unwrap().status;
        if status != RunStatus::Running {
            return status;
        }
        idle = match step(store, &give).await {
            0 => idle + 1,
            _ => 0,
        };
    }
    panic!("the run is stuck");
}

/// Claims what is ready and reports on all of it; gives how much it was.
pub(crate) async fn step(store: &Arc<dyn Store>, give: impl Fn(&TaskId) -> Value) -> usize {
    let claim = Claim {
        worker: "w1".to_owned(),
        max: 100,
        lease_ms: 60_000,
        assignees: Vec::new(),
        run: None,
    };
    let claimed = store.claim(claim).await.unwrap();
    let mut reporting = tokio::task::JoinSet::new();
    for one in &claimed {
        let command = Command::Report {
            task: one.task.id.clone(),
            fence: one.task.fence,
            report: Report::completed(give(&one.task.id)),
        };
        let store = Arc::clone(store);
        reporting.spawn(async move { store.execute(command).await.unwrap().unwrap() });
    }
    reporting.join_all().await;
    claimed.len()
}
