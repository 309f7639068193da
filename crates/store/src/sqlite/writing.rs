//! Rows of workflows go into SQLite. Many rows are one statement with many places for values.

use std::collections::HashMap;

use flow::engine::{Changes, RunRow, TaskRow, TimerRow};
use serde::Serialize;
use sqlx::AssertSqlSafe;

use super::integer;
use super::workflows::Rows;
use crate::error::{Error, Kind, Result};
use crate::workflows::columns;

/// How many rows one statement takes, the most first: every number of rows is a sum of a few of
/// these, and as many statements are prepared and no more.
const ROWS: [usize; 11] = [64, 32, 16, 8, 7, 6, 5, 4, 3, 2, 1];

/// A statement with more rows than this goes by itself, so that there are not as many kinds of
/// transactions as there are sums of large numbers.
const ROWS_JOINED_MAX: usize = 16;

/// Statements on their way to SQLite. Small ones wait for each other and go together, because each
/// trip to SQLite's thread and back costs as much as several of them.
#[derive(Default)]
struct Tray {
    sql: String,
    values: Vec<Value>,
}

impl Rows {
    pub(super) async fn write_all(&mut self, changes: &Changes) -> Result<()> {
        let mut tray = Tray::default();
        self.gather(&mut tray, changes).await?;
        self.send(&mut tray).await
    }

    pub(super) async fn write_and_commit(&mut self, changes: &Changes) -> Result<()> {
        let mut tray = Tray::default();
        self.gather(&mut tray, changes).await?;
        tray.sql.push_str("COMMIT");
        self.send(&mut tray).await
    }

    /// Each kind of row with a few statements, or none.
    async fn gather(&mut self, tray: &mut Tray, changes: &Changes) -> Result<()> {
        let runs = self.documents(&changes.runs, run_columns)?;
        self.put(tray, RUNS, runs).await?;
        let inputs = self.documents(changes.inputs.iter().map(|(_, input)| input), |_, body| {
            vec![body]
        })?;
        let inputs = changes
            .inputs
            .iter()
            .zip(inputs)
            .map(|((run, _), mut row)| {
                row.push(text(run));
                row
            });
        self.put(tray, INPUTS, inputs.collect()).await?;
        let tasks = self.documents(&changes.tasks, task_columns)?;
        self.put(tray, TASKS, tasks).await?;
        let groups = self.documents(&changes.groups, |row, body| vec![text(&row.id), body])?;
        self.put(tray, GROUPS, groups).await?;
        let items = self.documents(&changes.items, |row, body| {
            vec![text(&row.group), Value::Integer(i64::from(row.index)), body]
        })?;
        self.put(tray, ITEMS, items).await?;
        let gone = changes.timers.iter().filter(|(_, row)| row.is_none());
        let gone = gone.map(|((run, key), _)| vec![text(run), text(key)]);
        self.put(tray, GONE_TIMERS, gone.collect()).await?;
        let timers = changes.timers.iter().filter_map(|(_, row)| row.as_ref());
        let timers = self.documents(timers, |row: &TimerRow, body| {
            vec![text(&row.run), text(&row.key), Value::of(row.at_ms), body]
        })?;
        self.put(tray, TIMERS, timers).await?;
        let events = self.documents(&changes.events, |row, body| {
            vec![text(&row.run), Value::of(row.seq), body]
        })?;
        self.put(tray, EVENTS, events).await?;
        let notices = self.documents(&changes.notices, |_, body| vec![body])?;
        self.put(tray, NOTICES, notices).await
    }

    pub(super) async fn put_all(&mut self, target: Target, rows: Vec<Vec<Value>>) -> Result<()> {
        let mut tray = Tray::default();
        self.put(&mut tray, target, rows).await?;
        self.send(&mut tray).await
    }

    async fn put(&mut self, tray: &mut Tray, target: Target, rows: Vec<Vec<Value>>) -> Result<()> {
        let mut rows = rows.into_iter();
        while rows.len() > 0 {
            let fits = |size: &&usize| **size <= rows.len();
            let size = ROWS.iter().find(fits).copied().unwrap_or(1);
            let is_large = size > ROWS_JOINED_MAX;
            if is_large {
                self.send(tray).await?;
            }
            tray.sql.push_str(self.statements.of(target, size));
            tray.values.extend(rows.by_ref().take(size).flatten());
            if is_large {
                self.send(tray).await?;
            }
        }
        Ok(())
    }

