//! What failures lead to: another attempt, an `onError` edge, another assignee, a failed item, or a
//! task on hold and a run that waits. What was paid for is never thrown away.

use serde_json::json;
use sha2::{Digest, Sha256};

use crate::config::{Execution, OnTimeout, Retry};
use crate::engine::Stop;
use crate::engine::action::{Action, TaskChange, What};
use crate::engine::ledger::Ledger;
use crate::engine::route::Origin;
use crate::engine::rows::{Failure, FailureClass, Hold, HoldKind, Rows, TaskKind, TaskRow};
use crate::engine::status::{Move, RunStatus, TaskStatus};
use crate::engine::view::Viewpoint;
use crate::id::TaskId;

/// How long to wait before an attempt, in milliseconds: `factor` times as long each time, up to a limit, with the
/// upper half left to chance. The chance is the task's own, so that it is the same wherever and
/// however often it is computed.
#[must_use]
pub fn backoff_ms(retry: &Retry, task: &TaskId, attempts_made: u32) -> u64 {
    let repeats = i32::try_from(attempts_made.saturating_sub(1)).unwrap_or(i32::MAX);
    let grown = retry.delay.ms as f64 * retry.factor.powi(repeats);
    let full = (grown.min(u64::MAX as f64) as u64).min(retry.max_delay.ms);
    let digest = Sha256::digest(format!("{task}#{attempts_made}").as_bytes());
    let chance = digest
        .iter()
        .take(4)
        .fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
    full / 2 + (full / 2).saturating_mul(chance) / u64::from(u32::MAX)
}

