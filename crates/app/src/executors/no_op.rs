//! `no_op`: gives what its `config.output` says, or hands on what came before.

use flow::WorkflowStep;
use flow::engine::AttemptReport;
use serde_json::Value;

use super::{ExecutorFuture, StepAttempt, StepExecutor, interpolate, invalid, unknown_settings};

pub(super) struct NoOp;

impl StepExecutor for NoOp {
    fn check(&self, step: &WorkflowStep) -> Vec<String> {
        unknown_settings(step, &["output"])
    }

    fn execute<'a>(&'a self, job: &'a StepAttempt) -> ExecutorFuture<'a> {
        Box::pin(async move {
            let Some(output) = job.setting("output") else {
                let before = job.state.get("output").cloned();
                return AttemptReport::completed(before.unwrap_or(Value::Null));
            };
            match interpolate::json(output, &job.state) {
                Ok(output) => AttemptReport::completed(output),
                Err(problem) => invalid(problem),
            }
        })
    }
}
