//! What people ask about runs and tasks, apart from what the engine asks to decide.
//!
//! Every question here is answered from an index on both engines, so that a list takes as long with a
//! hundred thousand finished runs as with ten. Lists of runs are read page by page: a [`RunCursor`]
//! names the last run that was seen, and stays valid when runs come and go.

use std::collections::BTreeSet;

use flow::engine::{RunRow, RunStatus, TaskRow, TaskStatus};
use flow::{RunId, TextHash};

use crate::record::Kept;

/// Which runs are listed. What is `None` or `false` leaves nothing out.
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

/// The last run of a page: when it began, and its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunCursor {
    /// When the run began, in milliseconds since 1970.
    pub created_ms: u64,
    /// The run's id.
    pub id: RunId,
}

impl RunCursor {
    /// The place right behind a run.
    pub fn of(run: &RunRow) -> RunCursor {
        RunCursor {
            created_ms: run.created_ms,
            id: run.id.clone(),
        }
    }
}

/// Which tasks are listed. What is empty, `None` or `false` leaves nothing out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// Only tasks of this run.
    pub run: Option<RunId>,
    /// Also tasks that have ended.
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

/// What will change without a person, and when, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PendingWork {
    /// When the next task may be claimed: now, or when a retry is due.
    pub ready_ms: Option<u64>,
    /// When the next lease ends.
    pub lease_ms: Option<u64>,
    /// When the next timer fires.
    pub timer_ms: Option<u64>,
}

impl PendingWork {
    /// When something changes next; `None` if nothing does before a person acts.
    pub fn next_ms(&self) -> Option<u64> {
        [self.ready_ms, self.lease_ms, self.timer_ms]
            .into_iter()
            .flatten()
            .min()
    }
}

/// The port for people's questions about runs and tasks.
pub trait Queries: Send + Sync {
    /// The runs that a filter wants, the newest first, from behind a cursor.
    fn list_runs<'a>(
        &'a self,
        filter: &'a RunFilter,
        after: Option<&'a RunCursor>,
        max: usize,
    ) -> Kept<'a, Vec<RunRow>>;

    /// How many runs a filter wants, counted up to `max`.
    fn count_runs<'a>(&'a self, filter: &'a RunFilter, max: usize) -> Kept<'a, usize>;

    /// The runs whose id begins with a text, in the order of their ids.
    fn runs_with_prefix<'a>(&'a self, prefix: &'a str, max: usize) -> Kept<'a, Vec<RunRow>>;

    /// The tasks that a filter wants, the oldest first; those of all runs run by run.
    fn list_tasks<'a>(&'a self, filter: &'a TaskFilter, max: usize) -> Kept<'a, Vec<TaskRow>>;

    /// How many tasks a filter wants, counted up to `max`.
    fn count_tasks<'a>(&'a self, filter: &'a TaskFilter, max: usize) -> Kept<'a, usize>;

    /// What will change without a person, for workers that do the tasks of these assignees; empty
    /// means of anybody.
    fn pending_work<'a>(&'a self, assignees: &'a [String]) -> Kept<'a, PendingWork>;

    /// When the run began that so many newer ones were begun after, of those that no run has started;
    /// `None` if there are not as many.
    fn begin_of_newest(&self, number: u64) -> Kept<'_, Option<u64>>;

    /// Notes that a workflow's text is known by a name: its title, or the name of its file.
    fn name_workflow<'a>(&'a self, hash: &'a TextHash, name: &'a str) -> Kept<'a, ()>;
}

/// The keys that a list of runs is read by. Each has an index of its own, in the order of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RunKey {
    Newest,
    Top,
    Status(RunStatus),
    /// The hash of a text, and a status.
    Workflow(String, RunStatus),
    /// A tag; what else is wanted is looked at row by row.
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
    /// The parts that a filter is made of; `texts` are those that its workflow names.
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

/// Which index a list of tasks is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskKey {
    Run,
    Active,
    /// Failed or cancelled: few are.
    Unfinished,
    All,
}

impl TaskKey {
    pub(crate) fn of(filter: &TaskFilter) -> TaskKey {
        match (&filter.run, filter.has_ended, filter.status) {
            (Some(_), ..) => TaskKey::Run,
            (None, false, _) => TaskKey::Active,
            (None, true, Some(TaskStatus::Failed | TaskStatus::Cancelled)) => TaskKey::Unfinished,
            (None, true, Some(status)) if !status.is_terminal() => TaskKey::Active,
            (None, true, _) => TaskKey::All,
        }
    }
}

/// The newest runs of several parts of a list.
pub(crate) fn newest(mut runs: Vec<RunRow>, max: usize) -> Vec<RunRow> {
    runs.sort_by(|one, other| {
        let key = |run: &RunRow| (run.created_ms, run.id.clone());
        key(other).cmp(&key(one))
    });
    runs.truncate(max);
    runs
}

/// The texts that fit a name: by the names they were given, or by what their diagrams say.
///
/// Texts that an older drawloom kept have no names. Their title counts, or the name of the first step,
/// which is what those versions called a run.
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

/// The first text behind all texts that begin with this one.
pub(crate) fn prefix_end(prefix: &str) -> String {
    format!("{prefix}\u{10ffff}")
}
