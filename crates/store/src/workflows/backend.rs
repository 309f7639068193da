//! The port that each database engine implements for workflows: rows by key, a few ranges, and
//! transactions.

use std::future::Future;

use flow::engine::{
    CallRow, GroupRow, ItemRow, LookupResult, Notice, RowChanges, RowLookup, RunEvent, RunRow,
    RunStatus, StepAddress, TaskRow, TimerRow,
};
use flow::{ClaimRequest, LogLine, RunId, TaskId, TaskSelection, TextHash};

use crate::error::Result;

/// The result of beginning a transaction.
pub(crate) struct TransactionStart {
    pub(crate) validity: CacheValidity,
    /// The tasks that workers may claim, where the engine read them in the same round trip.
    pub(crate) ready: Option<Vec<TaskId>>,
}

/// Says how far the row cache, filled by earlier transactions, can be trusted in a new one.
///
/// Example: the cache has run `r` at event 41.
///
/// - SQLite keeps a counter that changes with every write of another process. The counter is
///   unchanged: `Holds`, and `r` is used without a query. It changed: `Fails`, and the whole cache
///   is dropped.
/// - PostgreSQL has no such counter, so every transaction begins with `IsInDoubt`. The first
///   decision that touches `r` reads its row, one row. If it still ends with event 41, all cached
///   tasks, items and groups of `r` are valid again. If it ends with 45, they are dropped, except
///   for those that [`flow::engine::RowCache`] can prove unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CacheValidity {
    /// No other process has written since.
    Holds,
    /// Another process has written since: every cached row may be stale.
    Fails,
    /// Another process may have written: each run shows by its last event whether its rows are
    /// stale.
    IsInDoubt,
}

/// Tells whether the engine stored rows exactly as they were decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteOutcome {
    AsTheyWere,
    /// The engine removed secrets from some rows, so that the cached rows differ from the stored
    /// ones.
    Scrubbed,
}

/// Rows to read in one query.
#[derive(Default)]
pub(crate) struct BulkQuery {
    pub(crate) tasks: Vec<TaskId>,
    pub(crate) groups: Vec<TaskId>,
    pub(crate) items: Vec<(TaskId, u32)>,
    /// A foreach, and how many of its items to read, from the next one that begins.
    pub(crate) next_items: Vec<(TaskId, u32)>,
    /// Steps under a path whose visits to count.
    pub(crate) places: Vec<StepAddress>,
}

/// The rows of a [`BulkQuery`] that exist.
#[derive(Default)]
pub(crate) struct BulkRows {
    pub(crate) tasks: Vec<TaskRow>,
    pub(crate) groups: Vec<GroupRow>,
    pub(crate) items: Vec<ItemRow>,
    /// One count for each place, in the same order.
    pub(crate) visits: Vec<u32>,
}

/// The tasks that a worker may claim.
#[derive(Default)]
pub(crate) struct ReadyTasks {
    /// The runs of these tasks, where the engine read them in the same query.
    pub(crate) runs: Vec<RunRow>,
    /// The task that has been ready for longest comes first.
    pub(crate) tasks: Vec<TaskId>,
}

