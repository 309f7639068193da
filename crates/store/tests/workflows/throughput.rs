//! Prints the steps and items per second. Small in every test run, so that it keeps working; to
//! measure: `DRAWLOOM_STORE_MEASURE=1 cargo nextest run -p store throughput --run-ignored all --no-capture -j 1`.

use std::sync::Arc;
use std::time::Instant;

use flow::engine::{AttemptReport, RunStart, RunStatus};
use flow::{FinishedTask, RunId, WorkflowStore};
use serde_json::json;

use crate::cluster::{Cluster, Flush};
use crate::place;
use crate::whole_runs::{FAN, give};
use crate::working::{begin, claim, work_off};

const CHAIN: &str = "graph TD\n A[1] --> B[2] --> C[3] --> D[4] --> E[5] --> F[6] --> G[7] --> H[8] --> I[9] --> J2[10]\n";
const LOOP: &str = "graph TD
 A[Try] --> D{Done?}
 D -->|\"output.n >= 100\"| B[End]
 D -->|default| A
%% === WORKFLOW_CONFIG ===
%% @A: { \"maxVisits\": 200 }
%% === END_CONFIG ===
";
const ATONCE: usize = 8;

/// Returns the number of runs or items: all, or a twentieth for a quick look.
fn size(full: u32) -> u32 {
    match std::env::var_os("DRAWLOOM_STORE_MEASURE") {
        Some(_) => full,
        None => full / 20,
    }
}

/// Runs one after the other, as one worker does that takes one task at a time.
async fn chains(store: Arc<dyn WorkflowStore>) {
    let hash = store.keep_workflow(CHAIN).await.unwrap();
    let runs = size(200) as usize;
    let began = Instant::now();
    let mut working = tokio::task::JoinSet::new();
    for worker in 0..ATONCE {
        let (store, hash) = (Arc::clone(&store), hash.clone());
        working.spawn(async move {
            for number in (worker..runs).step_by(ATONCE) {
                let run = RunId::new(format!("c{number}"));
                let start = RunStart::new(run.clone(), json!({}));
                store.start(&hash, start).await.unwrap().unwrap();
                one_by_one(&store, &run).await;
            }
        });
    }
    working.join_all().await;
    rate("chain", runs * 10, began);
}

/// As a worker does it: what is done goes with the claim of what comes next.
async fn one_by_one(store: &Arc<dyn WorkflowStore>, run: &RunId) -> usize {
    let mut steps = 0;
    let mut done = Vec::new();
    loop {
        let mut one = claim(1, 60_000);
        one.runs = vec![run.clone()];
        let claimed = store.turn(done, one).await.unwrap();
        let Some(one) = claimed.first() else {
            let status = store.run(run).await.unwrap().unwrap().status;
            assert_eq!(status, RunStatus::Completed);
            return steps;
        };
        steps += 1;
        done = vec![FinishedTask {
            task: one.task.id.clone(),
            fence: one.task.fence,
            report: AttemptReport::completed(json!({ "n": steps })),
        }];
    }
}

async fn fan(store: Arc<dyn WorkflowStore>, items: u32) {
    let items = size(items);
    begin(&store, FAN).await;
    let began = Instant::now();
    work_off(&store, |task| give(task, items)).await;
    rate(&format!("fan-out {items}"), items as usize, began);
}

async fn loops(store: Arc<dyn WorkflowStore>) {
    let hash = store.keep_workflow(LOOP).await.unwrap();
    let run = RunId::new("loop");
    let start = RunStart::new(run.clone(), json!({}));
    store.start(&hash, start).await.unwrap().unwrap();
    let began = Instant::now();
    let steps = one_by_one(&store, &run).await;
    rate("loop", steps, began);
}

fn rate(what: &str, count: usize, began: Instant) {
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "{what}: {count} in {seconds:.2} s, {:.0} a second",
        count as f64 / seconds
    );
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "measure: it prints rates and judges none"]
async fn throughput_of_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| {
        let folder = folder.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        folder
    };
    chains(place::sqlite(&at("chain")).await).await;
    fan(place::sqlite(&at("fan")).await, 1_000).await;
    fan(place::sqlite(&at("fan10")).await, 10_000).await;
    loops(place::sqlite(&at("loop")).await).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "measure: it prints rates and judges none"]
async fn throughput_of_postgres() {
    let cluster = Cluster::start(Flush::Yes).await;
    chains(place::postgres(&cluster.database("chain").await).await).await;
    fan(place::postgres(&cluster.database("fan").await).await, 1_000).await;
    fan(
        place::postgres(&cluster.database("fan10").await).await,
        10_000,
    )
    .await;
    loops(place::postgres(&cluster.database("loop").await).await).await;
}
