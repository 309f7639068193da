//! The rows of workflows in SQLite.

use flow::engine::{
    CallRow, GroupRow, LookupResult, Notice, RowChanges, RowLookup, RunEvent, RunRow, RunStatus,
    TaskRow, TimerRow,
};
use flow::{ClaimRequest, LogLine, RunId, TaskId, TaskSelection, TextHash};
use serde_json::{Value, json};
use sqlx::query::Query;
use sqlx::sqlite::{Sqlite, SqliteArguments};

use super::rows::{SqliteRows, keys, limit};
use super::{count, integer};
use crate::error::Result;
use crate::workflows::{
    BulkQuery, BulkRows, CacheValidity, ReadyTasks, TransactionStart, WorkflowBackend, WriteOutcome,
};
use crate::workflows::{columns, event_pages};

/// Begins a transaction, and asks whether another connection has written since the last one.
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

/// The tasks that a worker may claim.
macro_rules! ready {
    () => {
        concat!(
            "SELECT ",
            task_name!(),
            " FROM workflow_tasks AS task JOIN workflow_runs ON workflow_runs.id = run \
         WHERE task.ready_ms <= $1 AND workflow_runs.status = 'running' \
         AND ($2 = '[]' OR run IN (SELECT value FROM json_each($2))) \
         AND ($3 = '[]' OR assignee IN (SELECT value FROM json_each($3))) \
         AND (task.slot IS NULL OR CASE WHEN task.slot GLOB 'lane:*' \
         THEN $5 = '[]' OR task.slot NOT IN (SELECT value ->> 'lane' FROM json_each($5) \
         WHERE (SELECT count(*) FROM workflow_slots WHERE key = value ->> 'key' \
         AND since_ms > value ->> 'since') >= value ->> 'max') \
         ELSE task.slot NOT IN (SELECT key FROM workflow_slots \
         WHERE is_held = 1 GROUP BY key HAVING count(*) >= max(max)) END) \
         ORDER BY task.rank, task.ready_ms, task.place, task.visit LIMIT $4"
        )
    };
}

impl WorkflowBackend for SqliteRows {
    /// Sends one statement for everything, because each takes a round trip to SQLite's thread.
    async fn begin(
        &mut self,
        claim: Option<&ClaimRequest>,
        now_ms: u64,
    ) -> Result<TransactionStart> {
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
        Ok(TransactionStart {
            validity: match is_same {
                true => CacheValidity::Holds,
                false => CacheValidity::Fails,
            },
            ready: match claim {
                Some(_) => Some(self.names(tasks)?),
                None => None,
            },
        })
    }

    async fn finish(&mut self, changes: &RowChanges) -> Result<WriteOutcome> {
        self.write_and_commit(changes).await?;
        Ok(self.statements.encoder.kept())
    }

    async fn roll_back(&mut self) {
        // After some errors SQLite has rolled back by itself, and reports that there is no
        // transaction.
        let _ = self.run("ROLLBACK").await;
    }

    async fn find(&mut self, lookup: &RowLookup) -> Result<LookupResult> {
        const RUN: &str = "SELECT body FROM workflow_runs WHERE id = $1";
        const INPUT: &str = "SELECT input FROM workflow_runs WHERE id = $1";
        const COMPLETED: &str = "SELECT body FROM workflow_tasks \
             WHERE place = $1 AND status = 'completed' ORDER BY visit DESC LIMIT 1";
        const GROUP: &str = "SELECT body FROM workflow_groups WHERE id = $1";
        const ITEMS: &str = "SELECT body FROM workflow_items \
             WHERE \"group\" = $1 AND $2 = '' ORDER BY \"index\"";
        const TIMER: &str = "SELECT body FROM workflow_timers WHERE run = $1 AND key = $2";
        Ok(match lookup {
            RowLookup::Run(run) => LookupResult::Run(self.one::<RunRow>(RUN, run.as_str()).await?),
            RowLookup::Input(run) => {
                LookupResult::Input(self.one::<Value>(INPUT, run.as_str()).await?)
            }
            RowLookup::Task(task) => LookupResult::Task(self.task(task).await?),
            RowLookup::Visits(place) => LookupResult::Visits(self.visits(place).await?),
            RowLookup::Completed(place) => {
                LookupResult::Task(self.one(COMPLETED, &columns::place(place)).await?)
            }
            RowLookup::Group(group) => {
                LookupResult::Group(self.one::<GroupRow>(GROUP, &group.to_string()).await?)
            }
            RowLookup::Item(group, index) => LookupResult::Item(self.item(group, *index).await?),
            RowLookup::Items(group) => {
                LookupResult::Items(self.many(ITEMS, &group.to_string(), "").await?)
            }
            RowLookup::Outputs(tasks) => LookupResult::Outputs(self.outputs(tasks).await?),
            RowLookup::Active(run, path) => LookupResult::Tasks(self.active(run, path).await?),
            RowLookup::ActiveWithin(run, path) => {
                LookupResult::Tasks(self.active_within(run, path).await?)
            }
            RowLookup::Slots(key) => LookupResult::Slots(self.slots(key).await?),
            RowLookup::Timer(run, key) => {
                let found: Vec<TimerRow> = self.many(TIMER, run.as_str(), key).await?;
                LookupResult::Timer(found.into_iter().next())
            }
        })
    }

