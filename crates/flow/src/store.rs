//! The port behind which runs are kept: what workers, the command line and the server ask of it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::engine::{
    Action, CallRow, Command, Event, Notice, Refusal, Report, RunRow, RunStatus, Spent, Start,
    TaskRow, TimerRow,
};
use crate::id::{RunId, TaskId, TextHash};
use crate::workflow::Workflow;

/// Something being stored or read. Boxed, so that stores can be kept as `dyn Store`.
pub type Stored<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// What a command came to. A refusal is an answer, not an error.
pub type Executed = Result<Vec<Action>, Refusal>;

/// Keeps workflows, runs and everything that happened to them.
///
/// What a call has returned `Ok` for survives the death of the process and of the machine. The time
/// is the store's: all processes that share one see the same order.
pub trait Store: Send + Sync {
    /// Keeps a workflow's text; the same text is kept once.
    fn keep_workflow<'a>(&'a self, source: &'a str) -> Stored<'a, TextHash>;

    /// A kept workflow, parsed.
    fn workflow<'a>(&'a self, hash: &'a TextHash) -> Stored<'a, Option<Arc<Workflow>>>;

    /// Begins a run of a kept workflow.
    fn start<'a>(&'a self, workflow: &'a TextHash, start: Start) -> Stored<'a, Executed>;

    /// Decides and commits a command about a run that has begun.
    fn execute(&self, command: Command) -> Stored<'_, Executed>;

    /// Takes in what a worker has done and gives it what it does next, in one transaction: each
    /// report through [`Command::Report`], each ready task through [`Command::Claim`], the longest
    /// waiting first. A report that is refused is about a task that is somebody else's by now.
    fn turn(&self, done: Vec<Done>, claim: Claim) -> Stored<'_, Vec<Claimed>>;

    /// Claims ready tasks for a worker that has done nothing yet.
    fn claim(&self, claim: Claim) -> Stored<'_, Vec<Claimed>> {
        self.turn(Vec::new(), claim)
    }

    /// Waits until something may have become ready, in whichever process. Only a hint: whoever
    /// waits looks by themselves from time to time. A store that hears nothing waits for ever.
    fn hint(&self) -> Stored<'_, ()> {
        Box::pin(std::future::pending())
    }

    /// Keeps the leases of a worker. Gives the tasks that are not its any more, each with the
    /// refusal: the worker stops them.
    fn heartbeat<'a>(
        &'a self,
        tasks: &'a [(TaskId, u64)],
        lease_ms: u64,
    ) -> Stored<'a, Vec<(TaskId, Refusal)>>;

    /// What the expressions of a claimed task's prompt read.
    fn view<'a>(
        &'a self,
        task: &'a TaskId,
        reads: &'a [expr::Reference],
    ) -> Stored<'a, Map<String, Value>>;

    /// Timers that are due, the longest due first. They stay until they are fired.
    fn due(&self, max: usize) -> Stored<'_, Vec<TimerRow>>;

    /// Tasks in progress whose lease has ended, with their fences.
    fn expired(&self, max: usize) -> Stored<'_, Vec<(TaskId, u64)>>;

    fn run<'a>(&'a self, run: &'a RunId) -> Stored<'a, Option<RunRow>>;

    fn input<'a>(&'a self, run: &'a RunId) -> Stored<'a, Option<Value>>;

    fn task<'a>(&'a self, task: &'a TaskId) -> Stored<'a, Option<TaskRow>>;

    /// The newest runs, of this status or of any.
    fn runs(&self, status: Option<RunStatus>, max: usize) -> Stored<'_, Vec<RunRow>>;

    /// The tasks of a run, or of all runs; those that have not ended, or all of them. The oldest
    /// first.
    fn tasks<'a>(
        &'a self,
        run: Option<&'a RunId>,
        which: Which,
        max: usize,
    ) -> Stored<'a, Vec<TaskRow>>;

    /// The events of a run after a number, in order.
    fn events<'a>(&'a self, run: &'a RunId, after: u64, max: usize) -> Stored<'a, Vec<Event>>;

    /// What was said in the attempts of a task, the first one first.
    fn calls<'a>(&'a self, task: &'a TaskId) -> Stored<'a, Vec<CallRow>>;

    /// Notices that were not acknowledged, each with its number in the outbox.
    fn notices(&self, max: usize) -> Stored<'_, Vec<(u64, Notice)>>;

    /// Takes notices out of the outbox.
    fn acknowledge<'a>(&'a self, notices: &'a [u64]) -> Stored<'a, ()>;

    /// Throws away runs that ended longer ago than this, with everything that belongs to them: some of
    /// them, the oldest first, from where it was left. A run whose parent is there stays with it.
    fn throw_away(&self, age_ms: u64, from: Thrown) -> Stored<'_, Thrown>;

    /// Deletes runs that have ended, with everything that belongs to them and with the runs they have
    /// started. Says what became of each, in their order; one that stays keeps no other.
    fn delete_runs<'a>(&'a self, runs: &'a [RunId]) -> Stored<'a, Vec<Deletion>>;
}

/// What became of a run that was to be deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// It is gone, with the runs it had started.
    Done,
    NoSuchRun,
    /// It, or a run it has started, has not ended.
    NotEnded(RunId),
    /// The run that has started it is there, and needs it.
    Needed(TaskId),
}

/// What was thrown away so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Thrown {
    pub count: usize,
    /// The run that was looked at last, by when it was begun; nothing where none is left that old.
    pub last: Option<(u64, RunId)>,
}

/// Which tasks are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Those that have not ended.
    Active,
    All,
}

/// What a worker wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    pub worker: String,
    pub max: usize,
    pub lease_ms: u64,
    /// Only tasks of these assignees; empty means of anybody.
    pub assignees: Vec<String>,
    /// Only tasks of these runs; empty means of any.
    pub runs: Vec<RunId>,
}

/// What a worker has to say of a task it had claimed.
#[derive(Clone, Debug, PartialEq)]
pub struct Done {
    pub task: TaskId,
    pub fence: u64,
    pub report: Report,
}

/// A task in a worker's hands, with all that the work needs.
#[derive(Clone, Debug)]
pub struct Claimed {
    /// As it is after the claim: its `fence` goes with every word about it.
    pub task: TaskRow,
    pub workflow: Arc<Workflow>,
    /// What the step reads, see [`Step::reads`](crate::Step::reads); or why it cannot be had.
    pub state: Result<Map<String, Value>, Refusal>,
    /// What the whole run has spent so far.
    pub run_spent: Spent,
}

/// Why a store cannot do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct StoreError {
    pub kind: StoreErrorKind,
    /// A sentence that says what to do next.
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// The database cannot be reached or is busy: try again.
    Unavailable,
    /// The disk is full or refuses to keep what it was given.
    NotKept,
    /// What is stored cannot be read.
    Corrupt,
    /// The database was made by a newer version.
    TooNew,
    /// There is no workflow with this hash.
    NoSuchWorkflow,
}
