//! Decisions by what is known, and nothing else: what they lack is for others to find.

use std::sync::Arc;

use agent::Clock;
use flow::engine::{
    Batch, Command, Decision, Lookup, Refusal, RefusalKind, Rows as _, Spent, Stop, decide, view,
};
use flow::{Claimed, Executed, RunId, TaskId, TextHash, Workflow};

use super::texts::Texts;

/// What a decision lacks.
pub(super) enum Lack {
    Row(Lookup),
    Text(TextHash),
}

pub(super) struct Mind {
    pub(super) texts: Texts,
    pub(super) clock: Arc<dyn Clock>,
}

impl Mind {
    pub(super) fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    /// Decides with the workflow that the command's run is pinned to.
    pub(super) fn execute_pinned(
        &self,
        batch: &mut Batch,
        command: &Command,
    ) -> Result<Executed, Lack> {
        match self.pinned(batch, command.run())? {
            Some(workflow) => self.execute(batch, &workflow, command),
            None => Ok(Err(Refusal {
                kind: RefusalKind::NoSuchRun,
                message: format!("There is no run {}.", command.run()),
            })),
        }
    }

    pub(super) fn pinned(
        &self,
        batch: &mut Batch,
        run: &RunId,
    ) -> Result<Option<Arc<Workflow>>, Lack> {
        let Some(row) = batch.run(run).map_err(Lack::Row)? else {
            return Ok(None);
        };
        match self.texts.known(&row.workflow) {
            None => Err(Lack::Text(row.workflow.clone())),
            workflow => Ok(workflow),
        }
    }

    pub(super) fn execute(
        &self,
        batch: &mut Batch,
        workflow: &Workflow,
        command: &Command,
    ) -> Result<Executed, Lack> {
        match decide(workflow, batch, command, self.now_ms()) {
            Ok(Decision { actions, changes }) => {
                batch.commit(changes);
                Ok(Ok(actions))
            }
            Err(Stop::Refused(refusal)) => Ok(Err(refusal)),
            Err(Stop::Rows(lookup)) => Err(Lack::Row(lookup)),
        }
    }

    /// What the worker gets that has claimed a task.
    pub(super) fn claimed(
        &self,
        batch: &mut Batch,
        task: &TaskId,
    ) -> Result<Option<Claimed>, Lack> {
        let Some(workflow) = self.pinned(batch, &task.run)? else {
            return Ok(None);
        };
        let Some(row) = batch.task(task).map_err(Lack::Row)? else {
            return Ok(None);
        };
        let run_spent = match batch.run(&task.run).map_err(Lack::Row)? {
            Some(run) => run.spent,
            None => Spent::default(),
        };
        let step = workflow.step(&task.step);
        let reads = step.map_or(&[][..], |step| &step.reads);
        let state = match view(&workflow, batch, task, reads) {
            Ok(state) => Ok(state),
            Err(Stop::Refused(refusal)) => Err(refusal),
            Err(Stop::Rows(lookup)) => return Err(Lack::Row(lookup)),
        };
        Ok(Some(Claimed {
            task: Arc::unwrap_or_clone(row),
            workflow,
            state,
            run_spent,
        }))
    }
}
