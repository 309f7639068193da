//! Texts to workflows: what steps are, what is wrong with a text and where, and edits that touch
//! nothing else.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::too_many_lines,
    reason = "a test fails by panicking, and its tables are long"
)]

mod checks;
mod drawings;
mod edits;
mod hostile;
mod places;
mod reading;

use flow::{CheckSurroundings, ProblemSeverity, StepId, parse};

const SEED: &str = include_str!("../pr-review.mmd");

fn block(lines: &str) -> String {
    format!("%% === WORKFLOW_CONFIG ===\n{lines}\n%% === END_CONFIG ===\n")
}

/// Every step as `id:type`, with `m` where a person does it and the foreach steps around it.
fn steps(source: &str) -> String {
    let workflow = parse(source).unwrap_or_else(|e| panic!("{}", e.report("w", source)));
    let shown = workflow.steps().iter().map(|step| {
        let manual = if step.execution == flow::ExecutionMode::Manual {
            "m"
        } else {
            ""
        };
        let scope: Vec<&str> = step.scope.iter().map(StepId::as_str).collect();
        let scope = if scope.is_empty() {
            String::new()
        } else {
            format!("@{}", scope.join("@"))
        };
        format!("{}:{}{manual}{scope}", step.id, step.step_type.name())
    });
    shown.collect::<Vec<_>>().join(" ")
}

fn found(source: &str) -> Vec<flow::WorkflowProblem> {
    match parse(source) {
        Ok(workflow) => flow::check(&workflow, &CheckSurroundings::default()),
        Err(error) => error.problems().to_vec(),
    }
}

/// Returns the problems of a text as `line code`, from the parser and the check alike.
fn problems(source: &str) -> String {
    let found = found(source);
    let shown = found.iter().map(|problem| {
        let mark = if problem.severity == ProblemSeverity::Warning {
            "?"
        } else {
            ""
        };
        format!("{} {}{mark}", problem.line, problem.code.name())
    });
    shown.collect::<Vec<_>>().join(", ")
}
