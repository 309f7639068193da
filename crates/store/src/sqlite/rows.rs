//! One connection to SQLite and the rows of workflows it reads by their keys.

use std::path::PathBuf;
use std::sync::Arc;

use flow::engine::{ItemRow, SlotRow, StepAddress, TaskRow};
use flow::{ItemPath, RunId, TaskId};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqlx::Row as _;
use sqlx::sqlite::{Sqlite, SqliteConnection, SqliteRow};

use super::errors::SqliteErrorContext;
use super::watch::FileWatch;
use super::writing::StatementWriter;
use crate::error::Result;
use crate::workflows::{columns, shorthand};

/// A connection, with the data its error messages need.
pub(super) struct SqliteRows {
    pub(super) connection: SqliteConnection,
    pub(super) place: PathBuf,
    pub(super) bytes_max: Option<u64>,
    pub(super) statements: StatementWriter,
    pub(super) watch: Arc<FileWatch>,
    /// SQLite's `data_version`, as this connection last saw it. Another value means that another
    /// connection has written.
    pub(super) version: Option<i64>,
}

impl SqliteRows {
    pub(super) fn fault(&self) -> SqliteErrorContext<'_> {
        SqliteErrorContext {
            place: &self.place,
            bytes_max: self.bytes_max,
        }
    }

    pub(super) async fn run(&mut self, sql: &'static str) -> Result<()> {
        let done = sqlx::query(sql).execute(&mut self.connection).await;
        done.map_err(|cause| self.fault().of(&cause))?;
        Ok(())
    }

    pub(super) async fn one<T: DeserializeOwned>(
        &mut self,
        sql: &'static str,
        key: &str,
    ) -> Result<Option<T>> {
        let found = sqlx::query_scalar(sql)
            .bind(key)
            .fetch_optional(&mut self.connection)
            .await;
        let body: Option<String> = found.map_err(|cause| self.fault().of(&cause))?;
        body.map(|body| self.read(&body)).transpose()
    }

    pub(super) async fn many<T: DeserializeOwned>(
        &mut self,
        sql: &'static str,
        key: &str,
        also: &str,
    ) -> Result<Vec<T>> {
        let found = sqlx::query_scalar(sql)
            .bind(key)
            .bind(also)
            .fetch_all(&mut self.connection)
            .await;
        let bodies: Vec<String> = found.map_err(|cause| self.fault().of(&cause))?;
        bodies.iter().map(|body| self.read(body)).collect()
    }

    pub(super) fn read<T: DeserializeOwned>(&self, body: &str) -> Result<T> {
        let body = shorthand::TASKS.expand_whole(body);
        serde_json::from_str(&body).map_err(|cause| {
            self.fault()
                .corrupt(&format!("a row of a workflow is unreadable: {cause}"))
        })
    }

    pub(super) async fn item(&mut self, group: &TaskId, index: u32) -> Result<Option<ItemRow>> {
        let found = sqlx::query_scalar(
            "SELECT body FROM workflow_items WHERE \"group\" = $1 AND \"index\" = $2",
        )
        .bind(group.to_string())
        .bind(i64::from(index))
        .fetch_optional(&mut self.connection)
        .await;
        let body: Option<String> = found.map_err(|cause| self.fault().of(&cause))?;
        body.map(|body| self.read(&body)).transpose()
    }

    pub(super) async fn task(&mut self, task: &TaskId) -> Result<Option<TaskRow>> {
        let found =
            sqlx::query_scalar("SELECT body FROM workflow_tasks WHERE place = $1 AND visit = $2")
                .bind(columns::place_of(task))
                .bind(i64::from(task.visit))
                .fetch_optional(&mut self.connection)
                .await;
        let body: Option<String> = found.map_err(|cause| self.fault().of(&cause))?;
        body.map(|body| self.read(&body)).transpose()
    }

    pub(super) async fn outputs(&mut self, tasks: &[TaskId]) -> Result<Vec<Option<Value>>> {
        let found = sqlx::query_scalar(
            "SELECT workflow_tasks.body FROM json_each($1) AS wanted \
             LEFT JOIN workflow_tasks ON place = wanted.value ->> 0 AND visit = wanted.value ->> 1 \
             ORDER BY wanted.key",
        )
        .bind(json!(keys(tasks)).to_string())
        .fetch_all(&mut self.connection)
        .await;
        let bodies: Vec<Option<String>> = found.map_err(|cause| self.fault().of(&cause))?;
        let outputs = bodies.into_iter().map(|body| match body {
            Some(body) => self.read::<SqliteOutput>(&body).map(|given| given.output),
            None => Ok(None),
        });
        outputs.collect()
    }

    pub(super) async fn visits(&mut self, place: &StepAddress) -> Result<u32> {
        let found = sqlx::query_scalar(
            "SELECT coalesce(max(visit), 0) FROM workflow_tasks WHERE place = $1",
        )
        .bind(columns::place(place))
        .fetch_one(&mut self.connection)
        .await;
        let visits: i64 = found.map_err(|cause| self.fault().of(&cause))?;
        Ok(u32::try_from(visits).unwrap_or(u32::MAX))
    }

    pub(super) async fn all_visits(&mut self, places: &[StepAddress]) -> Result<Vec<u32>> {
        if places.is_empty() {
            return Ok(Vec::new());
        }
        let names: Vec<String> = places.iter().map(columns::place).collect();
        let found = sqlx::query_scalar(
            "SELECT (SELECT coalesce(max(visit), 0) FROM workflow_tasks WHERE place = wanted.value) \
             FROM json_each($1) AS wanted ORDER BY wanted.key",
        )
        .bind(json!(names).to_string())
        .fetch_all(&mut self.connection)
        .await;
        let visits: Vec<i64> = found.map_err(|cause| self.fault().of(&cause))?;
        let visits = visits.into_iter().map(u32::try_from);
        Ok(visits.map(|visits| visits.unwrap_or(u32::MAX)).collect())
    }

    pub(super) async fn slots(&mut self, key: &str) -> Result<Vec<SlotRow>> {
        let sql = "SELECT json_object('key', key, 'holder', holder, 'max', max, 'since_ms', since_ms, \
                   'is_held', json(iif(is_held, 'true', 'false'))) \
                   FROM workflow_slots WHERE key = $1 AND $2 = ''";
        self.many(sql, key, "").await
    }

    /// Reads rows by a list of keys.
    pub(super) async fn listed<T: DeserializeOwned>(
        &mut self,
        sql: &'static str,
        keys: &[impl Serialize],
    ) -> Result<Vec<T>> {
        match keys.is_empty() {
            true => Ok(Vec::new()),
            false => self.many(sql, &json!(keys).to_string(), "").await,
        }
    }

    pub(super) async fn active(&mut self, run: &RunId, path: &ItemPath) -> Result<Vec<TaskRow>> {
        let sql = "SELECT body FROM workflow_tasks WHERE run = $1 AND path = $2 AND is_active = 1";
        self.many(sql, run.as_str(), &path.to_string()).await
    }

    pub(super) async fn active_within(
        &mut self,
        run: &RunId,
        path: &ItemPath,
    ) -> Result<Vec<TaskRow>> {
        let sql = "SELECT body FROM workflow_tasks \
                   WHERE run = $1 AND is_active = 1 AND substr(path, 1, length($2)) = $2";
        self.many(sql, run.as_str(), &path.to_string()).await
    }
}

