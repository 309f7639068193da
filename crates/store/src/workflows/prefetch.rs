//! Prefetch: reads the rows that a batch of commands will need in a few bulk queries, before the
//! engine asks for them one by one.
//!
//! The engine never waits. A decision that needs a row which the cache lacks stops with the lookup
//! it needs; the loop reads that row and decides again from the start. That is correct but slow: a
//! report inside a foreach needs about six rows, so 100 reports would be 600 queries.
//!
//! Example: 100 workers report items of the foreach `r/E`. [`CommitLoop::prefetch`] asks [`likely`] for
//! the first rows of all 100 commands: their tasks, their items, the one group `r/E`, the visits of
//! the next steps. Those are one query. The group says that items 200 and up begin next, so
//! [`RowCache::ahead`] names those, and a second query reads them. Then all 100 decisions run from
//! memory. A row that the prefetch did not expect still costs its own query; a row it fetched in
//! vain costs only a little memory.

use std::collections::{BTreeMap, BTreeSet};

use flow::engine::{
    EngineCommand, LookupResult, RowCache, RowLookup, RowSource as _, RunRow, endings, likely,
};
use flow::{RunId, TaskId};

use super::backend::{BulkQuery, WorkflowBackend};
use super::commit_loop::CommitLoop;
use super::decider::{CacheMiss, CommandDecider};
use super::optimistic::{Decided, PendingCommit};
use crate::error::{DatabaseErrorKind, Error};

impl<S: WorkflowBackend> CommitLoop<S> {
    /// Decides from the cache, reading each row or text that is missing, until the decision
    /// succeeds.
    pub(super) async fn decide<T>(
        &mut self,
        pending: &mut PendingCommit,
        mut decide: impl FnMut(&CommandDecider, &mut RowCache) -> std::result::Result<T, CacheMiss>
        + Send,
    ) -> Decided<T> {
        loop {
            match decide(&self.decider, &mut pending.cache) {
                Ok(decided) => return Ok(decided),
                Err(miss) => self.resolve_miss(pending, miss).await?,
            }
        }
    }

    /// Reads the row or text that interrupted a decision.
    async fn resolve_miss(&mut self, pending: &mut PendingCommit, miss: CacheMiss) -> Decided<()> {
        match miss {
            CacheMiss::Row(lookup) => self.read_row(pending, lookup).await,
            CacheMiss::Text(hash) => {
                match self.decider.texts.get(&mut self.backend, &hash).await? {
                    Some(_) => Ok(()),
                    None => {
                        let message = format!("the workflow {hash} of a run is not there.");
                        Err(Error::new(DatabaseErrorKind::Corrupt, message).into())
                    }
                }
            }
        }
    }

    /// Reads one row. Outside of a transaction, this first falls back to one.
    async fn read_row(&mut self, pending: &mut PendingCommit, lookup: RowLookup) -> Decided<()> {
        self.fall_back_to_transaction(pending).await?;
        let found = self.backend.find(&lookup).await?;
        pending.cache.learn(lookup, found);
        Ok(())
    }

    /// Reads and locks the runs that the cache lacks. An optimistic commit locks nothing; the
    /// writing statement checks its runs.
    pub(super) async fn read_runs(
        &mut self,
        pending: &mut PendingCommit,
        runs: BTreeSet<RunId>,
    ) -> Decided<()> {
        let unknown = runs
            .into_iter()
            .filter(|run| pending.cache.run(run).is_err());
        let unknown: Vec<RunId> = unknown.collect();
        if unknown.is_empty() || pending.is_optimistic() {
            return Ok(());
        }
        cache_runs(&mut pending.cache, self.backend.find_runs(&unknown).await?);
        for run in unknown {
            pending
                .cache
                .learn(RowLookup::Run(run), LookupResult::Run(None));
        }
        Ok(())
    }

    /// Reads the rows that these commands will need, in a few queries instead of many.
    pub(super) async fn prefetch(
        &mut self,
        pending: &mut PendingCommit,
        commands: &[&EngineCommand],
    ) -> Decided<()> {
        let was_optimistic = pending.is_optimistic();
        self.prefetch_once(pending, commands).await?;
        match was_optimistic && !pending.is_optimistic() {
            // The fallback may have found stale rows and dropped them: their replacements are
            // needed too.
            true => self.prefetch_once(pending, commands).await,
            false => Ok(()),
        }
    }

