//! `no_op`: gives what its `config.output` says, or hands on what came before.

use flow::Step;
use flow::engine::Report;
use serde_json::Value;

use super::{Executor, Job, Working, fill, invalid, unknown_settings};

pub(super) struct NoOp;

impl Executor for NoOp {
    fn check(&self, step: &Step) -> Vec<String> {
        unknown_settings(step, &["output"])
    }

    fn execute<'a>(&'a self, job: &'a Job) -> Working<'a> {
        Box::pin(async move {
            let Some(output) = job.setting("output") else {
                let before = job.state.get("output").cloned();
                return Report::completed(before.unwrap_or(Value::Null));
            };
            match fill::json(output, &job.state) {
                Ok(output) => Report::completed(output),
                Err(problem) => invalid(problem),
            }
        })
    }
}
