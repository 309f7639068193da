//! Commands of workers: claim a task, keep it, and report how it ended. A command with an old fence
//! is always refused.

use std::sync::Arc;

use crate::config::ExecutionMode;
use crate::engine::DecisionStop;
use crate::engine::action::{EventKind, TaskChange};
use crate::engine::command::{AttemptOutcome, AttemptReport, CommandRefusal, RefusalKind};
use crate::engine::decision_context::DecisionContext;
use crate::engine::rows::{
    AttemptFailure, FailureClass, HoldKind, Lease, RowSource, TaskHold, TaskRow,
};
use crate::engine::status::{RunStatus, StatusMove, TaskStatus};
use crate::id::TaskId;
use crate::limits::RateLimit;

/// Limits the additional turns that one attempt may ask for.
pub(crate) const TURNS_MAX: u32 = 5;

impl<R: RowSource> DecisionContext<'_, R> {
    pub(crate) fn claim(
        &mut self,
        task: &TaskId,
        (worker, lease_ms): (&str, u64),
        rates: &[RateLimit],
    ) -> Result<(), DecisionStop<R::Error>> {
        let run = self.the_run()?;
        let row = self.the_task(task)?;
        if row.status != TaskStatus::Pending || row.execution != ExecutionMode::Automated {
            return self.wrong_status(&row, "only a pending automated task can be claimed");
        }
        if run.status != RunStatus::Running || row.ready_ms > self.now_ms {
            let message = format!(
                "The task `{task}` is not ready: its run is {}.",
                run.status.name()
            );
            return Err(DecisionStop::Refused(CommandRefusal::new(
                RefusalKind::NotReady,
                message,
            )));
        }
        let rates = self.open_rates(&row, rates)?;
        if !self.has_room(&row)? {
            return Ok(());
        }
        self.count_begin(&row, &rates);
        self.shift_claim(&row, worker, lease_ms)
    }

    fn shift_claim(
        &mut self,
        row: &TaskRow,
        worker: &str,
        lease_ms: u64,
    ) -> Result<(), DecisionStop<R::Error>> {
        let lease = Lease {
            worker: worker.to_owned(),
            until_ms: self.now_ms.saturating_add(lease_ms),
        };
        self.change(
            &row.id,
            TaskChange {
                attempt: Some(row.attempt + 1),
                fence: Some(row.fence + 1),
                lease: Some(Some(lease)),
                ..TaskChange::default()
            },
        )?;
        self.shift(&row.id, StatusMove::Claim, Some(worker.to_owned()))
    }

    pub(crate) fn heartbeat(
        &mut self,
        task: &TaskId,
        fence: u64,
        lease_ms: u64,
    ) -> Result<(), DecisionStop<R::Error>> {
        let row = self.fenced(task, fence)?;
        let lease = row.lease.clone().map(|lease| Lease {
            until_ms: self.now_ms.saturating_add(lease_ms),
            ..lease
        });
        self.change(
            task,
            TaskChange {
                lease: Some(lease),
                ..TaskChange::default()
            },
        )
    }

    pub(crate) fn lease_lost(
        &mut self,
        task: &TaskId,
        fence: u64,
    ) -> Result<(), DecisionStop<R::Error>> {
        let row = self.fenced(task, fence)?;
        let until_ms = row.lease.as_ref().map_or(0, |lease| lease.until_ms);
        if until_ms > self.now_ms {
            let message = format!("The lease of `{task}` has not ended yet.");
            return Err(DecisionStop::Refused(CommandRefusal::new(
                RefusalKind::NotReady,
                message,
            )));
        }
        let worker = row
            .lease
            .as_ref()
            .map_or("nobody", |lease| lease.worker.as_str());
        let failure = AttemptFailure {
            class: FailureClass::LeaseLost,
            message: format!("The worker `{worker}` is not heard from any more."),
        };
        self.fail(&row, failure)
    }

    pub(crate) fn report(
        &mut self,
        task: &TaskId,
        fence: u64,
        report: &AttemptReport,
    ) -> Result<(), DecisionStop<R::Error>> {
        let row = self.fenced(task, fence)?;
        self.ending.spent = report.spent;
        if let Some(call) = &report.call {
            self.keep_call(task, call)?;
        }
        if report.spent != crate::engine::SpentAmount::default() || !report.tags.is_empty() {
            self.change(
                task,
                TaskChange {
                    tags: report.tags.clone(),
                    spent: report.spent,
                    ..TaskChange::default()
                },
            )?;
        }
        for message in &report.warnings {
            self.tell(EventKind::Warned {
                task: Some(task.clone()),
                message: message.clone(),
            })?;
        }
        // The foreach around this task has ended, so that no question about it makes sense any
        // more.
        if !matches!(report.outcome, AttemptOutcome::Completed { .. })
            && self.is_sealed(&task.path)?
        {
            let failure = AttemptFailure {
                class: FailureClass::Cancelled,
                message: "It ended after the foreach around it.".to_owned(),
            };
            return self.fail_for_good(&row, failure, StatusMove::Fail);
        }
        let hold = |kind, reason: &str| TaskHold {
            kind,
            reason: reason.to_owned(),
        };
        match &report.outcome {
            AttemptOutcome::Completed { output, partial } => {
                if *partial != row.partial {
                    self.change(
                        task,
                        TaskChange {
                            partial: Some(*partial),
                            ..TaskChange::default()
                        },
                    )?;
                }
                self.complete(
                    &row,
                    output.clone(),
                    (StatusMove::Complete, StatusMove::Hold),
                )
            }
            AttemptOutcome::Failed(failure) => self.fail(&row, failure.clone()),
            AttemptOutcome::Asked { reason, output } => {
                self.keep_output(task, output.clone())?;
                self.hold(task, StatusMove::Hold, hold(HoldKind::Asked, reason))
            }
            AttemptOutcome::Unsure { reason, output } => {
                self.keep_output(task, Some(output.clone()))?;
                self.hold(task, StatusMove::Hold, hold(HoldKind::Review, reason))
            }
            AttemptOutcome::Continue { note, output } => {
                self.keep_output(task, output.clone())?;
                self.go_on_turning(&row, note)
            }
            AttemptOutcome::OverBudget { reason, budget } => {
                self.ending.budget = *budget;
                self.hold(task, StatusMove::Hold, hold(HoldKind::Budget, reason))
            }
            AttemptOutcome::GivenBack => self.give_back(&row),
        }
    }

    /// Returns a task to the queue without counting a failure: the next worker takes it at once,
    /// with all the attempts that were left.
    fn give_back(&mut self, row: &TaskRow) -> Result<(), DecisionStop<R::Error>> {
        let why = "Its worker was asked to stop.".to_owned();
        self.shift(&row.id, StatusMove::Requeue, Some(why))?;
        let change = TaskChange {
            attempt: Some(row.attempt.saturating_sub(1)),
            ready_ms: Some(self.now_ms),
            ..TaskChange::default()
        };
        self.change(&row.id, change)
    }

    fn go_on_turning(&mut self, row: &TaskRow, note: &str) -> Result<(), DecisionStop<R::Error>> {
        if row.turns >= TURNS_MAX {
            let hold = TaskHold {
                kind: HoldKind::Asked,
                reason: format!("It asked for more than TURNS_MAX = {TURNS_MAX} turns: {note}"),
            };
            return self.hold(&row.id, StatusMove::Hold, hold);
        }
        self.change(
            &row.id,
            TaskChange {
                turns: Some(row.turns + 1),
                note: Some(Some(note.to_owned())),
                // An additional turn is not a failed attempt.
                attempt: Some(row.attempt.saturating_sub(1)),
                ready_ms: Some(self.now_ms),
                ..TaskChange::default()
            },
        )?;
        self.shift(&row.id, StatusMove::Requeue, Some(note.to_owned()))
    }

    /// Returns the task, if this fence is its current one.
    fn fenced(
        &mut self,
        task: &TaskId,
        fence: u64,
    ) -> Result<Arc<TaskRow>, DecisionStop<R::Error>> {
        let row = self.the_task(task)?;
        if row.status == TaskStatus::InProgress && row.fence == fence {
            return Ok(row);
        }
        let message = format!(
            "The task `{task}` is {} under fence {}; fence {fence} comes too late.",
            row.status.name(),
            row.fence
        );
        Err(DecisionStop::Refused(CommandRefusal::new(
            RefusalKind::StaleFence,
            message,
        )))
    }
}
