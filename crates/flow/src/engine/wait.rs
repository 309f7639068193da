//! Waits: for a time, until a time, or for a signal from outside.

use serde_json::{Value, json};

use crate::config::Execution;
use crate::engine::Stop;
use crate::engine::action::{Action, NoticeKind, TaskChange, What};
use crate::engine::command::{Refusal, RefusalKind};
use crate::engine::enter::{remind_key, wake_key};
use crate::engine::ledger::{Ledger, Todo};
use crate::engine::rows::{Due, Failure, FailureClass, Rows, Signal, TaskKind, TaskRow, TimerRow};
use crate::engine::status::{Move, TaskStatus};
use crate::engine::view::Viewpoint;
use crate::expression;
use crate::id::{Path, TaskId};
use crate::workflow::Step;

/// How many signals of a run are kept that nothing waits for yet, and how long each may be.
pub const SIGNALS_MAX: usize = 100;
pub const SIGNAL_BYTES_MAX: usize = 64 << 10;

impl<R: Rows> Ledger<'_, R> {
    /// Begins a wait: what ends it is armed, or has happened already.
    pub(crate) fn begin_wait(&mut self, step: &Step, row: &TaskRow) -> Result<(), Stop<R::Error>> {
        if let Some(name) = &step.config.signal {
            return self.await_signal(step, row, name);
        }
        let at_ms = match (&step.config.until, step.wait_for()) {
            (Some(until), _) => match self.time_of(until, row)? {
                Ok(at_ms) => at_ms,
                Err(message) => {
                    let class = FailureClass::Invalid;
                    return self.fail_waiting(&row.id, Failure { class, message });
                }
            },
            (None, span) => self.now_ms.saturating_add(span.unwrap_or_default().ms),
        };
        self.act(Action::Arm(TimerRow {
            run: self.run.clone(),
            key: wake_key(&row.id),
            at_ms,
            due: Due::Wake {
                task: row.id.clone(),
            },
        }))
    }

    /// The time that an expression gives: a date, a text that is one, or milliseconds since 1970.
    fn time_of(
        &mut self,
        source: &str,
        row: &TaskRow,
    ) -> Result<Result<u64, String>, Stop<R::Error>> {
        let state = self.state(&Viewpoint::of(row), &expression::reads(source))?;
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
        step: &Step,
        row: &TaskRow,
        name: &str,
    ) -> Result<(), Stop<R::Error>> {
        let mut signals = self.of_run(|run| run.signals.clone())?;
        let Some(at) = signals.iter().position(|signal| signal.name == name) else {
            return self.arm_timeout(step, &row.id);
        };
        let signal = signals.remove(at);
        let run = self.run.clone();
        self.act(Action::SetSignals { run, signals })?;
        self.end_wait(row, signal.payload);
        Ok(())
    }

    fn end_wait(&mut self, row: &TaskRow, output: Value) {
        self.todo.push_back(Todo::Conclude {
            task: row.id.clone(),
            output,
        });
    }

    /// The time of a wait is over. It hands on what came before.
    pub(crate) fn wake(&mut self, task: &TaskId) -> Result<(), Stop<R::Error>> {
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

    /// A signal ends the wait that has waited for it longest, or is kept for the next one.
    pub(crate) fn signal(&mut self, name: &str, payload: &Value) -> Result<(), Stop<R::Error>> {
        self.goes_on()?;
        let bytes = payload.to_string().len();
        if bytes > SIGNAL_BYTES_MAX {
            let message = format!(
                "The signal has {bytes} bytes, more than SIGNAL_BYTES_MAX = {SIGNAL_BYTES_MAX}."
            );
            return Err(Stop::Refused(Refusal::new(RefusalKind::Limit, message)));
        }
        let waiting = self.active_within(&Path::default())?;
        let workflow = self.workflow;
        let waits = waiting.iter().filter(|row| {
            let step = workflow.step(&row.id.step);
            row.kind == TaskKind::Wait
                && (row.status == TaskStatus::Waiting || row.is_overdue())
                && step.is_some_and(|step| step.config.signal.as_deref() == Some(name))
        });
        let oldest = waits.min_by_key(|row| (row.created_ms, row.id.clone()));
        let Some(row) = oldest else {
            return self.keep_signal(name, payload);
        };
        self.tell(What::Signalled {
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
            self.shift(&row.id, Move::WaitAgain, None)?;
        }
        self.end_wait(row, payload.clone());
        Ok(())
    }

    fn keep_signal(&mut self, name: &str, payload: &Value) -> Result<(), Stop<R::Error>> {
        let known = self.workflow.steps().iter();
        let mut known = known.filter_map(|step| step.config.signal.as_deref());
        if !known.any(|known| known == name) {
            let message = format!("No step of the workflow waits for the signal `{name}`.");
            return Err(Stop::Refused(Refusal::new(
                RefusalKind::WrongStatus,
                message,
            )));
        }
        let mut signals = self.of_run(|run| run.signals.clone())?;
        if signals.len() >= SIGNALS_MAX {
            let message =
                format!("The run has SIGNALS_MAX = {SIGNALS_MAX} signals that nothing waits for.");
            return Err(Stop::Refused(Refusal::new(RefusalKind::Limit, message)));
        }
        signals.push(Signal {
            name: name.to_owned(),
            payload: payload.clone(),
        });
        let run = self.run.clone();
        self.act(Action::SetSignals { run, signals })?;
        self.tell(What::Signalled {
            name: name.to_owned(),
            task: None,
        })
    }

    // People who are waited for.

    pub(crate) fn arm_reminder(
        &mut self,
        step: &Step,
        task: &TaskId,
    ) -> Result<(), Stop<R::Error>> {
        let Some(every) = step.config.remind else {
            return Ok(());
        };
        self.act(Action::Arm(TimerRow {
            run: self.run.clone(),
            key: remind_key(task),
            // However short it is meant to be, nobody is reminded all the time.
            at_ms: self.now_ms.saturating_add(every.ms.max(1_000)),
            due: Due::Remind { task: task.clone() },
        }))
    }

    /// Reminds a person of a task, and will again.
    pub(crate) fn remind(&mut self, task: &TaskId) -> Result<(), Stop<R::Error>> {
        let row = self.the_task(task)?;
        let is_open = row.status == TaskStatus::Pending || row.is_overdue();
        if !is_open || row.execution != Execution::Manual {
            return Ok(());
        }
        let step = self.the_step(&task.step)?;
        let message = format!("`{}` still waits for you.", step.name);
        self.notify(NoticeKind::Reminder, Some(&row), message)?;
        self.arm_reminder(step, task)
    }

    /// Gives a task to the one who gets it when nobody did it in time, with as much time again. Says
    /// whether there is one who has not had it yet.
    pub(crate) fn escalate(&mut self, row: &TaskRow) -> Result<bool, Stop<R::Error>> {
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
        self.tell(What::Assigned {
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

/// What a wait gives whose signal did not come in time.
pub(crate) fn timed_out() -> Value {
    json!({ "timedOut": true })
}
