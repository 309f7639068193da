//! Turns that are decided by what is known, and written only if that is still so.
//!
//! A server is far away: a transaction there takes a trip for its begin, for the runs, for what is
//! ready, for the rows and for its end. Where a worker goes on with its own runs, everything is known
//! already but whether somebody else has done something to them, and that can be asked by the
//! statement that writes.

use std::time::Duration;

use flow::engine::{Batch, Lookup};
use flow::{Claim, RunId};
use tokio::time::Instant;

use super::desk::{Answer, Desk, Order};
use super::shelf::{Kept, Shelf};
use crate::error::Result;

/// For so long a worker may go on with its own runs before it is looked what else is ready.
const LOOK_MS: u64 = 20;

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

    /// Whether there is something else to do for a worker with so many free hands, who has done so
    /// much.
    fn is_enough(self, claim: &Claim, done: usize) -> bool {
        let is_fresh = self.at.elapsed() < Duration::from_millis(LOOK_MS);
        is_fresh && (self.was_empty || claim.max <= done)
    }
}

impl<S: Shelf> Desk<S> {
    /// Whether all runs that a turn is about are known, and nothing else need be looked for.
    pub(super) fn may_guess(&self, batch: &Batch, orders: &[Order]) -> bool {
        let [Order::Turn(reports, claim)] = orders else {
            return false;
        };
        let is_enough = |looked: Looked| looked.is_enough(claim, reports.len());
        S::GUESSES
            && !reports.is_empty()
            && self.looked.is_some_and(is_enough)
            && reports.iter().all(|report| {
                let run = Lookup::Run(report.run().clone());
                batch.knows(&run)
            })
    }

    /// Nothing if it cannot be decided so, or what was known was not so any more.
    pub(super) async fn guess(
        &mut self,
        mut batch: Batch,
        orders: &[Order],
    ) -> Result<Option<(Batch, Vec<Answer>)>> {
        let known = batch.runs();
        self.is_guessing = true;
        let decided = self.decide_all(&mut batch, orders, Some(Vec::new())).await;
        // Something was asked for that is not known.
        if !std::mem::take(&mut self.is_guessing) {
            return Ok(None);
        }
        let answers = decided?;
        let changes = batch.flush();
        let is_about = |(run, _): &(RunId, u64)| changes.runs.iter().any(|row| row.id == *run);
        let known: Vec<(RunId, u64)> = known.into_iter().filter(is_about).collect();
        if known.len() != changes.runs.len() {
            return Ok(None);
        }
        Ok(match self.shelf.finish_if(&changes, &known).await? {
            None => None,
            Some(Kept::Scrubbed) => Some((Batch::new(), answers)),
            Some(Kept::AsTheyWere) => {
                self.recent.keep(changes.events);
                batch.settle();
                Some((batch, answers))
            }
        })
    }
}
