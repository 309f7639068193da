//! Group commit: one task owns the writing connection, takes every write request that waits,
//! decides all of them and commits them in one transaction. It replies when the transaction is on
//! the disk.
//!
//! A commit costs one wait for the disk, however much it holds, so requests that arrive during a
//! commit share the next one. A request that arrives alone is committed alone at once; nothing
//! waits for company.
//!
//! Example: request A arrives and is committed alone. While the disk works on it, B, C and D
//! arrive. `recv_many` hands them over together, [`CommitLoop::transact`] decides B, then C on the rows
//! that B left, then D, and one commit makes all three durable: two waits for the disk instead of
//! four. If that transaction fails, say because C is too large for the disk, B, C and D are each tried
//! in a transaction of their own, so that only C reports the error.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use flow::engine::{CommandRefusal, EngineCommand, RowCache, RowSource as _, RunEvent, RunStart};
use flow::{
    ClaimRequest, ClaimedTask, ExecuteResult, LogLine, PruneProgress, RunDeletion, RunId,
    StoreError, StoreErrorKind, TaskId, TextHash,
};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::backend::{CacheValidity, WorkflowBackend, WriteOutcome};
use super::decider::{CacheMiss, CommandDecider};
use super::event_buffer::EventBuffer;
use super::optimistic::{LastPoll, OptimisticCommit};
use super::worker_turn::WorkerTurn;
use crate::error::{DatabaseErrorKind, Error, Result};

/// Limits the write requests that one transaction takes.
const ORDERS_MAX: usize = 512;

/// Limits the workflow names that this process remembers as stored, so that it writes each only
/// once.
const NAMES_MAX: usize = 1_000;

/// Limits the attempts at a transaction when the server is gone or gives it up. The first pause is
/// `TRY_MS`, and each one after it is twice as long.
const TRIES_MAX: u32 = 8;
const TRY_MS: u64 = 10;

/// A write request to the commit loop. The reply comes after its changes are on the disk.
pub(super) enum WriteRequest {
    KeepText(Arc<str>),
    Start(TextHash, RunStart),
    Execute(EngineCommand),
    Turn(Vec<EngineCommand>, ClaimRequest),
    Heartbeat(Vec<(TaskId, u64)>, u64),
    Acknowledge(Vec<u64>),
    ThrowAway(u64, PruneProgress),
    Delete(Vec<RunId>),
    KeepLog(Vec<LogLine>),
}

/// The reply to an [`WriteRequest`].
pub(super) enum WriteReply {
    Done,
    Executed(ExecuteResult),
    NoSuchWorkflow(TextHash),
    Claimed(Vec<ClaimedTask>),
    Lost(Vec<(TaskId, CommandRefusal)>),
    Thrown(PruneProgress),
    Deleted(Vec<RunDeletion>),
}

/// The sender of the reply to one request.
pub(super) type ReplySender = oneshot::Sender<std::result::Result<WriteReply, StoreError>>;

/// The tasks that have been ready for longest, as far as this transaction knows them.
#[derive(Default)]
pub(super) enum ReadyLookup {
    /// Not read yet: the turn reads them.
    #[default]
    Unknown,
    Found(Vec<TaskId>),
    /// Not read on purpose: the turn reads them only if its worker has room beside its own next
    /// tasks.
    Skipped,
}

/// The commit loop: owns the writing connection, the decider and the row cache.
pub(super) struct CommitLoop<S> {
    pub(super) shelf: S,
    pub(super) mind: CommandDecider,
    /// The row cache: rows of earlier transactions, so that the next one need not read them again.
    pub(super) known: RowCache,
    pub(super) recent: EventBuffer,
    pub(super) looked: Option<LastPoll>,
    pub(super) guess: OptimisticCommit,
    /// The last time another process was seen writing to the same runs; optimistic commits pause
    /// after it.
    pub(super) overtaken: Option<Instant>,
    pub(super) is_rehearsed: bool,
    /// The workflow names that the database has already.
    pub(super) named: HashSet<(TextHash, String)>,
}

