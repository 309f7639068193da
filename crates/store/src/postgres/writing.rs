//! Rows of workflows go into PostgreSQL. Many rows are one statement: each column goes in as an array.

use flow::engine::{Changes, TaskRow, TimerRow};
use serde::Serialize;

use super::integer;
use super::line::Values;
use super::workflows::Rows;
use crate::error::{Error, Kind, Result};
use crate::workflows::columns;

impl Rows {
    /// Each kind of row with one statement, or none.
    pub(super) async fn write_all(&mut self, changes: &Changes) -> Result<()> {
        self.write_runs(changes).await?;
        self.write_tasks(&changes.tasks).await?;
        self.write_groups(changes).await?;
        self.write_timers(changes).await?;
        let events = &changes.events;
        if !events.is_empty() {
            let values = Values::of(strings(events.iter().map(|row| &row.run)))
                .and(numbers(events.iter().map(|row| row.seq)))
                .and(self.bodies(events)?);
            self.line.fetch(PUT_EVENTS, values).await?;
        }
        if !changes.notices.is_empty() {
            let values = Values::of(self.bodies(&changes.notices)?);
            self.line.fetch(PUT_NOTICES, values).await?;
        }
        Ok(())
    }

    async fn write_tasks(&mut self, rows: &[TaskRow]) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let all: Vec<_> = rows.iter().map(columns::task).collect();
        let values = Values::of(strings(rows.iter().map(|row| &row.id)))
            .and(strings(rows.iter().map(|row| &row.id.run)))
            .and(strings(rows.iter().map(|row| &row.id.path)))
            .and(strings(all.iter().map(|task| &task.place)))
            .and(numbers(rows.iter().map(|row| u64::from(row.id.visit))))
            .and(strings(rows.iter().map(|row| row.status.name())))
            .and(
                rows.iter()
                    .map(|row| row.assignee.clone())
                    .collect::<Vec<_>>(),
            )
            .and(
                all.iter()
                    .map(|task| task.ready_ms.map(integer))
                    .collect::<Vec<_>>(),
            )
            .and(
                all.iter()
                    .map(|task| task.lease_ms.map(integer))
                    .collect::<Vec<_>>(),
            )
            .and(numbers(rows.iter().map(|row| row.fence)))
            .and(all.iter().map(|task| task.is_active).collect::<Vec<_>>())
            .and(self.bodies(rows)?);
        self.line.fetch(PUT_TASKS, values).await?;
        let (ready, gone): (Vec<_>, Vec<_>) = rows
            .iter()
            .zip(&all)
            .partition(|(_, task)| task.ready_ms.is_some());
        if !gone.is_empty() {
            let gone = strings(gone.iter().map(|(row, _)| &row.id));
            self.line.fetch(DROP_READY, Values::of(gone)).await?;
        }
        if ready.is_empty() {
            return Ok(());
        }
        self.has_news = true;
        let ready_ms = ready.iter().filter_map(|(_, task)| task.ready_ms);
        let assignees = ready.iter().map(|(row, _)| row.assignee.clone());
        let values = Values::of(strings(ready.iter().map(|(row, _)| &row.id)))
            .and(strings(ready.iter().map(|(row, _)| &row.id.run)))
            .and(numbers(ready_ms))
            .and(assignees.collect::<Vec<_>>());
        self.line.fetch(PUT_READY, values).await?;
        Ok(())
    }

    async fn write_runs(&mut self, changes: &Changes) -> Result<()> {
        let rows = &changes.runs;
        if !rows.is_empty() {
            let values = Values::of(strings(rows.iter().map(|row| &row.id)))
                .and(strings(rows.iter().map(|row| &row.workflow)))
                .and(strings(rows.iter().map(|row| row.status.name())))
                .and(numbers(rows.iter().map(|row| row.created_ms)))
                .and(self.bodies(rows)?);
            self.line.fetch(PUT_RUNS, values).await?;
        }
        if !changes.inputs.is_empty() {
            let values = Values::of(strings(changes.inputs.iter().map(|(run, _)| run)))
                .and(self.bodies(changes.inputs.iter().map(|(_, input)| input))?);
            self.line.fetch(PUT_INPUTS, values).await?;
        }
        Ok(())
    }

    async fn write_timers(&mut self, changes: &Changes) -> Result<()> {
        let gone = changes.timers.iter().filter(|(_, row)| row.is_none());
        let (runs, keys): (Vec<String>, Vec<String>) = gone
            .map(|((run, key), _)| (run.to_string(), key.clone()))
            .unzip();
        if !runs.is_empty() {
            let values = Values::of(runs).and(keys);
            self.line.fetch(DROP_TIMERS, values).await?;
        }
        let rows = changes.timers.iter();
        let rows: Vec<&TimerRow> = rows.filter_map(|(_, row)| row.as_ref()).collect();
        if rows.is_empty() {
            return Ok(());
        }
        let values = Values::of(strings(rows.iter().map(|row| &row.run)))
            .and(strings(rows.iter().map(|row| &row.key)))
            .and(numbers(rows.iter().map(|row| row.at_ms)))
            .and(self.bodies(rows)?);
        self.line.fetch(PUT_TIMERS, values).await?;
        Ok(())
    }

    async fn write_groups(&mut self, changes: &Changes) -> Result<()> {
        let groups = &changes.groups;
        if !groups.is_empty() {
            let values =
                Values::of(strings(groups.iter().map(|row| &row.id))).and(self.bodies(groups)?);
            self.line.fetch(PUT_GROUPS, values).await?;
        }
        let items = &changes.items;
        if !items.is_empty() {
            let values = Values::of(strings(items.iter().map(|row| &row.group)))
                .and(numbers(items.iter().map(|row| u64::from(row.index))))
                .and(self.bodies(items)?);
            self.line.fetch(PUT_ITEMS, values).await?;
        }
        Ok(())
    }

    /// The documents of rows, with known keys taken out.
    fn bodies<'r, T: Serialize + 'r>(
        &self,
        rows: impl IntoIterator<Item = &'r T>,
    ) -> Result<Vec<String>> {
        let bodies = rows.into_iter().map(|row| {
            let body = serde_json::to_string(row).map_err(|cause| {
                let message = format!("a row cannot be written as JSON: {cause}. Report this.");
                Error::new(Kind::Conflict, message)
            })?;
            let scrubbed = self.scrub.as_ref().and_then(|scrub| scrub(&body));
            Ok(scrubbed.unwrap_or(body))
        });
        bodies.collect()
    }
}

