//! Group commit: one task owns the writing connection, takes every write request that waits,
//! decides all of them and commits them in one transaction. It replies when the transaction is on
//! the disk.
//!
//! A commit costs one wait for the disk, however much it holds, so requests that arrive during a
//! commit share the next one. A request that arrives alone is committed alone at once; nothing
//! waits for company.
//!
//! Example: request A arrives and is committed alone. While the disk works on it, B, C and D
//! arrive. `recv_many` hands them over together, [`CommitLoop::commit`] decides B, then C on the rows
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
use super::optimistic::{Decided, DecisionFailure, LastPoll, PendingCommit};
use super::retention::RunDeleter;
use super::worker_turn::WorkerTurn;
use crate::error::{DatabaseErrorKind, Error, Result};

/// Limits the write requests that one transaction takes.
const REQUESTS_MAX: usize = 512;

/// Limits the workflow names that this process remembers as stored, so that it writes each only
/// once.
const NAMES_MAX: usize = 1_000;

/// Limits the attempts at a transaction when the server is gone or gives it up. The first pause is
/// `RETRY_MS`, and each one after it is twice as long.
const ATTEMPTS_MAX: u32 = 8;
const RETRY_MS: u64 = 10;

/// A write request to the commit loop. The reply comes after its changes are on the disk.
pub(super) enum WriteRequest {
    KeepText(Arc<str>),
    Start(TextHash, RunStart),
    Execute(EngineCommand),
    Turn(Vec<EngineCommand>, ClaimRequest),
    Heartbeat(Vec<(TaskId, u64)>, u64),
    Acknowledge(Vec<u64>),
    Prune(u64, PruneProgress),
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
    Pruned(PruneProgress),
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
    pub(super) backend: S,
    pub(super) decider: CommandDecider,
    /// The row cache: rows of earlier transactions, so that the next one need not read them again.
    pub(super) cache: RowCache,
    pub(super) event_buffer: EventBuffer,
    pub(super) last_poll: Option<LastPoll>,
    /// The last time another process was seen writing to the same runs; optimistic commits pause
    /// after it.
    pub(super) overtaken: Option<Instant>,
    pub(super) is_warm: bool,
    /// The workflow names that the database has already.
    pub(super) stored_names: HashSet<(TextHash, String)>,
}

impl<S: WorkflowBackend> CommitLoop<S> {
    /// Commits write requests until every sender is gone.
    pub(super) async fn serve(mut self, mut queue: mpsc::Receiver<(WriteRequest, ReplySender)>) {
        let mut waiting = Vec::new();
        while queue.recv_many(&mut waiting, REQUESTS_MAX).await > 0 {
            let (requests, sender): (Vec<WriteRequest>, Vec<ReplySender>) =
                waiting.drain(..).unzip();
            match self.commit(&requests).await {
                Ok(replies) => {
                    let is_idle = replies.iter().any(is_nothing_claimed);
                    for (sender, reply) in sender.into_iter().zip(replies) {
                        // A caller that gave up waiting has dropped its receiver; that is no error.
                        let _ = sender.send(Ok(reply));
                    }
                    if is_idle && !std::mem::replace(&mut self.is_warm, true) {
                        // An error here would come back with the next request, which has a caller
                        // to tell.
                        let _ = self.backend.warm_up().await;
                    }
                }
                Err(error) if requests.len() > 1 && error.kind() != DatabaseErrorKind::Lost => {
                    for (request, sender) in requests.iter().zip(sender) {
                        self.commit_single(request, sender).await;
                    }
                }
                Err(error) => {
                    for sender in sender {
                        let _ = sender.send(Err(error.clone().into()));
                    }
                }
            }
        }
    }

    /// Commits one request in a transaction of its own, after the shared one failed.
    async fn commit_single(&mut self, request: &WriteRequest, sender: ReplySender) {
        let replies = self.commit(std::slice::from_ref(request)).await;
        let reply = replies.map(|replies| replies.into_iter().next());
        let _ = sender.send(match reply {
            Ok(reply) => Ok(reply.unwrap_or(WriteReply::Done)),
            Err(error) => Err(error.into()),
        });
    }

