//! `task`: a task as its file has it. Task and plan files are run as workflows of such steps.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use agent::NoAgentObserver;
use agent::handlers::{EarlierResult, FailureKind, TaskObserver};
use exec::CommandCancel;
use flow::engine::{AttemptOutcome, AttemptReport, FailureClass, SpentAmount, TaskRow, TaskStatus};
use flow::{StoreError, TaskId, TaskSelection, WorkflowStep};

use super::agent_task::judge;
use super::budget::{ModelUse, within_budget};
use super::{
    ExecutorContext, ExecutorFuture, StepAttempt, StepExecutor, failed, failed_by, invalid,
    on_a_runtime, unknown_settings,
};
use crate::ai::AiOverrides;
use crate::tasks::diagram::{SETTINGS, StepTask};
use crate::tasks::file_run::{line_of, record_name};
use crate::tasks::step::{RecordedTask, StepEnd, StepWork, run_step};
use crate::{AppErrorCode, Error};

/// Interval between two looks whether the person has asked for the end.
const LOOK: Duration = Duration::from_millis(40);
/// Number of tasks of one run that are read.
const TASKS_MAX: usize = 20_000;

pub(super) struct FileTask;

impl StepExecutor for FileTask {
    fn check(&self, step: &WorkflowStep) -> Vec<String> {
        let mut problems = unknown_settings(step, &SETTINGS);
        problems.extend(StepTask::of(step).err());
        problems
    }

    fn execute<'a>(&'a self, job: &'a StepAttempt) -> ExecutorFuture<'a> {
        Box::pin(async move {
            let step = match StepTask::of(&job.step) {
                Ok(step) => step,
                Err(problem) => return invalid(problem),
            };
            let hands = Arc::clone(&job.hands);
            let row = job.task.clone();
            within_budget(job, ModelUse::Perhaps, |wish| {
                on_a_runtime(async move |cancel| {
                    let watched = cancel.clone();
                    let watch = hands.task_watch.get().cloned();
                    let is_over = || watch.as_ref().is_some_and(|watch| watch.is_cancelled());
                    let work = carry_out(&hands, wish, (&step, &row), cancel);
                    until_cancelled(work, &watched, is_over).await
                })
            })
            .await
        })
    }
}

/// Does work, and ends it when the person asks for that.
async fn until_cancelled<T>(
    work: impl Future<Output = T>,
    cancel: &CommandCancel,
    is_over: impl Fn() -> bool,
) -> T {
    let mut work = pin!(work);
    loop {
        tokio::select! {
            ended = &mut work => return ended,
            () = tokio::time::sleep(LOOK) => {
                if is_over() {
                    cancel.cancel();
                }
            }
        }
    }
}

async fn carry_out(
    hands: &ExecutorContext,
    wish: AiOverrides,
    (step, row): (&StepTask, &TaskRow),
    cancel: CommandCancel,
) -> AttemptReport {
    let around = match StepSurroundings::of(hands, &row.id, step).await {
        Ok(around) => around,
        Err(error) => return failed(FailureClass::LeaseLost, error.message),
    };
    let watch = hands.task_watch.get();
    let mut observer: Box<dyn TaskObserver> = match watch {
        Some(watch) => watch.observer(),
        None => Box::new(NoAgentObserver),
    };
    let work = StepWork {
        project: &hands.project,
        surroundings: &hands.surroundings,
        wish,
        observer: &mut *observer,
        cancel,
    };
    let recorded = RecordedTask {
        name: &around.name,
        task: &step.task,
        key: &step.key,
        earlier: &around.earlier,
        others: &around.others,
    };
    match run_step(work, recorded).await {
        Ok(ended) => {
            if let Some(watch) = watch {
                watch.warn(ended.warnings.clone());
            }
            report(ended, &around, row)
        }
        Err(error) if is_passing(&error) => failed(FailureClass::LeaseLost, error.to_string()),
        Err(error) => failed_by(&error),
    }
}

/// Converts the end of the work into a report, without what earlier runs of the line have paid.
fn report(ended: StepEnd, around: &StepSurroundings, row: &TaskRow) -> AttemptReport {
    let is_given_back = matches!(
        &ended.came,
        Err(failure) if failure.kind == FailureKind::Stopped(agent::AgentErrorKind::Cancelled)
    );
    let mut report = judge(ended.came);
    report.warnings.extend(ended.warnings);
    if is_given_back {
        report.outcome = AttemptOutcome::GivenBack;
    }
    let before = SpentAmount {
        tokens: ended.spent_before.tokens,
        micros: ended.spent_before.micro_usd,
    };
    if ended.was_done {
        report.spent = SpentAmount::default();
    } else if around.is_continued {
        let tokens = before.tokens.saturating_sub(row.spent.tokens);
        let micros = before.micros.saturating_sub(row.spent.micros);
        report.spent.tokens = report.spent.tokens.saturating_sub(tokens);
        report.spent.micros = report.spent.micros.saturating_sub(micros);
    }
    report
}

/// Tells whether another attempt may fare better: another process has the work, or the database is away.
fn is_passing(error: &Error) -> bool {
    matches!(error, Error::Own(fault)
        if matches!(fault.code, AppErrorCode::RunLocked | AppErrorCode::DatabaseAway))
}

/// The facts of its run that a task needs.
struct StepSurroundings {
    /// The name under which its work is stored.
    name: String,
    /// The names of the other tasks of the run, the oldest first.
    others: Vec<String>,
    earlier: Vec<EarlierResult>,
    /// True if the run goes on with an earlier one.
    is_continued: bool,
}

impl StepSurroundings {
    async fn of(
        hands: &ExecutorContext,
        task: &TaskId,
        step: &StepTask,
    ) -> Result<StepSurroundings, StoreError> {
        let store = &hands.store;
        let input = store.input(&task.run).await?;
        let line = line_of(&task.run, input.as_ref());
        let rows = store
            .tasks(Some(&task.run), TaskSelection::All, TASKS_MAX)
            .await?;
        let others = rows.iter().filter(|row| row.id != *task);
        let earlier = step.after.iter().filter_map(|(first, id, name)| {
            let done = rows
                .iter()
                .filter(|row| row.id.step == *first && row.status == TaskStatus::Completed);
            let last = done.max_by_key(|row| row.id.visit)?;
            let content = last.output.as_ref()?.pointer("/ai_result/content")?;
            Some(EarlierResult {
                task: id.clone(),
                name: name.clone(),
                content: content.as_str()?.to_owned(),
            })
        });
        Ok(StepSurroundings {
            name: record_name(task, &line),
            earlier: earlier.collect(),
            others: others.map(|row| record_name(&row.id, &line)).collect(),
            is_continued: line != task.run,
        })
    }
}
