//! Old runs are thrown away, a few at a time, so that nobody waits for it.

use std::collections::HashSet;
use std::slice;

use flow::engine::{Batch, RunRow, TaskKind, TaskRow};
use flow::{Deletion, RunId, Thrown, Which};

use super::desk::Desk;
use super::shelf::Shelf;
use crate::error::Result;

/// How many runs one transaction looks at.
const RUNS_MAX: usize = 200;

/// How many events the runs may have that one transaction throws away, unless one run has more: everybody
/// else waits as long.
const EVENTS_MAX: u64 = 5_000;

/// How many tasks of a run are looked through for runs that it has started.
const TASKS_MAX: usize = 1_000_000;

impl<S: Shelf> Desk<S> {
    pub(super) async fn throw_away(
        &mut self,
        batch: &mut Batch,
        age_ms: u64,
        from: Thrown,
    ) -> Result<Thrown> {
        // An order before this one may have made a run go on.
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
        Ok(Thrown {
            count: from.count + old.len(),
            last: last.map(|row| (row.created_ms, row.id.clone())),
        })
    }

    pub(super) async fn delete(
        &mut self,
        batch: &mut Batch,
        runs: &[RunId],
    ) -> Result<Vec<Deletion>> {
        // An order before this one may have made a run go on.
        self.shelf.write(&batch.flush()).await?;
        let mut deletions = Vec::with_capacity(runs.len());
        for run in runs {
            deletions.push(self.delete_one(batch, run).await?);
        }
        Ok(deletions)
    }

    async fn delete_one(&mut self, batch: &mut Batch, run: &RunId) -> Result<Deletion> {
        let Some(row) = self.shelf.find_runs(slice::from_ref(run)).await?.pop() else {
            return Ok(Deletion::NoSuchRun);
        };
        if let Some(parent) = &row.parent
            && !self
                .shelf
                .find_runs(slice::from_ref(&parent.run))
                .await?
                .is_empty()
        {
            return Ok(Deletion::Needed(parent.clone()));
        }
        let mut family = Vec::new();
        let mut open = vec![row];
        while let Some(row) = open.pop() {
            if !row.status.is_terminal() {
                return Ok(Deletion::NotEnded(row.id));
            }
            let tasks = self.shelf.tasks(Some(&row.id), Which::All, TASKS_MAX);
            let children: Vec<RunId> = tasks.await?.iter().flat_map(children_of).collect();
            if !children.is_empty() {
                open.extend(self.shelf.find_runs(&children).await?);
            }
            family.push(row.id);
        }
        self.shelf.throw_away(&family).await?;
        family.iter().for_each(|run| batch.forget(run));
        self.recent.forget(&family);
        Ok(Deletion::Done)
    }
}

/// The runs that a task may have started, one for each time it was tried.
fn children_of(task: &TaskRow) -> Vec<RunId> {
    match task.kind {
        TaskKind::Subflow => {
            let fences = 0..=task.fence;
            fences
                .map(|fence| RunId::child_of(&task.id, fence))
                .collect()
        }
        _ => Vec::new(),
    }
}

/// How many of the runs go in one transaction.
fn portion(runs: &[RunRow]) -> usize {
    let mut events = 0_u64;
    let fits = |row: &&RunRow| {
        let before = events;
        events = events.saturating_add(row.seq);
        before == 0 || events <= EVENTS_MAX
    };
    runs.iter().take_while(fits).count()
}
