//! Judges a run of a file: finds the state of each of its tasks in the rows of the engine and the stored
//! results.

use agent::AgentErrorKind;
use agent::handlers::{FailureKind, TaskFailure, TaskReport, TaskResult};
use agent::plan::{PlanOutcome, PlanStatus, PlanTaskEnd, TaskRecord, TaskState};
use agent::task::TaskName;
use flow::RunId;
use flow::engine::{RunRow, RunStatus, TaskRow, TaskStatus};

use super::diagram::TaskStep;
use super::file_run::{newest, record_name, rows_of};
use super::run_archive::RunArchive;
use crate::Error;
use crate::application::UseCases;

/// A run with the steps of its file.
pub(super) struct RunOutcome<'a> {
    pub(super) app: &'a UseCases,
    pub(super) run: &'a RunId,
    pub(super) line: &'a RunId,
    pub(super) steps: &'a [TaskStep],
}

impl RunOutcome<'_> {
    /// Returns the state of each task, and when it came to it.
    pub(super) async fn states(&self) -> Result<Vec<(TaskState, u64)>, Error> {
        let rows = rows_of(self.app, self.run).await?;
        let archive = RunArchive::of(self.app.app().database().clone());
        let mut states: Vec<(TaskState, u64)> = Vec::with_capacity(self.steps.len());
        for step in self.steps {
            let row = newest(&rows, step);
            let missing: Vec<&TaskStep> = step
                .after
                .iter()
                .filter(|first| !matches!(states[**first].0, TaskState::Completed { .. }))
                .map(|first| &self.steps[*first])
                .collect();
            let has_failed = step.after.iter().any(|first| {
                let state = &states[*first].0;
                matches!(state, TaskState::Failed { failure } if !failure.kind.ends_the_plan())
                    || matches!(state, TaskState::Skipped { .. })
            });
            let state = match row {
                _ if has_failed => {
                    let because: Vec<TaskName> =
                        missing.iter().map(|first| first.key.id.clone()).collect();
                    (TaskState::Skipped { because }, 0)
                }
                None => (TaskState::Pending, 0),
                Some(row) => {
                    let name = record_name(&row.id, self.line);
                    let record = archive.record_of(&name, &step.key).await?;
                    state_of(row, record)
                }
            };
            states.push(state);
        }
        Ok(states)
    }

    /// Returns the outcome of a plan. Tasks that were done before `taken_up_ms` are said to be kept.
    pub(super) async fn of_plan(&self, taken_up_ms: u64) -> Result<PlanOutcome, Error> {
        let states = self.states().await?;
        let stopped = match self.row().await? {
            Some(run) if run.status.is_terminal() => None,
            run => Some(reason_of(
                run.as_ref(),
                states.iter().map(|(state, _)| state),
            )),
        };
        let is_done = |(state, _): &(TaskState, u64)| matches!(state, TaskState::Completed { .. });
        let status = match &stopped {
            Some(_) => PlanStatus::Stopped,
            None if states.iter().all(is_done) => PlanStatus::Completed,
            None => PlanStatus::Failed,
        };
        let tasks = self
            .steps
            .iter()
            .zip(states)
            .map(|(step, (standing, at_ms))| {
                let is_done = matches!(standing, TaskState::Completed { .. });
                PlanTaskEnd {
                    subtask_id: step.key.id.clone(),
                    name: step.title.clone(),
                    kept: is_done && at_ms < taken_up_ms,
                    standing,
                }
            });
        Ok(PlanOutcome {
            status,
            tasks: tasks.collect(),
            stopped,
        })
    }

    /// Returns the end of a run of one task.
    pub(super) async fn of_task(&self) -> Result<Result<TaskResult, TaskFailure>, Error> {
        let state = self
            .states()
            .await?
            .into_iter()
            .next()
            .map(|(state, _)| state);
        Ok(match state {
            Some(TaskState::Completed { result }) => Ok(*result),
            Some(TaskState::Failed { failure }) => Err(*failure),
            state => Err(reason_of(self.row().await?.as_ref(), state.iter())),
        })
    }

    async fn row(&self) -> Result<Option<RunRow>, Error> {
        self.app.run(self.run).await
    }
}

/// Returns the state of a task by its row and what is stored of the work on it.
fn state_of(row: &TaskRow, record: Option<TaskRecord>) -> (TaskState, u64) {
    let at_ms = record.as_ref().map_or(0, |record| record.at_ms);
    let known = record.map(|record| record.standing);
    let is_failure = matches!(known, Some(TaskState::Failed { .. }));
    let state = match (row.status, known) {
        (TaskStatus::Completed, Some(done @ TaskState::Completed { .. })) => done,
        (TaskStatus::Completed, _) => match read_result(row) {
            Some(result) => TaskState::Completed { result },
            None => TaskState::Pending,
        },
        (TaskStatus::Failed | TaskStatus::OnHold, Some(failed)) if is_failure => failed,
        (TaskStatus::Failed | TaskStatus::OnHold, _) => {
            let failure = row.failure.as_ref().map(|failure| &failure.message);
            let hold = row.hold.as_ref().map(|hold| &hold.reason);
            let message = failure.or(hold).cloned().unwrap_or_default();
            let failure = Box::new(stopped(AgentErrorKind::Setup, message));
            TaskState::Failed { failure }
        }
        (_, Some(TaskState::Failed { failure })) if failure.kind.ends_the_plan() => {
            TaskState::Failed { failure }
        }
        (TaskStatus::InProgress, _) => TaskState::Running,
        _ => TaskState::Pending,
    };
    (state, at_ms)
}

fn read_result(row: &TaskRow) -> Option<Box<TaskResult>> {
    serde_json::from_value(row.output.clone()?).ok()
}

/// Returns why a run that has not ended goes no further.
fn reason_of<'s>(
    run: Option<&RunRow>,
    mut states: impl Iterator<Item = &'s TaskState>,
) -> TaskFailure {
    let ending = states.find_map(|state| match state {
        TaskState::Failed { failure } if failure.kind.ends_the_plan() => Some((**failure).clone()),
        _ => None,
    });
    if let Some(failure) = ending {
        return failure;
    }
    match run {
        Some(run) if run.status == RunStatus::Running => stopped(
            AgentErrorKind::Cancelled,
            "The run was interrupted.".to_owned(),
        ),
        Some(run) => {
            let standing = || format!("The run is {}.", run.status.name());
            let reason = run.reason.clone().unwrap_or_else(standing);
            stopped(AgentErrorKind::Setup, reason)
        }
        None => stopped(AgentErrorKind::Setup, "The run was deleted.".to_owned()),
    }
}

fn stopped(kind: AgentErrorKind, message: String) -> TaskFailure {
    TaskFailure {
        kind: FailureKind::Stopped(kind),
        message,
        report: Box::new(TaskReport::default()),
    }
}
