//! What people do to a run: cancel it, pause it, let it go on, run a part of it again.

use crate::engine::Stop;
use crate::engine::action::{Action, What};
use crate::engine::command::{Refusal, RefusalKind};
use crate::engine::ledger::{Enter, Ledger};
use crate::engine::rows::{Due, HoldKind, Pause, Rows, TaskKind, TaskRow, TimerRow};
use crate::engine::status::{ItemStatus, Move, RunStatus, TaskStatus};
use crate::id::{Path, RunId, TaskId};

impl<R: Rows> Ledger<'_, R> {
    pub(crate) fn cancel(&mut self, reason: &str) -> Result<(), Stop<R::Error>> {
        self.goes_on()?;
        self.end_run(RunStatus::Cancelled, Some(reason.to_owned()))
    }

    pub(crate) fn cancel_task(&mut self, row: &TaskRow, why: &str) -> Result<(), Stop<R::Error>> {
        // What was cancelled with something else around it is not cancelled again.
        let status = self.the_task(&row.id)?.status;
        let Some(by) = Move::cancelling(status) else {
            return Ok(());
        };
        self.disarm_of(&row.id)?;
        if row.kind == TaskKind::Subflow {
            let run = RunId::child_of(&row.id, row.fence);
            self.act(Action::Arm(TimerRow {
                run,
                key: "cancel".to_owned(),
                at_ms: self.now_ms,
                due: Due::Cancel {
                    reason: why.to_owned(),
                },
            }))?;
        }
        self.shift(&row.id, by, Some(why.to_owned()))
    }

    pub(crate) fn pause_by_person(&mut self, reason: &str) -> Result<(), Stop<R::Error>> {
        self.goes_on()?;
        let run = self.the_run()?;
        if run.status == RunStatus::Running {
            return self.pause(Pause::Person, reason.to_owned());
        }
        // A person's word counts more than a task's.
        self.act(Action::SetRun {
            run: run.id,
            status: RunStatus::Paused,
            reason: Some(reason.to_owned()),
            pause: Some(Pause::Person),
        })
    }

    pub(crate) fn resume(&mut self) -> Result<(), Stop<R::Error>> {
        let run = self.the_run()?;
        if run.status != RunStatus::Paused {
            let message = format!("The run `{}` is {}, not paused.", run.id, run.status.name());
            return Err(Stop::Refused(Refusal::new(
                RefusalKind::WrongStatus,
                message,
            )));
        }
        self.run_on()?;
        for row in self.active_within(&Path::default())? {
            let kind = row.hold.as_ref().map(|hold| hold.kind);
            if row.status == TaskStatus::OnHold && kind.is_some_and(HoldKind::ends_with_pause) {
                self.try_again(&row)?;
            }
        }
        Ok(())
    }

    /// Runs a step once more: what came after it and is still active is cancelled first.
    pub(crate) fn rerun(&mut self, task: &TaskId) -> Result<(), Stop<R::Error>> {
        let row = self.the_task(task)?;
        let step = self.the_step(&task.step)?;
        if self.is_sealed(&task.path)? {
            let foreach = task.group().map(|(group, _)| group);
            let foreach = foreach
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default();
            let message = format!(
                "The foreach around `{task}` is over: run `{foreach}` again, or try its failed \
                 items again while it is on hold."
            );
            return Err(Stop::Refused(Refusal::new(
                RefusalKind::WrongStatus,
                message,
            )));
        }
        self.reopen_run(task)?;
        let after = self.downstream(&task.step);
        let depth = task.path.items().len();
        for active in self.active_within(&task.path)? {
            let at = active.id.path.items().get(depth);
            let at = at.map_or(&active.id.step, |item| &item.foreach);
            if after.contains(at) {
                self.cancel_task(&active, "An earlier step is run again.")?;
            }
        }
        if let Some((group, index)) = task.group() {
            let status = self.the_item(&group, index)?.status;
            if status != ItemStatus::Running {
                if status.is_terminal() {
                    self.reopen_item(&group, index)?;
                }
                self.act(Action::StartItem {
                    group: group.clone(),
                    index,
                })?;
                self.tell(What::ItemStarted { group, index })?;
            }
        }
        let enter = Enter {
            step: task.step.clone(),
            path: task.path.clone(),
            from: row.from.clone(),
            failed: false,
            passed: row.passed.clone(),
        };
        if row.kind == TaskKind::Join && step.awaits.is_none() {
            return self.rejoin(&row, &enter);
        }
        match self.visit(step, &enter)? {
            Some(again) => self.begin(step, &again),
            None => Ok(()),
        }
    }

    /// A join of branches is run again with what had come to it.
    fn rejoin(&mut self, row: &TaskRow, enter: &Enter) -> Result<(), Stop<R::Error>> {
        let step = self.the_step(&row.id.step)?;
        let Some(again) = self.visit(step, enter)? else {
            return Ok(());
        };
        for arrival in &row.arrivals {
            self.act(Action::Arrive {
                join: again.clone(),
                arrival: arrival.clone(),
            })?;
        }
        self.unsettle(&enter.path);
        Ok(())
    }

    fn reopen_run(&mut self, task: &TaskId) -> Result<(), Stop<R::Error>> {
        let run = self.the_run()?;
        match (run.status, run.pause) {
            (RunStatus::Running, _) | (RunStatus::Paused, Some(Pause::Person)) => Ok(()),
            (RunStatus::Paused, _) => self.run_on(),
            _ => {
                if let Some(parent) = run.parent {
                    let message = format!(
                        "The run belongs to the subflow `{parent}`, which has gone on: run that again."
                    );
                    return Err(Stop::Refused(Refusal::new(
                        RefusalKind::WrongStatus,
                        message,
                    )));
                }
                self.act(Action::SetRun {
                    run: run.id,
                    status: RunStatus::Running,
                    reason: None,
                    pause: None,
                })?;
                self.tell(What::RunReopened { task: task.clone() })
            }
        }
    }
}
