//! Optimistic commit: decides a worker's turn from the row cache alone, and writes it only if the
//! cache is still right.
//!
//! PostgreSQL is a network away, and a transaction takes five round trips: begin, lock the runs,
//! read the ready tasks, read the rows, commit. When a worker continues its own runs, the cache
//! holds all of that except one fact: whether another process has changed those runs. The writing
//! statement can check that fact itself, so the turn takes one round trip.
//!
//! Example: the cache has run `r` at event 41. The worker reports `r/A` done and claims `r/B`.
//!
//! 1. [`CommitLoop::can_commit_optimistically`] says yes: the server is remote, the ready list was read less than
//!    `POLL_MS` ago, `r` is cached, and no other process wrote to it lately.
//! 2. [`CommitLoop::commit_optimistically`] decides both commands from the cache and gets events 42 to 44.
//! 3. [`WorkflowBackend::finish_if`] sends all rows in one statement that writes only where `r` still has 41
//!    as its last event.
//! 4. If another process has added an event 42 in the meantime, the statement writes nothing, the
//!    cache is dropped, and the same turn is decided again in an ordinary transaction.
//!
//! A row that the cache lacks ends the attempt in the middle: see [`CommitLoop::fall_back_to_transaction`].

use std::time::Duration;

use flow::engine::{RowCache, RowLookup, RunRow};
use flow::{ClaimRequest, RunId};
use tokio::time::Instant;

use super::backend::WorkflowBackend;
use super::commit_loop::{CommitLoop, ReadyLookup, WriteReply, WriteRequest, runs_of};
use super::prefetch::cache_runs;
use crate::error::{Error, Result};

/// Lets a worker continue its own runs for this long before it reads the ready list again.
const POLL_MS: u64 = 50;

/// A transaction that is being decided: its rows, and where it gets those that it lacks.
pub(super) struct PendingCommit {
    pub(super) cache: RowCache,
    /// Set outside of a transaction: each cached run with the number of its last event, which must
    /// still be the last when the rows are written.
    expected: Option<Vec<(RunId, u64)>>,
}

impl PendingCommit {
    /// Decides inside of a transaction, which reads rows and locks runs.
    pub(super) fn in_transaction(cache: RowCache) -> PendingCommit {
        PendingCommit {
            cache,
            expected: None,
        }
    }

    /// Decides from the cache alone.
    fn optimistic(cache: RowCache) -> PendingCommit {
        PendingCommit {
            expected: Some(cache.runs()),
            cache,
        }
    }

    /// Tells whether the decision relies on the cache alone, outside of a transaction.
    pub(super) fn is_optimistic(&self) -> bool {
        self.expected.is_some()
    }
}

/// The reason why a transaction cannot be decided.
pub(super) enum DecisionFailure {
    Failed(Error),
    /// The cache was stale. Another process has added events to some of these runs, and the
    /// transaction that found out holds their rows now.
    Stale(Vec<RunRow>),
}

/// The result of a step of deciding.
pub(super) type Decided<T> = std::result::Result<T, DecisionFailure>;

impl From<Error> for DecisionFailure {
    fn from(error: Error) -> DecisionFailure {
        DecisionFailure::Failed(error)
    }
}

/// The last time the ready list was read.
#[derive(Clone, Copy)]
pub(super) struct LastPoll {
    at: Instant,
    was_empty: bool,
}

impl LastPoll {
    pub(super) fn now(was_empty: bool) -> LastPoll {
        LastPoll {
            at: Instant::now(),
            was_empty,
        }
    }

    pub(super) fn had_some(self) -> bool {
        !self.was_empty
    }

    /// Tells whether the ready list need not be read again: the list was empty a moment ago, or the
    /// worker wants no more tasks than it has just finished.
    fn covers(self, claim: &ClaimRequest, done: usize) -> bool {
        is_recent(self.at) && (self.was_empty || claim.max <= done)
    }
}

impl<S: WorkflowBackend> CommitLoop<S> {
    /// Tells whether a turn can continue its own runs without reading the ready list.
    pub(super) fn skips_ready_poll(&self, requests: &[WriteRequest]) -> bool {
        let [WriteRequest::Turn(reports, claim)] = requests else {
            return false;
        };
        let covers = |last_poll: LastPoll| last_poll.covers(claim, reports.len());
        !reports.is_empty() && self.last_poll.is_some_and(covers)
    }

