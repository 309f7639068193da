//! A worker's turn: one request in which a worker reports the tasks it has finished and claims the
//! next ones.

use std::collections::VecDeque;

use flow::engine::{EngineCommand, RowCache, TaskRow};
use flow::{ClaimRequest, ClaimedTask, TaskId};

use super::backend::WorkflowBackend;
use super::commit_loop::{CommitLoop, ReadyLookup};
use super::decider::{CacheMiss, CommandDecider};
use super::optimistic::{Decided, LastPoll, PendingCommit};
use super::prefetch::cache_runs;

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
    fn apply_reports(&mut self, decider: &CommandDecider, cache: &mut RowCache) -> CacheResult {
        while let Some(report) = self.reports.front() {
            // A refusal means that the lease ran out and the task belongs to another worker now;
            // its report counts.
            let _ = decider.execute_pinned(cache, report)?;
            self.reports.pop_front();
        }
        Ok(())
    }

    /// Plans to claim the tasks that this turn's reports have made ready.
    fn queue_new_tasks(&mut self, decider: &CommandDecider, cache: &RowCache) {
        if self.room() > 0 {
            let fresh = cache.ready(decider.now_ms()).into_iter();
            let fresh = fresh.filter(|row| is_wanted(self.claim, row));
            self.wanted = fresh.map(|row| row.id.clone()).collect();
        }
    }

    /// Claims the planned tasks. After a missing row was read, it continues with the task that
    /// needed it.
    fn decide_claims(&mut self, decider: &CommandDecider, cache: &mut RowCache) -> CacheResult {
        while self.room() > 0
            && let Some(task) = self.wanted.front()
        {
            let claim = self.claim_command(task.clone());
            let executed = decider.execute_pinned(cache, &claim)?;
            // A refusal means that another worker was faster.
            self.taken
                .extend(self.wanted.pop_front().filter(|_| executed.is_ok()));
        }
        self.wanted.clear();
        while let Some(task) = self.taken.front() {
            let claimed = decider.claimed(cache, task)?;
            self.claimed.extend(claimed);
            self.taken.pop_front();
        }
        Ok(())
    }

    fn claim_command(&self, task: TaskId) -> EngineCommand {
        EngineCommand::Claim {
            task,
            worker: self.claim.worker.clone(),
            lease_ms: self.claim.lease_ms,
            rates: self.claim.rates.clone(),
        }
    }

    /// Runs the turn: reports, then the tasks that have been ready for longest, then those that the
    /// reports made ready. A turn that skipped the ready list reads it after all if its worker has
    /// room left.
    pub(super) async fn run<S: WorkflowBackend>(
        mut self,
        commit_loop: &mut CommitLoop<S>,
        pending: &mut PendingCommit,
        ready: ReadyLookup,
    ) -> Decided<Vec<ClaimedTask>> {
        commit_loop
            .decide(pending, |decider, cache| self.apply_reports(decider, cache))
            .await?;
        let has_skipped = matches!(ready, ReadyLookup::Skipped);
        match ready {
            _ if self.room() == 0 => {}
            ReadyLookup::Found(oldest) => self.claim(commit_loop, pending, oldest).await?,
            ReadyLookup::Unknown => self.poll_ready(commit_loop, pending).await?,
            ReadyLookup::Skipped => {}
        }
        // Fresh tasks come last: all others have waited longer.
        self.queue_new_tasks(&commit_loop.decider, &pending.cache);
        self.claim_queued(commit_loop, pending).await?;
        if has_skipped && self.room() > 0 && commit_loop.last_poll.is_none_or(LastPoll::had_some) {
            commit_loop.fall_back_to_transaction(pending).await?;
            self.poll_ready(commit_loop, pending).await?;
        }
        Ok(self.claimed)
    }

    /// Reads the tasks that have been ready for longest, and claims them.
    async fn poll_ready<S: WorkflowBackend>(
        &mut self,
        commit_loop: &mut CommitLoop<S>,
        pending: &mut PendingCommit,
    ) -> Decided<()> {
        let room = ClaimRequest {
            max: self.room(),
            ..self.claim.clone()
        };
        let now_ms = commit_loop.decider.now_ms();
        let waiting = commit_loop.backend.ready(&room, now_ms).await?;
        commit_loop.last_poll = Some(LastPoll::now(waiting.tasks.is_empty()));
        cache_runs(&mut pending.cache, waiting.runs);
        self.claim(commit_loop, pending, waiting.tasks).await
    }

    /// Claims tasks that the database found, after prefetching their rows.
    async fn claim<S: WorkflowBackend>(
        &mut self,
        commit_loop: &mut CommitLoop<S>,
        pending: &mut PendingCommit,
        oldest: Vec<TaskId>,
    ) -> Decided<()> {
        let runs = oldest.iter().map(|task| task.run.clone()).collect();
        commit_loop.read_runs(pending, runs).await?;
        let claims = oldest.iter().map(|task| self.claim_command(task.clone()));
        let claims: Vec<EngineCommand> = claims.collect();
        commit_loop
            .prefetch(pending, &claims.iter().collect::<Vec<_>>())
            .await?;
        self.wanted = oldest.into();
        self.claim_queued(commit_loop, pending).await
    }

    async fn claim_queued<S: WorkflowBackend>(
        &mut self,
        commit_loop: &mut CommitLoop<S>,
        pending: &mut PendingCommit,
    ) -> Decided<()> {
        commit_loop
            .decide(pending, |decider, cache| self.decide_claims(decider, cache))
            .await
    }
}

/// Tells whether a claim is for this task.
fn is_wanted(claim: &ClaimRequest, row: &TaskRow) -> bool {
    let is_assigned = |assignee: &String| claim.assignees.contains(assignee);
    (claim.runs.is_empty() || claim.runs.contains(&row.id.run))
        && (claim.assignees.is_empty() || row.assignee.as_ref().is_some_and(is_assigned))
}
