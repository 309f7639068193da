//! `ai_interaction`: one question, whose answer becomes the first output artifact.

use super::prompt;
use super::task_run::{HandlerResult, TaskRun};
use crate::toolset::AgentTools;

/// Runs the stages in order. Checks that fail are fed back as in `code_generation`.
pub(super) async fn handle(desk: &mut TaskRun<'_>) -> HandlerResult {
    let output = desk.order.task.output_artifacts.first();
    if let Some(path) = output {
        desk.check_writable(path)?;
    }
    let context = desk.gather_context();
    let prompt = prompt::of_task(desk.order.task, &context);
    let mut talk = desk.open(prompt::ai_interaction(), prompt).await?;
    let retries_max = desk.bench.task_limits.validation_retries_max;
    loop {
        // It is asked what it thinks, not to do anything.
        let answer = desk.ask(&mut talk, &AgentTools::new()).await?;
        if let Some(path) = output {
            desk.write(path, &answer)?;
        }
        let complaint = desk.validate().await?;
        match complaint {
            Some(text) if talk.answers <= retries_max => {
                desk.feed_back(&mut talk, retries_max, text);
            }
            _ => return desk.verdict("The question was answered"),
        }
    }
}
