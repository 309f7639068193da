//! The rows of workflows in SQLite.

use std::path::PathBuf;
use std::sync::Arc;

use flow::engine::{
    CallRow, Changes, Event, Found, GroupRow, ItemRow, Lookup, Notice, Place, RunRow, RunStatus,
    TaskRow, TimerRow,
};
use flow::{Claim, Path, RunId, TaskId, TextHash, Which};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqlx::Row as _;
use sqlx::query::Query;
use sqlx::sqlite::{Sqlite, SqliteArguments, SqliteConnection, SqliteRow};

use super::fault::Fault;
use super::watch::FileWatch;
use super::writing::Clerk;
use super::{count, integer};
use crate::error::Result;
use crate::workflows::{Begun, Kept, Memory, Seen, Shelf, Waiting, Wanted};
use crate::workflows::{columns, pages, shorthand};

/// Begins, and asks whether another connection has written since it was asked last.
macro_rules! begin {
    () => {
        "BEGIN IMMEDIATE; PRAGMA data_version"
    };
}

/// The name of a task, as `flow` writes it.
macro_rules! task_name {
    () => {
        "place || CASE visit WHEN 1 THEN '' ELSE '~' || visit END"
    };
}

/// What may be claimed.
macro_rules! ready {
    () => {
        concat!(
            "SELECT ",
            task_name!(),
            " FROM workflow_tasks AS task JOIN workflow_runs ON workflow_runs.id = run \
         WHERE task.ready_ms <= $1 AND workflow_runs.status = 'running' \
         AND ($2 = '[]' OR run IN (SELECT value FROM json_each($2))) \
         AND ($3 = '[]' OR assignee IN (SELECT value FROM json_each($3))) \
         ORDER BY task.ready_ms, task.place, task.visit LIMIT $4"
        )
    };
}

/// A connection, and what it needs to say what went wrong.
pub(super) struct Rows {
    pub(super) connection: SqliteConnection,
    pub(super) place: PathBuf,
    pub(super) bytes_max: Option<u64>,
    pub(super) clerk: Clerk,
    pub(super) watch: Arc<FileWatch>,
    /// What SQLite calls the state of the file as this connection last saw it.
    pub(super) version: Option<i64>,
}

