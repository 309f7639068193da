//! The cost of an item does not grow with the number of items.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::too_many_lines,
    reason = "a test fails by panicking, and its tables are long"
)]
#![allow(clippy::print_stdout, reason = "whoever looks wants the figures")]

use std::time::Instant;

use flow::engine::{AttemptReport, DecisionStop, EngineCommand, RowCache, RunStart, decide};
use flow::{MemoryRows, Workflow};
use serde_json::json;

const SOURCE: &str = "graph TD\n A[List] --> C[[Each: x]] --> J[Join]\n%% === WORKFLOW_CONFIG ===\n%% @C: { \"itemsPath\": \"output\", \"prompt\": \"x\", \"maxItems\": 10000 }\n%% === END_CONFIG ===\n";
/// The number of commands in one transaction.
const GROUP: usize = 64;

/// Runs commands as a store does: in a batch, written at its end.
fn grouped(memory: &mut MemoryRows, workflow: &Workflow, commands: Vec<EngineCommand>) {
    let mut batch = RowCache::new();
    for command in commands {
        loop {
            match decide(workflow, &mut batch, &command, 1) {
                Ok(decision) => break batch.commit(decision),
                Err(DecisionStop::Rows(lookup)) => memory.teach(&mut batch, lookup),
                Err(DecisionStop::Refused(refusal)) => panic!("{refusal}"),
            }
        }
    }
    memory.commit(batch.changes());
}

/// The microseconds that one item takes, claimed and reported.
fn cost(items: usize) -> f64 {
    let workflow = flow::parse(SOURCE).unwrap();
    let mut memory = MemoryRows::new();
    grouped(
        &mut memory,
        &workflow,
        vec![EngineCommand::Start(RunStart::new("r", json!({})))],
    );
    let mut done = 0;
    let mut began = Instant::now();
    loop {
        let ready = memory.ready(1, GROUP);
        if ready.is_empty() {
            break;
        }
        let claims = ready.iter().map(|task| EngineCommand::Claim {
            task: task.clone(),
            worker: "w".to_owned(),
            lease_ms: 1_000,
            rates: Vec::new(),
        });
        grouped(&mut memory, &workflow, claims.collect());
        let list: Vec<usize> = (0..items).collect();
        let reports = ready.iter().map(|task| {
            let output = match task.step.as_str() {
                "A" => json!(list),
                _ => json!({ "ok": true }),
            };
            EngineCommand::Report {
                task: task.clone(),
                fence: 1,
                report: AttemptReport::completed(output),
            }
        });
        grouped(&mut memory, &workflow, reports.collect());
        if done == 0 {
            began = Instant::now();
        }
        done += ready.len();
    }
    assert_eq!(done, items + 1);
    let run = memory.runs.values().next().unwrap();
    assert_eq!(run.status.name(), "completed");
    began.elapsed().as_secs_f64() * 1e6 / items as f64
}

#[test]
fn ten_times_the_items_cost_ten_times_as_much() {
    let small = cost(1_000);
    let large = cost(10_000);
    println!("{small:.0} us per item of 1 000, {large:.0} us per item of 10 000");
    assert!(large < 2.5 * small, "{small:.0} us and {large:.0} us");
}
