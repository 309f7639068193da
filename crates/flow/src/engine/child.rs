//! Messages between a subflow and its child run, sent as timers that are due at once.
//!
//! A child that is paused because one of its tasks failed leaves the decision to its parent. The
//! subflow step's `retry`, `onError` edge and fallback give the child up. Without them the step is
//! put on hold, and resuming the parent resumes the child, so that no paid work is lost.

use crate::engine::DecisionStop;
use crate::engine::action::{EngineAction, EventKind, TaskChange};
use crate::engine::decision_context::{DecisionContext, DeferredWork};
use crate::engine::enter::{ended_key, paused_key};
use crate::engine::failure::backoff_ms;
use crate::engine::rows::{
    AttemptFailure, ChildEnd, FailureClass, HoldKind, PauseCause, RowSource, RunRow, TaskHold,
    TaskRow, TimerPurpose, TimerRow, WorkflowTaskKind,
};
use crate::engine::status::{StatusMove, TaskStatus};
use crate::id::{RunId, TaskId};

impl<R: RowSource> DecisionContext<'_, R> {
    pub(crate) fn child_ended(
        &mut self,
        task: &TaskId,
        child: &RunId,
        end: &ChildEnd,
    ) -> Result<(), DecisionStop<R::Error>> {
        if !self.awaits_child(task, child)? {
            return Ok(());
        }
        self.wait_for_child(task)?;
        self.disarm_of(task)?;
        match end {
            ChildEnd::Completed { output } => {
                self.todo.push_back(DeferredWork::Conclude {
                    task: task.clone(),
                    output: output.clone(),
                });
                Ok(())
            }
            ChildEnd::Failed { message, class } => {
                let class = class.unwrap_or(FailureClass::Failed);
                self.child_failed(task, class, message)
            }
            ChildEnd::Cancelled { message } => {
                self.child_failed(task, FailureClass::Cancelled, message)
            }
        }
    }

    /// Handles a child that is paused because of one of its tasks.
    pub(crate) fn child_paused(
        &mut self,
        (task, child): (&TaskId, &RunId),
        message: &str,
        failure: Option<AttemptFailure>,
    ) -> Result<(), DecisionStop<R::Error>> {
        let row = self.the_task(task)?;
        if !self.awaits_child(task, child)? || row.status != TaskStatus::Waiting {
            return Ok(());
        }
        let step = self.the_step(&task.step)?;
        if let Some(failure) = failure {
            let is_ruled = self.error_way(&row, step).is_some()
                || self.is_tried_again(&row, failure.class)?
                || (step.config.fallback_assignee_id.is_some() && !row.fallen_back)
                || step.config.fail_fast == Some(true)
                || self.workflow.tolerant_join(&step.id).is_some()
                || task.group().is_some();
            if is_ruled {
                self.give_child_up(&row, &failure.message)?;
                return self.child_failed(task, failure.class, &failure.message);
            }
        }
        let hold = TaskHold {
            kind: HoldKind::Child,
            reason: format!(
                "The run `{child}` of the subflow `{}` is paused: {message}",
                task.step
            ),
        };
        self.hold(task, StatusMove::HoldWaiting, hold)
    }

    /// The child resumes, and so does the subflow step that waits for it.
    pub(crate) fn child_resumed(
        &mut self,
        task: &TaskId,
        child: &RunId,
    ) -> Result<(), DecisionStop<R::Error>> {
        match self.awaits_child(task, child)? {
            true => self.wait_for_child(task),
            false => Ok(()),
        }
    }

    /// Tells whether a subflow waits for this child, or is on hold until the child resumes. It does
    /// not if it was cancelled or retried meanwhile.
    fn awaits_child(
        &mut self,
        task: &TaskId,
        child: &RunId,
    ) -> Result<bool, DecisionStop<R::Error>> {
        self.of_task(task, |row| {
            let hold = row.hold.as_ref().map(|hold| hold.kind);
            let is_held = row.status == TaskStatus::OnHold && hold == Some(HoldKind::Child);
            row.kind == WorkflowTaskKind::Subflow
                && (is_held || row.status == TaskStatus::Waiting)
                && *child == RunId::child_of(task, row.fence)
        })
    }

    fn wait_for_child(&mut self, task: &TaskId) -> Result<(), DecisionStop<R::Error>> {
        if self.of_task(task, |row| row.status)? != TaskStatus::OnHold {
            return Ok(());
        }
        self.unpause(task)?;
        let change = TaskChange {
            hold: Some(None),
            failure: Some(None),
            ..TaskChange::default()
        };
        self.change(task, change)?;
        self.shift(task, StatusMove::WaitAgain, None)
    }

    /// Resumes the child of a subflow that is on hold because of it.
    pub(crate) fn resume_child(&mut self, row: &TaskRow) -> Result<(), DecisionStop<R::Error>> {
        self.wait_for_child(&row.id)?;
        self.act(EngineAction::Arm(TimerRow {
            run: RunId::child_of(&row.id, row.fence),
            key: "resume".to_owned(),
            at_ms: self.now_ms,
            due: TimerPurpose::Resume,
        }))
    }

    /// Ends the child of a subflow that does not wait for it any more.
    pub(crate) fn give_child_up(
        &mut self,
        row: &TaskRow,
        reason: &str,
    ) -> Result<(), DecisionStop<R::Error>> {
        self.act(EngineAction::Arm(TimerRow {
            run: RunId::child_of(&row.id, row.fence),
            key: "cancel".to_owned(),
            at_ms: self.now_ms,
            due: TimerPurpose::GiveUp {
                reason: reason.to_owned(),
            },
        }))
    }

    /// Handles a child that failed: starts another where the step says so, or fails the step.
    fn child_failed(
        &mut self,
        task: &TaskId,
        class: FailureClass,
        message: &str,
    ) -> Result<(), DecisionStop<R::Error>> {
        let row = self.the_task(task)?;
        let attempt = row.attempt + 1;
        if self.is_tried_again(&row, class)? {
            let step = self.the_step(&task.step)?;
            let change = TaskChange {
                attempt: Some(attempt),
                ..TaskChange::default()
            };
            self.change(task, change)?;
            self.tell(EventKind::Warned {
                task: Some(task.clone()),
                message: format!("Attempt {attempt} failed, another follows: {message}"),
            })?;
            let wait_ms = backoff_ms(&step.retry(), task, attempt);
            let row = self.the_task(task)?;
            return self.begin_child(step, &row, wait_ms);
        }
        let failure = AttemptFailure {
            class: FailureClass::Child,
            message: message.to_owned(),
        };
        self.fail_waiting(task, failure)
    }

    /// Tells whether a subflow has an attempt left for a child that failed like this. The child's
    /// own steps have been retried already, so that only a step that asks for it starts the whole
    /// child again.
    fn is_tried_again(
        &mut self,
        row: &TaskRow,
        class: FailureClass,
    ) -> Result<bool, DecisionStop<R::Error>> {
        let step = self.the_step(&row.id.step)?;
        let is_asked_for = step.config.retry.is_some() && step.retries(class);
        Ok(is_asked_for && row.attempt + 1 < step.retry().attempts)
    }

    /// Tells the parent run that this one is paused because of a task.
    pub(crate) fn tell_parent_of_pause(
        &mut self,
        run: &RunRow,
    ) -> Result<(), DecisionStop<R::Error>> {
        let (Some(parent), Some(PauseCause::Task(by))) =
            (&run.parent, self.the_run()?.pause.clone())
        else {
            return Ok(());
        };
        let row = self.the_task(&by)?;
        let hold = row.hold.as_ref();
        let class = match hold.map(|hold| hold.kind) {
            Some(HoldKind::Failed) => row.failure.as_ref().map(|failure| failure.class),
            Some(HoldKind::Routing) => Some(FailureClass::Invalid),
            Some(HoldKind::LoopExhausted) => Some(FailureClass::Limit),
            _ => None,
        };
        let message = hold.map_or_else(String::new, |hold| hold.reason.clone());
        self.tell_above(
            parent,
            TimerPurpose::ChildPaused {
                task: parent.clone(),
                child: run.id.clone(),
                message,
                class,
            },
        )
    }

    /// Tells the parent run that this one resumes.
    pub(crate) fn tell_parent_of_resume(
        &mut self,
        before: &RunRow,
    ) -> Result<(), DecisionStop<R::Error>> {
        let (Some(parent), Some(PauseCause::Task(_))) = (&before.parent, &before.pause) else {
            return Ok(());
        };
        self.tell_above(
            parent,
            TimerPurpose::ChildResumed {
                task: parent.clone(),
                child: before.id.clone(),
            },
        )
    }

    /// Sends the parent one message about a pause at a time: a later one replaces it.
    fn tell_above(
        &mut self,
        parent: &TaskId,
        due: TimerPurpose,
    ) -> Result<(), DecisionStop<R::Error>> {
        let key = paused_key(&self.run);
        self.act(EngineAction::Arm(TimerRow {
            run: parent.run.clone(),
            key,
            at_ms: self.now_ms,
            due,
        }))
    }

    /// Tells the parent run how this one has ended.
    pub(crate) fn tell_parent_of_end(
        &mut self,
        run: &RunRow,
        end: ChildEnd,
    ) -> Result<(), DecisionStop<R::Error>> {
        let Some(parent) = run.parent.clone() else {
            return Ok(());
        };
        self.act(EngineAction::Arm(TimerRow {
            run: parent.run.clone(),
            key: ended_key(&run.id),
            at_ms: self.now_ms,
            due: TimerPurpose::ChildEnded {
                task: parent,
                child: run.id.clone(),
                end,
            },
        }))
    }
}
