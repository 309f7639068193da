//! Retention: deletes old runs, a few per transaction, so that other requests do not wait long.

use std::collections::HashSet;
use std::slice;

use flow::engine::{RowCache, RunRow, TaskRow, WorkflowTaskKind};
use flow::{PruneProgress, RunDeletion, RunId, TaskSelection};

use super::backend::WorkflowBackend;
use super::event_buffer::EventBuffer;
use crate::error::Result;

/// Limits the runs that one transaction examines.
const RUNS_MAX: usize = 200;

/// Limits the events of the runs that one transaction deletes, unless a single run has more,
/// because all other writers wait for that transaction.
const EVENTS_MAX: u64 = 5_000;

/// Limits the tasks of a run that are searched for runs it has started.
const TASKS_MAX: usize = 1_000_000;

/// Deletes runs out of the database and out of every cache, inside the open transaction.
pub(super) struct RunDeleter<'a, S> {
    pub(super) backend: &'a mut S,
    pub(super) cache: &'a mut RowCache,
    pub(super) event_buffer: &'a EventBuffer,
}

impl<S: WorkflowBackend> RunDeleter<'_, S> {
    /// Deletes runs that ended before a time, as many as one transaction may. A run that another
    /// run has started stays as long as that one.
    pub(super) async fn prune(
        &mut self,
        before_ms: u64,
        from: PruneProgress,
    ) -> Result<PruneProgress> {
        self.write_pending().await?;
        let after = from.last.unwrap_or_else(|| (0, RunId::new("")));
        let mut ended = self.backend.ended(before_ms, &after, RUNS_MAX).await?;
        let found = ended.len();
        ended.truncate(portion(&ended));
        let is_last = found < RUNS_MAX && ended.len() == found;
        let parents = self.parents_of(&ended).await?;
        let is_needed = |run: &RunId| parents.contains(run);
        let old = ended.iter().filter(|row| {
            let parent = row.parent.as_ref();
            !parent.is_some_and(|task| is_needed(&task.run))
        });
        let old: Vec<RunId> = old.map(|row| row.id.clone()).collect();
        self.delete_rows(&old).await?;
        let last = ended.last().filter(|_| !is_last);
        Ok(PruneProgress {
            count: from.count + old.len(),
            last: last.map(|row| (row.created_ms, row.id.clone())),
        })
    }

    /// Returns the runs that started these and still exist.
    async fn parents_of(&mut self, rows: &[RunRow]) -> Result<HashSet<RunId>> {
        let parents = rows.iter().filter_map(|row| row.parent.as_ref());
        let parents: HashSet<RunId> = parents.map(|task| task.run.clone()).collect();
        let parents = Vec::from_iter(parents);
        let found = self.backend.find_runs(&parents).await?;
        Ok(found.into_iter().map(|row| row.id).collect())
    }

    /// Deletes the given runs, each with the runs it started, unless one has not ended.
    pub(super) async fn delete(&mut self, runs: &[RunId]) -> Result<Vec<RunDeletion>> {
        self.write_pending().await?;
        let mut deletions = Vec::with_capacity(runs.len());
        for run in runs {
            deletions.push(self.delete_one(run).await?);
        }
        Ok(deletions)
    }

    async fn delete_one(&mut self, run: &RunId) -> Result<RunDeletion> {
        let Some(row) = self.backend.find_runs(slice::from_ref(run)).await?.pop() else {
            return Ok(RunDeletion::NoSuchRun);
        };
        let parents = self.parents_of(slice::from_ref(&row)).await?;
        if let Some(parent) = row.parent.as_ref().filter(|_| !parents.is_empty()) {
            return Ok(RunDeletion::Needed(parent.clone()));
        }
        let mut family = Vec::new();
        let mut open = vec![row];
        while let Some(row) = open.pop() {
            if !row.status.is_terminal() {
                return Ok(RunDeletion::NotEnded(row.id));
            }
            let tasks = self
                .backend
                .tasks(Some(&row.id), TaskSelection::All, TASKS_MAX);
            let children: Vec<RunId> = tasks.await?.iter().flat_map(children_of).collect();
            if !children.is_empty() {
                open.extend(self.backend.find_runs(&children).await?);
            }
            family.push(row.id);
        }
        self.delete_rows(&family).await?;
        Ok(RunDeletion::Done)
    }

    /// Writes the changes of earlier requests, because one of them may have resumed a run.
    async fn write_pending(&mut self) -> Result<()> {
        self.backend.write(&self.cache.flush()).await
    }

    async fn delete_rows(&mut self, runs: &[RunId]) -> Result<()> {
        self.backend.delete_runs(runs).await?;
        runs.iter().for_each(|run| self.cache.forget(run));
        self.event_buffer.forget(runs);
        Ok(())
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
