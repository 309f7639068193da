//! A worker's turn: one request in which a worker reports the tasks it has finished and claims the
//! next ones.

use std::collections::VecDeque;

use flow::engine::{EngineCommand, RowCache, TaskRow};
use flow::{ClaimRequest, ClaimedTask, TaskId};

use super::backend::WorkflowBackend;
use super::commit_loop::{CommitLoop, ReadyLookup};
use super::decider::{CacheMiss, CommandDecider};
use super::optimistic::LastPoll;
use super::prefetch::learn_found;
use crate::error::Result;

/// `Ok`, or the row or text that the cache lacks.
type CacheResult = std::result::Result<(), CacheMiss>;

/// The progress of a turn. A turn that stops for a missing row continues here, not from the start.
pub(super) struct WorkerTurn<'o> {
    reports: VecDeque<&'o EngineCommand>,
    claim: &'o ClaimRequest,
    /// Tasks still to claim.
    wanted: VecDeque<TaskId>,
    /// Claimed tasks whose data for the worker is still to be gathered.
    taken: VecDeque<TaskId>,
    claimed: Vec<ClaimedTask>,
}

impl<'o> WorkerTurn<'o> {
    pub(super) fn new(reports: &'o [EngineCommand], claim: &'o ClaimRequest) -> WorkerTurn<'o> {
        WorkerTurn {
            reports: reports.iter().collect(),
            claim,
            wanted: VecDeque::new(),
            taken: VecDeque::new(),
            claimed: Vec::new(),
        }
    }

    /// Returns how many more tasks the worker wants.
    fn room(&self) -> usize {
        let had = self.claimed.len() + self.taken.len();
        self.claim.max.saturating_sub(had)
    }

    /// Applies the worker's reports. After a missing row was read, it continues with the report
    /// that needed it.
    fn tell(&mut self, mind: &CommandDecider, batch: &mut RowCache) -> CacheResult {
        while let Some(report) = self.reports.front() {
            // A refusal means that the lease ran out and the task belongs to another worker now;
            // its report counts.
            let _ = mind.execute_pinned(batch, report)?;
            self.reports.pop_front();
        }
        Ok(())
    }

    /// Plans to claim the tasks that this turn's reports have made ready.
    fn want_fresh(&mut self, mind: &CommandDecider, batch: &RowCache) {
        if self.room() > 0 {
            let fresh = batch.ready(mind.now_ms()).into_iter();
            let fresh = fresh.filter(|row| is_wanted(self.claim, row));
            self.wanted = fresh.map(|row| row.id.clone()).collect();
        }
    }

    /// Claims the planned tasks. After a missing row was read, it continues with the task that
    /// needed it.
    fn take(&mut self, mind: &CommandDecider, batch: &mut RowCache) -> CacheResult {
        while self.room() > 0
            && let Some(task) = self.wanted.front()
        {
            let claim = self.claiming(task.clone());
            let executed = mind.execute_pinned(batch, &claim)?;
            // A refusal means that another worker was faster.
            self.taken
                .extend(self.wanted.pop_front().filter(|_| executed.is_ok()));
        }
        self.wanted.clear();
        while let Some(task) = self.taken.front() {
            let claimed = mind.claimed(batch, task)?;
            self.claimed.extend(claimed);
            self.taken.pop_front();
        }
        Ok(())
    }

    fn claiming(&self, task: TaskId) -> EngineCommand {
        EngineCommand::Claim {
            task,
            worker: self.claim.worker.clone(),
            lease_ms: self.claim.lease_ms,
            rates: self.claim.rates.clone(),
        }
    }
}

impl<S: WorkflowBackend> CommitLoop<S> {
    /// Runs a turn: reports, then the tasks that have been ready for longest, then those that the
    /// reports made ready. A turn that skipped the ready list reads it after all if its worker has
    /// room left.
    pub(super) async fn take_turn(
        &mut self,
        batch: &mut RowCache,
        mut turn: WorkerTurn<'_>,
        ready: ReadyLookup,
    ) -> Result<Vec<ClaimedTask>> {
        self.decide(batch, |mind, batch| turn.tell(mind, batch))
            .await?;
        let has_skipped = matches!(ready, ReadyLookup::Skipped);
        match ready {
            _ if turn.room() == 0 => {}
            ReadyLookup::Found(oldest) => self.claim_all(batch, &mut turn, oldest).await?,
            ReadyLookup::Unknown => self.look(batch, &mut turn).await?,
            ReadyLookup::Skipped => {}
        }
        // Fresh tasks come last: all others have waited longer.
        turn.want_fresh(&self.mind, batch);
        self.take_all(batch, &mut turn).await?;
        if has_skipped && turn.room() > 0 && self.looked.is_none_or(LastPoll::had_some) {
            self.stop_guessing(batch).await?;
            self.look(batch, &mut turn).await?;
        }
        Ok(turn.claimed)
    }

    /// Reads the tasks that have been ready for longest, and claims them.
    async fn look(&mut self, batch: &mut RowCache, turn: &mut WorkerTurn<'_>) -> Result<()> {
        let room = ClaimRequest {
            max: turn.room(),
            ..turn.claim.clone()
        };
        let waiting = self.shelf.ready(&room, self.mind.now_ms()).await?;
        self.looked = Some(LastPoll::now(waiting.tasks.is_empty()));
        learn_found(batch, waiting.runs);
        self.claim_all(batch, turn, waiting.tasks).await
    }

    /// Claims tasks that the database found, after prefetching their rows.
    async fn claim_all(
        &mut self,
        batch: &mut RowCache,
        turn: &mut WorkerTurn<'_>,
        oldest: Vec<TaskId>,
    ) -> Result<()> {
        let runs = oldest.iter().map(|task| task.run.clone()).collect();
        self.learn_runs(batch, runs).await?;
        let claims = oldest.iter().map(|task| turn.claiming(task.clone()));
        let claims: Vec<EngineCommand> = claims.collect();
        self.foresee(batch, &claims.iter().collect::<Vec<_>>())
            .await?;
        turn.wanted = oldest.into();
        self.take_all(batch, turn).await
    }

    async fn take_all(&mut self, batch: &mut RowCache, turn: &mut WorkerTurn<'_>) -> Result<()> {
        self.decide(batch, |mind, batch| turn.take(mind, batch))
            .await
    }
}

/// Tells whether a claim is for this task.
fn is_wanted(claim: &ClaimRequest, row: &TaskRow) -> bool {
    let is_assigned = |assignee: &String| claim.assignees.contains(assignee);
    (claim.runs.is_empty() || claim.runs.contains(&row.id.run))
        && (claim.assignees.is_empty() || row.assignee.as_ref().is_some_and(is_assigned))
}
