//! What an engine has to do for workflows: rows by their keys, and a few ranges.

use std::future::Future;

use flow::engine::{
    Changes, Event, Found, GroupRow, ItemRow, Lookup, Notice, Place, RunRow, RunStatus, TaskRow,
    TimerRow,
};
use flow::{Claim, RunId, TaskId, TextHash, Which};

use crate::error::Result;

/// How a transaction begins.
pub(crate) struct Begun {
    pub(crate) memory: Memory,
    /// The tasks that may be claimed, where they were found on the way.
    pub(crate) ready: Option<Vec<TaskId>>,
}

/// What the rows are worth that are known from the transactions before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    /// Nobody else has written since.
    Holds,
    /// Somebody has.
    Fails,
    /// Each run tells by itself whether it has come further.
    IsInDoubt,
}

/// What became of rows that were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    AsTheyWere,
    /// Known keys were taken out of some.
    Scrubbed,
}

/// One connection to a database, inside a transaction or not.
pub(crate) trait Shelf: Send + 'static {
    /// Begins a transaction, which may go on with a claim at this time.
    fn begin(
        &mut self,
        claim: Option<&Claim>,
        now_ms: u64,
    ) -> impl Future<Output = Result<Begun>> + Send;

    /// Writes the last of it, and what is written since `begin` is on the disk, all of it.
    /// Says what became of all that.
    fn finish(&mut self, changes: &Changes) -> impl Future<Output = Result<Kept>> + Send;

    /// Whether [`finish_if`](Shelf::finish_if) is worth trying: not where beginning costs next to
    /// nothing.
    const GUESSES: bool = false;

    /// Writes all of it outside of a transaction, on the disk when it is answered, if these runs have
    /// come no further than this; nothing if one has.
    fn finish_if(
        &mut self,
        _changes: &Changes,
        _known: &[(RunId, u64)],
    ) -> impl Future<Output = Result<Option<Kept>>> + Send {
        async { Ok(None) }
    }

    /// What is written since `begin` never was.
    fn roll_back(&mut self) -> impl Future<Output = ()> + Send;

    /// What a decision lacks. A run that is looked up inside of a transaction is this transaction's
    /// until its end.
    fn find(&mut self, lookup: &Lookup) -> impl Future<Output = Result<Found>> + Send;

    /// Those of these runs that there are, each this transaction's until its end.
    fn find_runs(&mut self, runs: &[RunId]) -> impl Future<Output = Result<Vec<RunRow>>> + Send;

    /// Those of these tasks that there are.
    fn find_tasks(&mut self, tasks: &[TaskId])
    -> impl Future<Output = Result<Vec<TaskRow>>> + Send;

    /// Those of these foreach steps that there are.
    fn find_groups(
        &mut self,
        groups: &[TaskId],
    ) -> impl Future<Output = Result<Vec<GroupRow>>> + Send;

    /// Those of these items that there are.
    fn find_items(
        &mut self,
        items: &[(TaskId, u32)],
    ) -> impl Future<Output = Result<Vec<ItemRow>>> + Send;

    /// How often each of these places was visited, in their order.
    fn find_visits(&mut self, places: &[Place]) -> impl Future<Output = Result<Vec<u32>>> + Send;

    fn write(&mut self, changes: &Changes) -> impl Future<Output = Result<()>> + Send;

    /// The tasks that may be claimed, the longest waiting first.
    fn ready(
        &mut self,
        claim: &Claim,
        now_ms: u64,
    ) -> impl Future<Output = Result<Vec<TaskId>>> + Send;

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

    /// The newest first.
    fn runs(
        &mut self,
        status: Option<RunStatus>,
        max: usize,
    ) -> impl Future<Output = Result<Vec<RunRow>>> + Send;

    /// The oldest first.
    fn tasks(
        &mut self,
        run: Option<&RunId>,
        which: Which,
        max: usize,
    ) -> impl Future<Output = Result<Vec<TaskRow>>> + Send;

    fn events(
        &mut self,
        run: &RunId,
        after: u64,
        max: usize,
    ) -> impl Future<Output = Result<Vec<Event>>> + Send;

    fn notices(&mut self, max: usize) -> impl Future<Output = Result<Vec<(u64, Notice)>>> + Send;

    fn acknowledge(&mut self, notices: &[u64]) -> impl Future<Output = Result<()>> + Send;

    fn keep_text(
        &mut self,
        hash: &TextHash,
        source: &str,
        now_ms: u64,
    ) -> impl Future<Output = Result<()>> + Send;

    fn text(&mut self, hash: &TextHash) -> impl Future<Output = Result<Option<String>>> + Send;
}
