//! Queries of people about runs and tasks, in PostgreSQL.

use flow::TextHash;
use flow::engine::{RunRow, RunStatus, TaskRow, TaskStatus};
use serde::de::DeserializeOwned;
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use super::connection::BoundValues;
use super::workflows::limit;
use super::{PostgresDatabase, count, integer};
use crate::error::Result;
use crate::queries::{
    PendingWork, RunCursor, RunFilter, RunKey, RunQueries, RunScan, TaskFilter, TaskIndex, newest,
    prefix_end, texts_named,
};
use crate::record::DatabaseFuture;
use crate::workflows::{columns, shorthand};

/// The part of a list of runs that one index holds. Values: since, before, the id before, only
/// top-level runs or all, the limit, and the key.
macro_rules! runs_where {
    ($what:literal, $key:literal) => {
        concat!(
            "SELECT ",
            $what,
            " FROM workflow_runs WHERE ",
            $key,
            "created_ms >= $1 AND (created_ms, id) < ($2, $3) AND (NOT $4 OR is_top) \
             ORDER BY created_ms DESC, id DESC LIMIT $5"
        )
    };
}

macro_rules! tagged {
    ($what:literal) => {
        concat!(
            "SELECT ",
            $what,
            " FROM workflow_tags AS tags JOIN workflow_runs AS runs ON runs.id = tags.run \
             WHERE tags.tag = $6 AND tags.created_ms >= $1 AND (tags.created_ms, tags.run) < ($2, $3) \
             AND (NOT $4 OR runs.is_top) AND ($7::text IS NULL OR runs.status = $7) \
             AND ($8::text[] IS NULL OR runs.workflow = ANY($8)) \
             ORDER BY tags.created_ms DESC, tags.run DESC LIMIT $5"
        )
    };
}

/// A part of a list of tasks. Values: the status, only waiting ones or all, the assignee, with or
/// without unassigned ones, the limit, and the key.
macro_rules! tasks_where {
    ($what:literal, $key:literal, $order:literal) => {
        concat!(
            "SELECT ",
            $what,
            " FROM workflow_tasks WHERE ",
            $key,
            "($1::text IS NULL OR status = $1) AND (NOT $2 OR status = 'on_hold' \
             OR (status = 'pending' AND ready_ms IS NULL)) \
             AND ($3::text IS NULL OR assignee = $3 OR ($4 AND assignee IS NULL)) \
             ORDER BY ",
            $order,
            " LIMIT $5"
        )
    };
}

const OF_PREFIX: &str =
    "SELECT body FROM workflow_runs WHERE id >= $1 AND id < $2 ORDER BY id LIMIT $3";
const PENDING: &str = "SELECT (SELECT ready.ready_ms FROM workflow_ready AS ready \
     JOIN workflow_runs AS runs ON runs.id = ready.run WHERE runs.status = 'running' \
     AND (cardinality($1::text[]) = 0 OR ready.assignee = ANY($1)) \
     ORDER BY ready.ready_ms LIMIT 1), \
     (SELECT min(lease_ms) FROM workflow_tasks WHERE lease_ms IS NOT NULL), \
     (SELECT min(at_ms) FROM workflow_timers)";
const NAMED: &str = "SELECT name FROM workflow_names WHERE hash = $1 AND name = $2";
const NAME: &str = "INSERT INTO workflow_names (hash, name) SELECT $1, $2 \
     WHERE EXISTS (SELECT 1 FROM workflow_texts WHERE hash = $1) \
     ON CONFLICT DO NOTHING RETURNING true";
const NAMES: &str = "SELECT hash, name FROM workflow_names";
const UNNAMED: &str = "SELECT hash, source FROM workflow_texts AS texts WHERE NOT EXISTS \
     (SELECT 1 FROM workflow_names AS names WHERE names.hash = texts.hash)";

