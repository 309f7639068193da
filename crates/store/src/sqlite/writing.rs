//! Rows of workflows go into SQLite. Many rows are one statement with many places for values.

use std::collections::{HashMap, VecDeque};
use std::fmt::Display;
use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::task::Poll;

use flow::RunId;
use flow::engine::{CallRow, Changes, GroupRow, ItemRow, Notice, RunRow, TaskRow, TimerRow};
use serde::Serialize;
use sqlx::AssertSqlSafe;
use sqlx::query::Query;
use sqlx::sqlite::{Sqlite, SqliteArguments};

use super::rows::Rows;
use super::{Scrub, integer};
use crate::error::Result;
use crate::workflows::pages::{Page, pages};
use crate::workflows::{Scribe, columns, shorthand};

/// How many rows one statement takes, the most first: every number of rows is a sum of a few of
/// these, and as many statements are prepared and no more.
const ROWS: [usize; 11] = [64, 32, 16, 8, 7, 6, 5, 4, 3, 2, 1];

/// A statement with more rows than this goes by itself, so that there are not as many kinds of
/// transactions as there are sums of large numbers.
const ROWS_JOINED_MAX: usize = 16;

impl Rows {
    pub(super) async fn write_all(&mut self, changes: &Changes) -> Result<()> {
        let pages = self.pages(changes)?;
        self.send(Load::of(changes, &pages)).await
    }

    fn pages(&mut self, changes: &Changes) -> Result<Vec<Page>> {
        pages(&changes.events, |event| self.clerk.scribe.body(event))
    }

    pub(super) async fn write_and_commit(&mut self, changes: &Changes) -> Result<()> {
        let pages = self.pages(changes)?;
        let mut load = Load::of(changes, &pages);
        load.last = "COMMIT";
        self.send(load).await
    }

    pub(super) async fn drop_notices(&mut self, notices: &[u64]) -> Result<()> {
        let mut load = Load::default();
        load.add(GONE_NOTICES, notices.iter().copied().map(Entry::GoneNotice));
        self.send(load).await
    }

    async fn send(&mut self, mut load: Load<'_>) -> Result<()> {
        let mut next = self.clerk.fill(&mut load)?;
        while let Some(tray) = next {
            let (done, filled) = {
                let mut sending = pin!(tray.query().execute(&mut self.connection));
                // SQLite is at work as soon as it was asked; meanwhile the next rows are made ready.
                let early = poll_fn(|context| Poll::Ready(sending.as_mut().poll(context))).await;
                let filled = self.clerk.fill(&mut load);
                let done = match early {
                    Poll::Ready(done) => done,
                    Poll::Pending => sending.await,
                };
                (done, filled)
            };
            done.map_err(|cause| self.fault().of(&cause))?;
            next = filled?;
        }
        Ok(())
    }
}

/// Rows that are to be written, those of a kind together.
#[derive(Default)]
struct Load<'c> {
    kinds: VecDeque<(Target, std::vec::IntoIter<Entry<'c>>)>,
    /// What stands behind the last row.
    last: &'static str,
}

