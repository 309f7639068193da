//! `code_generation`: the model writes files with its tools until the checks pass.

use super::task_run::{HandlerResult, TaskRun};
use super::{artifact, prompt};

/// Runs the stages in order. The last three repeat until the checks pass or the retries are spent.
pub(super) async fn handle(desk: &mut TaskRun<'_>) -> HandlerResult {
    artifact::check_visible(desk)?;
    let context = desk.gather_context();
    let prompt = prompt::of_task(desk.order.task, &context);
    let mut talk = desk.open(prompt::code_generation(), prompt).await?;
    let retries_max = desk.bench.task_limits.validation_retries_max;
    loop {
        desk.ask(&mut talk, desk.bench.toolset).await?;
        let complaint = desk.validate().await?;
        match complaint {
            Some(text) if talk.answers <= retries_max => {
                desk.feed_back(&mut talk, retries_max, text);
            }
            _ => return desk.verdict("Code generation completed"),
        }
    }
}