impl RunQueries for PostgresDatabase {
    fn list_runs<'a>(
        &'a self,
        filter: &'a RunFilter,
        after: Option<&'a RunCursor>,
        max: usize,
    ) -> DatabaseFuture<'a, Vec<RunRow>> {
        Box::pin(async move {
            let texts = self.texts_of(filter).await?;
            let mut runs = Vec::new();
            for scan in RunScan::all(filter, after, texts, max) {
                let sql = match scan.key {
                    RunKey::Newest => runs_where!("body", ""),
                    RunKey::Top => runs_where!("body", "is_top AND "),
                    RunKey::Status(_) => runs_where!("body", "status = $6 AND "),
                    RunKey::Workflow(..) => {
                        runs_where!("body", "workflow = $6 AND status = $7 AND ")
                    }
                    RunKey::Tag(_) => tagged!("runs.body"),
                };
                let rows = self.read(sql, scan_values(&scan)).await?;
                runs.extend(self.bodies::<RunRow>(&rows)?);
            }
            Ok(newest(runs, max))
        })
    }

    fn count_runs<'a>(&'a self, filter: &'a RunFilter, max: usize) -> DatabaseFuture<'a, usize> {
        Box::pin(async move {
            let texts = self.texts_of(filter).await?;
            let mut counted = 0;
            for scan in RunScan::all(filter, None, texts, max) {
                let sql = match scan.key {
                    RunKey::Newest => runs_where!("id", ""),
                    RunKey::Top => runs_where!("id", "is_top AND "),
                    RunKey::Status(_) => runs_where!("id", "status = $6 AND "),
                    RunKey::Workflow(..) => {
                        runs_where!("id", "workflow = $6 AND status = $7 AND ")
                    }
                    RunKey::Tag(_) => tagged!("runs.id"),
                };
                counted += self.read(sql, scan_values(&scan)).await?.len();
            }
            Ok(counted.min(max))
        })
    }

    fn runs_with_prefix<'a>(
        &'a self,
        prefix: &'a str,
        max: usize,
    ) -> DatabaseFuture<'a, Vec<RunRow>> {
        Box::pin(async move {
            let values = BoundValues::of(prefix)
                .and(prefix_end(prefix))
                .and(limit(max));
            let rows = self.read(OF_PREFIX, values).await?;
            self.bodies(&rows)
        })
    }

    fn list_tasks<'a>(
        &'a self,
        filter: &'a TaskFilter,
        max: usize,
    ) -> DatabaseFuture<'a, Vec<TaskRow>> {
        Box::pin(async move {
            let sql = match TaskIndex::of(filter) {
                TaskIndex::Run => tasks_where!(
                    "body",
                    "place >= $6 AND place < $7 AND (is_active OR $8) AND ",
                    "number"
                ),
                TaskIndex::Active => tasks_where!("body", "is_active AND ", "number"),
                TaskIndex::Unfinished => tasks_where!(
                    "body",
                    "status IN ('failed', 'cancelled') AND status = $1 AND ",
                    "number"
                ),
                TaskIndex::All => tasks_where!("body", "", "place, visit"),
            };
            let rows = self.read(sql, task_values(filter, max)).await?;
            self.bodies(&rows)
        })
    }

    fn count_tasks<'a>(&'a self, filter: &'a TaskFilter, max: usize) -> DatabaseFuture<'a, usize> {
        Box::pin(async move {
            let sql = match TaskIndex::of(filter) {
                TaskIndex::Run => tasks_where!(
                    "place",
                    "place >= $6 AND place < $7 AND (is_active OR $8) AND ",
                    "number"
                ),
                TaskIndex::Active => tasks_where!("place", "is_active AND ", "number"),
                TaskIndex::Unfinished => tasks_where!(
                    "place",
                    "status IN ('failed', 'cancelled') AND status = $1 AND ",
                    "number"
                ),
                TaskIndex::All => tasks_where!("place", "", "place, visit"),
            };
            Ok(self.read(sql, task_values(filter, max)).await?.len())
        })
    }

    fn pending_work<'a>(&'a self, assignees: &'a [String]) -> DatabaseFuture<'a, PendingWork> {
        Box::pin(async move {
            let rows = self
                .read(PENDING, BoundValues::of(assignees.to_vec()))
                .await?;
            let time = |column: usize| -> Result<Option<u64>> {
                let Some(row) = rows.first() else {
                    return Ok(None);
                };
                let found: Option<i64> = row
                    .try_get(column)
                    .map_err(|cause| self.unreadable("a time", &cause.to_string()))?;
                Ok(found.map(count))
            };
            Ok(PendingWork {
                ready_ms: time(0)?,
                lease_ms: time(1)?,
                timer_ms: time(2)?,
            })
        })
    }

    fn begin_of_newest(&self, number: u64) -> DatabaseFuture<'_, Option<u64>> {
        Box::pin(async move {
            let sql = "SELECT created_ms FROM workflow_runs WHERE is_top \
                       ORDER BY created_ms DESC, id DESC LIMIT 1 OFFSET $1";
            let rows = self.read(sql, BoundValues::of(integer(number))).await?;
            let found = rows.first().map(|row| row.try_get::<i64, _>(0)).transpose();
            let found = found.map_err(|cause| self.unreadable("a time", &cause.to_string()))?;
            Ok(found.map(count))
        })
    }

    fn name_workflow<'a>(&'a self, hash: &'a TextHash, name: &'a str) -> DatabaseFuture<'a, ()> {
        Box::pin(async move {
            let values = BoundValues::of(hash.as_str()).and(self.clean(name));
            if self.read(NAMED, values.clone()).await?.is_empty() {
                self.change(NAME, values).await?;
            }
            Ok(())
        })
    }
}

