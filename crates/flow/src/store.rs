//! The port to stored runs, used by workers, the command line and the server.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::engine::{
    AttemptReport, CallRow, CommandRefusal, EngineAction, EngineCommand, Notice, RunEvent, RunRow,
    RunStart, RunStatus, SpentAmount, TaskRow, TimerRow,
};
use crate::id::{RunId, TaskId, TextHash};
use crate::limits::RateLimit;
use crate::log::LogLine;
use crate::workflow::Workflow;

/// The future of a store's answer. Boxed, so that stores can be used as `dyn WorkflowStore`.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// The result of a command. A refusal is an answer, not an error.
pub type ExecuteResult = Result<Vec<EngineAction>, CommandRefusal>;

/// Stores workflows, runs and everything that happened to them.
///
/// A change for which a call has returned `Ok` survives the death of the process and of the
/// machine. The store has its own clock: all processes that share a store see the same time.
pub trait WorkflowStore: Send + Sync {
    /// Stores a workflow's text; the same text is stored once.
    fn keep_workflow<'a>(&'a self, source: &'a str) -> StoreFuture<'a, TextHash>;

    /// Returns a stored workflow, parsed.
    fn workflow<'a>(&'a self, hash: &'a TextHash) -> StoreFuture<'a, Option<Arc<Workflow>>>;

    /// Begins a run of a stored workflow.
    fn start<'a>(
        &'a self,
        workflow: &'a TextHash,
        start: RunStart,
    ) -> StoreFuture<'a, ExecuteResult>;

    /// Decides and commits a command about a run that has begun.
    fn execute(&self, command: EngineCommand) -> StoreFuture<'_, ExecuteResult>;

    /// Applies a worker's reports and gives it its next tasks, in one transaction: each report
    /// through [`EngineCommand::Report`], each ready task through [`EngineCommand::Claim`], the longest waiting
    /// first. A refused report belongs to a task that another worker has claimed since.
    fn turn(
        &self,
        done: Vec<FinishedTask>,
        claim: ClaimRequest,
    ) -> StoreFuture<'_, Vec<ClaimedTask>>;

    /// Claims ready tasks for a worker that has done nothing yet.
    fn claim(&self, claim: ClaimRequest) -> StoreFuture<'_, Vec<ClaimedTask>> {
        self.turn(Vec::new(), claim)
    }

    /// Waits until a task may have become ready, in any process. Only a hint: callers must poll as
    /// well. A store that hears nothing waits for ever.
    fn hint(&self) -> StoreFuture<'_, ()> {
        Box::pin(std::future::pending())
    }

    /// Renews the leases of a worker. Returns the tasks that the worker has lost, each with the
    /// refusal: the worker must stop them.
    fn heartbeat<'a>(
        &'a self,
        tasks: &'a [(TaskId, u64)],
        lease_ms: u64,
    ) -> StoreFuture<'a, Vec<(TaskId, CommandRefusal)>>;

    /// Returns the values that the expressions of a claimed task's prompt read.
    fn view<'a>(
        &'a self,
        task: &'a TaskId,
        reads: &'a [expr::NameReference],
    ) -> StoreFuture<'a, Map<String, Value>>;

    /// Returns the timers that are due, the longest due first. They stay until they are fired.
    fn due(&self, max: usize) -> StoreFuture<'_, Vec<TimerRow>>;

    /// Returns tasks in progress whose lease has ended, with their fences.
    fn expired(&self, max: usize) -> StoreFuture<'_, Vec<(TaskId, u64)>>;

    fn run<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Option<RunRow>>;

    fn input<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Option<Value>>;

    fn task<'a>(&'a self, task: &'a TaskId) -> StoreFuture<'a, Option<TaskRow>>;

    /// Returns the newest runs, of this status or of any.
    fn runs(&self, status: Option<RunStatus>, max: usize) -> StoreFuture<'_, Vec<RunRow>>;

    /// Returns the tasks of a run, or of all runs, that have not ended, or all of them. The oldest
    /// first.
    fn tasks<'a>(
        &'a self,
        run: Option<&'a RunId>,
        which: TaskSelection,
        max: usize,
    ) -> StoreFuture<'a, Vec<TaskRow>>;

    /// Returns the events of a run after a number, in order.
    fn events<'a>(
        &'a self,
        run: &'a RunId,
        after: u64,
        max: usize,
    ) -> StoreFuture<'a, Vec<RunEvent>>;

    /// Lists the model calls of a task's attempts, the earliest first.
    fn calls<'a>(&'a self, task: &'a TaskId) -> StoreFuture<'a, Vec<CallRow>>;

    /// Stores output lines of commands. Lines that are stored already, and lines of deleted runs,
    /// are skipped.
    fn keep_log<'a>(&'a self, lines: &'a [LogLine]) -> StoreFuture<'a, ()>;

    /// Lists the output lines of a task's attempts in order, starting after this attempt and line.
    fn log<'a>(
        &'a self,
        task: &'a TaskId,
        after: (u32, u64),
        max: usize,
    ) -> StoreFuture<'a, Vec<LogLine>>;

    /// Returns notices that were not acknowledged, each with its number in the outbox.
    fn notices(&self, max: usize) -> StoreFuture<'_, Vec<(u64, Notice)>>;

    /// Removes notices from the outbox.
    fn acknowledge<'a>(&'a self, notices: &'a [u64]) -> StoreFuture<'a, ()>;

    /// Deletes runs that ended longer ago than this, with everything that belongs to them: some of
    /// them, the oldest first, from where the last call stopped. A run whose parent exists stays
    /// with it.
    fn throw_away(&self, age_ms: u64, from: PruneProgress) -> StoreFuture<'_, PruneProgress>;

    /// Deletes runs that have ended, with everything that belongs to them and the runs they have
    /// started. Returns one result per run, in the same order; a run that cannot be deleted does
    /// not affect the others.
    fn delete_runs<'a>(&'a self, runs: &'a [RunId]) -> StoreFuture<'a, Vec<RunDeletion>>;
}

