//! Rows of workflows go into SQLite. Many rows are one statement: they go in as one JSON text, which
//! SQLite takes apart faster than statements come one by one.

use flow::engine::{Changes, RunRow, TaskRow, TimerRow};
use serde::Serialize;
use serde_json::{Value, json};

use super::integer;
use super::workflows::Rows;
use crate::error::{Error, Kind, Result};
use crate::workflows::columns;

impl Rows {
    /// Each kind of row with one statement, or none.
    pub(super) async fn write_all(&mut self, changes: &Changes) -> Result<()> {
        self.put(PUT_RUNS, documents(&changes.runs, run_columns)?)
            .await?;
        let inputs = changes.inputs.iter();
        let inputs = inputs.map(|(run, input)| json!([run, input.to_string()]));
        self.put(PUT_INPUTS, inputs.collect()).await?;
        self.put(PUT_TASKS, documents(&changes.tasks, task_columns)?)
            .await?;
        self.put(
            PUT_GROUPS,
            documents(&changes.groups, |row, body| json!([row.id, body]))?,
        )
        .await?;
        self.put(
            PUT_ITEMS,
            documents(&changes.items, |row, body| {
                json!([row.group, row.index, body])
            })?,
        )
        .await?;
        let gone = changes.timers.iter().filter(|(_, row)| row.is_none());
        let gone = gone.map(|((run, key), _)| json!([run, key]));
        self.put(DROP_TIMERS, gone.collect()).await?;
        let timers: Vec<&TimerRow> = changes
            .timers
            .iter()
            .filter_map(|(_, row)| row.as_ref())
            .collect();
        self.put(
            PUT_TIMERS,
            documents(timers, |row, body| {
                json!([row.run, row.key, integer(row.at_ms), body])
            })?,
        )
        .await?;
        self.put(
            PUT_EVENTS,
            documents(&changes.events, |row, body| {
                json!([row.run, integer(row.seq), body])
            })?,
        )
        .await?;
        self.put(
            PUT_NOTICES,
            documents(&changes.notices, |_, body| json!([body]))?,
        )
        .await
    }

    /// One statement for many rows, each an array of its columns; none at all for none.
    pub(super) async fn put(&mut self, sql: &'static str, rows: Vec<Value>) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let mut rows = Value::Array(rows).to_string();
        if let Some(scrubbed) = self.scrub.as_ref().and_then(|scrub| scrub(&rows)) {
            rows = scrubbed;
        }
        let done = sqlx::query(sql)
            .bind(rows)
            .execute(&mut self.connection)
            .await;
        done.map_err(|cause| self.fault().of(&cause))?;
        Ok(())
    }
}

const PUT_RUNS: &str = "INSERT INTO workflow_runs (id, workflow, status, created_ms, body) \
     SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each($1) \
     WHERE true ON CONFLICT (id) DO UPDATE SET status = excluded.status, body = excluded.body";
const PUT_INPUTS: &str = "UPDATE workflow_runs SET input = new.value ->> 1 FROM json_each($1) AS new \
     WHERE workflow_runs.id = new.value ->> 0";
const PUT_TASKS: &str = "INSERT INTO workflow_tasks \
     (id, run, path, place, visit, status, assignee, ready_ms, lease_ms, is_active, body) \
     SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, \
     value ->> 6, value ->> 7, value ->> 8, value ->> 9, value ->> 10 FROM json_each($1) \
     WHERE true ON CONFLICT (id) DO UPDATE SET status = excluded.status, \
     assignee = excluded.assignee, ready_ms = excluded.ready_ms, lease_ms = excluded.lease_ms, \
     is_active = excluded.is_active, body = excluded.body";
const PUT_GROUPS: &str = "INSERT INTO workflow_groups (id, body) \
     SELECT value ->> 0, value ->> 1 FROM json_each($1) \
     WHERE true ON CONFLICT (id) DO UPDATE SET body = excluded.body";
const PUT_ITEMS: &str = "INSERT INTO workflow_items (\"group\", \"index\", body) \
     SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each($1) \
     WHERE true ON CONFLICT (\"group\", \"index\") DO UPDATE SET body = excluded.body";
const DROP_TIMERS: &str = "DELETE FROM workflow_timers WHERE (run, key) IN \
     (SELECT value ->> 0, value ->> 1 FROM json_each($1))";
const PUT_TIMERS: &str = "INSERT INTO workflow_timers (run, key, at_ms, body) \
     SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each($1) \
     WHERE true ON CONFLICT (run, key) DO UPDATE SET at_ms = excluded.at_ms, body = excluded.body";
const PUT_EVENTS: &str = "INSERT INTO workflow_events (run, seq, body) \
     SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each($1)";
const PUT_NOTICES: &str =
    "INSERT INTO workflow_notices (body) SELECT value ->> 0 FROM json_each($1)";
pub(super) const DROP_NOTICES: &str =
    "DELETE FROM workflow_notices WHERE id IN (SELECT value FROM json_each($1))";

fn documents<'r, T: Serialize + 'r>(
    rows: impl IntoIterator<Item = &'r T>,
    columns: impl Fn(&T, String) -> Value,
) -> Result<Vec<Value>> {
    let rows = rows.into_iter().map(|row| {
        let body = serde_json::to_string(row).map_err(|cause| {
            let message = format!("a row cannot be written as JSON: {cause}. Report this.");
            Error::new(Kind::Conflict, message)
        })?;
        Ok(columns(row, body))
    });
    rows.collect()
}

fn run_columns(row: &RunRow, body: String) -> Value {
    json!([
        row.id,
        row.workflow,
        row.status,
        integer(row.created_ms),
        body
    ])
}

fn task_columns(row: &TaskRow, body: String) -> Value {
    let task = columns::task(row);
    json!([
        row.id,
        row.id.run,
        row.id.path,
        task.place,
        row.id.visit,
        row.status,
        row.assignee,
        task.ready_ms.map(integer),
        task.lease_ms.map(integer),
        i64::from(task.is_active),
        body,
    ])
}
