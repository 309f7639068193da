//! What workers do: claim a task, keep it, and say how it ended. Whoever comes with an old fence is
//! refused, whatever they have to say.

use std::sync::Arc;

use crate::config::Execution;
use crate::engine::Stop;
use crate::engine::action::{TaskChange, What};
use crate::engine::command::{Outcome, Refusal, RefusalKind, Report};
use crate::engine::ledger::Ledger;
use crate::engine::rows::{Failure, FailureClass, Hold, HoldKind, Lease, Rows, TaskRow};
use crate::engine::status::{Move, RunStatus, TaskStatus};
use crate::id::TaskId;

/// How often a step may ask for one more turn.
pub const TURNS_MAX: u32 = 5;

impl<R: Rows> Ledger<'_, R> {
    pub(crate) fn claim(
        &mut self,
        task: &TaskId,
        worker: &str,
        lease_ms: u64,
    ) -> Result<(), Stop<R::Error>> {
        let run = self.the_run()?;
        let row = self.the_task(task)?;
        if row.status != TaskStatus::Pending || row.execution != Execution::Automated {
            return self.wrong_status(&row, "only a pending automated task can be claimed");
        }
        if run.status != RunStatus::Running || row.ready_ms > self.now_ms {
            let message = format!(
                "The task `{task}` is not ready: its run is {}.",
                run.status.name()
            );
            return Err(Stop::Refused(Refusal::new(RefusalKind::NotReady, message)));
        }
        self.shift_claim(&row, worker, lease_ms)
    }

    fn shift_claim(
        &mut self,
        row: &TaskRow,
        worker: &str,
        lease_ms: u64,
    ) -> Result<(), Stop<R::Error>> {
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
        self.shift(&row.id, Move::Claim, Some(worker.to_owned()))
    }

    pub(crate) fn heartbeat(
        &mut self,
        task: &TaskId,
        fence: u64,
        lease_ms: u64,
    ) -> Result<(), Stop<R::Error>> {
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

    pub(crate) fn lease_lost(&mut self, task: &TaskId, fence: u64) -> Result<(), Stop<R::Error>> {
        let row = self.fenced(task, fence)?;
        let until_ms = row.lease.as_ref().map_or(0, |lease| lease.until_ms);
        if until_ms > self.now_ms {
            let message = format!("The lease of `{task}` has not ended yet.");
            return Err(Stop::Refused(Refusal::new(RefusalKind::NotReady, message)));
        }
        let worker = row
            .lease
            .as_ref()
            .map_or("nobody", |lease| lease.worker.as_str());
        let failure = Failure {
            class: FailureClass::LeaseLost,
            message: format!("The worker `{worker}` was not heard of any more."),
        };
        self.fail(&row, failure)
    }

    pub(crate) fn report(
        &mut self,
        task: &TaskId,
        fence: u64,
        report: &Report,
    ) -> Result<(), Stop<R::Error>> {
        let row = self.fenced(task, fence)?;
        self.ending.spent = report.spent;
        if let Some(call) = &report.call {
            self.keep_call(task, call)?;
        }
        if report.spent != crate::engine::Spent::default() || !report.tags.is_empty() {
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
            self.tell(What::Warned {
                task: Some(task.clone()),
                message: message.clone(),
            })?;
        }
        // What ends after the foreach around it has nobody left to ask.
        if !matches!(report.outcome, Outcome::Completed { .. }) && self.is_sealed(&task.path)? {
            let failure = Failure {
                class: FailureClass::Cancelled,
                message: "It ended after the foreach around it.".to_owned(),
            };
            return self.fail_for_good(&row, failure, Move::Fail);
        }
        let hold = |kind, reason: &str| Hold {
            kind,
            reason: reason.to_owned(),
        };
        match &report.outcome {
            Outcome::Completed { output, partial } => {
                if *partial != row.partial {
                    self.change(
                        task,
                        TaskChange {
                            partial: Some(*partial),
                            ..TaskChange::default()
                        },
                    )?;
                }
                self.complete(&row, output.clone(), (Move::Complete, Move::Hold))
            }
            Outcome::Failed(failure) => self.fail(&row, failure.clone()),
            Outcome::Asked { reason, output } => {
                self.keep_output(task, output.clone())?;
                self.hold(task, Move::Hold, hold(HoldKind::Asked, reason))
            }
            Outcome::Unsure { reason, output } => {
                self.keep_output(task, Some(output.clone()))?;
                self.hold(task, Move::Hold, hold(HoldKind::Review, reason))
            }
            Outcome::Continue { note, output } => {
                self.keep_output(task, output.clone())?;
                self.go_on_turning(&row, note)
            }
            Outcome::OverBudget { reason } => {
                self.hold(task, Move::Hold, hold(HoldKind::Budget, reason))
            }
            Outcome::GivenBack => self.give_back(&row),
        }
    }

    /// Nothing has failed: whoever is there takes it at once, and has all attempts that were left.
    fn give_back(&mut self, row: &TaskRow) -> Result<(), Stop<R::Error>> {
        let why = "Its worker was asked to stop.".to_owned();
        self.shift(&row.id, Move::Requeue, Some(why))?;
        let change = TaskChange {
            attempt: Some(row.attempt.saturating_sub(1)),
            ready_ms: Some(self.now_ms),
            ..TaskChange::default()
        };
        self.change(&row.id, change)
    }

    fn go_on_turning(&mut self, row: &TaskRow, note: &str) -> Result<(), Stop<R::Error>> {
        if row.turns >= TURNS_MAX {
            let hold = Hold {
                kind: HoldKind::Asked,
                reason: format!("It asked for more than TURNS_MAX = {TURNS_MAX} turns: {note}"),
            };
            return self.hold(&row.id, Move::Hold, hold);
        }
        self.change(
            &row.id,
            TaskChange {
                turns: Some(row.turns + 1),
                note: Some(Some(note.to_owned())),
                // A turn is no failed attempt.
                attempt: Some(row.attempt.saturating_sub(1)),
                ready_ms: Some(self.now_ms),
                ..TaskChange::default()
            },
        )?;
        self.shift(&row.id, Move::Requeue, Some(note.to_owned()))
    }

    /// The task, if it is still in the hands of whoever holds this fence.
    fn fenced(&mut self, task: &TaskId, fence: u64) -> Result<Arc<TaskRow>, Stop<R::Error>> {
        let row = self.the_task(task)?;
        if row.status == TaskStatus::InProgress && row.fence == fence {
            return Ok(row);
        }
        let message = format!(
            "The task `{task}` is {} under fence {}; fence {fence} comes too late.",
            row.status.name(),
            row.fence
        );
        Err(Stop::Refused(Refusal::new(
            RefusalKind::StaleFence,
            message,
        )))
    }
}