impl PostgresDatabase {
    /// Returns the workflow texts that the filter's workflow name matches; `None` if the filter has
    /// no name.
    async fn texts_of(&self, filter: &RunFilter) -> Result<Option<Vec<String>>> {
        let Some(wanted) = &filter.workflow else {
            return Ok(None);
        };
        let names = self.pairs(NAMES).await?;
        let unnamed = self.pairs(UNNAMED).await?;
        Ok(Some(texts_named(wanted, &names, &unnamed)))
    }

    async fn pairs(&self, sql: &'static str) -> Result<Vec<(String, String)>> {
        let rows = self.read(sql, BoundValues::default()).await?;
        let pair = |row: &PgRow| Ok((row.try_get(0)?, row.try_get(1)?));
        let pairs: std::result::Result<Vec<_>, sqlx::Error> = rows.iter().map(pair).collect();
        pairs.map_err(|cause| self.unreadable("a name", &cause.to_string()))
    }

    fn bodies<T: DeserializeOwned>(&self, rows: &[PgRow]) -> Result<Vec<T>> {
        let bodies = rows.iter().map(|row| {
            let body: std::result::Result<String, _> = row.try_get(0).map_err(|e| e.to_string());
            body.and_then(|body| {
                let body = shorthand::TASKS.expand_whole(&body);
                serde_json::from_str(&body).map_err(|e| e.to_string())
            })
            .map_err(|why| self.unreadable("a row of a workflow", &why))
        });
        bodies.collect()
    }
}

fn scan_values(scan: &RunScan) -> BoundValues {
    let values = BoundValues::of(integer(scan.since_ms))
        .and(integer(scan.before.0))
        .and(&scan.before.1)
        .and(scan.is_top)
        .and(limit(scan.max));
    match &scan.key {
        RunKey::Newest | RunKey::Top => values,
        RunKey::Status(status) => values.and(status.name()),
        RunKey::Workflow(hash, status) => values.and(hash).and(status.name()),
        RunKey::Tag(tag) => values
            .and(tag)
            .and(scan.status.map(RunStatus::name))
            .and(scan.texts.clone()),
    }
}

fn task_values(filter: &TaskFilter, max: usize) -> BoundValues {
    let values = BoundValues::of(filter.status.map(TaskStatus::name))
        .and(filter.is_waiting)
        .and(filter.assignee.clone())
        .and(filter.is_anybodys)
        .and(limit(max));
    match &filter.run {
        None => values,
        Some(run) => {
            let (first, end) = columns::places(run);
            values.and(first).and(end).and(filter.has_ended)
        }
    }
}
