//! What an engine has to do for workflows: rows by their keys, and a few ranges.

use std::future::Future;

use flow::engine::{
    CallRow, Changes, Event, Found, GroupRow, ItemRow, Lookup, Notice, Place, RunRow, RunStatus,
    TaskRow, TimerRow,
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

/// Rows that are looked up together.
#[derive(Default)]
pub(crate) struct Wanted {
    pub(crate) tasks: Vec<TaskId>,
    pub(crate) groups: Vec<TaskId>,
    pub(crate) items: Vec<(TaskId, u32)>,
    /// So many items of a foreach, from the next one that begins.
    pub(crate) next_items: Vec<(TaskId, u32)>,
    /// How often they were visited.
    pub(crate) places: Vec<Place>,
}

/// Those that there were.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) tasks: Vec<TaskRow>,
    pub(crate) groups: Vec<GroupRow>,
    pub(crate) items: Vec<ItemRow>,
    /// In the order of the places.
    pub(crate) visits: Vec<u32>,
}

/// What may be claimed.
#[derive(Default)]
pub(crate) struct Waiting {
    /// The runs that it is of, where they were found on the way.
    pub(crate) runs: Vec<RunRow>,
    /// The longest waiting first.
    pub(crate) tasks: Vec<TaskId>,
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

    /// Whether it is in another process or on another machine, so that asking it takes long.
    const IS_FAR: bool = false;

    /// Writes all of it outside of a transaction, on the disk when it is answered, if these runs have
    /// come no further than this; nothing if one has.
    fn finish_if(
        &mut self,
        _changes: &Changes,
        _known: &[(RunId, u64)],
    ) -> impl Future<Output = Result<Option<Kept>>> + Send {
        async { Ok(None) }
    }

    /// Does what is done best before there is work, so that the first of it is not kept waiting.
    fn rehearse(&mut self) -> impl Future<Output = Result<()>> + Send {
        async { Ok(()) }
    }

    /// What is written since `begin` never was.
    fn roll_back(&mut self) -> impl Future<Output = ()> + Send;

    /// What a decision lacks. A run that is looked up inside of a transaction is this transaction's
    /// until its end.
    fn find(&mut self, lookup: &Lookup) -> impl Future<Output = Result<Found>> + Send;

    /// Those of these runs that there are, each this transaction's until its end.
    fn find_runs(&mut self, runs: &[RunId]) -> impl Future<Output = Result<Vec<RunRow>>> + Send;

    /// Those of these rows that there are.
    fn find_all(&mut self, wanted: &Wanted) -> impl Future<Output = Result<Seen>> + Send;

    fn write(&mut self, changes: &Changes) -> impl Future<Output = Result<()>> + Send;

    /// The tasks that may be claimed. Each run that is found with them is this transaction's until its
    /// end.
    fn ready(&mut self, claim: &Claim, now_ms: u64)
    -> impl Future<Output = Result<Waiting>> + Send;

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

    /// The first one first.
    fn calls(&mut self, task: &TaskId) -> impl Future<Output = Result<Vec<CallRow>>> + Send;

    fn events(
        &mut self,
        run: &RunId,
        after: u64,
        max: usize,
    ) -> impl Future<Output = Result<Vec<Event>>> + Send;

    fn notices(&mut self, max: usize) -> impl Future<Output = Result<Vec<(u64, Notice)>>> + Send;

    fn acknowledge(&mut self, notices: &[u64]) -> impl Future<Output = Result<()>> + Send;

    /// Runs that ended before a time, in the order in which they were begun, from behind one; each is
    /// this transaction's until its end.
    fn ended(
        &mut self,
        before_ms: u64,
        after: &(u64, RunId),
        max: usize,
    ) -> impl Future<Output = Result<Vec<RunRow>>> + Send;

    /// Nothing of these runs is there any more.
    fn throw_away(&mut self, runs: &[RunId]) -> impl Future<Output = Result<()>> + Send;

    fn keep_text(
        &mut self,
        hash: &TextHash,
        source: &str,
        now_ms: u64,
    ) -> impl Future<Output = Result<()>> + Send;

    /// Keeps a name that a text is known by.
    fn keep_name(&mut self, hash: &TextHash, name: &str)
    -> impl Future<Output = Result<()>> + Send;

    fn text(&mut self, hash: &TextHash) -> impl Future<Output = Result<Option<String>>> + Send;
}