    /// Prefetches in two queries: the rows that the commands name, then the items that those rows
    /// show to come next.
    async fn prefetch_once(
        &mut self,
        pending: &mut PendingCommit,
        commands: &[&EngineCommand],
    ) -> Decided<()> {
        let mut by_run: BTreeMap<&RunId, Vec<&EngineCommand>> = BTreeMap::new();
        for command in commands {
            by_run.entry(command.run()).or_default().push(command);
        }
        let mut first = BTreeSet::new();
        let mut pinned = Vec::with_capacity(by_run.len());
        for (run, commands) in by_run {
            if let Some(workflow) = self
                .decide(pending, |decider, cache| decider.pinned(cache, run))
                .await?
            {
                first.extend(
                    commands
                        .iter()
                        .flat_map(|command| likely(&workflow, command)),
                );
                pinned.push((workflow, commands));
            }
        }
        self.prefetch_rows(pending, &first, &endings(commands))
            .await?;
        let second = pinned
            .iter()
            .flat_map(|(workflow, commands)| pending.cache.ahead(workflow, commands))
            .collect();
        self.prefetch_rows(pending, &second, &BTreeMap::new()).await
    }

    /// Reads the unknown ones of these lookups in one query, with the next items of each unknown
    /// foreach, as many as `next_items` says. A single unknown lookup is left to the decision that
    /// needs it: one query either way.
    async fn prefetch_rows(
        &mut self,
        pending: &mut PendingCommit,
        lookups: &BTreeSet<RowLookup>,
        next_items: &BTreeMap<TaskId, u32>,
    ) -> Decided<()> {
        let unknown = lookups.iter().filter(|lookup| !pending.cache.knows(lookup));
        let unknown: Vec<&RowLookup> = unknown.collect();
        let has_items = |lookup: &&RowLookup| match lookup {
            RowLookup::Group(group) => next_items.contains_key(group),
            _ => false,
        };
        if unknown.len() < 2 && !unknown.iter().any(has_items) {
            return Ok(());
        }
        if pending.is_optimistic() {
            // The cache may be stale, and then more than this is unknown: read after the fallback
            // has checked it.
            return self.fall_back_to_transaction(pending).await;
        }
        let mut wanted = BulkQuery::default();
        for lookup in unknown {
            match lookup.clone() {
                RowLookup::Task(task) => wanted.tasks.push(task),
                RowLookup::Group(group) => {
                    if let Some(count) = next_items.get(&group) {
                        wanted.next_items.push((group.clone(), *count));
                    }
                    wanted.groups.push(group);
                }
                RowLookup::Item(group, index) => wanted.items.push((group, index)),
                RowLookup::Visits(place) => wanted.places.push(place),
                _ => {}
            }
        }
        let seen = self.backend.find_all(&wanted).await?;
        for row in seen.tasks {
            pending.cache.learn(
                RowLookup::Task(row.id.clone()),
                LookupResult::Task(Some(row)),
            );
        }
        for row in seen.groups {
            pending.cache.learn(
                RowLookup::Group(row.id.clone()),
                LookupResult::Group(Some(row)),
            );
        }
        for row in seen.items {
            let lookup = RowLookup::Item(row.group.clone(), row.index);
            pending.cache.learn(lookup, LookupResult::Item(Some(row)));
        }
        for (place, visits) in wanted.places.into_iter().zip(seen.visits) {
            pending
                .cache
                .learn(RowLookup::Visits(place), LookupResult::Visits(visits));
        }
        // Rows that the query did not return do not exist, and the cache notes that.
        for task in wanted.tasks {
            pending
                .cache
                .learn(RowLookup::Task(task), LookupResult::Task(None));
        }
        for group in wanted.groups {
            pending
                .cache
                .learn(RowLookup::Group(group), LookupResult::Group(None));
        }
        for (group, index) in wanted.items {
            pending
                .cache
                .learn(RowLookup::Item(group, index), LookupResult::Item(None));
        }
        Ok(())
    }
}

/// Adds runs to the cache.
pub(super) fn cache_runs(cache: &mut RowCache, found: Vec<RunRow>) {
    for row in found {
        cache.learn(RowLookup::Run(row.id.clone()), LookupResult::Run(Some(row)));
    }
}
