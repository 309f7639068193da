//! Queries of people about runs and tasks, apart from the queries of the engine.
//!
//! Both engines answer every query here from an index, so that a list takes as long with a hundred
//! thousand finished runs as with ten. Lists of runs are read page by page: a [`RunCursor`] names
//! the last run that was seen, and stays valid when runs are added and deleted.

use std::collections::BTreeSet;

use flow::engine::{RunRow, RunStatus, TaskRow, TaskStatus};
use flow::{RunId, TextHash};

use crate::record::DatabaseFuture;

/// Selects the runs of a list. A field that is `None` or `false` excludes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Only runs of this status.
    pub status: Option<RunStatus>,
    /// Only runs of workflows with this in their title or file name, in any case.
    pub workflow: Option<String>,
    /// Only runs with this tag.
    pub tag: Option<String>,
    /// Only runs that began at this time or later, in milliseconds since 1970.
    pub since_ms: Option<u64>,
    /// Only runs that began before this time.
    pub before_ms: Option<u64>,
    /// Only runs that no other run has started.
    pub is_top: bool,
}

/// The last run of a page: its start and its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunCursor {
    /// The start of the run, in milliseconds since 1970.
    pub created_ms: u64,
    /// The run's id.
    pub id: RunId,
}

impl RunCursor {
    /// Returns the cursor right behind a run.
    pub fn of(run: &RunRow) -> RunCursor {
        RunCursor {
            created_ms: run.created_ms,
            id: run.id.clone(),
        }
    }
}

/// Selects the tasks of a list. A field that is empty, `None` or `false` excludes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// Only tasks of this run.
    pub run: Option<RunId>,
    /// Includes tasks that have ended.
    pub has_ended: bool,
    /// Only tasks of this status.
    pub status: Option<TaskStatus>,
    /// Only tasks that wait for a person.
    pub is_waiting: bool,
    /// Only tasks of this person or agent.
    pub assignee: Option<String>,
    /// With `assignee`: also tasks that are not assigned.
    pub is_anybodys: bool,
}

/// The next changes that need no person, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PendingWork {
    /// The time when the next task may be claimed: now, or when a retry is due.
    pub ready_ms: Option<u64>,
    /// The time when the next lease ends.
    pub lease_ms: Option<u64>,
    /// The time when the next timer fires.
    pub timer_ms: Option<u64>,
}

impl PendingWork {
    /// Returns the time of the next change; `None` if nothing changes before a person acts.
    pub fn next_ms(&self) -> Option<u64> {
        [self.ready_ms, self.lease_ms, self.timer_ms]
            .into_iter()
            .flatten()
            .min()
    }
}

/// The port for people's queries about runs and tasks.
pub trait RunQueries: Send + Sync {
    /// Lists the runs of a filter, the newest first, from behind a cursor.
    fn list_runs<'a>(
        &'a self,
        filter: &'a RunFilter,
        after: Option<&'a RunCursor>,
        max: usize,
    ) -> DatabaseFuture<'a, Vec<RunRow>>;

    /// Counts the runs of a filter, up to `max`.
    fn count_runs<'a>(&'a self, filter: &'a RunFilter, max: usize) -> DatabaseFuture<'a, usize>;

    /// Lists the runs whose id begins with a text, in the order of their ids.
    fn runs_with_prefix<'a>(
        &'a self,
        prefix: &'a str,
        max: usize,
    ) -> DatabaseFuture<'a, Vec<RunRow>>;

    /// Lists the tasks of a filter, the oldest first; those of all runs run by run.
    fn list_tasks<'a>(
        &'a self,
        filter: &'a TaskFilter,
        max: usize,
    ) -> DatabaseFuture<'a, Vec<TaskRow>>;

    /// Counts the tasks of a filter, up to `max`.
    fn count_tasks<'a>(&'a self, filter: &'a TaskFilter, max: usize) -> DatabaseFuture<'a, usize>;

    /// Returns the next changes that need no person, for workers that execute the tasks of these
    /// assignees; empty means all assignees.
    fn pending_work<'a>(&'a self, assignees: &'a [String]) -> DatabaseFuture<'a, PendingWork>;

    /// Returns the start of the run at position `number`, counted from the newest, among the runs
    /// that no other run has started; `None` if there are fewer. Retention keeps this many runs.
    fn begin_of_newest(&self, number: u64) -> DatabaseFuture<'_, Option<u64>>;

    /// Stores a name of a workflow text: its title, or the name of its file.
    fn name_workflow<'a>(&'a self, hash: &'a TextHash, name: &'a str) -> DatabaseFuture<'a, ()>;
}

