//! One claimed task from its claim to what is said of it.

use std::sync::Arc;
use std::time::Duration;

use flow::engine::{FailureClass, Report};
use flow::{Claimed, Done};
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::timeout;

use crate::executors::{self, Hands, Job, failed, failed_by, invalid};
use crate::trust;

/// How long an attempt may take when its step does not say.
const ATTEMPT_MAX: Duration = Duration::from_secs(60 * 60);

/// Does a task. What came of it goes to the worker, who reports it together with what else is done.
pub(super) async fn attend(hands: Arc<Hands>, claimed: Claimed, tell_done: UnboundedSender<Done>) {
    let task = claimed.task.id.clone();
    let fence = claimed.task.fence;
    let report = match prepare(hands, claimed) {
        Ok(job) => carry_out(&job).await,
        Err(problem) => invalid(problem),
    };
    // Nobody hears it when the worker is gone.
    let _ = tell_done.send(Done {
        task,
        fence,
        report,
    });
}

/// What the work needs, or a sentence that says what is missing.
fn prepare(hands: Arc<Hands>, claimed: Claimed) -> Result<Job, String> {
    let task = claimed.task;
    let Some(step) = claimed.workflow.step(&task.id.step) else {
        let step = &task.id.step;
        return Err(format!("The workflow has no step `{step}` any more."));
    };
    let mut state = claimed.state.map_err(|refusal| refusal.message)?;
    executors::name_agent(&hands.project, &mut state);
    Ok(Job {
        hands,
        run_spent: claimed.run_spent,
        step: step.clone(),
        state,
        task,
    })
}

async fn carry_out(job: &Job) -> Report {
    if let Some(report) = executors::left_to_a_person(job) {
        return report;
    }
    // The step may come from a database that was not made here.
    if let Err(error) = trust::require_step(&job.hands.project, &job.step) {
        return failed_by(&error);
    }
    let max = job.step.config.timeout;
    let max = max.map_or(ATTEMPT_MAX, |max| Duration::from_millis(max.ms));
    let executor = executors::of(job.step.config.handler.unwrap_or_default());
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
