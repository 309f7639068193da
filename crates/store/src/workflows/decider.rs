//! Decides commands from cached rows alone, without I/O. A decision that needs more returns the
//! missing row or text as its error; the commit loop reads it and decides again.

use std::sync::Arc;

use agent::AgentClock;
use flow::engine::{
    CommandRefusal, DecisionStop, EngineCommand, EngineDecision, RefusalKind, RowCache, RowLookup,
    RowSource as _, SpentAmount, TaskStatus, decide, view,
};
use flow::{ClaimedTask, ExecuteResult, RunId, TaskId, TextHash, Workflow};

use super::workflow_cache::WorkflowCache;

/// A row or a workflow text that the cache lacks: the reason why a decision was interrupted.
pub(super) enum CacheMiss {
    Row(RowLookup),
    Text(TextHash),
}

/// Decides commands: the engine, the parsed workflows and the clock, without a connection.
pub(super) struct CommandDecider {
    pub(super) texts: WorkflowCache,
    pub(super) clock: Arc<dyn AgentClock>,
}

impl CommandDecider {
    pub(super) fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    /// Decides a command with the workflow version that its run is pinned to.
    pub(super) fn execute_pinned(
        &self,
        cache: &mut RowCache,
        command: &EngineCommand,
    ) -> Result<ExecuteResult, CacheMiss> {
        match self.pinned(cache, command.run())? {
            Some(workflow) => self.execute(cache, &workflow, command),
            None => Ok(Err(CommandRefusal {
                kind: RefusalKind::NoSuchRun,
                message: format!("There is no run {}.", command.run()),
            })),
        }
    }

    /// Returns the workflow that a run is pinned to; `None` if there is no such run.
    pub(super) fn pinned(
        &self,
        cache: &mut RowCache,
        run: &RunId,
    ) -> Result<Option<Arc<Workflow>>, CacheMiss> {
        let Some(row) = cache.run(run).map_err(CacheMiss::Row)? else {
            return Ok(None);
        };
        match self.texts.known(&row.workflow) {
            None => Err(CacheMiss::Text(row.workflow.clone())),
            workflow => Ok(workflow),
        }
    }

    /// Decides a command with a workflow, and adds the changes to the cache.
    pub(super) fn execute(
        &self,
        cache: &mut RowCache,
        workflow: &Workflow,
        command: &EngineCommand,
    ) -> Result<ExecuteResult, CacheMiss> {
        match decide(workflow, cache, command, self.now_ms()) {
            Ok(EngineDecision { actions, changes }) => {
                cache.commit(changes);
                Ok(Ok(actions))
            }
            Err(DecisionStop::Refused(refusal)) => Ok(Err(refusal)),
            Err(DecisionStop::Rows(lookup)) => Err(CacheMiss::Row(lookup)),
        }
    }

    /// Gathers what a worker needs to execute the task it has claimed.
    pub(super) fn claimed(
        &self,
        cache: &mut RowCache,
        task: &TaskId,
    ) -> Result<Option<ClaimedTask>, CacheMiss> {
        let Some(workflow) = self.pinned(cache, &task.run)? else {
            return Ok(None);
        };
        let Some(row) = cache.task(task).map_err(CacheMiss::Row)? else {
            return Ok(None);
        };
        if row.status != TaskStatus::InProgress {
            // A concurrency limit stopped the claim: the task waits for room, or was skipped.
            return Ok(None);
        }
        let run_spent = match cache.run(&task.run).map_err(CacheMiss::Row)? {
            Some(run) => run.spent,
            None => SpentAmount::default(),
        };
        let step = workflow.step_of(&row);
        let reads = step.as_ref().map_or(&[][..], |step| &step.reads);
        let state = match view(&workflow, cache, task, reads) {
            Ok(state) => Ok(state),
            Err(DecisionStop::Refused(refusal)) => Err(refusal),
            Err(DecisionStop::Rows(lookup)) => return Err(CacheMiss::Row(lookup)),
        };
        Ok(Some(ClaimedTask {
            task: Arc::unwrap_or_clone(row),
            workflow,
            state,
            run_spent,
        }))
    }
}