impl<S: WorkflowBackend> CommitLoop<S> {
    /// Commits write requests until every sender is gone.
    pub(super) async fn serve(mut self, mut queue: mpsc::Receiver<(WriteRequest, ReplySender)>) {
        let mut waiting = Vec::new();
        while queue.recv_many(&mut waiting, ORDERS_MAX).await > 0 {
            let (orders, answered): (Vec<WriteRequest>, Vec<ReplySender>) =
                waiting.drain(..).unzip();
            match self.transact(&orders).await {
                Ok(answers) => {
                    let is_idle = answers.iter().any(is_nothing_claimed);
                    for (answered, answer) in answered.into_iter().zip(answers) {
                        // A caller that gave up waiting has dropped its receiver; that is no error.
                        let _ = answered.send(Ok(answer));
                    }
                    if is_idle && !std::mem::replace(&mut self.is_rehearsed, true) {
                        // An error here would come back with the next request, which has a caller
                        // to tell.
                        let _ = self.shelf.rehearse().await;
                    }
                }
                Err(error) if orders.len() > 1 && error.kind() != DatabaseErrorKind::Lost => {
                    for (order, answered) in orders.iter().zip(answered) {
                        self.serve_alone(order, answered).await;
                    }
                }
                Err(error) => {
                    for answered in answered {
                        let _ = answered.send(Err(error.clone().into()));
                    }
                }
            }
        }
    }

    /// Commits one request in a transaction of its own, after the shared one failed.
    async fn serve_alone(&mut self, order: &WriteRequest, answered: ReplySender) {
        let answers = self.transact(std::slice::from_ref(order)).await;
        let answer = answers.map(|answers| answers.into_iter().next());
        let _ = answered.send(match answer {
            Ok(answer) => Ok(answer.unwrap_or(WriteReply::Done)),
            Err(error) => Err(error.into()),
        });
    }

    /// Retries a transaction that the server lost. Deciding has no side effects, so that the same
    /// requests can be decided again on fresh rows.
    async fn transact(&mut self, orders: &[WriteRequest]) -> Result<Vec<WriteReply>> {
        let mut tries = 1;
        loop {
            match self.transact_once(orders).await {
                Err(error) if error.kind() == DatabaseErrorKind::Lost && tries < TRIES_MAX => {
                    let wait_ms = TRY_MS << tries.min(7);
                    tokio::time::sleep(Duration::from_millis(wait_ms)).await;
                    tries += 1;
                }
                done => return done,
            }
        }
    }

    /// Commits requests, optimistically where that is possible. If another process was faster,
    /// nothing is written yet, and an ordinary transaction with an empty cache follows.
    async fn transact_once(&mut self, orders: &[WriteRequest]) -> Result<Vec<WriteReply>> {
        // Takes the cache out first: after an error it stays empty, and no row of a failed
        // transaction survives in it.
        let known = std::mem::take(&mut self.known);
        let known = match self.may_guess(&known, orders) {
            true => match self.guess(known, orders).await {
                Ok(Some((known, answers))) => {
                    self.known = known;
                    return Ok(answers);
                }
                Ok(None) => {
                    self.overtaken = Some(Instant::now());
                    RowCache::new()
                }
                Err(error) => {
                    self.named.clear();
                    self.shelf.roll_back().await;
                    return Err(error);
                }
            },
            false => known,
        };
        match self.transact_knowing(known, orders).await {
            Ok((known, answers)) => {
                self.known = known;
                Ok(answers)
            }
            Err(error) => {
                self.named.clear();
                self.shelf.roll_back().await;
                Err(error)
            }
        }
    }

    /// Commits requests in an ordinary transaction: begin, check the cache, decide, write, commit.
    async fn transact_knowing(
        &mut self,
        mut batch: RowCache,
        orders: &[WriteRequest],
    ) -> Result<(RowCache, Vec<WriteReply>)> {
        let has_looked = self.has_looked(orders);
        let claim = orders.iter().find_map(claim_of).filter(|_| !has_looked);
        let begun = self.shelf.begin(claim, self.mind.now_ms()).await?;
        let ready = match (has_looked, begun.ready) {
            (true, _) => ReadyLookup::Skipped,
            (false, None) => ReadyLookup::Unknown,
            (false, Some(oldest)) => {
                self.looked = Some(LastPoll::now(oldest.is_empty()));
                ReadyLookup::Found(oldest)
            }
        };
        match begun.memory {
            CacheValidity::Holds => {}
            CacheValidity::Fails => batch = RowCache::new(),
            CacheValidity::IsInDoubt => {
                batch.doubt();
                // A lease can change without an event, and so without a new number on its run. A
                // turn decides nothing by another worker's lease; every other request does, and
                // reads its runs anew.
                let others = orders.iter().filter(|order| claim_of(order).is_none());
                others.flat_map(runs_of).for_each(|run| batch.forget(run));
            }
        }
        let answers = self.decide_all(&mut batch, orders, ready).await?;
        let changes = batch.flush();
        let kept = self.shelf.finish(&changes).await?;
        Ok((self.remember(batch, kept, changes.events), answers))
    }

