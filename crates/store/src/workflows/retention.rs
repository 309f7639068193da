//! Retention: deletes old runs, a few per transaction, so that other requests do not wait long.

use std::collections::HashSet;
use std::slice;

use flow::engine::{RowCache, RunRow, TaskRow, WorkflowTaskKind};
use flow::{PruneProgress, RunDeletion, RunId, TaskSelection};

use super::backend::WorkflowBackend;
use super::commit_loop::CommitLoop;
use crate::error::Result;

/// Limits the runs that one transaction examines.
const RUNS_MAX: usize = 200;

/// Limits the events of the runs that one transaction deletes, unless a single run has more,
/// because all other writers wait for that transaction.
const EVENTS_MAX: u64 = 5_000;

/// Limits the tasks of a run that are searched for runs it has started.
const TASKS_MAX: usize = 1_000_000;

impl<S: WorkflowBackend> CommitLoop<S> {
    pub(super) async fn throw_away(
        &mut self,
        batch: &mut RowCache,
        age_ms: u64,
        from: PruneProgress,
    ) -> Result<PruneProgress> {
        // An earlier request of this transaction may have resumed a run: write it before reading.
        self.shelf.write(&batch.flush()).await?;
        let before_ms = self.mind.now_ms().saturating_sub(age_ms);
        let after = from.last.unwrap_or_else(|| (0, RunId::new("")));
        let mut ended = self.shelf.ended(before_ms, &after, RUNS_MAX).await?;
        let found = ended.len();
        ended.truncate(portion(&ended));
        let is_last = found < RUNS_MAX && ended.len() == found;
        let parents = ended.iter().filter_map(|row| row.parent.as_ref());
        let parents: HashSet<RunId> = parents.map(|task| task.run.clone()).collect();
        let parents: Vec<RunId> = parents.into_iter().collect();
        let parents = self.shelf.find_runs(&parents).await?;
        let is_needed = |run: &RunId| parents.iter().any(|parent| parent.id == *run);
        let old = ended.iter().filter(|row| {
            let parent = row.parent.as_ref();
            !parent.is_some_and(|task| is_needed(&task.run))
        });
        let old: Vec<RunId> = old.map(|row| row.id.clone()).collect();
        self.shelf.throw_away(&old).await?;
        old.iter().for_each(|run| batch.forget(run));
        self.recent.forget(&old);
        let last = ended.last().filter(|_| !is_last);
        Ok(PruneProgress {
            count: from.count + old.len(),
            last: last.map(|row| (row.created_ms, row.id.clone())),
        })
    }

    pub(super) async fn delete(
        &mut self,
        batch: &mut RowCache,
        runs: &[RunId],
    ) -> Result<Vec<RunDeletion>> {
        // An earlier request of this transaction may have resumed a run: write it before reading.
        self.shelf.write(&batch.flush()).await?;
        let mut deletions = Vec::with_capacity(runs.len());
        for run in runs {
            deletions.push(self.delete_one(batch, run).await?);
        }
        Ok(deletions)
    }

    async fn delete_one(&mut self, batch: &mut RowCache, run: &RunId) -> Result<RunDeletion> {
        let Some(row) = self.shelf.find_runs(slice::from_ref(run)).await?.pop() else {
            return Ok(RunDeletion::NoSuchRun);
        };
        if let Some(parent) = &row.parent
            && !self
                .shelf
                .find_runs(slice::from_ref(&parent.run))
                .await?
                .is_empty()
        {
            return Ok(RunDeletion::Needed(parent.clone()));
        }
        let mut family = Vec::new();
        let mut open = vec![row];
        while let Some(row) = open.pop() {
            if !row.status.is_terminal() {
                return Ok(RunDeletion::NotEnded(row.id));
            }
            let tasks = self
                .shelf
                .tasks(Some(&row.id), TaskSelection::All, TASKS_MAX);
            let children: Vec<RunId> = tasks.await?.iter().flat_map(children_of).collect();
            if !children.is_empty() {
                open.extend(self.shelf.find_runs(&children).await?);
            }
            family.push(row.id);
        }
        self.shelf.throw_away(&family).await?;
        family.iter().for_each(|run| batch.forget(run));
        self.recent.forget(&family);
        Ok(RunDeletion::Done)
    }
}

/// Returns the runs that a task may have started, one per attempt.
fn children_of(task: &TaskRow) -> Vec<RunId> {
    match task.kind {
        WorkflowTaskKind::Subflow => {
            let fences = 0..=task.fence;
            fences
                .map(|fence| RunId::child_of(&task.id, fence))
                .collect()
        }
        _ => Vec::new(),
    }
}

/// Returns how many of the runs one transaction deletes.
fn portion(runs: &[RunRow]) -> usize {
    let mut events = 0_u64;
    let fits = |row: &&RunRow| {
        let before = events;
        events = events.saturating_add(row.seq);
        before == 0 || events <= EVENTS_MAX
    };
    runs.iter().take_while(fits).count()
}