    /// Tells whether a turn can be committed optimistically: the database is remote, the turn skips
    /// the ready list, every run it names is cached, and no other process writes to them.
    pub(super) fn can_commit_optimistically(
        &self,
        cache: &RowCache,
        requests: &[WriteRequest],
    ) -> bool {
        let is_cached = |run: &RunId| cache.knows(&RowLookup::Run(run.clone()));
        S::IS_FAR
            && !self.overtaken.is_some_and(is_recent)
            && self.skips_ready_poll(requests)
            && requests.iter().flat_map(runs_of).all(is_cached)
    }

    /// Decides the turn from the cache and writes it if the cache is right. Returns `None` if
    /// another process was faster: then nothing is written.
    pub(super) async fn commit_optimistically(
        &mut self,
        cache: RowCache,
        requests: &[WriteRequest],
    ) -> Result<Option<(RowCache, Vec<WriteReply>)>> {
        let mut pending = PendingCommit::optimistic(cache);
        let decided = self
            .decide_all(&mut pending, requests, ReadyLookup::Skipped)
            .await;
        let replies = match decided {
            Ok(replies) => match pending.expected.take() {
                Some(expected) => {
                    return self
                        .write_if_unchanged(pending.cache, &expected, replies)
                        .await;
                }
                // It has fallen back to a transaction, and the cache was right.
                None => replies,
            },
            Err(DecisionFailure::Stale(runs)) => {
                pending = PendingCommit::in_transaction(RowCache::new());
                cache_runs(&mut pending.cache, runs);
                self.decide_in_transaction(&mut pending, requests, ReadyLookup::Skipped)
                    .await?
            }
            Err(DecisionFailure::Failed(error)) => return Err(error),
        };
        let cache = self.finish(pending.cache).await?;
        Ok(Some((cache, replies)))
    }

    /// Writes the decided rows under the condition that the runs are unchanged. Only the runs that
    /// the decision changes are compared; a changed run that was not cached rules the attempt out.
    async fn write_if_unchanged(
        &mut self,
        mut cache: RowCache,
        expected: &[(RunId, u64)],
        replies: Vec<WriteReply>,
    ) -> Result<Option<(RowCache, Vec<WriteReply>)>> {
        let changes = cache.flush();
        let is_changed = |(run, _): &&(RunId, u64)| changes.runs.iter().any(|row| row.id == *run);
        let expected: Vec<(RunId, u64)> = expected.iter().filter(is_changed).cloned().collect();
        if expected.len() != changes.runs.len() {
            return Ok(None);
        }
        let outcome = self.backend.finish_if(&changes, &expected).await?;
        Ok(outcome.map(|outcome| (self.remember(cache, outcome, changes.events), replies)))
    }

    /// Falls back to a transaction, because a row is needed that the cache lacks.
    ///
    /// The transaction locks the runs and compares their last events with the cache. If nothing is
    /// decided yet, the fresh runs show which cached rows are still valid, as in any transaction. If
    /// something is decided, it stays valid only where every run is as it was; otherwise
    /// [`DecisionFailure::Stale`] returns the fresh runs and the turn starts over.
    pub(super) async fn fall_back_to_transaction(
        &mut self,
        pending: &mut PendingCommit,
    ) -> Decided<()> {
        let Some(expected) = pending.expected.take() else {
            return Ok(());
        };
        self.backend.begin(None, self.decider.now_ms()).await?;
        let runs: Vec<RunId> = expected.iter().map(|(run, _)| run.clone()).collect();
        let found = self.backend.find_runs(&runs).await?;
        if !pending.cache.has_news() {
            pending.cache.doubt();
            cache_runs(&mut pending.cache, found);
            return Ok(());
        }
        let is_unchanged = |(run, seq): &(RunId, u64)| {
            let mut found = found.iter();
            found.any(|row| row.id == *run && row.seq == *seq)
        };
        match expected.iter().all(is_unchanged) {
            true => Ok(()),
            false => Err(DecisionFailure::Stale(found)),
        }
    }
}

fn is_recent(at: Instant) -> bool {
    at.elapsed() < Duration::from_millis(POLL_MS)
}