    async fn send(&mut self, tray: &mut Tray) -> Result<()> {
        let Tray { sql, values } = std::mem::take(tray);
        if sql.is_empty() {
            return Ok(());
        }
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for value in values {
            query = match value {
                Value::Text(text) => query.bind(text),
                Value::Integer(number) => query.bind(number),
                Value::Nothing => query.bind(None::<i64>),
            };
        }
        let done = query.execute(&mut self.connection).await;
        done.map_err(|cause| self.fault().of(&cause))?;
        Ok(())
    }

    /// The columns of rows, each with its document, from which known keys are taken out.
    fn documents<'r, T: Serialize + 'r>(
        &self,
        rows: impl IntoIterator<Item = &'r T>,
        columns: impl Fn(&T, Value) -> Vec<Value>,
    ) -> Result<Vec<Vec<Value>>> {
        let rows = rows.into_iter().map(|row| {
            let body = serde_json::to_string(row).map_err(|cause| {
                let message = format!("a row cannot be written as JSON: {cause}. Report this.");
                Error::new(Kind::Conflict, message)
            })?;
            let scrubbed = self.scrub.as_ref().and_then(|scrub| scrub(&body));
            Ok(columns(row, Value::Text(scrubbed.unwrap_or(body))))
        });
        rows.collect()
    }
}

/// What goes into one column of one row.
pub(super) enum Value {
    Text(String),
    Integer(i64),
    Nothing,
}

impl Value {
    pub(super) fn of(count: u64) -> Value {
        Value::Integer(integer(count))
    }

    fn maybe(count: Option<u64>) -> Value {
        count.map_or(Value::Nothing, Value::of)
    }
}

fn text(value: &impl ToString) -> Value {
    Value::Text(value.to_string())
}

/// Where rows go: a statement around as many `row`s as there are.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Target {
    head: &'static str,
    row: &'static str,
    tail: &'static str,
}

/// The statements that were written out already.
#[derive(Default)]
pub(super) struct Statements(HashMap<(Target, usize), String>);

impl Statements {
    fn of(&mut self, target: Target, rows: usize) -> &str {
        self.0.entry((target, rows)).or_insert_with(|| {
            let values = vec![target.row; rows].join(", ");
            format!("{} {values} {};\n", target.head, target.tail)
        })
    }
}

const RUNS: Target = Target {
    head: "INSERT INTO workflow_runs (id, workflow, status, created_ms, body) VALUES",
    row: "(?, ?, ?, ?, ?)",
    tail: "ON CONFLICT (id) DO UPDATE SET status = excluded.status, body = excluded.body",
};
const INPUTS: Target = Target {
    head: "WITH new (input, run) AS (VALUES",
    row: "(?, ?)",
    tail: ") UPDATE workflow_runs SET input = new.input FROM new WHERE workflow_runs.id = new.run",
};
const TASKS: Target = Target {
    head: "INSERT INTO workflow_tasks \
           (id, run, path, place, visit, status, assignee, ready_ms, lease_ms, is_active, body) VALUES",
    row: "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    tail: "ON CONFLICT (id) DO UPDATE SET status = excluded.status, assignee = excluded.assignee, \
           ready_ms = excluded.ready_ms, lease_ms = excluded.lease_ms, \
           is_active = excluded.is_active, body = excluded.body",
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
const NOTICES: Target = Target {
    head: "INSERT INTO workflow_notices (body) VALUES",
    row: "(?)",
    tail: "",
};
pub(super) const GONE_NOTICES: Target = Target {
    head: "DELETE FROM workflow_notices WHERE id IN (",
    row: "?",
    tail: ")",
};

fn run_columns(row: &RunRow, body: Value) -> Vec<Value> {
    vec![
        text(&row.id),
        text(&row.workflow),
        text(&row.status.name()),
        Value::of(row.created_ms),
        body,
    ]
}

fn task_columns(row: &TaskRow, body: Value) -> Vec<Value> {
    let task = columns::task(row);
    vec![
        text(&row.id),
        text(&row.id.run),
        text(&row.id.path),
        Value::Text(task.place),
        Value::Integer(i64::from(row.id.visit)),
        text(&row.status.name()),
        row.assignee.clone().map_or(Value::Nothing, Value::Text),
        Value::maybe(task.ready_ms),
        Value::maybe(task.lease_ms),
        Value::Integer(i64::from(task.is_active)),
        body,
    ]
}
