//! Runs one claimed task, from its claim to its report.

use std::sync::Arc;
use std::time::Duration;

use flow::engine::{AttemptReport, FailureClass};
use flow::{ClaimedTask, FinishedTask, StepHandler};
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::timeout;

use crate::executors::{self, ExecutorContext, StepAttempt, failed, failed_by, invalid};
use crate::trust;

/// Default time limit of an attempt.
const ATTEMPT_MAX: Duration = Duration::from_secs(60 * 60);
/// The time limit of a task of a file, which has limits of its own on what it does.
const FILE_TASK_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Runs a task and sends the result to the worker, which reports it together with other results.
pub(super) async fn attend(
    hands: Arc<ExecutorContext>,
    claimed: ClaimedTask,
    tell_done: UnboundedSender<FinishedTask>,
) {
    let task = claimed.task.id.clone();
    let fence = claimed.task.fence;
    let report = match prepare(hands, claimed).await {
        Ok(job) => carry_out(&job).await,
        Err(problem) => invalid(problem),
    };
    // An error means that the worker is gone, and no one is left to tell.
    let _ = tell_done.send(FinishedTask {
        task,
        fence,
        report,
    });
}

/// Collects everything the attempt needs; the error is a sentence that says what is missing.
async fn prepare(hands: Arc<ExecutorContext>, claimed: ClaimedTask) -> Result<StepAttempt, String> {
    let task = claimed.task;
    let Some(step) = claimed.workflow.step_of(&task) else {
        let step = &task.id.step;
        return Err(format!("The workflow has no step `{step}` any more."));
    };
    let step = step.into_owned();
    let mut state = claimed.state.map_err(|refusal| refusal.message)?;
    let agent = match &task.assignee {
        Some(name) => hands.agent(name).await,
        None => None,
    };
    executors::name_agent(agent.as_ref(), &mut state);
    Ok(StepAttempt {
        hands,
        agent,
        run_spent: claimed.run_spent,
        step,
        state,
        task,
    })
}

async fn carry_out(job: &StepAttempt) -> AttemptReport {
    if let Some(report) = executors::left_to_a_person(job) {
        return report;
    }
    // The step may come from a database that was not made here.
    if let Err(error) = trust::require_step(&job.hands.project, &job.step) {
        return failed_by(&error);
    }
    let handler = job.step.config.handler.unwrap_or_default();
    let max = job.step.config.timeout;
    let max = max.map(|max| Duration::from_millis(max.ms));
    let max = max.unwrap_or(match handler {
        StepHandler::Task => FILE_TASK_MAX,
        _ => ATTEMPT_MAX,
    });
    let executor = executors::of(handler);
    match timeout(max, executor.execute(job)).await {
        Ok(report) => report,
        Err(_) => {
            let message = format!("It took longer than {max:?}.");
            let mut report = failed(FailureClass::Timeout, message);
            report.spent = job.hands.till.take(&job.task.id);
            report
        }
    }
}
