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
//! 1. [`CommitLoop::may_guess`] says yes: the server is remote, the ready list was read less than
//!    `LOOK_MS` ago, `r` is cached, and no other process wrote to it lately.
//! 2. [`CommitLoop::guess`] decides both commands from the cache and gets events 42 to 44.
//! 3. [`WorkflowBackend::finish_if`] sends all rows in one statement that writes only where `r` still has 41
//!    as its last event.
//! 4. If another process has added an event 42 in the meantime, the statement writes nothing, the
//!    cache is dropped, and the same turn is decided again in an ordinary transaction.
//!
//! A row that the cache lacks ends the attempt in the middle: see [`CommitLoop::stop_guessing`].

use std::time::Duration;

use flow::engine::{RowCache, RowLookup, RunRow};
use flow::{ClaimRequest, RunId};
use tokio::time::Instant;

use super::backend::WorkflowBackend;
use super::commit_loop::{CommitLoop, ReadyLookup, WriteReply, WriteRequest, runs_of};
use super::prefetch::learn_found;
use crate::error::{DatabaseErrorKind, Error, Result};

/// Lets a worker continue its own runs for this long before it reads the ready list again.
const LOOK_MS: u64 = 50;

/// The state of an optimistic commit.
#[derive(Default)]
pub(super) enum OptimisticCommit {
    #[default]
    Off,
    /// Deciding from the cache; each run with the number of its last event in the cache.
    On(Vec<(RunId, u64)>),
    /// Another process has added events to some of these runs. The transaction that found out holds
    /// their rows now.
    Wrong(Vec<RunRow>),
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
    fn is_enough(self, claim: &ClaimRequest, done: usize) -> bool {
        is_recent(self.at) && (self.was_empty || claim.max <= done)
    }
}

impl<S: WorkflowBackend> CommitLoop<S> {
    /// Tells whether a turn can continue its own runs without reading the ready list.
    pub(super) fn has_looked(&self, orders: &[WriteRequest]) -> bool {
        let [WriteRequest::Turn(reports, claim)] = orders else {
            return false;
        };
        let is_enough = |looked: LastPoll| looked.is_enough(claim, reports.len());
        !reports.is_empty() && self.looked.is_some_and(is_enough)
    }

    /// Tells whether a turn can be committed optimistically: the database is remote, the turn skips
    /// the ready list, every run it names is cached, and no other process writes to them.
    pub(super) fn may_guess(&self, batch: &RowCache, orders: &[WriteRequest]) -> bool {
        let is_known = |run: &RunId| batch.knows(&RowLookup::Run(run.clone()));
        S::IS_FAR
            && !self.overtaken.is_some_and(is_recent)
            && self.has_looked(orders)
            && orders.iter().flat_map(runs_of).all(is_known)
    }

    /// Decides the turn from the cache and writes it if the cache is right. Returns `None` if
    /// another process was faster: then nothing is written.
    pub(super) async fn guess(
        &mut self,
        mut batch: RowCache,
        orders: &[WriteRequest],
    ) -> Result<Option<(RowCache, Vec<WriteReply>)>> {
        self.guess = OptimisticCommit::On(batch.runs());
        let decided = self
            .decide_all(&mut batch, orders, ReadyLookup::Skipped)
            .await;
        let answers = match (std::mem::take(&mut self.guess), decided) {
            (OptimisticCommit::On(known), Ok(answers)) => {
                return self.finish_guess(batch, &known, answers).await;
            }
            (OptimisticCommit::Off, Ok(answers)) => answers,
            (OptimisticCommit::Wrong(found), _) => {
                batch = RowCache::new();
                learn_found(&mut batch, found);
                self.decide_all(&mut batch, orders, ReadyLookup::Skipped)
                    .await?
            }
            (_, Err(error)) => return Err(error),
        };
        let changes = batch.flush();
        let kept = self.shelf.finish(&changes).await?;
        Ok(Some((self.remember(batch, kept, changes.events), answers)))
    }

    /// Writes the decided rows under the condition that the runs are unchanged. Only the runs that
    /// the decision changes are compared; a changed run that was not cached rules the attempt out.
    async fn finish_guess(
        &mut self,
        mut batch: RowCache,
        known: &[(RunId, u64)],
        answers: Vec<WriteReply>,
    ) -> Result<Option<(RowCache, Vec<WriteReply>)>> {
        let changes = batch.flush();
        let is_about = |(run, _): &&(RunId, u64)| changes.runs.iter().any(|row| row.id == *run);
        let known: Vec<(RunId, u64)> = known.iter().filter(is_about).cloned().collect();
        if known.len() != changes.runs.len() {
            return Ok(None);
        }
        let kept = self.shelf.finish_if(&changes, &known).await?;
        Ok(kept.map(|kept| (self.remember(batch, kept, changes.events), answers)))
    }

    /// Tells whether the current decision relies on the cache alone, outside of a transaction.
    pub(super) fn is_guessing(&self) -> bool {
        matches!(self.guess, OptimisticCommit::On(_))
    }

    /// Falls back to a transaction, because a row is needed that the cache lacks.
    ///
    /// The transaction locks the runs and compares their last events with the cache. If nothing is
    /// decided yet, the fresh runs show which cached rows are still valid, as in any transaction. If
    /// something is decided, it stays valid only where every run is as it was; otherwise
    /// [`OptimisticCommit::Wrong`] keeps the fresh runs and the turn starts over.
    pub(super) async fn stop_guessing(&mut self, batch: &mut RowCache) -> Result<()> {
        let OptimisticCommit::On(known) = std::mem::take(&mut self.guess) else {
            return Ok(());
        };
        self.shelf.begin(None, self.mind.now_ms()).await?;
        let runs: Vec<RunId> = known.iter().map(|(run, _)| run.clone()).collect();
        let found = self.shelf.find_runs(&runs).await?;
        if !batch.has_news() {
            batch.doubt();
            learn_found(batch, found);
            return Ok(());
        }
        let is_so = |(run, seq): &(RunId, u64)| {
            let mut found = found.iter();
            found.any(|row| row.id == *run && row.seq == *seq)
        };
        if known.iter().all(is_so) {
            return Ok(());
        }
        self.guess = OptimisticCommit::Wrong(found);
        Err(Error::new(
            DatabaseErrorKind::Lost,
            "Another process was faster.",
        ))
    }
}

fn is_recent(at: Instant) -> bool {
    at.elapsed() < Duration::from_millis(LOOK_MS)
}