    /// Retries a transaction that the server lost. Deciding has no side effects, so that the same
    /// requests can be decided again on fresh rows.
    pub(super) async fn commit(&mut self, requests: &[WriteRequest]) -> Result<Vec<WriteReply>> {
        let mut attempts = 1;
        loop {
            match self.commit_once(requests).await {
                Err(error)
                    if error.kind() == DatabaseErrorKind::Lost && attempts < ATTEMPTS_MAX =>
                {
                    let wait_ms = RETRY_MS << attempts.min(7);
                    tokio::time::sleep(Duration::from_millis(wait_ms)).await;
                    attempts += 1;
                }
                done => return done,
            }
        }
    }

    /// Commits requests, and leaves nothing behind if that fails.
    async fn commit_once(&mut self, requests: &[WriteRequest]) -> Result<Vec<WriteReply>> {
        // Takes the cache out first: after an error it stays empty, and no row of a failed
        // transaction survives in it.
        let cache = std::mem::take(&mut self.cache);
        match self.commit_from(cache, requests).await {
            Ok((cache, replies)) => {
                self.cache = cache;
                Ok(replies)
            }
            Err(error) => {
                self.stored_names.clear();
                self.backend.roll_back().await;
                Err(error)
            }
        }
    }

    /// Commits requests, optimistically where that is possible. If another process was faster,
    /// nothing is written yet, and an ordinary transaction with an empty cache follows.
    async fn commit_from(
        &mut self,
        cache: RowCache,
        requests: &[WriteRequest],
    ) -> Result<(RowCache, Vec<WriteReply>)> {
        if !self.can_commit_optimistically(&cache, requests) {
            return self.commit_in_transaction(cache, requests).await;
        }
        if let Some(committed) = self.commit_optimistically(cache, requests).await? {
            return Ok(committed);
        }
        self.overtaken = Some(Instant::now());
        self.commit_in_transaction(RowCache::new(), requests).await
    }

    /// Commits requests in an ordinary transaction: begin, check the cache, decide, write, commit.
    async fn commit_in_transaction(
        &mut self,
        mut cache: RowCache,
        requests: &[WriteRequest],
    ) -> Result<(RowCache, Vec<WriteReply>)> {
        let skips_poll = self.skips_ready_poll(requests);
        let claim = requests.iter().find_map(claim_of).filter(|_| !skips_poll);
        let started = self.backend.begin(claim, self.decider.now_ms()).await?;
        let ready = match (skips_poll, started.ready) {
            (true, _) => ReadyLookup::Skipped,
            (false, None) => ReadyLookup::Unknown,
            (false, Some(oldest)) => {
                self.last_poll = Some(LastPoll::now(oldest.is_empty()));
                ReadyLookup::Found(oldest)
            }
        };
        match started.validity {
            CacheValidity::Holds => {}
            CacheValidity::Fails => cache = RowCache::new(),
            CacheValidity::IsInDoubt => {
                cache.doubt();
                // A lease can change without an event, and so without a new number on its run. A
                // turn decides nothing by another worker's lease; every other request does, and
                // reads its runs anew.
                let others = requests
                    .iter()
                    .filter(|request| claim_of(request).is_none());
                others.flat_map(runs_of).for_each(|run| cache.forget(run));
            }
        }
        let mut pending = PendingCommit::in_transaction(cache);
        let replies = self
            .decide_in_transaction(&mut pending, requests, ready)
            .await?;
        Ok((self.finish(pending.cache).await?, replies))
    }

    /// Decides all requests in a transaction, where the cache cannot be stale.
    pub(super) async fn decide_in_transaction(
        &mut self,
        pending: &mut PendingCommit,
        requests: &[WriteRequest],
        ready: ReadyLookup,
    ) -> Result<Vec<WriteReply>> {
        let decided = self.decide_all(pending, requests, ready).await;
        decided.map_err(|failure| match failure {
            DecisionFailure::Failed(error) => error,
            DecisionFailure::Stale(_) => {
                Error::new(DatabaseErrorKind::Lost, "Another process was faster.")
            }
        })
    }

    /// Writes the decided rows and commits the transaction. Returns the cache for the next one.
    pub(super) async fn finish(&mut self, mut cache: RowCache) -> Result<RowCache> {
        let changes = cache.flush();
        let outcome = self.backend.finish(&changes).await?;
        Ok(self.remember(cache, outcome, changes.events))
    }

