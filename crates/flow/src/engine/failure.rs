//! Handles failures: another attempt, an `onError` edge, another assignee, a failed item, or a task
//! on hold and a run that waits. Paid work is never thrown away.

use serde_json::json;
use sha2::{Digest, Sha256};

use crate::config::{ExecutionMode, OnTimeout, RetryPolicy};
use crate::engine::DecisionStop;
use crate::engine::action::{EngineAction, EventKind, TaskChange};
use crate::engine::decision_context::DecisionContext;
use crate::engine::eval_scope::EvalScope;
use crate::engine::route::RouteOrigin;
use crate::engine::rows::{
    AttemptFailure, FailureClass, HoldKind, RowSource, TaskHold, TaskRow, WorkflowTaskKind,
};
use crate::engine::status::{RunStatus, StatusMove, TaskStatus};
use crate::id::TaskId;

/// Returns the delay before an attempt, in milliseconds: `factor` times the previous one, up to a
/// limit, with random jitter in the upper half. The randomness comes from the task's name, so that
/// every process computes the same delay.
#[must_use]
pub fn backoff_ms(retry: &RetryPolicy, task: &TaskId, attempts_made: u32) -> u64 {
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

impl<R: RowSource> DecisionContext<'_, R> {
    /// Handles a failed attempt of a task in progress.
    pub(crate) fn fail(
        &mut self,
        row: &TaskRow,
        failure: AttemptFailure,
    ) -> Result<(), DecisionStop<R::Error>> {
        let step = self.the_step(&row.id.step)?;
        let overridden = self.workflow.step_of(row);
        let tried = overridden.as_deref().unwrap_or(step);
        self.note_failure(row, &failure)?;
        if self.is_sealed(&row.id.path)? {
            return self.fail_for_good(row, failure, StatusMove::Fail);
        }
        let retry = tried.retry();
        let why = Some(failure.message.clone());
        if tried.retries(failure.class) && row.attempt < retry.attempts {
            let wait = backoff_ms(&retry, &row.id, row.attempt);
            let change = TaskChange {
                ready_ms: Some(self.now_ms.saturating_add(wait)),
                ..TaskChange::default()
            };
            self.change(&row.id, change)?;
            return self.shift(&row.id, StatusMove::Requeue, why);
        }
        if self.error_way(row, step).is_some() {
            return self.fail_for_good(row, failure, StatusMove::Fail);
        }
        let fallback = step.config.fallback_assignee_id.as_ref();
        if let Some(fallback) = fallback.filter(|_| !row.fallen_back) {
            self.shift(&row.id, StatusMove::Requeue, why)?;
            return self.fall_back(row, fallback);
        }
        self.give_up(row, failure, (StatusMove::Fail, StatusMove::Hold))
    }

    /// Gives a task to its fallback assignee.
    fn fall_back(&mut self, row: &TaskRow, fallback: &str) -> Result<(), DecisionStop<R::Error>> {
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
        self.tell(EventKind::Assigned { task, assignee })
    }

    /// Fails a foreach, a join or a subflow, because its items, branches or child run have failed.
    pub(crate) fn fail_waiting(
        &mut self,
        task: &TaskId,
        failure: AttemptFailure,
    ) -> Result<(), DecisionStop<R::Error>> {
        let row = self.the_task(task)?;
        self.note_failure(&row, &failure)?;
        let step = self.the_step(&row.id.step)?;
        if self.error_way(&row, step).is_some() {
            return self.fail_for_good(&row, failure, StatusMove::FailWaiting);
        }
        let fallback = step.config.fallback_assignee_id.as_ref();
        if let Some(fallback) = fallback.filter(|_| !row.fallen_back) {
            self.fall_back(&row, fallback)?;
        }
        self.give_up(
            &row,
            failure,
            (StatusMove::FailWaiting, StatusMove::HoldWaiting),
        )
    }

    fn give_up(
        &mut self,
        row: &TaskRow,
        failure: AttemptFailure,
        (fail, hold): (StatusMove, StatusMove),
    ) -> Result<(), DecisionStop<R::Error>> {
        let step = self.the_step(&row.id.step)?;
        let is_tolerated = self.workflow.tolerant_join(&step.id).is_some();
        if step.config.fail_fast == Some(true) || row.id.group().is_some() || is_tolerated {
            return self.fail_for_good(row, failure, fail);
        }
        let reason = failure.message;
        let kind = HoldKind::Failed;
        self.hold(&row.id, hold, TaskHold { kind, reason })
    }

    /// Handles a task that has failed with no attempt left.
    pub(crate) fn fail_for_good(
        &mut self,
        row: &TaskRow,
        failure: AttemptFailure,
        by: StatusMove,
    ) -> Result<(), DecisionStop<R::Error>> {
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
            // Its branch counts as failed, and the join decides whether that matters.
            return self.go_on_after(row, &failure, join.clone());
        }
        if is_fast || row.id.group().is_none() {
            return self.end_run(RunStatus::Failed, Some(failure.message));
        }
        self.fail_item(&row.id, failure)
    }

    fn fail_item(
        &mut self,
        task: &TaskId,
        failure: AttemptFailure,
    ) -> Result<(), DecisionStop<R::Error>> {
        let Some((group, index)) = task.group() else {
            return Ok(());
        };
        self.act(EngineAction::SetItemFailure {
            group,
            index,
            failure,
        })
    }

    /// Takes the `onError` edge; the step behind it sees the error as `output`.
    fn go_on_after(
        &mut self,
        row: &TaskRow,
        failure: &AttemptFailure,
        way: crate::id::StepId,
    ) -> Result<(), DecisionStop<R::Error>> {
        let output = json!({
            "error": {
                "class": failure.class, "message": failure.message, "step": row.id.step,
                "attempts": row.attempt,
            },
            "output": row.output,
        });
        self.keep_output(&row.id, Some(output.clone()))?;
        let view = EvalScope::after(row, &output);
        match self.plan(vec![way], &view, Some(&row.id))? {
            Ok(plan) => self.follow(
                plan,
                &RouteOrigin {
                    path: row.id.path.clone(),
                    from: Some(row.id.clone()),
                    failed: true,
                    passed: row.passed.clone(),
                },
            ),
            // The task has ended already; only the run can be put on hold.
            Err(reason) if row.id.group().is_none() => {
                self.end_run(RunStatus::Failed, Some(reason))
            }
            Err(message) => self.fail_item(
                &row.id,
                AttemptFailure {
                    class: FailureClass::Invalid,
                    message,
                },
            ),
        }
    }

    fn note_failure(
        &mut self,
        row: &TaskRow,
        failure: &AttemptFailure,
    ) -> Result<(), DecisionStop<R::Error>> {
        self.ending.class = Some(failure.class);
        self.change(
            &row.id,
            TaskChange {
                failure: Some(Some(failure.clone())),
                ..TaskChange::default()
            },
        )
    }

    /// Handles the timeout of a task.
    pub(crate) fn timed_out(&mut self, task: &TaskId) -> Result<(), DecisionStop<R::Error>> {
        let row = self.the_task(task)?;
        let step = self.the_step(&task.step)?;
        let judge = if row.kind == WorkflowTaskKind::Foreach {
            self.judge(step)?
        } else {
            step
        };
        let on_timeout = judge.config.on_timeout.unwrap_or_default();
        match (row.kind, row.status, row.execution) {
            (
                WorkflowTaskKind::Foreach | WorkflowTaskKind::Join | WorkflowTaskKind::Wait,
                TaskStatus::Waiting,
                _,
            ) => self.out_of_time(&row, on_timeout),
            (WorkflowTaskKind::Work, TaskStatus::Pending, ExecutionMode::Manual)
                if self.escalate(&row)? =>
            {
                Ok(())
            }
            (WorkflowTaskKind::Work, TaskStatus::Pending, ExecutionMode::Manual) => {
                self.person_too_late(&row, on_timeout)
            }
            _ => Ok(()),
        }
    }

    fn person_too_late(
        &mut self,
        row: &TaskRow,
        on_timeout: OnTimeout,
    ) -> Result<(), DecisionStop<R::Error>> {
        let message = format!("`{}` was not answered within its timeout.", row.id.step);
        self.shift(&row.id, StatusMove::Claim, None)?;
        let row = self.the_task(&row.id)?;
        match on_timeout {
            OnTimeout::Hold => {
                let hold = TaskHold {
                    kind: HoldKind::Timeout,
                    reason: message,
                };
                self.hold(&row.id, StatusMove::Hold, hold)
            }
            OnTimeout::Fail => {
                let failure = AttemptFailure {
                    class: FailureClass::Timeout,
                    message,
                };
                self.note_failure(&row, &failure)?;
                let step = self.the_step(&row.id.step)?;
                match self.error_way(&row, step) {
                    Some(_) => self.fail_for_good(&row, failure, StatusMove::Fail),
                    None => self.give_up(&row, failure, (StatusMove::Fail, StatusMove::Hold)),
                }
            }
            // The person has not answered, and no later step may mistake the output for an answer.
            OnTimeout::Continue => {
                let output = json!({ "timedOut": true });
                self.complete(&row, output, (StatusMove::Complete, StatusMove::Hold))
            }
        }
    }
}
