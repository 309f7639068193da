//! Moves a paused run to another text: compares the two first, then moves.

use flow::engine::{EngineCommand, RunRow};
use flow::{MovePlan, TaskSelection};

use super::UseCases;
use super::access::Permission;
use super::runs::{keep_named, refused};
use crate::workflows::LoadedWorkflow;
use crate::{AppErrorCode, Error, trust};

/// Number of tasks of a run that are compared with a new text.
const TASKS_MAX: usize = 100_000;

impl UseCases {
    /// Compares a run with another text: lists the differences, and those that do not fit.
    ///
    /// # Errors
    ///
    /// When the text is no workflow, or the run has more tasks than can be compared.
    pub async fn plan_move(&self, run: &RunRow, sheet: &LoadedWorkflow) -> Result<MovePlan, Error> {
        self.permit(Permission::Look)?;
        let Some(new) = sheet.workflow.as_ref().filter(|_| sheet.is_fine()) else {
            let message = format!("the workflow {} cannot be run as it is", sheet.shown);
            let hint = format!("`drawloom workflow check {}` says why", sheet.shown);
            return Err(Error::new(AppErrorCode::Data, message).hint(hint));
        };
        let old = self.workflow(run).await?;
        let store = &self.state().store;
        let tasks = store
            .tasks(Some(&run.id), TaskSelection::All, TASKS_MAX)
            .await?;
        if tasks.len() >= TASKS_MAX {
            let message = format!(
                "the run `{}` has TASKS_MAX = {TASKS_MAX} tasks or more",
                run.id
            );
            return Err(
                Error::new(AppErrorCode::Limit, message).hint("start a new run of the new text")
            );
        }
        Ok(flow::plan_move(&old, new, &tasks))
    }

    /// Pins a paused run to another text. `run` is the run as it was compared: if it has changed since,
    /// the move is refused.
    ///
    /// # Errors
    ///
    /// When the finished tasks of the run do not fit the text.
    pub async fn move_run(&self, run: &RunRow, sheet: &LoadedWorkflow) -> Result<MovePlan, Error> {
        self.permit(Permission::ControlRuns)?;
        trust::require_workflow(self.project(), sheet)?;
        let plan = self.plan_move(run, sheet).await?;
        if !plan.misfits.is_empty() {
            let message = format!(
                "the run `{}` cannot go on with {}: {}",
                run.id,
                sheet.shown,
                plan.misfits.join(" ")
            );
            let hint = "keep the steps that the run has come to, or start a new run";
            return Err(Error::new(AppErrorCode::Conflict, message).hint(hint));
        }
        let state = self.state();
        let to = keep_named(&*state.store, &*state.queries, sheet).await?;
        let command = EngineCommand::Move {
            run: run.id.clone(),
            to,
            seq: run.seq,
        };
        refused(state.store.execute(command).await?)?;
        Ok(plan)
    }
}
