//! Turns that are decided by what is known, and written only if that is still so.
//!
//! A server is far away: a transaction there takes a trip for its begin, for the runs, for what is
//! ready, for the rows and for its end. Where a worker goes on with its own runs, everything is known
//! already but whether somebody else has done something to them, and that can be asked by the
//! statement that writes.

use std::time::Duration;

use flow::engine::{Batch, Lookup, RunRow};
use flow::{Claim, RunId};
use tokio::time::Instant;

use super::desk::{Answer, Desk, Order, Ready, runs_of};
use super::learning::learn_found;
use super::shelf::Shelf;
use crate::error::{Error, Kind, Result};

/// For so long a worker may go on with its own runs before it is looked what else is ready.
const LOOK_MS: u64 = 50;

/// Whether it is being guessed.
#[derive(Default)]
pub(super) enum Guess {
    #[default]
    Off,
    /// By how far these runs had come.
    On(Vec<(RunId, u64)>),
    /// They have come further, and are held now.
    Wrong(Vec<RunRow>),
}

/// When it was last looked what is ready.
#[derive(Clone, Copy)]
pub(super) struct Looked {
    at: Instant,
    was_empty: bool,
}

impl Looked {
    pub(super) fn now(was_empty: bool) -> Looked {
        Looked {
            at: Instant::now(),
            was_empty,
        }
    }

    pub(super) fn had_some(self) -> bool {
        !self.was_empty
    }

    /// Whether it need not be looked again for a worker who wants no more than it has done, or when
    /// there was nothing to be found.
    fn is_enough(self, claim: &Claim, done: usize) -> bool {
        is_recent(self.at) && (self.was_empty || claim.max <= done)
    }
}

impl<S: Shelf> Desk<S> {
    /// Whether a turn goes on with its own runs, and nothing else need be looked for.
    pub(super) fn has_looked(&self, orders: &[Order]) -> bool {
        let [Order::Turn(reports, claim)] = orders else {
            return false;
        };
        let is_enough = |looked: Looked| looked.is_enough(claim, reports.len());
        !reports.is_empty() && self.looked.is_some_and(is_enough)
    }

    /// Whether all runs that a turn is about are known, besides, and nobody else goes on with them.
    pub(super) fn may_guess(&self, batch: &Batch, orders: &[Order]) -> bool {
        let is_known = |run: &RunId| batch.knows(&Lookup::Run(run.clone()));
        S::IS_FAR
            && !self.overtaken.is_some_and(is_recent)
            && self.has_looked(orders)
            && orders.iter().flat_map(runs_of).all(is_known)
    }

    /// Nothing if what was known was not so any more, and nothing was written.
    pub(super) async fn guess(
        &mut self,
        mut batch: Batch,
        orders: &[Order],
    ) -> Result<Option<(Batch, Vec<Answer>)>> {
        self.guess = Guess::On(batch.runs());
        let decided = self.decide_all(&mut batch, orders, Ready::Skipped).await;
        let answers = match (std::mem::take(&mut self.guess), decided) {
            (Guess::On(known), Ok(answers)) => {
                return self.finish_guess(batch, &known, answers).await;
            }
            (Guess::Off, Ok(answers)) => answers,
            (Guess::Wrong(found), _) => {
                batch = Batch::new();
                learn_found(&mut batch, found);
                self.decide_all(&mut batch, orders, Ready::Skipped).await?
            }
            (_, Err(error)) => return Err(error),
        };
        let changes = batch.flush();
        let kept = self.shelf.finish(&changes).await?;
        Ok(Some((self.remember(batch, kept, changes.events), answers)))
    }

    async fn finish_guess(
        &mut self,
        mut batch: Batch,
        known: &[(RunId, u64)],
        answers: Vec<Answer>,
    ) -> Result<Option<(Batch, Vec<Answer>)>> {
        let changes = batch.flush();
        let is_about = |(run, _): &&(RunId, u64)| changes.runs.iter().any(|row| row.id == *run);
        let known: Vec<(RunId, u64)> = known.iter().filter(is_about).cloned().collect();
        if known.len() != changes.runs.len() {
            return Ok(None);
        }
        let kept = self.shelf.finish_if(&changes, &known).await?;
        Ok(kept.map(|kept| (self.remember(batch, kept, changes.events), answers)))
    }

    pub(super) fn is_guessing(&self) -> bool {
        matches!(self.guess, Guess::On(_))
    }

    /// Something is asked for that is not known: from here on it goes on in a transaction. What was
    /// decided already stands if what was known is so.
    pub(super) async fn stop_guessing(&mut self, batch: &mut Batch) -> Result<()> {
        let Guess::On(known) = std::mem::take(&mut self.guess) else {
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
        self.guess = Guess::Wrong(found);
        Err(Error::new(Kind::Lost, "Somebody else was faster."))
    }
}

fn is_recent(at: Instant) -> bool {
    at.elapsed() < Duration::from_millis(LOOK_MS)
}