/// The key that a list of runs is read by. Each has an index of its own, in the order of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RunKey {
    Newest,
    Top,
    Status(RunStatus),
    /// The hash of a text, and a status.
    Workflow(String, RunStatus),
    /// A tag; the rest of the filter is checked row by row.
    Tag(String),
}

/// One part of a list of runs, read from one index.
#[derive(Clone, Debug)]
pub(crate) struct RunScan {
    pub(crate) key: RunKey,
    pub(crate) since_ms: u64,
    /// Only runs before this one in time.
    pub(crate) before: (u64, String),
    pub(crate) is_top: bool,
    /// With a tag: only this status.
    pub(crate) status: Option<RunStatus>,
    /// With a tag: only these texts; `None` means any.
    pub(crate) texts: Option<Vec<String>>,
    pub(crate) max: usize,
}

impl RunScan {
    /// Splits a filter into index scans; `texts` are the ones that its workflow name matches.
    pub(crate) fn all(
        filter: &RunFilter,
        after: Option<&RunCursor>,
        texts: Option<Vec<String>>,
        max: usize,
    ) -> Vec<RunScan> {
        let before_ms = filter.before_ms.unwrap_or(i64::MAX as u64);
        let before = match after {
            Some(cursor) if cursor.created_ms < before_ms => {
                (cursor.created_ms, cursor.id.to_string())
            }
            _ => (before_ms, String::new()),
        };
        let scan = |key: RunKey| RunScan {
            key,
            since_ms: filter.since_ms.unwrap_or(0),
            before: before.clone(),
            is_top: filter.is_top,
            status: filter.status,
            texts: None,
            max,
        };
        match (&filter.tag, texts, filter.status) {
            (Some(tag), texts, _) => vec![RunScan {
                texts,
                ..scan(RunKey::Tag(tag.clone()))
            }],
            (None, Some(texts), status) => {
                let statuses = status.map_or(STATUSES.to_vec(), |status| vec![status]);
                let keys = texts.iter().flat_map(|text| {
                    let of = |status: &RunStatus| RunKey::Workflow(text.clone(), *status);
                    statuses.iter().map(of).collect::<Vec<_>>()
                });
                keys.map(scan).collect()
            }
            (None, None, Some(status)) => vec![scan(RunKey::Status(status))],
            (None, None, None) if filter.is_top => vec![scan(RunKey::Top)],
            (None, None, None) => vec![scan(RunKey::Newest)],
        }
    }
}

const STATUSES: [RunStatus; 5] = [
    RunStatus::Running,
    RunStatus::Paused,
    RunStatus::Completed,
    RunStatus::Failed,
    RunStatus::Cancelled,
];

/// The index that a list of tasks is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskIndex {
    Run,
    Active,
    /// Failed or cancelled tasks, of which there are few.
    Unfinished,
    All,
}

impl TaskIndex {
    pub(crate) fn of(filter: &TaskFilter) -> TaskIndex {
        match (&filter.run, filter.has_ended, filter.status) {
            (Some(_), ..) => TaskIndex::Run,
            (None, false, _) => TaskIndex::Active,
            (None, true, Some(TaskStatus::Failed | TaskStatus::Cancelled)) => TaskIndex::Unfinished,
            (None, true, Some(status)) if !status.is_terminal() => TaskIndex::Active,
            (None, true, _) => TaskIndex::All,
        }
    }
}

/// Merges the newest runs of several scans.
pub(crate) fn newest(mut runs: Vec<RunRow>, max: usize) -> Vec<RunRow> {
    runs.sort_by(|one, other| {
        let key = |run: &RunRow| (run.created_ms, run.id.clone());
        key(other).cmp(&key(one))
    });
    runs.truncate(max);
    runs
}

/// Returns the texts that match a name: by the names they were given, or by their diagrams.
///
/// Texts stored by an older drawloom have no names. Their title counts, or the name of the first
/// step, because those versions named a run so.
pub(crate) fn texts_named(
    wanted: &str,
    names: &[(String, String)],
    unnamed: &[(String, String)],
) -> Vec<String> {
    let wanted = wanted.to_lowercase();
    let fits = |name: &str| name.to_lowercase().contains(&wanted);
    let named = names.iter().filter(|(_, name)| fits(name));
    let titled = unnamed.iter().filter(|(_, source)| {
        let Ok(workflow) = flow::parse(source) else {
            return false;
        };
        let first = workflow.steps().first().map(|step| step.name.as_str());
        workflow.name().or(first).is_some_and(fits)
    });
    let hashes: BTreeSet<&String> = named.chain(titled).map(|(hash, _)| hash).collect();
    hashes.into_iter().cloned().collect()
}

/// Returns the first text behind all texts that begin with this one.
pub(crate) fn prefix_end(prefix: &str) -> String {
    format!("{prefix}\u{10ffff}")
}
