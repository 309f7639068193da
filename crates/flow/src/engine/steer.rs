//! What people do to a run: cancel it, pause it, let it go on.

use crate::engine::Stop;
use crate::engine::action::Action;
use crate::engine::command::{Refusal, RefusalKind};
use crate::engine::ledger::Ledger;
use crate::engine::rows::{Due, HoldKind, Pause, Rows, TaskKind, TaskRow, TimerRow};
use crate::engine::status::{Move, RunStatus, TaskStatus};
use crate::id::{Path, RunId};

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
            run: run.id.clone(),
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
            let is_held = row.status == TaskStatus::OnHold;
            match kind {
                Some(HoldKind::Child) if is_held => self.resume_child(&row)?,
                Some(kind) if is_held && kind.ends_with_pause() => self.try_again(&row)?,
                _ => {}
            }
        }
        Ok(())
    }
}
