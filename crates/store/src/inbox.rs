//! Lists of tasks for people: the inbox, and any list page by page.
//!
//! A page continues behind the last task of the previous page, whatever has happened to other tasks since.

use std::fmt;
use std::str::FromStr;

use flow::engine::{TaskRow, TaskStatus};

use crate::error::{Error, Result};
use crate::queries::{TaskFilter, TaskIndex};
use crate::record::DatabaseFuture;
use crate::tables::{ColumnRead, SharedTables, SqlDialect, TableRow, TableStatement};
use crate::tables::{read_rows, row_limit};
use crate::users::invalid;
use crate::workflows::{columns, shorthand};

/// The place right behind a task of a list. Its text is the cursor of the next page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskCursor {
    number: u64,
    visit: u64,
    place: String,
}

impl fmt::Display for TaskCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.number, self.visit, self.place)
    }
}

impl FromStr for TaskCursor {
    type Err = Error;

    fn from_str(text: &str) -> Result<TaskCursor> {
        let mut parts = text.splitn(3, '.');
        let mut next = || parts.next().unwrap_or_default();
        let (number, visit, place) = (next().parse(), next().parse(), next().to_owned());
        match (number, visit) {
            (Ok(number), Ok(visit)) => Ok(TaskCursor {
                number,
                visit,
                place,
            }),
            _ => Err(invalid(format!(
                "`{text}` is no cursor of a list of tasks."
            ))),
        }
    }
}

/// A task in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskEntry {
    /// Leads to the entries behind this one.
    pub cursor: TaskCursor,
    /// The task.
    pub task: TaskRow,
}

/// The owners whose tasks are in an inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InboxOwners {
    /// All people and agents, and unassigned tasks.
    Everybody,
    /// Some of them.
    Of {
        /// People and agents.
        assignees: Vec<String>,
        /// Says that unassigned tasks are listed, too.
        is_unassigned: bool,
    },
}

/// The port for lists of tasks that people look at.
pub trait TaskLists: Send + Sync {
    /// Returns tasks that wait for a person, the oldest first.
    fn inbox<'a>(
        &'a self,
        owners: &'a InboxOwners,
        after: Option<&'a TaskCursor>,
        max: usize,
    ) -> DatabaseFuture<'a, Vec<TaskEntry>>;

    /// Counts the tasks of an inbox, up to `max`.
    fn count_inbox<'a>(&'a self, owners: &'a InboxOwners, max: usize) -> DatabaseFuture<'a, usize>;

    /// Returns the tasks that a filter wants, from behind a cursor. Tasks of one run come by their
    /// names, others as they were created.
    fn tasks_after<'a>(
        &'a self,
        filter: &'a TaskFilter,
        after: Option<&'a TaskCursor>,
        max: usize,
    ) -> DatabaseFuture<'a, Vec<TaskEntry>>;
}

/// Tasks that wait for a person. Values: the number before, how many, and the owner.
macro_rules! waiting {
    ($index:literal, $owner:literal) => {
        concat!(
            "SELECT number, place, visit, body FROM workflow_tasks ",
            $index,
            "WHERE ",
            $owner,
            "(status = 'on_hold' OR (status = 'pending' AND ready_ms IS NULL)) \
             AND number > $1 ORDER BY number LIMIT $2"
        )
    };
}

// SQLite would rather read the table by its numbers than a small index: it is told which one.
pub(crate) const OF_OWNER: [&str; 2] = [
    waiting!("INDEXED BY workflow_tasks_waiting ", "assignee = $3 AND "),
    waiting!("", "assignee = $3 AND "),
];
pub(crate) const OF_NOBODY: [&str; 2] = [
    waiting!(
        "INDEXED BY workflow_tasks_waiting ",
        "assignee IS NULL AND "
    ),
    waiting!("", "assignee IS NULL AND "),
];
pub(crate) const OF_ALL: [&str; 2] = [
    waiting!("INDEXED BY workflow_tasks_asking ", ""),
    waiting!("", ""),
];

/// A page of a list. Values: the status, 1 for waiting tasks only, the assignee, 1 to include
/// unassigned tasks, the limit, and the cursor; then the places of a run.
macro_rules! page {
    ($index:literal, $key:literal, $after:literal, $order:literal) => {
        concat!(
            "SELECT number, place, visit, body FROM workflow_tasks ",
            $index,
            "WHERE ",
            $key,
            $after,
            " AND ($1 IS NULL OR status = $1) AND ($2 = 0 OR status = 'on_hold' \
             OR (status = 'pending' AND ready_ms IS NULL)) \
             AND ($3 IS NULL OR assignee = $3 OR ($4 = 1 AND assignee IS NULL)) ORDER BY ",
            $order,
            " LIMIT $5"
        )
    };
}

