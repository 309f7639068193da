//! Commands of people to a run: cancel it, pause it, resume it.

use crate::engine::DecisionStop;
use crate::engine::action::EngineAction;
use crate::engine::command::{CommandRefusal, RefusalKind};
use crate::engine::decision_context::DecisionContext;
use crate::engine::rows::{
    HoldKind, PauseCause, RowSource, TaskRow, TimerPurpose, TimerRow, WorkflowTaskKind,
};
use crate::engine::status::{RunStatus, StatusMove, TaskStatus};
use crate::id::{ItemPath, RunId};

impl<R: RowSource> DecisionContext<'_, R> {
    pub(crate) fn cancel(&mut self, reason: &str) -> Result<(), DecisionStop<R::Error>> {
        self.goes_on()?;
        self.end_run(RunStatus::Cancelled, Some(reason.to_owned()))
    }

    pub(crate) fn cancel_task(
        &mut self,
        row: &TaskRow,
        why: &str,
    ) -> Result<(), DecisionStop<R::Error>> {
        // Cancelling an enclosing task has cancelled this one already.
        let status = self.the_task(&row.id)?.status;
        let Some(by) = StatusMove::cancelling(status) else {
            return Ok(());
        };
        self.disarm_of(&row.id)?;
        if row.kind == WorkflowTaskKind::Subflow {
            let run = RunId::child_of(&row.id, row.fence);
            self.act(EngineAction::Arm(TimerRow {
                run,
                key: "cancel".to_owned(),
                at_ms: self.now_ms,
                due: TimerPurpose::Cancel {
                    reason: why.to_owned(),
                },
            }))?;
        }
        self.shift(&row.id, by, Some(why.to_owned()))
    }

    pub(crate) fn pause_by_person(&mut self, reason: &str) -> Result<(), DecisionStop<R::Error>> {
        self.goes_on()?;
        let run = self.the_run()?;
        if run.status == RunStatus::Running {
            return self.pause(PauseCause::Person, reason.to_owned());
        }
        // A person's pause replaces one that a task caused.
        self.act(EngineAction::SetRun {
            run: run.id.clone(),
            status: RunStatus::Paused,
            reason: Some(reason.to_owned()),
            pause: Some(PauseCause::Person),
        })
    }

    pub(crate) fn resume(&mut self) -> Result<(), DecisionStop<R::Error>> {
        let run = self.the_run()?;
        if run.status != RunStatus::Paused {
            let message = format!("The run `{}` is {}, not paused.", run.id, run.status.name());
            return Err(DecisionStop::Refused(CommandRefusal::new(
                RefusalKind::WrongStatus,
                message,
            )));
        }
        self.run_on()?;
        for row in self.active_within(&ItemPath::default())? {
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