    /// Returns the cache for the next transaction, after the changes are on the disk.
    pub(super) fn remember(
        &mut self,
        mut batch: RowCache,
        kept: WriteOutcome,
        events: Vec<RunEvent>,
    ) -> RowCache {
        if batch.was_overtaken() {
            self.overtaken = Some(Instant::now());
        }
        match kept {
            // The stored rows differ from the cached ones: secrets were removed on the way.
            WriteOutcome::Scrubbed => RowCache::new(),
            WriteOutcome::AsTheyWere => {
                self.recent.keep(events);
                batch.settle();
                batch
            }
        }
    }

    /// Decides all requests in order. Each one sees the changes of those before it, because
    /// decisions go into the cache and not yet into the database.
    pub(super) async fn decide_all(
        &mut self,
        batch: &mut RowCache,
        orders: &[WriteRequest],
        mut ready: ReadyLookup,
    ) -> Result<Vec<WriteReply>> {
        // Locks all runs in one order, so that two transactions cannot wait for each other.
        let runs: BTreeSet<RunId> = orders.iter().flat_map(runs_of).cloned().collect();
        self.learn_runs(batch, runs).await?;
        let commands: Vec<&EngineCommand> = orders.iter().flat_map(commands_of).collect();
        self.foresee(batch, &commands).await?;
        let mut answers = Vec::with_capacity(orders.len());
        let mut is_claimed_from = false;
        for order in orders {
            if matches!(order, WriteRequest::Turn(..))
                && std::mem::replace(&mut is_claimed_from, true)
            {
                // Writes the claims of the previous turn first, or this turn would find the same
                // tasks ready again.
                self.shelf.write(&batch.flush()).await?;
            }
            answers.push(self.obey(batch, order, std::mem::take(&mut ready)).await?);
        }
        Ok(answers)
    }

    /// Decides one request.
    async fn obey(
        &mut self,
        batch: &mut RowCache,
        order: &WriteRequest,
        ready: ReadyLookup,
    ) -> Result<WriteReply> {
        match order {
            WriteRequest::KeepText(source) => {
                let now_ms = self.mind.now_ms();
                let hash = TextHash::of(source);
                self.shelf.keep_text(&hash, source, now_ms).await?;
                Ok(WriteReply::Done)
            }
            WriteRequest::Start(hash, start) => {
                let Some(workflow) = self.mind.texts.get(&mut self.shelf, hash).await? else {
                    return Ok(WriteReply::NoSuchWorkflow(hash.clone()));
                };
                self.keep_name(hash, start.name.as_ref()).await?;
                let command = EngineCommand::Start(start.clone());
                let executed = self.decide(batch, |mind, batch| {
                    mind.execute(batch, &workflow, &command)
                });
                Ok(WriteReply::Executed(executed.await?))
            }
            WriteRequest::Execute(command @ EngineCommand::Move { run, to, .. }) => {
                let Some(workflow) = self.mind.texts.get(&mut self.shelf, to).await? else {
                    return Ok(WriteReply::NoSuchWorkflow(to.clone()));
                };
                let decide = |mind: &CommandDecider, batch: &mut RowCache| {
                    let name = batch.run(run).map_err(CacheMiss::Row)?;
                    let name = name.and_then(|row| row.name.clone());
                    Ok((mind.execute(batch, &workflow, command)?, name))
                };
                let (executed, name) = self.decide(batch, decide).await?;
                if executed.is_ok() {
                    self.keep_name(to, name.as_ref()).await?;
                }
                Ok(WriteReply::Executed(executed))
            }
            WriteRequest::Execute(command) => Ok(WriteReply::Executed(
                self.execute_pinned(batch, command).await?,
            )),
            WriteRequest::Turn(reports, claim) => {
                let turn = WorkerTurn::new(reports, claim);
                Ok(WriteReply::Claimed(
                    self.take_turn(batch, turn, ready).await?,
                ))
            }
            WriteRequest::Heartbeat(tasks, lease_ms) => {
                Ok(WriteReply::Lost(self.keep(batch, tasks, *lease_ms).await?))
            }
            WriteRequest::Acknowledge(notices) => {
                self.shelf.acknowledge(notices).await?;
                Ok(WriteReply::Done)
            }
            WriteRequest::ThrowAway(age_ms, from) => {
                let thrown = self.throw_away(batch, *age_ms, from.clone()).await?;
                Ok(WriteReply::Thrown(thrown))
            }
            WriteRequest::KeepLog(lines) => {
                self.shelf.keep_log(lines).await?;
                Ok(WriteReply::Done)
            }
            WriteRequest::Delete(runs) => Ok(WriteReply::Deleted(self.delete(batch, runs).await?)),
        }
    }