    async fn find_runs(&mut self, runs: &[RunId]) -> Result<Vec<RunRow>> {
        let sql = "SELECT body FROM workflow_runs \
                   WHERE id IN (SELECT value FROM json_each($1)) AND $2 = ''";
        self.many(sql, &json!(runs).to_string(), "").await
    }

    async fn find_all(&mut self, wanted: &BulkQuery) -> Result<BulkRows> {
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
        Ok(BulkRows {
            tasks: self.listed(TASKS, &keys(&wanted.tasks)).await?,
            groups: self.listed(GROUPS, &wanted.groups).await?,
            items,
            visits: self.all_visits(&wanted.places).await?,
        })
    }

    async fn write(&mut self, changes: &RowChanges) -> Result<()> {
        self.write_all(changes).await
    }

    async fn ready(&mut self, claim: &ClaimRequest, now_ms: u64) -> Result<ReadyTasks> {
        let asked = asking(ready!(), claim, now_ms);
        let found = asked.fetch_all(&mut self.connection).await;
        let rows = found.map_err(|cause| self.fault().of(&cause))?;
        Ok(ReadyTasks {
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
            // Each status has a partial index, which SQLite uses only if the statement repeats its
            // condition.
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
        which: TaskSelection,
        max: usize,
    ) -> Result<Vec<TaskRow>> {
        // SQLite uses the partial index on active tasks only if the statement repeats its
        // condition.
        let sql = match (run, which) {
            (Some(_), TaskSelection::Active) => {
                "SELECT body FROM workflow_tasks WHERE run = $1 AND is_active = 1 \
                 ORDER BY +number LIMIT $2"
            }
            (Some(_), TaskSelection::All) => {
                "SELECT body FROM workflow_tasks WHERE place >= $1 AND place < $3 \
                 ORDER BY number LIMIT $2"
            }
            (None, TaskSelection::Active) => {
                "SELECT body FROM workflow_tasks WHERE is_active = 1 AND $1 IS NULL \
                 ORDER BY number LIMIT $2"
            }
            (None, TaskSelection::All) => {
                "SELECT body FROM workflow_tasks WHERE $1 IS NULL ORDER BY number LIMIT $2"
            }
        };
        let (first, end) = match (run.map(columns::places), which) {
            (Some((first, end)), TaskSelection::All) => (Some(first), Some(end)),
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

    /// Reads pages of events. A page has at least one event, and its key is its last one.
    async fn events(&mut self, run: &RunId, after: u64, max: usize) -> Result<Vec<RunEvent>> {
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
            let page = event_pages::events(run.as_str(), &body).map_err(|cause| {
                self.fault()
                    .corrupt(&format!("a page of events is unreadable: {cause}"))
            })?;
            events.extend(page);
        }
        events.retain(|event| event.seq > after);
        events.truncate(max);
        Ok(events)
    }

    async fn keep_log(&mut self, lines: &[LogLine]) -> Result<()> {
        self.add_log(lines).await
    }

    async fn log(&mut self, task: &TaskId, after: (u32, u64), max: usize) -> Result<Vec<LogLine>> {
        self.read_log(task, after, max).await
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

    async fn delete_runs(&mut self, runs: &[RunId]) -> Result<()> {
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
        .bind(self.statements.encoder.text(name))
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

fn asking(
    sql: &'static str,
    claim: &ClaimRequest,
    now_ms: u64,
) -> Query<'static, Sqlite, SqliteArguments> {
    sqlx::query(sql)
        .bind(integer(now_ms))
        .bind(json!(claim.runs).to_string())
        .bind(json!(claim.assignees).to_string())
        .bind(limit(claim.max))
        .bind(columns::rates(claim, now_ms))
}