    /// Returns the cache for the next transaction, after the changes are on the disk.
    pub(super) fn remember(
        &mut self,
        mut cache: RowCache,
        outcome: WriteOutcome,
        events: Vec<RunEvent>,
    ) -> RowCache {
        if cache.was_overtaken() {
            self.overtaken = Some(Instant::now());
        }
        match outcome {
            // The stored rows differ from the cached ones: secrets were removed on the way.
            WriteOutcome::Scrubbed => RowCache::new(),
            WriteOutcome::AsTheyWere => {
                self.event_buffer.keep(events);
                cache.settle();
                cache
            }
        }
    }

    /// Decides all requests in order. Each one sees the changes of those before it, because
    /// decisions go into the cache and not yet into the database.
    pub(super) async fn decide_all(
        &mut self,
        pending: &mut PendingCommit,
        requests: &[WriteRequest],
        mut ready: ReadyLookup,
    ) -> Decided<Vec<WriteReply>> {
        // Locks all runs in one order, so that two transactions cannot wait for each other.
        let runs: BTreeSet<RunId> = requests.iter().flat_map(runs_of).cloned().collect();
        self.read_runs(pending, runs).await?;
        let commands: Vec<&EngineCommand> = requests.iter().flat_map(commands_of).collect();
        self.prefetch(pending, &commands).await?;
        let mut replies = Vec::with_capacity(requests.len());
        let mut is_claimed_from = false;
        for request in requests {
            if matches!(request, WriteRequest::Turn(..))
                && std::mem::replace(&mut is_claimed_from, true)
            {
                // Writes the claims of the previous turn first, or this turn would find the same
                // tasks ready again.
                self.backend.write(&pending.cache.flush()).await?;
            }
            replies.push(
                self.decide_request(pending, request, std::mem::take(&mut ready))
                    .await?,
            );
        }
        Ok(replies)
    }

    /// Decides one request.
    async fn decide_request(
        &mut self,
        pending: &mut PendingCommit,
        request: &WriteRequest,
        ready: ReadyLookup,
    ) -> Decided<WriteReply> {
        match request {
            WriteRequest::KeepText(source) => {
                let now_ms = self.decider.now_ms();
                let hash = TextHash::of(source);
                self.backend.keep_text(&hash, source, now_ms).await?;
                Ok(WriteReply::Done)
            }
            WriteRequest::Start(hash, start) => {
                let Some(workflow) = self.decider.texts.get(&mut self.backend, hash).await? else {
                    return Ok(WriteReply::NoSuchWorkflow(hash.clone()));
                };
                self.keep_name(hash, start.name.as_ref()).await?;
                let command = EngineCommand::Start(start.clone());
                let executed = self.decide(pending, |decider, cache| {
                    decider.execute(cache, &workflow, &command)
                });
                Ok(WriteReply::Executed(executed.await?))
            }
            WriteRequest::Execute(command @ EngineCommand::Move { run, to, .. }) => {
                let Some(workflow) = self.decider.texts.get(&mut self.backend, to).await? else {
                    return Ok(WriteReply::NoSuchWorkflow(to.clone()));
                };
                let decide = |decider: &CommandDecider, cache: &mut RowCache| {
                    let name = cache.run(run).map_err(CacheMiss::Row)?;
                    let name = name.and_then(|row| row.name.clone());
                    Ok((decider.execute(cache, &workflow, command)?, name))
                };
                let (executed, name) = self.decide(pending, decide).await?;
                if executed.is_ok() {
                    self.keep_name(to, name.as_ref()).await?;
                }
                Ok(WriteReply::Executed(executed))
            }
            WriteRequest::Execute(command) => Ok(WriteReply::Executed(
                self.execute_pinned(pending, command).await?,
            )),
            WriteRequest::Turn(reports, claim) => {
                let turn = WorkerTurn::new(reports, claim);
                Ok(WriteReply::Claimed(turn.run(self, pending, ready).await?))
            }
            WriteRequest::Heartbeat(tasks, lease_ms) => Ok(WriteReply::Lost(
                self.renew_leases(pending, tasks, *lease_ms).await?,
            )),
            WriteRequest::Acknowledge(notices) => {
                self.backend.acknowledge(notices).await?;
                Ok(WriteReply::Done)
            }
            WriteRequest::Prune(age_ms, from) => {
                let before_ms = self.decider.now_ms().saturating_sub(*age_ms);
                let pruned = self.deleter(pending).prune(before_ms, from.clone()).await?;
                Ok(WriteReply::Pruned(pruned))
            }
            WriteRequest::KeepLog(lines) => {
                self.backend.keep_log(lines).await?;
                Ok(WriteReply::Done)
            }
            WriteRequest::Delete(runs) => {
                let deleted = self.deleter(pending).delete(runs).await?;
                Ok(WriteReply::Deleted(deleted))
            }
        }
    }