/// One row that is to be written.
enum Entry<'c> {
    Run(&'c RunRow),
    Input(&'c RunId, &'c serde_json::Value),
    Task(&'c TaskRow),
    Group(&'c GroupRow),
    Item(&'c ItemRow),
    GoneTimer(&'c RunId, &'c str),
    Timer(&'c TimerRow),
    Page(&'c Page),
    Tag(&'c RunRow, &'c str),
    Call(&'c CallRow),
    Notice(&'c Notice),
    GoneNotice(u64),
}

impl<'c> Load<'c> {
    fn of(changes: &'c Changes, pages: &'c [Page]) -> Load<'c> {
        let mut load = Load::default();
        load.add(RUNS, changes.runs.iter().map(|row| Entry::Run(row)));
        let inputs = changes.inputs.iter();
        load.add(INPUTS, inputs.map(|(run, input)| Entry::Input(run, input)));
        let new = changes.runs.iter().filter(|row| is_new(changes, row));
        let tags = new.flat_map(|row| row.tags.iter().map(|tag| Entry::Tag(row, tag)));
        load.add(TAGS, tags);
        load.add(TASKS, changes.tasks.iter().map(|row| Entry::Task(row)));
        load.add(GROUPS, changes.groups.iter().map(|row| Entry::Group(row)));
        load.add(ITEMS, changes.items.iter().map(|row| Entry::Item(row)));
        let gone = changes.timers.iter().filter(|(_, row)| row.is_none());
        let gone = gone.map(|((run, key), _)| Entry::GoneTimer(run, key));
        load.add(GONE_TIMERS, gone);
        let timers = changes.timers.iter().filter_map(|(_, row)| row.as_deref());
        load.add(TIMERS, timers.map(Entry::Timer));
        load.add(EVENTS, pages.iter().map(Entry::Page));
        load.add(CALLS, changes.calls.iter().map(Entry::Call));
        load.add(NOTICES, changes.notices.iter().map(Entry::Notice));
        load
    }

    fn add(&mut self, target: Target, rows: impl Iterator<Item = Entry<'c>>) {
        let rows: Vec<Entry<'c>> = rows.collect();
        if !rows.is_empty() {
            self.kinds.push_back((target, rows.into_iter()));
        }
    }
}

/// Statements on their way to SQLite. Small ones wait for each other and go together, because each
/// trip to SQLite's thread and back costs as much as several of them.
#[derive(Default)]
struct Tray {
    sql: String,
    values: Vec<Value>,
}

impl Tray {
    fn query(self) -> Query<'static, Sqlite, SqliteArguments> {
        let mut query = sqlx::query(AssertSqlSafe(self.sql));
        for value in self.values {
            query = match value {
                Value::Text(text) => query.bind(text),
                Value::Integer(number) => query.bind(number),
                Value::Nothing => query.bind(None::<i64>),
            };
        }
        query
    }
}

/// Writes rows out as values of statements.
pub(super) struct Clerk {
    statements: Statements,
    pub(super) scribe: Scribe,
}

impl Clerk {
    pub(super) fn new(scrub: Option<Scrub>) -> Clerk {
        Clerk {
            statements: Statements::default(),
            scribe: Scribe::new(scrub),
        }
    }

    /// The next statements of a load.
    fn fill(&mut self, load: &mut Load<'_>) -> Result<Option<Tray>> {
        let mut tray = Tray::default();
        while let Some((target, rows)) = load.kinds.front_mut() {
            let fits = |size: &&usize| **size <= rows.len();
            let Some(size) = ROWS.iter().find(fits).copied() else {
                load.kinds.pop_front();
                continue;
            };
            let is_large = size > ROWS_JOINED_MAX;
            if is_large && !tray.sql.is_empty() {
                return Ok(Some(tray));
            }
            tray.sql.push_str(self.statements.of(*target, size));
            for row in rows.by_ref().take(size) {
                self.write_out(row, &mut tray.values)?;
            }
            if is_large {
                return Ok(Some(tray));
            }
        }
        tray.sql.push_str(std::mem::take(&mut load.last));
        Ok((!tray.sql.is_empty()).then_some(tray))
    }

    fn write_out(&mut self, row: Entry<'_>, values: &mut Vec<Value>) -> Result<()> {
        match row {
            Entry::Run(row) => values.extend([
                text(&row.id),
                text(&row.workflow),
                text(&row.status.name()),
                Value::of(row.created_ms),
                Value::Integer(i64::from(row.parent.is_none())),
                self.body(row)?,
            ]),
            Entry::Input(run, input) => values.extend([self.body(input)?, text(run)]),
            Entry::Task(row) => {
                let body = self.scribe.body(row)?;
                let body = shorthand::TASKS.shorten_whole(row.id.run.as_str(), &body);
                values.extend(task_columns(row, Value::Text(body)));
            }
            Entry::Group(row) => values.extend([text(&row.id), self.body(row)?]),
            Entry::Item(row) => {
                let index = Value::Integer(i64::from(row.index));
                values.extend([text(&row.group), index, self.body(row)?]);
            }
            Entry::GoneTimer(run, key) => values.extend([text(run), text(&key)]),
            Entry::Timer(row) => {
                let at_ms = Value::of(row.at_ms);
                values.extend([text(&row.run), text(&row.key), at_ms, self.body(row)?]);
            }
            Entry::Page(page) => values.extend([
                Value::Text(page.run.clone()),
                Value::of(page.seq),
                Value::Text(page.body.clone()),
            ]),
            Entry::Tag(row, tag) => {
                let tag = self.scribe.text(tag);
                values.extend([Value::Text(tag), Value::of(row.created_ms), text(&row.id)]);
            }
            Entry::Notice(row) => values.extend([text(&row.run), self.body(row)?]),
            Entry::Call(row) => values.extend([
                text(&row.task.run),
                Value::of(row.seq),
                text(&row.task),
                self.body(row)?,
            ]),
            Entry::GoneNotice(id) => values.push(Value::of(id)),
        }
        Ok(())
    }

    fn body<T: Serialize>(&mut self, row: &T) -> Result<Value> {
        self.scribe.body(row).map(Value::Text)
    }
}

/// What goes into one column of one row.
enum Value {
    Text(String),
    Integer(i64),
    Nothing,
}

impl Value {
    fn of(count: u64) -> Value {
        Value::Integer(integer(count))
    }

    fn maybe(count: Option<u64>) -> Value {
        count.map_or(Value::Nothing, Value::of)
    }
}

fn text(value: &impl Display) -> Value {
    Value::Text(columns::text(value))
}

/// Where rows go: a statement around as many `row`s as there are.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Target {
    head: &'static str,
    row: &'static str,
    tail: &'static str,
}

/// The statements that were written out already.
#[derive(Default)]
struct Statements(HashMap<(Target, usize), String>);

impl Statements {
    fn of(&mut self, target: Target, rows: usize) -> &str {
        self.0.entry((target, rows)).or_insert_with(|| {
            let values = vec![target.row; rows].join(", ");
            format!("{} {values} {};\n", target.head, target.tail)
        })
    }
}

const RUNS: Target = Target {
    head: "INSERT INTO workflow_runs (id, workflow, status, created_ms, is_top, body) VALUES",
    row: "(?, ?, ?, ?, ?, ?)",
    tail: "ON CONFLICT (id) DO UPDATE SET status = excluded.status, body = excluded.body",
};
const INPUTS: Target = Target {
    head: "WITH new (input, run) AS (VALUES",
    row: "(?, ?)",
    tail: ") UPDATE workflow_runs SET input = new.input FROM new WHERE workflow_runs.id = new.run",
};
const TASKS: Target = Target {
    head: "INSERT INTO workflow_tasks \
           (run, path, place, visit, status, assignee, ready_ms, lease_ms, fence, is_active, body) VALUES",
    row: "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    tail: "ON CONFLICT (place, visit) DO UPDATE SET status = excluded.status, \
           assignee = excluded.assignee, ready_ms = excluded.ready_ms, \
           lease_ms = excluded.lease_ms, fence = excluded.fence, is_active = excluded.is_active, body = excluded.body",
};
const TAGS: Target = Target {
    head: "INSERT INTO workflow_tags (tag, created_ms, run) VALUES",
    row: "(?, ?, ?)",
    tail: "ON CONFLICT DO NOTHING",
};
const GROUPS: Target = Target {
    head: "INSERT INTO workflow_groups (id, body) VALUES",
    row: "(?, ?)",
    tail: "ON CONFLICT (id) DO UPDATE SET body = excluded.body",
};
const ITEMS: Target = Target {
    head: "INSERT INTO workflow_items (\"group\", \"index\", body) VALUES",
    row: "(?, ?, ?)",
    tail: "ON CONFLICT (\"group\", \"index\") DO UPDATE SET body = excluded.body",
};
const GONE_TIMERS: Target = Target {
    head: "DELETE FROM workflow_timers WHERE (run, key) IN (VALUES",
    row: "(?, ?)",
    tail: ")",
};
const TIMERS: Target = Target {
    head: "INSERT INTO workflow_timers (run, key, at_ms, body) VALUES",
    row: "(?, ?, ?, ?)",
    tail: "ON CONFLICT (run, key) DO UPDATE SET at_ms = excluded.at_ms, body = excluded.body",
};
const EVENTS: Target = Target {
    head: "INSERT INTO workflow_events (run, seq, body) VALUES",
    row: "(?, ?, ?)",
    tail: "",
};
const CALLS: Target = Target {
    head: "INSERT INTO workflow_calls (run, seq, task, body) VALUES",
    row: "(?, ?, ?, ?)",
    tail: "",
};
const NOTICES: Target = Target {
    head: "INSERT INTO workflow_notices (run, body) VALUES",
    row: "(?, ?)",
    tail: "",
};
const GONE_NOTICES: Target = Target {
    head: "DELETE FROM workflow_notices WHERE id IN (",
    row: "?",
    tail: ")",
};

/// Whether the run begins here: its tags do not change later.
fn is_new(changes: &Changes, row: &RunRow) -> bool {
    !row.tags.is_empty() && changes.inputs.iter().any(|(run, _)| *run == row.id)
}

fn task_columns(row: &TaskRow, body: Value) -> [Value; 11] {
    let task = columns::task(row);
    [
        text(&row.id.run),
        text(&row.id.path),
        Value::Text(task.place),
        Value::Integer(i64::from(row.id.visit)),
        text(&row.status.name()),
        row.assignee.clone().map_or(Value::Nothing, Value::Text),
        Value::maybe(task.ready_ms),
        Value::maybe(task.lease_ms),
        Value::of(row.fence),
        Value::Integer(i64::from(task.is_active)),
        body,
    ]
}