/// The part of an ended task's document that later steps read.
#[derive(Deserialize)]
pub(super) struct SqliteOutput {
    output: Option<Value>,
}

impl SqliteRows {
    pub(super) fn names(&self, rows: &[SqliteRow]) -> Result<Vec<TaskId>> {
        let names = rows.iter().map(|row| self.name(self.column(row)?));
        names.collect()
    }

    /// Returns the only column of a row.
    pub(super) fn column<'r, T>(&self, row: &'r SqliteRow) -> Result<T>
    where
        T: sqlx::Decode<'r, Sqlite> + sqlx::Type<Sqlite>,
    {
        row.try_get(0).map_err(|cause| self.fault().of(&cause))
    }

    pub(super) fn name(&self, name: &str) -> Result<TaskId> {
        name.parse().map_err(|_| {
            self.fault()
                .corrupt(&format!("`{name}` is not the name of a task"))
        })
    }
}

/// Returns the key columns of tasks.
pub(super) fn keys(tasks: &[TaskId]) -> Vec<(String, u32)> {
    let keys = tasks.iter();
    keys.map(|task| (columns::place_of(task), task.visit))
        .collect()
}

pub(super) fn limit(max: usize) -> i64 {
    i64::try_from(max).unwrap_or(i64::MAX)
}
