//! Old runs are thrown away, a few at a time, so that nobody waits for it.

use std::collections::HashSet;

use flow::engine::Batch;
use flow::{RunId, Thrown};

use super::desk::Desk;
use super::shelf::Shelf;
use crate::error::Result;

/// How many runs one transaction looks at: each can have many thousand rows.
const RUNS_MAX: usize = 10;

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
        let ended = self.shelf.ended(before_ms, &after, RUNS_MAX).await?;
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
        let last = ended.last().filter(|_| ended.len() >= RUNS_MAX);
        Ok(Thrown {
            count: from.count + old.len(),
            last: last.map(|row| (row.created_ms, row.id.clone())),
        })
    }
}