    /// Stores the name of a workflow once, because run lists search by name.
    async fn keep_name(&mut self, hash: &TextHash, name: Option<&String>) -> Result<()> {
        let Some(name) = name else {
            return Ok(());
        };
        let key = (hash.clone(), name.clone());
        if !self.named.contains(&key) {
            self.shelf.keep_name(hash, name).await?;
            if self.named.len() >= NAMES_MAX {
                self.named.clear();
            }
            self.named.insert(key);
        }
        Ok(())
    }

    /// Renews leases, and returns the tasks whose lease is lost.
    async fn keep(
        &mut self,
        batch: &mut RowCache,
        tasks: &[(TaskId, u64)],
        lease_ms: u64,
    ) -> Result<Vec<(TaskId, CommandRefusal)>> {
        let beats = tasks.iter().map(|(task, fence)| EngineCommand::Heartbeat {
            task: task.clone(),
            fence: *fence,
            lease_ms,
        });
        let beats: Vec<EngineCommand> = beats.collect();
        self.foresee(batch, &beats.iter().collect::<Vec<_>>())
            .await?;
        let mut lost = Vec::new();
        for (command, (task, _)) in beats.iter().zip(tasks) {
            if let Err(refusal) = self.execute_pinned(batch, command).await? {
                lost.push((task.clone(), refusal));
            }
        }
        Ok(lost)
    }

    /// Decides a command with the workflow version that its run is pinned to.
    async fn execute_pinned(
        &mut self,
        batch: &mut RowCache,
        command: &EngineCommand,
    ) -> Result<ExecuteResult> {
        let decide =
            |mind: &CommandDecider, batch: &mut RowCache| mind.execute_pinned(batch, command);
        self.decide(batch, decide).await
    }
}

/// Returns the runs that a request names, so that all of them can be locked before deciding.
pub(super) fn runs_of(order: &WriteRequest) -> Vec<&RunId> {
    match order {
        WriteRequest::Start(_, start) => vec![&start.run],
        WriteRequest::Execute(command) => vec![command.run()],
        WriteRequest::Turn(reports, _) => reports.iter().map(EngineCommand::run).collect(),
        WriteRequest::Heartbeat(tasks, _) => tasks.iter().map(|(task, _)| &task.run).collect(),
        WriteRequest::KeepText(_)
        | WriteRequest::Acknowledge(_)
        | WriteRequest::ThrowAway(..)
        | WriteRequest::Delete(_)
        | WriteRequest::KeepLog(_) => Vec::new(),
    }
}

fn claim_of(order: &WriteRequest) -> Option<&ClaimRequest> {
    match order {
        WriteRequest::Turn(_, claim) => Some(claim),
        _ => None,
    }
}

/// Returns the commands of a request whose rows can be prefetched.
fn commands_of(order: &WriteRequest) -> &[EngineCommand] {
    match order {
        WriteRequest::Execute(command) => std::slice::from_ref(command),
        WriteRequest::Turn(reports, _) => reports,
        _ => &[],
    }
}

fn is_nothing_claimed(answer: &WriteReply) -> bool {
    matches!(answer, WriteReply::Claimed(claimed) if claimed.is_empty())
}

impl From<Error> for StoreError {
    fn from(error: Error) -> StoreError {
        let kind = match error.kind() {
            DatabaseErrorKind::Busy | DatabaseErrorKind::Locked | DatabaseErrorKind::Lost => {
                StoreErrorKind::Unavailable
            }
            DatabaseErrorKind::Corrupt | DatabaseErrorKind::Missing => StoreErrorKind::Corrupt,
            DatabaseErrorKind::Newer => StoreErrorKind::TooNew,
            DatabaseErrorKind::Full => StoreErrorKind::NoRoom,
            _ => StoreErrorKind::NotKept,
        };
        StoreError {
            kind,
            message: error.to_string(),
        }
    }
}