impl Rows {
    pub(super) fn fault(&self) -> Fault<'_> {
        Fault {
            place: &self.place,
            bytes_max: self.bytes_max,
        }
    }

    async fn run(&mut self, sql: &'static str) -> Result<()> {
        let done = sqlx::query(sql).execute(&mut self.connection).await;
        done.map_err(|cause| self.fault().of(&cause))?;
        Ok(())
    }

    async fn one<T: DeserializeOwned>(
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

    async fn many<T: DeserializeOwned>(
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

    async fn item(&mut self, group: &TaskId, index: u32) -> Result<Option<ItemRow>> {
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

    async fn task(&mut self, task: &TaskId) -> Result<Option<TaskRow>> {
        let found =
            sqlx::query_scalar("SELECT body FROM workflow_tasks WHERE place = $1 AND visit = $2")
                .bind(columns::place_of(task))
                .bind(i64::from(task.visit))
                .fetch_optional(&mut self.connection)
                .await;
        let body: Option<String> = found.map_err(|cause| self.fault().of(&cause))?;
        body.map(|body| self.read(&body)).transpose()
    }

    async fn outputs(&mut self, tasks: &[TaskId]) -> Result<Vec<Option<Value>>> {
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
            Some(body) => self.read::<Given>(&body).map(|given| given.output),
            None => Ok(None),
        });
        outputs.collect()
    }

    async fn visits(&mut self, place: &Place) -> Result<u32> {
        let found = sqlx::query_scalar(
            "SELECT coalesce(max(visit), 0) FROM workflow_tasks WHERE place = $1",
        )
        .bind(columns::place(place))
        .fetch_one(&mut self.connection)
        .await;
        let visits: i64 = found.map_err(|cause| self.fault().of(&cause))?;
        Ok(u32::try_from(visits).unwrap_or(u32::MAX))
    }

    async fn all_visits(&mut self, places: &[Place]) -> Result<Vec<u32>> {
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

    /// Rows by a list of their keys.
    async fn listed<T: DeserializeOwned>(
        &mut self,
        sql: &'static str,
        keys: &[impl Serialize],
    ) -> Result<Vec<T>> {
        match keys.is_empty() {
            true => Ok(Vec::new()),
            false => self.many(sql, &json!(keys).to_string(), "").await,
        }
    }

    async fn active(&mut self, run: &RunId, path: &Path) -> Result<Vec<TaskRow>> {
        let sql = "SELECT body FROM workflow_tasks WHERE run = $1 AND path = $2 AND is_active = 1";
        self.many(sql, run.as_str(), &path.to_string()).await
    }

    async fn active_within(&mut self, run: &RunId, path: &Path) -> Result<Vec<TaskRow>> {
        let sql = "SELECT body FROM workflow_tasks \
                   WHERE run = $1 AND is_active = 1 AND substr(path, 1, length($2)) = $2";
        self.many(sql, run.as_str(), &path.to_string()).await
    }
}

/// What is wanted of a task that is over.
#[derive(Deserialize)]
struct Given {
    output: Option<Value>,
}

impl Shelf for Rows {
    /// One question for everything: each takes a trip to SQLite's thread and back.
    async fn begin(&mut self, claim: Option<&Claim>, now_ms: u64) -> Result<Begun> {
        self.watch.check()?;
        let asked = match claim {
            Some(claim) => asking(concat!(begin!(), "; ", ready!()), claim, now_ms),
            None => sqlx::query(begin!()),
        };
        let found = asked.fetch_all(&mut self.connection).await;
        let rows = found.map_err(|cause| self.fault().of(&cause))?;
        let (version, tasks) = match rows.split_first() {
            Some((first, rest)) => (self.column::<i64>(first).map(Some)?, rest),
            None => (None, &rows[..]),
        };
        let is_same = version.is_some() && self.version == version;
        self.version = version;
        Ok(Begun {
            memory: match is_same {
                true => Memory::Holds,
                false => Memory::Fails,
            },
            ready: match claim {
                Some(_) => Some(self.names(tasks)?),
                None => None,
            },
        })
    }

    async fn finish(&mut self, changes: &Changes) -> Result<Kept> {
        self.write_and_commit(changes).await?;
        Ok(self.clerk.scribe.kept())
    }

    async fn roll_back(&mut self) {
        // After some faults SQLite has done so by itself, and says that there is nothing to undo.
        let _ = self.run("ROLLBACK").await;
    }

    async fn find(&mut self, lookup: &Lookup) -> Result<Found> {
        const RUN: &str = "SELECT body FROM workflow_runs WHERE id = $1";
        const INPUT: &str = "SELECT input FROM workflow_runs WHERE id = $1";
        const COMPLETED: &str = "SELECT body FROM workflow_tasks \
             WHERE place = $1 AND status = 'completed' ORDER BY visit DESC LIMIT 1";
        const GROUP: &str = "SELECT body FROM workflow_groups WHERE id = $1";
        const ITEMS: &str = "SELECT body FROM workflow_items \
             WHERE \"group\" = $1 AND $2 = '' ORDER BY \"index\"";
        const TIMER: &str = "SELECT body FROM workflow_timers WHERE run = $1 AND key = $2";
        Ok(match lookup {
            Lookup::Run(run) => Found::Run(self.one::<RunRow>(RUN, run.as_str()).await?),
            Lookup::Input(run) => Found::Input(self.one::<Value>(INPUT, run.as_str()).await?),
            Lookup::Task(task) => Found::Task(self.task(task).await?),
            Lookup::Visits(place) => Found::Visits(self.visits(place).await?),
            Lookup::Completed(place) => {
                Found::Task(self.one(COMPLETED, &columns::place(place)).await?)
            }
            Lookup::Group(group) => {
                Found::Group(self.one::<GroupRow>(GROUP, &group.to_string()).await?)
            }
            Lookup::Item(group, index) => Found::Item(self.item(group, *index).await?),
            Lookup::Items(group) => Found::Items(self.many(ITEMS, &group.to_string(), "").await?),
            Lookup::Outputs(tasks) => Found::Outputs(self.outputs(tasks).await?),
            Lookup::Active(run, path) => Found::Tasks(self.active(run, path).await?),
            Lookup::ActiveWithin(run, path) => Found::Tasks(self.active_within(run, path).await?),
            Lookup::Timer(run, key) => {
                let found: Vec<TimerRow> = self.many(TIMER, run.as_str(), key).await?;
                Found::Timer(found.into_iter().next())
            }
        })
    }

    async fn find_runs(&mut self, runs: &[RunId]) -> Result<Vec<RunRow>> {
        let sql = "SELECT body FROM workflow_runs \
                   WHERE id IN (SELECT value FROM json_each($1)) AND $2 = ''";
        self.many(sql, &json!(runs).to_string(), "").await
    }

    async fn find_all(&mut self, wanted: &Wanted) -> Result<Seen> {
        const TASKS: &str = "SELECT body FROM json_each($1) AS wanted JOIN workflow_tasks \
             ON place = wanted.value ->> 0 AND visit = wanted.value ->> 1 WHERE $2 = ''";
        const GROUPS: &str = "SELECT body FROM workflow_groups \
                              WHERE id IN (SELECT value FROM json_each($1)) AND $2 = ''";
        const ITEMS: &str = "SELECT body FROM json_each($1) AS wanted JOIN workflow_items \
             ON \"group\" = wanted.value ->> 0 AND \"index\" = wanted.value ->> 1 \
             WHERE $2 = ''";
        const NEXT: &str = "SELECT workflow_items.body FROM json_each($1) AS wanted \
             JOIN workflow_groups ON workflow_groups.id = wanted.value ->> 0 \
             JOIN workflow_items ON \"group\" = workflow_groups.id \
             AND \"index\" >= workflow_groups.body ->> '$.next' \
             AND \"index\" < (workflow_groups.body ->> '$.next') + (wanted.value ->> 1) \
             WHERE $2 = ''";
        let mut items = self.listed(ITEMS, &wanted.items).await?;
        items.extend(self.listed(NEXT, &wanted.next_items).await?);
        Ok(Seen {
            tasks: self.listed(TASKS, &keys(&wanted.tasks)).await?,
            groups: self.listed(GROUPS, &wanted.groups).await?,
            items,
            visits: self.all_visits(&wanted.places).await?,
        })
    }

    async fn write(&mut self, changes: &Changes) -> Result<()> {
        self.write_all(changes).await
    }

    async fn ready(&mut self, claim: &Claim, now_ms: u64) -> Result<Waiting> {
        let asked = asking(ready!(), claim, now_ms);
        let found = asked.fetch_all(&mut self.connection).await;
        let rows = found.map_err(|cause| self.fault().of(&cause))?;
        Ok(Waiting {
            runs: Vec::new(),
            tasks: self.names(&rows)?,
        })
    }

    async fn due(&mut self, now_ms: u64, max: usize) -> Result<Vec<TimerRow>> {
        let found = sqlx::query_scalar(
            "SELECT body FROM workflow_timers WHERE at_ms <= $1 ORDER BY at_ms, run, key LIMIT $2",
        )
        .bind(integer(now_ms))
        .bind(limit(max))
        .fetch_all(&mut self.connection)
        .await;
        let bodies: Vec<String> = found.map_err(|cause| self.fault().of(&cause))?;
        bodies.iter().map(|body| self.read(body)).collect()
    }

    async fn expired(&mut self, now_ms: u64, max: usize) -> Result<Vec<(TaskId, u64)>> {
        let found = sqlx::query_as(concat!(
            "SELECT ",
            task_name!(),
            ", fence FROM workflow_tasks WHERE lease_ms <= $1 ORDER BY lease_ms LIMIT $2"
        ))
        .bind(integer(now_ms))
        .bind(limit(max))
        .fetch_all(&mut self.connection)
        .await;
        let rows: Vec<(String, i64)> = found.map_err(|cause| self.fault().of(&cause))?;
        let rows = rows
            .iter()
            .map(|(name, fence)| Ok((self.name(name)?, count(*fence))));
        rows.collect()
    }

    async fn runs(&mut self, status: Option<RunStatus>, max: usize) -> Result<Vec<RunRow>> {
        let found = sqlx::query_scalar(match status {
            // Each has an index, which is found only by a statement that says so itself.
            Some(_) => {
                "SELECT body FROM workflow_runs WHERE status = $1 \
                     ORDER BY created_ms DESC, id DESC LIMIT $2"
            }
            None => {
                "SELECT body FROM workflow_runs WHERE $1 IS NULL \
                     ORDER BY created_ms DESC, id DESC LIMIT $2"
            }
        })
        .bind(status.map(RunStatus::name))
        .bind(limit(max))
        .fetch_all(&mut self.connection)
        .await;
        let bodies: Vec<String> = found.map_err(|cause| self.fault().of(&cause))?;
        bodies.iter().map(|body| self.read(body)).collect()
    }

    async fn tasks(
        &mut self,
        run: Option<&RunId>,
        which: Which,
        max: usize,
    ) -> Result<Vec<TaskRow>> {
        // The index on active tasks is found only by a statement that says so itself.
        let sql = match (run, which) {
            (Some(_), Which::Active) => {
                "SELECT body FROM workflow_tasks WHERE run = $1 AND is_active = 1 \
                 ORDER BY +number LIMIT $2"
            }
            (Some(_), Which::All) => {
                "SELECT body FROM workflow_tasks WHERE place >= $1 AND place < $3 \
                 ORDER BY number LIMIT $2"
            }
            (None, Which::Active) => {
                "SELECT body FROM workflow_tasks WHERE is_active = 1 AND $1 IS NULL \
                 ORDER BY number LIMIT $2"
            }
            (None, Which::All) => {
                "SELECT body FROM workflow_tasks WHERE $1 IS NULL ORDER BY number LIMIT $2"
            }
        };
        let (first, end) = match (run.map(columns::places), which) {
            (Some((first, end)), Which::All) => (Some(first), Some(end)),
            _ => (run.map(RunId::to_string), None),
        };
        let statement = sqlx::query_scalar(sql).bind(first).bind(limit(max));
        let statement = match end {
            Some(end) => statement.bind(end),
            None => statement,
        };
        let found = statement.fetch_all(&mut self.connection).await;
        let bodies: Vec<String> = found.map_err(|cause| self.fault().of(&cause))?;
        bodies.iter().map(|body| self.read(body)).collect()
    }

    async fn calls(&mut self, task: &TaskId) -> Result<Vec<CallRow>> {
        let found = sqlx::query_scalar(
            "SELECT body FROM workflow_calls WHERE run = $1 AND task = $2 ORDER BY seq",
        )
        .bind(task.run.as_str())
        .bind(task.to_string())
        .fetch_all(&mut self.connection)
        .await;
        let bodies: Vec<String> = found.map_err(|cause| self.fault().of(&cause))?;
        bodies.iter().map(|body| self.read(body)).collect()
    }

    /// A page has one event at least, and is found by its last one.
    async fn events(&mut self, run: &RunId, after: u64, max: usize) -> Result<Vec<Event>> {
        let found = sqlx::query_scalar(
            "SELECT body FROM workflow_events WHERE run = $1 AND seq > $2 ORDER BY seq LIMIT $3",
        )
        .bind(run.as_str())
        .bind(integer(after))
        .bind(limit(max))
        .fetch_all(&mut self.connection)
        .await;
        let bodies: Vec<String> = found.map_err(|cause| self.fault().of(&cause))?;
        let mut events = Vec::new();
        for body in bodies {
            let page = pages::events(run.as_str(), &body).map_err(|cause| {
                self.fault()
                    .corrupt(&format!("a page of events is unreadable: {cause}"))
            })?;
            events.extend(page);
        }
        events.retain(|event| event.seq > after);
        events.truncate(max);
        Ok(events)
    }

    async fn notices(&mut self, max: usize) -> Result<Vec<(u64, Notice)>> {
        let found = sqlx::query_as("SELECT id, body FROM workflow_notices ORDER BY id LIMIT $1")
            .bind(limit(max))
            .fetch_all(&mut self.connection)
            .await;
        let rows: Vec<(i64, String)> = found.map_err(|cause| self.fault().of(&cause))?;
        let rows = rows
            .iter()
            .map(|(id, body)| Ok((count(*id), self.read(body)?)));
        rows.collect()
    }

    async fn acknowledge(&mut self, notices: &[u64]) -> Result<()> {
        self.drop_notices(notices).await
    }

    async fn ended(
        &mut self,
        before_ms: u64,
        after: &(u64, RunId),
        max: usize,
    ) -> Result<Vec<RunRow>> {
        self.ended_runs(before_ms, after, max).await
    }

    async fn throw_away(&mut self, runs: &[RunId]) -> Result<()> {
        self.drop_runs(runs).await
    }

    async fn keep_text(&mut self, hash: &TextHash, source: &str, now_ms: u64) -> Result<()> {
        let kept = sqlx::query(
            "INSERT INTO workflow_texts (hash, source, created_ms) VALUES ($1, $2, $3) \
             ON CONFLICT (hash) DO NOTHING",
        )
        .bind(hash.as_str())
        .bind(source)
        .bind(integer(now_ms))
        .execute(&mut self.connection)
        .await;
        kept.map_err(|cause| self.fault().of(&cause))?;
        Ok(())
    }

    async fn keep_name(&mut self, hash: &TextHash, name: &str) -> Result<()> {
        let kept = sqlx::query(
            "INSERT INTO workflow_names (hash, name) VALUES ($1, $2) ON CONFLICT DO NOTHING",
        )
        .bind(hash.as_str())
        .bind(self.clerk.scribe.text(name))
        .execute(&mut self.connection)
        .await;
        kept.map_err(|cause| self.fault().of(&cause))?;
        Ok(())
    }

    async fn text(&mut self, hash: &TextHash) -> Result<Option<String>> {
        let found = sqlx::query_scalar("SELECT source FROM workflow_texts WHERE hash = $1")
            .bind(hash.as_str())
            .fetch_optional(&mut self.connection)
            .await;
        found.map_err(|cause| self.fault().of(&cause))
    }
}

impl Rows {
    fn names(&self, rows: &[SqliteRow]) -> Result<Vec<TaskId>> {
        let names = rows.iter().map(|row| self.name(self.column(row)?));
        names.collect()
    }

    /// The only column of a row.
    fn column<'r, T>(&self, row: &'r SqliteRow) -> Result<T>
    where
        T: sqlx::Decode<'r, Sqlite> + sqlx::Type<Sqlite>,
    {
        row.try_get(0).map_err(|cause| self.fault().of(&cause))
    }

    fn name(&self, name: &str) -> Result<TaskId> {
        name.parse().map_err(|_| {
            self.fault()
                .corrupt(&format!("`{name}` is not the name of a task"))
        })
    }
}

/// What tasks are found by.
fn keys(tasks: &[TaskId]) -> Vec<(String, u32)> {
    let keys = tasks.iter();
    keys.map(|task| (columns::place_of(task), task.visit))
        .collect()
}

fn asking(
    sql: &'static str,
    claim: &Claim,
    now_ms: u64,
) -> Query<'static, Sqlite, SqliteArguments> {
    sqlx::query(sql)
        .bind(integer(now_ms))
        .bind(json!(claim.runs).to_string())
        .bind(json!(claim.assignees).to_string())
        .bind(limit(claim.max))
}

pub(super) fn limit(max: usize) -> i64 {
    i64::try_from(max).unwrap_or(i64::MAX)
}
