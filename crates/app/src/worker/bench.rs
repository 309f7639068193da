//! One claimed task from its claim to its report.

use std::sync::Arc;
use std::time::Duration;

use flow::engine::{Command, FailureClass, Report};
use flow::{Claimed, Store, StoreError, StoreErrorKind, TaskId};
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::{sleep, timeout};

use crate::executors::{self, Hands, Job, failed, invalid};

/// How long an attempt may take when its step does not say.
const ATTEMPT_MAX: Duration = Duration::from_secs(60 * 60);
/// How often a report is sent to a database that cannot be reached.
const REPORTS_MAX: u32 = 60;

/// Does a task and reports. The worker hears of the end before the report is committed, so that the
/// next claim goes into the same transaction.
pub(super) async fn attend(
    store: Arc<dyn Store>,
    hands: Arc<Hands>,
    claimed: Claimed,
    tell_done: UnboundedSender<TaskId>,
) {
    let task = claimed.task.id.clone();
    let fence = claimed.task.fence;
    let report = match prepare(&*store, hands, claimed).await {
        Ok(Ok(job)) => carry_out(&job).await,
        Ok(Err(report)) => report,
        Err(error) => failed(FailureClass::Unavailable, error.message),
    };
    // Nobody hears it when the worker is gone.
    let _ = tell_done.send(task.clone());
    for _ in 0..REPORTS_MAX {
        let command = Command::Report {
            task: task.clone(),
            fence,
            report: report.clone(),
        };
        match store.execute(command).await {
            // Refused means that the task is somebody else's by now.
            Ok(_) => return,
            Err(error) if error.kind == StoreErrorKind::Unavailable => {
                sleep(Duration::from_secs(1)).await;
            }
            // What cannot be kept is done again by whoever finds the lease ended.
            Err(_) => return,
        }
    }
}

async fn prepare(
    store: &dyn Store,
    hands: Arc<Hands>,
    claimed: Claimed,
) -> Result<Result<Job, Report>, StoreError> {
    let task = claimed.task;
    let workflow = store.workflow(&claimed.workflow).await?;
    let step = workflow.and_then(|workflow| workflow.step(&task.id.step).cloned());
    let Some(step) = step else {
        let message = format!("The workflow has no step `{}` any more.", task.id.step);
        return Ok(Err(invalid(message)));
    };
    let state = store.view(&task.id, &executors::reads(&step)).await?;
    let run = store.run(&task.id.run).await?;
    Ok(Ok(Job {
        hands,
        run_spent: run.map(|run| run.spent).unwrap_or_default(),
        task,
        step,
        state,
    }))
}

async fn carry_out(job: &Job) -> Report {
    let max = job.step.config.timeout;
    let max = max.map_or(ATTEMPT_MAX, |max| Duration::from_millis(max.ms));
    let executor = executors::of(job.step.config.handler.unwrap_or_default());
    match timeout(max, executor.execute(job)).await {
        Ok(report) => report,
        Err(_) => failed(
            FailureClass::Timeout,
            format!("It took longer than {max:?}."),
        ),
    }
}
