//! Workflows and their runs behind `flow`'s port, the same for every engine.
//!
//! Every change is a write request to the commit loop, which groups the requests that wait into one
//! transaction. Reads use a connection of their own and never wait for writes.

mod backend;
pub(crate) mod columns;
mod commit_loop;
mod decider;
pub(crate) mod derived;
mod event_buffer;
pub(crate) mod event_pages;
mod optimistic;
mod prefetch;
mod retention;
mod row_encoder;
pub(crate) mod shorthand;
mod worker_turn;
mod workflow_cache;

use std::collections::HashSet;
use std::future::Future;
use std::sync::Arc;

use agent::AgentClock;
use flow::engine::{
    CallRow, CommandRefusal, EngineCommand, LookupResult, Notice, RowCache, RowLookup, RunEvent,
    RunRow, RunStart,
};
use flow::engine::{DecisionStop, RunStatus, TaskRow, TimerRow, view};
use flow::{
    ClaimRequest, ClaimedTask, ExecuteResult, FinishedTask, LogLine, RunDeletion, RunId,
    StoreError, StoreErrorKind, StoreFuture, WorkflowStore,
};
use flow::{PruneProgress, TaskId, TaskSelection, TextHash, Workflow};
use serde_json::{Map, Value};
use tokio::sync::{Mutex, Notify, mpsc, oneshot};
use tokio::task::AbortHandle;

use commit_loop::{CommitLoop, ReplySender, WriteReply, WriteRequest};
use decider::CommandDecider;
use event_buffer::EventBuffer;
use workflow_cache::WorkflowCache;

pub(crate) use backend::{
    BulkQuery, BulkRows, CacheValidity, ReadyTasks, TransactionStart, WorkflowBackend, WriteOutcome,
};
pub(crate) use row_encoder::RowEncoder;

/// Limits the requests that wait for the commit loop; further callers wait until there is room.
const QUEUE_MAX: usize = 4_096;

/// The workflow database: the queue to the commit loop, and a connection for reads.
pub(crate) struct WorkflowDatabase<S> {
    requests: mpsc::Sender<(WriteRequest, ReplySender)>,
    reading: Arc<Mutex<S>>,
    texts: WorkflowCache,
    event_buffer: EventBuffer,
    clock: Arc<dyn AgentClock>,
    listener: Option<ReadyListener>,
}

/// Wakes waiting workers when a task may have become ready, in this process or another.
pub(crate) struct ReadyListener {
    ready: Arc<Notify>,
    /// Notified when a worker begins to wait, so that the listener connects only if it is needed.
    wanted: Arc<Notify>,
    task: AbortHandle,
}

impl ReadyListener {
    /// Spawns the listener: `listen` gets the notification to fire and the one that says a worker
    /// waits. Must be called inside a runtime.
    pub(crate) fn spawn<R>(listen: impl FnOnce(Arc<Notify>, Arc<Notify>) -> R) -> ReadyListener
    where
        R: Future<Output = ()> + Send + 'static,
    {
        let (ready, wanted) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let listening = listen(Arc::clone(&ready), Arc::clone(&wanted));
        let task = tokio::spawn(listening).abort_handle();
        ReadyListener {
            ready,
            wanted,
            task,
        }
    }
}

impl Drop for ReadyListener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl<S: WorkflowBackend> WorkflowDatabase<S> {
    /// Starts the commit loop on `writing`, and reads on `reading`. Must be called inside a
    /// runtime.
    pub(crate) fn open(writing: S, reading: S, clock: Arc<dyn AgentClock>) -> WorkflowDatabase<S> {
        let texts = WorkflowCache::default();
        let event_buffer = EventBuffer::default();
        let (requests, queue) = mpsc::channel(QUEUE_MAX);
        let commit_loop = CommitLoop {
            backend: writing,
            decider: CommandDecider {
                texts: texts.clone(),
                clock: Arc::clone(&clock),
            },
            cache: RowCache::new(),
            event_buffer: event_buffer.clone(),
            last_poll: None,
            overtaken: None,
            is_warm: false,
            stored_names: HashSet::new(),
        };
        tokio::spawn(commit_loop.serve(queue));
        WorkflowDatabase {
            requests,
            reading: Arc::new(Mutex::new(reading)),
            texts,
            event_buffer,
            clock,
            listener: None,
        }
    }

    /// Attaches the listener that wakes waiting workers.
    pub(crate) fn with_listener(mut self, listener: ReadyListener) -> WorkflowDatabase<S> {
        self.listener = Some(listener);
        self
    }

    async fn request(&self, request: WriteRequest) -> Result<WriteReply, StoreError> {
        let (sender, reply) = oneshot::channel();
        let sent = self.requests.send((request, sender)).await;
        sent.map_err(|_| closed())?;
        reply.await.map_err(|_| closed())?
    }

