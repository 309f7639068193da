//! Any text, as a workflow: refused or checked with places inside the text, and run until it waits.

#![no_main]

use flow::engine::{AttemptReport, EngineCommand, RunStart};
use flow::{CheckSurroundings, MemoryRows};
use libfuzzer_sys::fuzz_target;
use serde_json::json;

/// How many tasks of a run are done.
const TASKS_MAX: usize = 50;

fuzz_target!(|text: &str| {
    let workflow = match flow::parse(text) {
        Ok(workflow) => workflow,
        Err(error) => return inside(error.problems(), text),
    };
    let problems = flow::check(&workflow, &CheckSurroundings::default());
    inside(&problems, text);
    if !flow::is_fine(&problems) {
        return;
    }
    let mut memory = MemoryRows::new();
    let start = EngineCommand::Start(RunStart::new("r", json!({ "list": [1, 2] })));
    memory
        .execute(&workflow, &start, 1)
        .expect("a workflow that is fine starts");
    for now_ms in 2..TASKS_MAX as u64 {
        let Some(task) = memory.ready(now_ms, 1).into_iter().next() else {
            break;
        };
        let claim = EngineCommand::Claim {
            rates: Vec::new(),
            task: task.clone(),
            worker: "fuzz".to_owned(),
            lease_ms: 1_000,
        };
        memory
            .execute(&workflow, &claim, now_ms)
            .expect("what is ready can be claimed");
        let fence = memory.tasks[&task].fence;
        let report = AttemptReport::completed(json!({ "ok": now_ms % 2 == 0, "list": [1, 2] }));
        let report = EngineCommand::Report {
            task,
            fence,
            report,
        };
        memory
            .execute(&workflow, &report, now_ms)
            .expect("what is held is taken");
    }
    for (run, events) in &memory.events {
        let replayed = flow::replay(events).expect("events can be replayed");
        assert_eq!(Some(replayed), flow::RunSkeleton::of(&memory, run));
    }
});

fn inside(problems: &[flow::WorkflowProblem], text: &str) {
    for problem in problems {
        assert!(problem.line <= text.matches('\n').count() + 1);
        assert!(!problem.report("fuzz", text).is_empty());
    }
}