pub(crate) const OF_RUN: [&str; 2] = [
    page!(
        "",
        "place >= $8 AND place < $9 AND ($10 = 1 OR is_active = 1) AND ",
        "(place, visit) > ($6, $7)",
        "place, visit"
    ),
    page!(
        "",
        "place >= $8 AND place < $9 AND ($10 = 1 OR is_active) AND ",
        "(place, visit) > ($6, $7)",
        "place, visit"
    ),
];
pub(crate) const ACTIVE: [&str; 2] = [
    page!(
        "INDEXED BY workflow_tasks_open ",
        "is_active = 1 AND ",
        "number > $6",
        "number"
    ),
    page!("", "is_active AND ", "number > $6", "number"),
];
pub(crate) const UNFINISHED: [&str; 2] = [
    page!(
        "INDEXED BY workflow_tasks_unfinished ",
        "status IN ('failed', 'cancelled') AND status = $1 AND ",
        "number > $6",
        "number"
    ),
    page!(
        "",
        "status IN ('failed', 'cancelled') AND status = $1 AND ",
        "number > $6",
        "number"
    ),
];
pub(crate) const ALL: [&str; 2] = [
    page!("", "", "number > $6", "number"),
    page!("", "", "(place, visit) > ($6, $7)", "place, visit"),
];

impl<T: SharedTables> TaskLists for T {
    fn inbox<'a>(
        &'a self,
        owners: &'a InboxOwners,
        after: Option<&'a TaskCursor>,
        max: usize,
    ) -> DatabaseFuture<'a, Vec<TaskEntry>> {
        Box::pin(async move {
            let after = after.map_or(0, |cursor| cursor.number);
            let mut entries = Vec::new();
            for statement in owner_statements(self.dialect(), owners, after, max) {
                let rows = self.look(statement).await?;
                entries.extend(read_rows(self, "a task", &rows, read_entry)?);
            }
            entries.sort_by_key(|entry: &TaskEntry| entry.cursor.number);
            entries.truncate(max);
            Ok(entries)
        })
    }

    fn count_inbox<'a>(&'a self, owners: &'a InboxOwners, max: usize) -> DatabaseFuture<'a, usize> {
        Box::pin(async move {
            let mut counted = 0;
            for statement in owner_statements(self.dialect(), owners, 0, max) {
                counted += self.look(statement).await?.len();
            }
            Ok(counted.min(max))
        })
    }

    fn tasks_after<'a>(
        &'a self,
        filter: &'a TaskFilter,
        after: Option<&'a TaskCursor>,
        max: usize,
    ) -> DatabaseFuture<'a, Vec<TaskEntry>> {
        Box::pin(async move {
            let key = TaskIndex::of(filter);
            let [sqlite, postgres] = match key {
                TaskIndex::Run => OF_RUN,
                TaskIndex::Active => ACTIVE,
                TaskIndex::Unfinished => UNFINISHED,
                TaskIndex::All => ALL,
            };
            let statement = self.dialect().pick(sqlite, postgres);
            let is_by_place = statement.sql.contains("(place, visit) >");
            let flag = |is_on: bool| i64::from(is_on);
            let statement = statement
                .with(filter.status.map(TaskStatus::name))
                .with(flag(filter.is_waiting))
                .with(filter.assignee.clone())
                .with(flag(filter.is_anybodys))
                .with(row_limit(max));
            let (number, visit, place) = match after {
                Some(cursor) => (cursor.number, cursor.visit, cursor.place.as_str()),
                None => (0, 0, ""),
            };
            let statement = match is_by_place {
                true => statement.with(place).with(visit),
                false => statement.with(number),
            };
            let statement = match &filter.run {
                None => statement,
                Some(run) => {
                    let (first, end) = columns::places(run);
                    let statement = statement.with(first).with(end);
                    statement.with(flag(filter.has_ended))
                }
            };
            let rows = self.look(statement).await?;
            read_rows(self, "a task", &rows, read_entry)
        })
    }
}

fn owner_statements(
    dialect: SqlDialect,
    owners: &InboxOwners,
    after: u64,
    max: usize,
) -> Vec<TableStatement> {
    let begun = |[sqlite, postgres]: [&'static str; 2]| {
        let statement = dialect.pick(sqlite, postgres);
        statement.with(after).with(row_limit(max))
    };
    match owners {
        InboxOwners::Everybody => vec![begun(OF_ALL)],
        InboxOwners::Of {
            assignees,
            is_unassigned,
        } => {
            let owned = assignees.iter();
            let owned = owned.map(|owner| begun(OF_OWNER).with(owner.as_str()));
            let unassigned = is_unassigned.then(|| begun(OF_NOBODY));
            owned.chain(unassigned).collect()
        }
    }
}

fn read_entry(row: &TableRow) -> ColumnRead<TaskEntry> {
    Ok(TaskEntry {
        cursor: TaskCursor {
            number: row.count("number")?,
            visit: row.count("visit")?,
            place: row.text("place")?,
        },
        task: read_task(&row.text("body")?)?,
    })
}

/// Reads the document of a task, which is written short.
pub(crate) fn read_task(body: &str) -> ColumnRead<TaskRow> {
    let body = shorthand::TASKS.expand_whole(body);
    serde_json::from_str(&body).map_err(|cause| cause.to_string())
}