    async fn executed(&self, request: WriteRequest) -> Result<ExecuteResult, StoreError> {
        match self.request(request).await? {
            WriteReply::Executed(executed) => Ok(executed),
            WriteReply::NoSuchWorkflow(hash) => Err(StoreError {
                kind: StoreErrorKind::NoSuchWorkflow,
                message: format!(
                    "There is no workflow {hash} in the database; keep its text first."
                ),
            }),
            _ => Err(closed()),
        }
    }

    async fn found(&self, lookup: RowLookup) -> Result<LookupResult, StoreError> {
        let mut backend = self.reading.lock().await;
        Ok(backend.find(&lookup).await?)
    }
}

/// The error of a request whose commit loop has ended with its runtime.
fn closed() -> StoreError {
    StoreError {
        kind: StoreErrorKind::Unavailable,
        message: "The database is being closed; try again.".to_owned(),
    }
}

impl<S: WorkflowBackend> WorkflowStore for WorkflowDatabase<S> {
    fn keep_workflow<'a>(&'a self, source: &'a str) -> StoreFuture<'a, TextHash> {
        Box::pin(async move {
            self.request(WriteRequest::KeepText(source.into())).await?;
            Ok(TextHash::of(source))
        })
    }

    fn workflow<'a>(&'a self, hash: &'a TextHash) -> StoreFuture<'a, Option<Arc<Workflow>>> {
        Box::pin(async move {
            let mut backend = self.reading.lock().await;
            Ok(self.texts.get(&mut *backend, hash).await?)
        })
    }

