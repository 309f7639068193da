//! Moves a paused run to another text.

use crate::engine::DecisionStop;
use crate::engine::action::{EngineAction, EventKind};
use crate::engine::command::{CommandRefusal, RefusalKind};
use crate::engine::decision_context::{DecisionContext, DecisionResult};
use crate::engine::rows::RowSource;
use crate::engine::status::RunStatus;
use crate::id::ItemPath;
use crate::moving;

impl<R: RowSource> DecisionContext<'_, R> {
    /// Pins the run to the text that this is decided with, if its active tasks fit that text. The
    /// caller has checked the ended tasks, and has seen the run at `seq`.
    pub(crate) fn relocate(&mut self, seq: u64) -> DecisionResult<R> {
        let run = self.the_run()?;
        let refuse =
            |kind, message: String| Err(DecisionStop::Refused(CommandRefusal::new(kind, message)));
        if run.status != RunStatus::Paused {
            let message = format!(
                "The run `{}` is {}: only a paused run can be moved to another text.",
                run.id,
                run.status.name()
            );
            return refuse(RefusalKind::WrongStatus, message);
        }
        if run.seq != seq {
            let message = format!("The run `{}` has gone on meanwhile: look again.", run.id);
            return refuse(RefusalKind::NotReady, message);
        }
        let to = self.workflow.hash().clone();
        if run.workflow == to {
            let message = format!("The run `{}` has this text already.", run.id);
            return refuse(RefusalKind::WrongStatus, message);
        }
        for row in self.active_within(&ItemPath::default())? {
            if let Some(misfit) = moving::misfit(self.workflow, &row) {
                return refuse(RefusalKind::Misfit, misfit);
            }
        }
        self.act(EngineAction::SetWorkflow {
            run: run.id.clone(),
            workflow: to.clone(),
        })?;
        self.tell(EventKind::RunMoved {
            from: run.workflow.to_string(),
            to: to.to_string(),
        })
    }
}
