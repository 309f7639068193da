//! The rows of workflows in SQLite.

use flow::engine::{
    CallRow, Changes, Event, Found, GroupRow, Lookup, Notice, RunRow, RunStatus, TaskRow, TimerRow,
};
use flow::{Claim, RunId, TaskId, TextHash, Which};
use serde_json::{Value, json};
use sqlx::query::Query;
use sqlx::sqlite::{Sqlite, SqliteArguments};

use super::rows::{Rows, keys, limit};
use super::{count, integer};
use crate::error::Result;
use crate::workflows::{Begun, Kept, Memory, Seen, Shelf, Waiting, Wanted};
use crate::workflows::{columns, pages};

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