    fn deleter<'a>(&'a mut self, pending: &'a mut PendingCommit) -> RunDeleter<'a, S> {
        RunDeleter {
            backend: &mut self.backend,
            cache: &mut pending.cache,
            event_buffer: &self.event_buffer,
        }
    }

    /// Stores the name of a workflow once, because run lists search by name.
    async fn keep_name(&mut self, hash: &TextHash, name: Option<&String>) -> Result<()> {
        let Some(name) = name else {
            return Ok(());
        };
        let key = (hash.clone(), name.clone());
        if !self.stored_names.contains(&key) {
            self.backend.keep_name(hash, name).await?;
            if self.stored_names.len() >= NAMES_MAX {
                self.stored_names.clear();
            }
            self.stored_names.insert(key);
        }
        Ok(())
    }

    /// Renews leases, and returns the tasks whose lease is lost.
    async fn renew_leases(
        &mut self,
        pending: &mut PendingCommit,
        tasks: &[(TaskId, u64)],
        lease_ms: u64,
    ) -> Decided<Vec<(TaskId, CommandRefusal)>> {
        let beats = tasks.iter().map(|(task, fence)| EngineCommand::Heartbeat {
            task: task.clone(),
            fence: *fence,
            lease_ms,
        });
        let beats: Vec<EngineCommand> = beats.collect();
        self.prefetch(pending, &beats.iter().collect::<Vec<_>>())
            .await?;
        let mut lost = Vec::new();
        for (command, (task, _)) in beats.iter().zip(tasks) {
            if let Err(refusal) = self.execute_pinned(pending, command).await? {
                lost.push((task.clone(), refusal));
            }
        }
        Ok(lost)
    }

    /// Decides a command with the workflow version that its run is pinned to.
    async fn execute_pinned(
        &mut self,
        pending: &mut PendingCommit,
        command: &EngineCommand,
    ) -> Decided<ExecuteResult> {
        let decide =
            |decider: &CommandDecider, cache: &mut RowCache| decider.execute_pinned(cache, command);
        self.decide(pending, decide).await
    }
}

/// Returns the runs that a request names, so that all of them can be locked before deciding.
pub(super) fn runs_of(request: &WriteRequest) -> Vec<&RunId> {
    match request {
        WriteRequest::Start(_, start) => vec![&start.run],
        WriteRequest::Execute(command) => vec![command.run()],
        WriteRequest::Turn(reports, _) => reports.iter().map(EngineCommand::run).collect(),
        WriteRequest::Heartbeat(tasks, _) => tasks.iter().map(|(task, _)| &task.run).collect(),
        WriteRequest::KeepText(_)
        | WriteRequest::Acknowledge(_)
        | WriteRequest::Prune(..)
        | WriteRequest::Delete(_)
        | WriteRequest::KeepLog(_) => Vec::new(),
    }
}

fn claim_of(request: &WriteRequest) -> Option<&ClaimRequest> {
    match request {
        WriteRequest::Turn(_, claim) => Some(claim),
        _ => None,
    }
}

/// Returns the commands of a request whose rows can be prefetched.
fn commands_of(request: &WriteRequest) -> &[EngineCommand] {
    match request {
        WriteRequest::Execute(command) => std::slice::from_ref(command),
        WriteRequest::Turn(reports, _) => reports,
        _ => &[],
    }
}

fn is_nothing_claimed(reply: &WriteReply) -> bool {
    matches!(reply, WriteReply::Claimed(claimed) if claimed.is_empty())
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