/// One connection to a database, inside a transaction or not.
pub(crate) trait WorkflowBackend: Send + 'static {
    /// Begins a transaction. With `claim`, the engine may read the ready tasks in the same round
    /// trip.
    fn begin(
        &mut self,
        claim: Option<&ClaimRequest>,
        now_ms: u64,
    ) -> impl Future<Output = Result<TransactionStart>> + Send;

    /// Writes the last changes and commits: everything written since `begin` is on the disk.
    fn finish(&mut self, changes: &RowChanges)
    -> impl Future<Output = Result<WriteOutcome>> + Send;

    /// Says that the database is in another process or on another machine, so that each query takes
    /// a round trip.
    const IS_FAR: bool = false;

    /// Writes all changes in one statement outside of a transaction, if each run still ends with
    /// the event given in `known`. Returns `None`, having written nothing, if one does not.
    fn finish_if(
        &mut self,
        _changes: &RowChanges,
        _known: &[(RunId, u64)],
    ) -> impl Future<Output = Result<Option<WriteOutcome>>> + Send {
        async { Ok(None) }
    }

    /// Prepares statements while there is no work, so that the first request does not wait for it.
    fn warm_up(&mut self) -> impl Future<Output = Result<()>> + Send {
        async { Ok(()) }
    }

    /// Discards everything written since `begin`.
    fn roll_back(&mut self) -> impl Future<Output = ()> + Send;

    /// Reads the row of one lookup. A run that is read inside a transaction stays locked until its
    /// end.
    fn find(&mut self, lookup: &RowLookup) -> impl Future<Output = Result<LookupResult>> + Send;

    /// Reads these runs, as far as they exist, and locks them until the end of the transaction.
    fn find_runs(&mut self, runs: &[RunId]) -> impl Future<Output = Result<Vec<RunRow>>> + Send;

    /// Reads these rows, as far as they exist, in one query.
    fn find_all(&mut self, wanted: &BulkQuery) -> impl Future<Output = Result<BulkRows>> + Send;

    fn write(&mut self, changes: &RowChanges) -> impl Future<Output = Result<()>> + Send;

    /// Reads the tasks that a worker may claim, and locks their runs until the end of the
    /// transaction.
    fn ready(
        &mut self,
        claim: &ClaimRequest,
        now_ms: u64,
    ) -> impl Future<Output = Result<ReadyTasks>> + Send;

    fn due(
        &mut self,
        now_ms: u64,
        max: usize,
    ) -> impl Future<Output = Result<Vec<TimerRow>>> + Send;

    fn expired(
        &mut self,
        now_ms: u64,
        max: usize,
    ) -> impl Future<Output = Result<Vec<(TaskId, u64)>>> + Send;

    /// Lists runs, the newest first.
    fn runs(
        &mut self,
        status: Option<RunStatus>,
        max: usize,
    ) -> impl Future<Output = Result<Vec<RunRow>>> + Send;

    /// Lists tasks, the oldest first.
    fn tasks(
        &mut self,
        run: Option<&RunId>,
        which: TaskSelection,
        max: usize,
    ) -> impl Future<Output = Result<Vec<TaskRow>>> + Send;

    /// Lists the model calls of a task, the earliest first.
    fn calls(&mut self, task: &TaskId) -> impl Future<Output = Result<Vec<CallRow>>> + Send;

    /// Adds log lines. Lines that are stored already, and lines of deleted runs, are skipped.
    fn keep_log(&mut self, lines: &[LogLine]) -> impl Future<Output = Result<()>> + Send;

    /// Lists log lines in order, starting after an attempt and a line number.
    fn log(
        &mut self,
        task: &TaskId,
        after: (u32, u64),
        max: usize,
    ) -> impl Future<Output = Result<Vec<LogLine>>> + Send;

    fn events(
        &mut self,
        run: &RunId,
        after: u64,
        max: usize,
    ) -> impl Future<Output = Result<Vec<RunEvent>>> + Send;

    fn notices(&mut self, max: usize) -> impl Future<Output = Result<Vec<(u64, Notice)>>> + Send;

    fn acknowledge(&mut self, notices: &[u64]) -> impl Future<Output = Result<()>> + Send;

    /// Reads runs that ended before a time, in the order of their start, from behind a cursor, and
    /// locks them until the end of the transaction.
    fn ended(
        &mut self,
        before_ms: u64,
        after: &(u64, RunId),
        max: usize,
    ) -> impl Future<Output = Result<Vec<RunRow>>> + Send;

    /// Deletes every row of these runs.
    fn delete_runs(&mut self, runs: &[RunId]) -> impl Future<Output = Result<()>> + Send;

    fn keep_text(
        &mut self,
        hash: &TextHash,
        source: &str,
        now_ms: u64,
    ) -> impl Future<Output = Result<()>> + Send;

    /// Stores a name that a workflow text has.
    fn keep_name(&mut self, hash: &TextHash, name: &str)
    -> impl Future<Output = Result<()>> + Send;

    fn text(&mut self, hash: &TextHash) -> impl Future<Output = Result<Option<String>>> + Send;
}
