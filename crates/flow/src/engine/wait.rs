//! Waits: for a time, until a time, or for a signal from outside.

use serde_json::{Value, json};

use crate::config::ExecutionMode;
use crate::engine::DecisionStop;
use crate::engine::action::{EngineAction, EventKind, NoticeKind, TaskChange};
use crate::engine::command::{CommandRefusal, RefusalKind};
use crate::engine::decision_context::{DecisionContext, DeferredWork};
use crate::engine::enter::{remind_key, wake_key};
use crate::engine::eval_scope::EvalScope;
use crate::engine::rows::{
    AttemptFailure, FailureClass, RowSource, RunSignal, TaskRow, TimerPurpose, TimerRow,
    WorkflowTaskKind,
};
use crate::engine::status::{StatusMove, TaskStatus};
use crate::expression;
use crate::id::{ItemPath, TaskId};
use crate::workflow::WorkflowStep;

/// Limits the signals of a run that no step waits for yet, and the length of each.
pub(crate) const SIGNALS_MAX: usize = 100;
pub(crate) const SIGNAL_BYTES_MAX: usize = 64 << 10;

impl<R: RowSource> DecisionContext<'_, R> {
    /// Begins a wait: arms its timer, or ends it at once if its signal has already arrived.
    pub(crate) fn begin_wait(
        &mut self,
        step: &WorkflowStep,
        row: &TaskRow,
    ) -> Result<(), DecisionStop<R::Error>> {
        if let Some(name) = &step.config.signal {
            return self.await_signal(step, row, name);
        }
        let at_ms = match (&step.config.until, step.wait_for()) {
            (Some(until), _) => match self.time_of(until, row)? {
                Ok(at_ms) => at_ms,
                Err(message) => {
                    let class = FailureClass::Invalid;
                    return self.fail_waiting(&row.id, AttemptFailure { class, message });
                }
            },
            (None, span) => self.now_ms.saturating_add(span.unwrap_or_default().ms),
        };
        self.act(EngineAction::Arm(TimerRow {
            run: self.run.clone(),
            key: wake_key(&row.id),
            at_ms,
            due: TimerPurpose::Wake {
                task: row.id.clone(),
            },
        }))
    }

    /// Returns the time that an expression gives: a date, a text that is one, or milliseconds since
    /// 1970.
    fn time_of(
        &mut self,
        source: &str,
        row: &TaskRow,
    ) -> Result<Result<u64, String>, DecisionStop<R::Error>> {
        let state = self.state(&EvalScope::of(row), &expression::reads(source))?;
        let time = expression::value(&format!("new Date({source}).getTime()"), &state);
        Ok(match time {
            Ok(Some(time)) if time.as_f64().is_some() => {
                Ok(time.as_f64().map_or(0, |ms| ms.max(0.0) as u64))
            }
            Ok(_) => Err(format!(
                "`until` of `{}`: `{source}` is no time.",
                row.id.step
            )),
            Err(error) => Err(format!(
                "`until` of `{}`: {}.",
                row.id.step,
                error.message().trim_end_matches('.')
            )),
        })
    }

    fn await_signal(
        &mut self,
        step: &WorkflowStep,
        row: &TaskRow,
        name: &str,
    ) -> Result<(), DecisionStop<R::Error>> {
        let mut signals = self.of_run(|run| run.signals.clone())?;
        let Some(at) = signals.iter().position(|signal| signal.name == name) else {
            return self.arm_timeout(step, &row.id);
        };
        let signal = signals.remove(at);
        let run = self.run.clone();
        self.act(EngineAction::SetSignals { run, signals })?;
        self.end_wait(row, signal.payload);
        Ok(())
    }

    fn end_wait(&mut self, row: &TaskRow, output: Value) {
        self.todo.push_back(DeferredWork::Conclude {
            task: row.id.clone(),
            output,
        });
    }

    /// Ends a wait whose time is over. It passes on the previous output.
    pub(crate) fn wake(&mut self, task: &TaskId) -> Result<(), DecisionStop<R::Error>> {
        let row = self.the_task(task)?;
        if row.status != TaskStatus::Waiting {
            return Ok(());
        }
        let output = match &row.from {
            Some(from) => self.the_task(from)?.output.clone(),
            None => Some(self.input()?),
        };
        self.end_wait(&row, output.unwrap_or_default());
        Ok(())
    }

    /// Ends the longest wait for this signal, or stores the signal for the next wait.
    pub(crate) fn signal(
        &mut self,
        name: &str,
        payload: &Value,
    ) -> Result<(), DecisionStop<R::Error>> {
        self.goes_on()?;
        let bytes = payload.to_string().len();
        if bytes > SIGNAL_BYTES_MAX {
            let message = format!(
                "The signal has {bytes} bytes, more than SIGNAL_BYTES_MAX = {SIGNAL_BYTES_MAX}."
            );
            return Err(DecisionStop::Refused(CommandRefusal::new(
                RefusalKind::Limit,
                message,
            )));
        }
        let waiting = self.active_within(&ItemPath::default())?;
        let workflow = self.workflow;
        let waits = waiting.iter().filter(|row| {
            let step = workflow.step(&row.id.step);
            row.kind == WorkflowTaskKind::Wait
                && (row.status == TaskStatus::Waiting || row.is_overdue())
                && step.is_some_and(|step| step.config.signal.as_deref() == Some(name))
        });
        let oldest = waits.min_by_key(|row| (row.created_ms, row.id.clone()));
        let Some(row) = oldest else {
            return self.keep_signal(name, payload);
        };
        self.tell(EventKind::Signalled {
            name: name.to_owned(),
            task: Some(row.id.clone()),
        })?;
        if row.is_overdue() {
            self.unpause(&row.id)?;
            let change = TaskChange {
                hold: Some(None),
                ..TaskChange::default()
            };
            self.change(&row.id, change)?;
            self.shift(&row.id, StatusMove::WaitAgain, None)?;
        }
        self.end_wait(row, payload.clone());
        Ok(())
    }

    fn keep_signal(&mut self, name: &str, payload: &Value) -> Result<(), DecisionStop<R::Error>> {
        let known = self.workflow.steps().iter();
        let mut known = known.filter_map(|step| step.config.signal.as_deref());
        if !known.any(|known| known == name) {
            let message = format!("No step of the workflow waits for the signal `{name}`.");
            return Err(DecisionStop::Refused(CommandRefusal::new(
                RefusalKind::WrongStatus,
                message,
            )));
        }
        let mut signals = self.of_run(|run| run.signals.clone())?;
        if signals.len() >= SIGNALS_MAX {
            let message =
                format!("The run has SIGNALS_MAX = {SIGNALS_MAX} signals that nothing waits for.");
            return Err(DecisionStop::Refused(CommandRefusal::new(
                RefusalKind::Limit,
                message,
            )));
        }
        signals.push(RunSignal {
            name: name.to_owned(),
            payload: payload.clone(),
        });
        let run = self.run.clone();
        self.act(EngineAction::SetSignals { run, signals })?;
        self.tell(EventKind::Signalled {
            name: name.to_owned(),
            task: None,
        })
    }

    // Waiting for people.

    pub(crate) fn arm_reminder(
        &mut self,
        step: &WorkflowStep,
        task: &TaskId,
    ) -> Result<(), DecisionStop<R::Error>> {
        let Some(every) = step.config.remind else {
            return Ok(());
        };
        self.act(EngineAction::Arm(TimerRow {
            run: self.run.clone(),
            key: remind_key(task),
            // A floor for the interval, so that a misconfigured step does not flood a person with
            // reminders.
            at_ms: self.now_ms.saturating_add(every.ms.max(1_000)),
            due: TimerPurpose::Remind { task: task.clone() },
        }))
    }

    /// Reminds a person of a task, and arms the next reminder.
    pub(crate) fn remind(&mut self, task: &TaskId) -> Result<(), DecisionStop<R::Error>> {
        let row = self.the_task(task)?;
        let is_open = row.status == TaskStatus::Pending || row.is_overdue();
        if !is_open || row.execution != ExecutionMode::Manual {
            return Ok(());
        }
        let step = self.the_step(&task.step)?;
        let message = format!("`{}` still waits for you.", step.name);
        self.notify(NoticeKind::Reminder, Some(&row), message)?;
        self.arm_reminder(step, task)
    }

    /// Reassigns a task to `escalateTo` when it was not done in time, with the same time again.
    /// Tells whether there was such a user who had not had it before.
    pub(crate) fn escalate(&mut self, row: &TaskRow) -> Result<bool, DecisionStop<R::Error>> {
        let step = self.the_step(&row.id.step)?;
        let to = step.config.escalate_to.as_ref().filter(|_| !row.escalated);
        let Some(to) = to else {
            return Ok(false);
        };
        let change = TaskChange {
            assignee: Some(Some(to.clone())),
            escalated: Some(true),
            ..TaskChange::default()
        };
        self.change(&row.id, change)?;
        self.tell(EventKind::Assigned {
            task: row.id.clone(),
            assignee: Some(to.clone()),
        })?;
        let row = self.the_task(&row.id)?;
        let message = format!(
            "`{}` was not done in time, and is for you to do.",
            step.name
        );
        self.notify(NoticeKind::Escalated, Some(&row), message)?;
        self.arm_timeout(step, &row.id)?;
        Ok(true)
    }
}

/// Returns the output of a wait whose signal did not arrive in time.
pub(crate) fn timed_out() -> Value {
    json!({ "timedOut": true })
}