const PUT_RUNS: &str = "INSERT INTO workflow_runs (id, workflow, status, created_ms, body) \
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[]) \
     ON CONFLICT (id) DO UPDATE SET status = excluded.status, body = excluded.body";
const PUT_INPUTS: &str = "UPDATE workflow_runs SET input = new.input \
     FROM unnest($1::text[], $2::text[]) AS new (run, input) WHERE workflow_runs.id = new.run";
const PUT_TASKS: &str = "INSERT INTO workflow_tasks (id, run, path, place, visit, status, assignee, \
     ready_ms, lease_ms, fence, is_active, body) \
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], \
     $7::text[], $8::bigint[], $9::bigint[], $10::bigint[], $11::boolean[], $12::text[]) \
     ON CONFLICT (id) DO UPDATE SET status = excluded.status, assignee = excluded.assignee, \
     ready_ms = excluded.ready_ms, lease_ms = excluded.lease_ms, fence = excluded.fence, \
     is_active = excluded.is_active, body = excluded.body";
const PUT_READY: &str = "INSERT INTO workflow_ready (task, run, ready_ms, assignee) \
     SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[]) \
     ON CONFLICT (task) DO UPDATE SET ready_ms = excluded.ready_ms, assignee = excluded.assignee";
const DROP_READY: &str = "DELETE FROM workflow_ready WHERE task = ANY($1)";
const PUT_GROUPS: &str = "INSERT INTO workflow_groups (id, body) \
     SELECT * FROM unnest($1::text[], $2::text[]) \
     ON CONFLICT (id) DO UPDATE SET body = excluded.body";
const PUT_ITEMS: &str = "INSERT INTO workflow_items (\"group\", \"index\", body) \
     SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[]) \
     ON CONFLICT (\"group\", \"index\") DO UPDATE SET body = excluded.body";
const DROP_TIMERS: &str = "DELETE FROM workflow_timers USING unnest($1::text[], $2::text[]) \
     AS gone (run, key) WHERE workflow_timers.run = gone.run AND workflow_timers.key = gone.key";
const PUT_TIMERS: &str = "INSERT INTO workflow_timers (run, key, at_ms, body) \
     SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[]) \
     ON CONFLICT (run, key) DO UPDATE SET at_ms = excluded.at_ms, body = excluded.body";
const PUT_EVENTS: &str = "INSERT INTO workflow_events (run, seq, body) \
     SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[])";
const PUT_NOTICES: &str = "INSERT INTO workflow_notices (body) SELECT * FROM unnest($1::text[])";

pub(super) fn strings<T: ToString>(values: impl IntoIterator<Item = T>) -> Vec<String> {
    values.into_iter().map(|value| value.to_string()).collect()
}

pub(super) fn numbers(values: impl IntoIterator<Item = u64>) -> Vec<i64> {
    values.into_iter().map(integer).collect()
}