    fn start<'a>(
        &'a self,
        workflow: &'a TextHash,
        start: RunStart,
    ) -> StoreFuture<'a, ExecuteResult> {
        Box::pin(self.executed(WriteRequest::Start(workflow.clone(), start)))
    }

    fn execute(&self, command: EngineCommand) -> StoreFuture<'_, ExecuteResult> {
        Box::pin(self.executed(WriteRequest::Execute(command)))
    }

    fn turn(
        &self,
        done: Vec<FinishedTask>,
        claim: ClaimRequest,
    ) -> StoreFuture<'_, Vec<ClaimedTask>> {
        let reports = done.into_iter().map(|done| EngineCommand::Report {
            task: done.task,
            fence: done.fence,
            report: done.report,
        });
        let turn = WriteRequest::Turn(reports.collect(), claim);
        Box::pin(async move {
            match self.request(turn).await? {
                WriteReply::Claimed(claimed) => Ok(claimed),
                _ => Err(closed()),
            }
        })
    }

    fn hint(&self) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            match &self.listener {
                Some(listener) => {
                    listener.wanted.notify_one();
                    listener.ready.notified().await;
                }
                None => std::future::pending().await,
            }
            Ok(())
        })
    }

    fn heartbeat<'a>(
        &'a self,
        tasks: &'a [(TaskId, u64)],
        lease_ms: u64,
    ) -> StoreFuture<'a, Vec<(TaskId, CommandRefusal)>> {
        Box::pin(async move {
            match self
                .request(WriteRequest::Heartbeat(tasks.to_vec(), lease_ms))
                .await?
            {
                WriteReply::Lost(lost) => Ok(lost),
                _ => Err(closed()),
            }
        })
    }

    fn view<'a>(
        &'a self,
        task: &'a TaskId,
        reads: &'a [flow::NameReference],
    ) -> StoreFuture<'a, Map<String, Value>> {
        Box::pin(async move {
            let refused = |refusal: CommandRefusal| StoreError {
                kind: StoreErrorKind::Corrupt,
                message: refusal.message,
            };
            let mut backend = self.reading.lock().await;
            let mut cache = RowCache::new();
            let found = backend.find(&RowLookup::Run(task.run.clone())).await?;
            let LookupResult::Run(Some(run)) = &found else {
                let message = format!("There is no run {}.", task.run);
                return Err(refused(CommandRefusal {
                    kind: flow::engine::RefusalKind::NoSuchRun,
                    message,
                }));
            };
            let hash = run.workflow.clone();
            let Some(workflow) = self.texts.get(&mut *backend, &hash).await? else {
                return Err(StoreError {
                    kind: StoreErrorKind::NoSuchWorkflow,
                    message: format!("The workflow {hash} of {task} is not in the database."),
                });
            };
            cache.learn(RowLookup::Run(task.run.clone()), found);
            loop {
                match view(&workflow, &mut cache, task, reads) {
                    Ok(state) => return Ok(state),
                    Err(DecisionStop::Refused(refusal)) => return Err(refused(refusal)),
                    Err(DecisionStop::Rows(lookup)) => {
                        let found = backend.find(&lookup).await?;
                        cache.learn(lookup, found);
                    }
                }
            }
        })
    }

    fn due(&self, max: usize) -> StoreFuture<'_, Vec<TimerRow>> {
        Box::pin(async move {
            let mut backend = self.reading.lock().await;
            Ok(backend.due(self.clock.now_ms(), max).await?)
        })
    }

    fn expired(&self, max: usize) -> StoreFuture<'_, Vec<(TaskId, u64)>> {
        Box::pin(async move {
            let mut backend = self.reading.lock().await;
            Ok(backend.expired(self.clock.now_ms(), max).await?)
        })
    }

    fn run<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Option<RunRow>> {
        Box::pin(async move {
            match self.found(RowLookup::Run(run.clone())).await? {
                LookupResult::Run(row) => Ok(row.map(for_readers)),
                _ => Ok(None),
            }
        })
    }

    fn input<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Option<Value>> {
        Box::pin(async move {
            match self.found(RowLookup::Input(run.clone())).await? {
                LookupResult::Input(input) => Ok(input),
                _ => Ok(None),
            }
        })
    }

    fn task<'a>(&'a self, task: &'a TaskId) -> StoreFuture<'a, Option<TaskRow>> {
        Box::pin(async move {
            match self.found(RowLookup::Task(task.clone())).await? {
                LookupResult::Task(row) => Ok(row),
                _ => Ok(None),
            }
        })
    }

    fn runs(&self, status: Option<RunStatus>, max: usize) -> StoreFuture<'_, Vec<RunRow>> {
        Box::pin(async move {
            let mut backend = self.reading.lock().await;
            let rows = backend.runs(status, max).await?;
            Ok(rows.into_iter().map(for_readers).collect())
        })
    }

    fn tasks<'a>(
        &'a self,
        run: Option<&'a RunId>,
        which: TaskSelection,
        max: usize,
    ) -> StoreFuture<'a, Vec<TaskRow>> {
        Box::pin(async move {
            let mut backend = self.reading.lock().await;
            Ok(backend.tasks(run, which, max).await?)
        })
    }

    fn events<'a>(
        &'a self,
        run: &'a RunId,
        after: u64,
        max: usize,
    ) -> StoreFuture<'a, Vec<RunEvent>> {
        Box::pin(async move {
            let buffered = self.event_buffer.after(run, after, max);
            if !buffered.is_empty() {
                return Ok(buffered);
            }
            let mut backend = self.reading.lock().await;
            Ok(backend.events(run, after, max).await?)
        })
    }

    fn calls<'a>(&'a self, task: &'a TaskId) -> StoreFuture<'a, Vec<CallRow>> {
        Box::pin(async move {
            let mut backend = self.reading.lock().await;
            Ok(backend.calls(task).await?)
        })
    }

    fn keep_log<'a>(&'a self, lines: &'a [LogLine]) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            self.request(WriteRequest::KeepLog(lines.to_vec())).await?;
            Ok(())
        })
    }

    fn log<'a>(
        &'a self,
        task: &'a TaskId,
        after: (u32, u64),
        max: usize,
    ) -> StoreFuture<'a, Vec<LogLine>> {
        Box::pin(async move {
            let mut backend = self.reading.lock().await;
            Ok(backend.log(task, after, max).await?)
        })
    }

    fn notices(&self, max: usize) -> StoreFuture<'_, Vec<(u64, Notice)>> {
        Box::pin(async move {
            let mut backend = self.reading.lock().await;
            Ok(backend.notices(max).await?)
        })
    }

    fn acknowledge<'a>(&'a self, notices: &'a [u64]) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            self.request(WriteRequest::Acknowledge(notices.to_vec()))
                .await?;
            Ok(())
        })
    }

    fn delete_runs<'a>(&'a self, runs: &'a [RunId]) -> StoreFuture<'a, Vec<RunDeletion>> {
        Box::pin(async move {
            match self.request(WriteRequest::Delete(runs.to_vec())).await? {
                WriteReply::Deleted(deletions) => Ok(deletions),
                _ => Err(closed()),
            }
        })
    }

    fn throw_away(&self, age_ms: u64, from: PruneProgress) -> StoreFuture<'_, PruneProgress> {
        Box::pin(async move {
            match self.request(WriteRequest::Prune(age_ms, from)).await? {
                WriteReply::Pruned(pruned) => Ok(pruned),
                _ => Ok(PruneProgress::default()),
            }
        })
    }
}

/// Hides `quiet_since`, which concerns only processes that write.
fn for_readers(row: RunRow) -> RunRow {
    RunRow {
        quiet_since: None,
        ..row
    }
}

#[cfg(test)]
mod tests;