impl<R: Rows> Ledger<'_, R> {
    /// An attempt of a task in progress has failed.
    pub(crate) fn fail(&mut self, row: &TaskRow, failure: Failure) -> Result<(), Stop<R::Error>> {
        let step = self.the_step(&row.id.step)?;
        self.note_failure(row, &failure)?;
        if self.is_sealed(&row.id.path)? {
            return self.fail_for_good(row, failure, Move::Fail);
        }
        let retry = step.retry();
        let why = Some(failure.message.clone());
        if step.retries(failure.class) && row.attempt < retry.attempts {
            let wait = backoff_ms(&retry, &row.id, row.attempt);
            let change = TaskChange {
                ready_ms: Some(self.now_ms.saturating_add(wait)),
                ..TaskChange::default()
            };
            self.change(&row.id, change)?;
            return self.shift(&row.id, Move::Requeue, why);
        }
        if self.error_way(row, step).is_some() {
            return self.fail_for_good(row, failure, Move::Fail);
        }
        let fallback = step.config.fallback_assignee_id.as_ref();
        if let Some(fallback) = fallback.filter(|_| !row.fallen_back) {
            self.shift(&row.id, Move::Requeue, why)?;
            return self.fall_back(row, fallback);
        }
        self.give_up(row, failure, (Move::Fail, Move::Hold))
    }

    /// Gives a task to the one who does it when the others have failed.
    fn fall_back(&mut self, row: &TaskRow, fallback: &str) -> Result<(), Stop<R::Error>> {
        let assignee = Some(fallback.to_owned());
        let change = TaskChange {
            assignee: Some(assignee.clone()),
            fallen_back: Some(true),
            attempt: Some(0),
            ready_ms: Some(self.now_ms),
            ..TaskChange::default()
        };
        self.change(&row.id, change)?;
        let task = row.id.clone();
        self.tell(What::Assigned { task, assignee })
    }

    /// What a foreach, a join or a subflow waited for has failed.
    pub(crate) fn fail_waiting(
        &mut self,
        task: &TaskId,
        failure: Failure,
    ) -> Result<(), Stop<R::Error>> {
        let row = self.the_task(task)?;
        self.note_failure(&row, &failure)?;
        let step = self.the_step(&row.id.step)?;
        if self.error_way(&row, step).is_some() {
            return self.fail_for_good(&row, failure, Move::FailWaiting);
        }
        let fallback = step.config.fallback_assignee_id.as_ref();
        if let Some(fallback) = fallback.filter(|_| !row.fallen_back) {
            self.fall_back(&row, fallback)?;
        }
        self.give_up(&row, failure, (Move::FailWaiting, Move::HoldWaiting))
    }

    fn give_up(
        &mut self,
        row: &TaskRow,
        failure: Failure,
        (fail, hold): (Move, Move),
    ) -> Result<(), Stop<R::Error>> {
        let step = self.the_step(&row.id.step)?;
        let is_tolerated = self.workflow.tolerant_join(&step.id).is_some();
        if step.config.fail_fast == Some(true) || row.id.group().is_some() || is_tolerated {
            return self.fail_for_good(row, failure, fail);
        }
        let reason = failure.message;
        let kind = HoldKind::Failed;
        self.hold(&row.id, hold, Hold { kind, reason })
    }

    /// The task has failed and nobody will try again: what comes of it.
    pub(crate) fn fail_for_good(
        &mut self,
        row: &TaskRow,
        failure: Failure,
        by: Move,
    ) -> Result<(), Stop<R::Error>> {
        let step = self.the_step(&row.id.step)?;
        let way = self.error_way(row, step);
        let sealed = self.is_sealed(&row.id.path)?;
        self.disarm_of(&row.id)?;
        self.shift(&row.id, by, Some(failure.message.clone()))?;
        if sealed {
            return Ok(());
        }
        if let Some(way) = way {
            return self.go_on_after(row, &failure, way);
        }
        let is_fast = step.config.fail_fast == Some(true);
        if let Some(join) = self.workflow.tolerant_join(&step.id).filter(|_| !is_fast) {
            // Its branch has failed, and the join says whether that matters.
            return self.go_on_after(row, &failure, join.clone());
        }
        if is_fast || row.id.group().is_none() {
            return self.end_run(RunStatus::Failed, Some(failure.message));
        }
        self.fail_item(&row.id, failure)
    }

    fn fail_item(&mut self, task: &TaskId, failure: Failure) -> Result<(), Stop<R::Error>> {
        let Some((group, index)) = task.group() else {
            return Ok(());
        };
        self.act(Action::SetItemFailure {
            group,
            index,
            failure,
        })
    }

    /// Takes the `onError` edge; what it leads to sees the error as `output`.
    fn go_on_after(
        &mut self,
        row: &TaskRow,
        failure: &Failure,
        way: crate::id::StepId,
    ) -> Result<(), Stop<R::Error>> {
        let output = json!({
            "error": {
                "class": failure.class, "message": failure.message, "step": row.id.step,
                "attempts": row.attempt,
            },
            "output": row.output,
        });
        self.keep_output(&row.id, Some(output.clone()))?;
        let view = Viewpoint::after(row, &output);
        match self.plan(vec![way], &view, Some(&row.id))? {
            Ok(plan) => self.follow(
                plan,
                &Origin {
                    path: row.id.path.clone(),
                    from: Some(row.id.clone()),
                    failed: true,
                    passed: row.passed.clone(),
                },
            ),
            // The task has ended already; there is nothing to hold but the run.
            Err(reason) if row.id.group().is_none() => {
                self.end_run(RunStatus::Failed, Some(reason))
            }
            Err(message) => self.fail_item(
                &row.id,
                Failure {
                    class: FailureClass::Invalid,
                    message,
                },
            ),
        }
    }

    fn note_failure(&mut self, row: &TaskRow, failure: &Failure) -> Result<(), Stop<R::Error>> {
        self.ending.class = Some(failure.class);
        self.change(
            &row.id,
            TaskChange {
                failure: Some(Some(failure.clone())),
                ..TaskChange::default()
            },
        )
    }

    /// The timer of a task is due.
    pub(crate) fn timed_out(&mut self, task: &TaskId) -> Result<(), Stop<R::Error>> {
        let row = self.the_task(task)?;
        let step = self.the_step(&task.step)?;
        let judge = if row.kind == TaskKind::Foreach {
            self.judge(step)?
        } else {
            step
        };
        let on_timeout = judge.config.on_timeout.unwrap_or_default();
        match (row.kind, row.status, row.execution) {
            (TaskKind::Foreach | TaskKind::Join | TaskKind::Wait, TaskStatus::Waiting, _) => {
                self.out_of_time(&row, on_timeout)
            }
            (TaskKind::Work, TaskStatus::Pending, Execution::Manual) if self.escalate(&row)? => {
                Ok(())
            }
            (TaskKind::Work, TaskStatus::Pending, Execution::Manual) => {
                self.person_too_late(&row, on_timeout)
            }
            _ => Ok(()),
        }
    }

    fn person_too_late(
        &mut self,
        row: &TaskRow,
        on_timeout: OnTimeout,
    ) -> Result<(), Stop<R::Error>> {
        let message = format!("Nobody did `{}` within its timeout.", row.id.step);
        self.shift(&row.id, Move::Claim, None)?;
        let row = self.the_task(&row.id)?;
        match on_timeout {
            OnTimeout::Hold => {
                let hold = Hold {
                    kind: HoldKind::Timeout,
                    reason: message,
                };
                self.hold(&row.id, Move::Hold, hold)
            }
            OnTimeout::Fail => {
                let failure = Failure {
                    class: FailureClass::Timeout,
                    message,
                };
                self.note_failure(&row, &failure)?;
                let step = self.the_step(&row.id.step)?;
                match self.error_way(&row, step) {
                    Some(_) => self.fail_for_good(&row, failure, Move::Fail),
                    None => self.give_up(&row, failure, (Move::Fail, Move::Hold)),
                }
            }
            // Nobody has answered, and nothing that follows may take it for an answer.
            OnTimeout::Continue => {
                let output = json!({ "timedOut": true });
                self.complete(&row, output, (Move::Complete, Move::Hold))
            }
        }
    }
}