/// The result of deleting a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunDeletion {
    /// The run is deleted, and so are the runs it had started.
    Done,
    NoSuchRun,
    /// The run, or a run it has started, has not ended.
    NotEnded(RunId),
    /// The run that has started it exists, and needs it.
    Needed(TaskId),
}

/// The progress of deleting old runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PruneProgress {
    pub count: usize,
    /// The last examined run, by its start; `None` when no run that old is left.
    pub last: Option<(u64, RunId)>,
}

/// Selects the tasks of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskSelection {
    /// Tasks that have not ended.
    Active,
    All,
}

/// A worker's request for tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimRequest {
    pub worker: String,
    pub max: usize,
    pub lease_ms: u64,
    /// Only tasks of these assignees; empty means all.
    pub assignees: Vec<String>,
    /// Only tasks of these runs; empty means of any.
    pub runs: Vec<RunId>,
    /// How many tasks may begin within a time.
    pub rates: Vec<RateLimit>,
}

/// A worker's report about a task it had claimed.
#[derive(Clone, Debug, PartialEq)]
pub struct FinishedTask {
    pub task: TaskId,
    pub fence: u64,
    pub report: AttemptReport,
}

/// A claimed task, with everything that the worker needs to execute it.
#[derive(Clone, Debug)]
pub struct ClaimedTask {
    /// The task after the claim: every later command about it needs its `fence`.
    pub task: TaskRow,
    pub workflow: Arc<Workflow>,
    /// The values that the step reads, see [`WorkflowStep::reads`](crate::WorkflowStep::reads), or the reason why
    /// they are unavailable.
    pub state: Result<Map<String, Value>, CommandRefusal>,
    /// The spending of the whole run so far.
    pub run_spent: SpentAmount,
}

/// The error of a store that cannot do what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct StoreError {
    pub kind: StoreErrorKind,
    /// A sentence that says what to do next.
    pub message: String,
}

/// The kind of a store error, for callers that branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// The database cannot be reached or is busy: try again.
    Unavailable,
    /// The disk refuses to keep what it was given.
    NotKept,
    /// The disk is full.
    NoRoom,
    /// A stored row cannot be read.
    Corrupt,
    /// The database was made by a newer version.
    TooNew,
    /// There is no workflow with this hash.
    NoSuchWorkflow,
}
