//! Runs of tasks, plans and builds: begins, finds, resumes and ends them; one process holds each.

use sqlx::Connection as _;

use super::journal::StoredConversation;
use super::{SqliteDatabase, count};
use crate::error::{DatabaseErrorKind, Error, Result};
use crate::lock::{self, RunLock};
use crate::record::{CallTotals, NewRun, RunKind, RunNumber, RunRecord, RunState};

/// A run that this process holds: no other process can resume it until this is dropped.
#[derive(Debug)]
pub struct LockedRun {
    store: SqliteDatabase,
    id: RunNumber,
    _lock: RunLock,
}

/// The columns of a run, in the order in which the queries select them.
type RunColumns = (i64, String, String, String, String, i64, i64);

const COLUMNS: &str = "id, kind, name, digest, state, pid, created_ms";

impl SqliteDatabase {
    /// Begins a run.
    pub async fn begin(&self, new: &NewRun) -> Result<LockedRun> {
        let now = self.now_ms();
        let mut connection = self.inner.connection.lock().await;
        let begun = async {
            let mut step = connection.begin_with("BEGIN IMMEDIATE").await?;
            let id: i64 = sqlx::query_scalar(
                "INSERT INTO runs (kind, name, digest, state, pid, created_ms, changed_ms) \
                 VALUES ($1, $2, $3, $4, $5, $6, $6) RETURNING id",
            )
            .bind(new.kind.as_str())
            .bind(&new.name)
            .bind(&new.digest)
            .bind(RunState::Running.as_str())
            .bind(i64::from(self.inner.options.pid))
            .bind(now)
            .fetch_one(&mut *step)
            .await?;
            Ok::<_, sqlx::Error>((id, step))
        };
        let (id, step) = begun.await.map_err(|cause| self.fault().of(&cause))?;
        // Takes the lock before another process can see the run.
        let lock = self.lock(RunNumber(id), None)?;
        step.commit()
            .await
            .map_err(|cause| self.fault().of(&cause))?;
        Ok(self.held(RunNumber(id), lock))
    }

    /// Resumes a run that its process has left.
    pub async fn resume(&self, id: RunNumber) -> Result<LockedRun> {
        let record = self.find(id).await?;
        let lock = self.lock(id, Some(record.pid))?;
        let run = self.held(id, lock);
        run.set_state(RunState::Running).await?;
        Ok(run)
    }

    /// Returns the run with this number.
    pub async fn find(&self, id: RunNumber) -> Result<RunRecord> {
        let rows = self
            .select("WHERE id = $1", |query| query.bind(id.0))
            .await?;
        rows.into_iter().next().ok_or_else(|| {
            Error::new(
                DatabaseErrorKind::Missing,
                format!("there is no run {id} in {}", self.inner.place.display()),
            )
        })
    }

    /// Returns the last run that was begun from this file.
    pub async fn latest(&self, kind: RunKind, name: &str) -> Result<Option<RunRecord>> {
        let newest = "WHERE kind = $1 AND name = $2 ORDER BY id DESC LIMIT 1";
        let rows = self.select(newest, |query| {
            query.bind(kind.as_str()).bind(name.to_owned())
        });
        Ok(rows.await?.into_iter().next())
    }

    /// Returns the last runs, the newest first.
    pub async fn recent(&self, runs_max: u32) -> Result<Vec<RunRecord>> {
        let newest = "ORDER BY id DESC LIMIT $1";
        self.select(newest, |query| query.bind(i64::from(runs_max)))
            .await
    }

    /// Returns the totals of a run's model calls so far.
    pub async fn spent(&self, id: RunNumber) -> Result<CallTotals> {
        let mut connection = self.inner.connection.lock().await;
        let (calls, tokens, micro_usd, unpriced): (i64, i64, i64, i64) = sqlx::query_as(
            "SELECT count(*), coalesce(sum(input + output + cache_read + cache_write), 0), \
             coalesce(sum(micro_usd), 0), count(*) - count(micro_usd) \
             FROM calls JOIN conversations ON conversations.id = calls.conversation \
             WHERE conversations.run = $1",
        )
        .bind(id.0)
        .fetch_one(&mut *connection)
        .await
        .map_err(|cause| self.fault().of(&cause))?;
        Ok(CallTotals {
            calls: count(calls),
            tokens: count(tokens),
            micro_usd: count(micro_usd),
            unpriced_calls: count(unpriced),
        })
    }

    /// Returns the facts of a run in the order of their keys, also while another process holds it.
    pub async fn facts(&self, id: RunNumber) -> Result<Vec<(String, String)>> {
        let mut connection = self.inner.connection.lock().await;
        sqlx::query_as("SELECT key, body FROM facts WHERE run = $1 ORDER BY key")
            .bind(id.0)
            .fetch_all(&mut *connection)
            .await
            .map_err(|cause| self.fault().of(&cause))
    }

    /// Tells whether a process works on the run at this moment.
    pub fn is_held(&self, id: RunNumber) -> Result<bool> {
        lock::is_taken(&self.inner.place, id)
    }

    /// Returns the conversation of a run under this key, and begins it if it does not exist.
    pub(super) async fn conversation_of(
        &self,
        run: RunNumber,
        key: &str,
    ) -> Result<StoredConversation> {
        let now = self.now_ms();
        let mut connection = self.inner.connection.lock().await;
        let found = async {
            let mut step = connection.begin_with("BEGIN IMMEDIATE").await?;
            sqlx::query(
                "INSERT INTO conversations (run, key, created_ms) VALUES ($1, $2, $3) \
                 ON CONFLICT (run, key) DO NOTHING",
            )
            .bind(run.0)
            .bind(key)
            .bind(now)
            .execute(&mut *step)
            .await?;
            let id: i64 =
                sqlx::query_scalar("SELECT id FROM conversations WHERE run = $1 AND key = $2")
                    .bind(run.0)
                    .bind(key)
                    .fetch_one(&mut *step)
                    .await?;
            step.commit().await?;
            Ok(id)
        };
        let id = found
            .await
            .map_err(|cause: sqlx::Error| self.fault().of(&cause))?;
        Ok(StoredConversation {
            store: self.clone(),
            id,
        })
    }

    async fn select<'q>(
        &self,
        rest: &'static str,
        bind: impl FnOnce(RunQuery<'q>) -> RunQuery<'q>,
    ) -> Result<Vec<RunRecord>> {
        let sql = sqlx::AssertSqlSafe(format!("SELECT {COLUMNS} FROM runs {rest}"));
        let mut connection = self.inner.connection.lock().await;
        let rows = bind(sqlx::query_as(sql)).fetch_all(&mut *connection).await;
        let rows = rows.map_err(|cause| self.fault().of(&cause))?;
        rows.into_iter().map(|row| self.record(row)).collect()
    }

    fn record(&self, row: RunColumns) -> Result<RunRecord> {
        let (id, kind, name, digest, state, pid, created_ms) = row;
        let unreadable = || self.fault().corrupt("a run is unreadable");
        Ok(RunRecord {
            id: RunNumber(id),
            kind: RunKind::read(&kind).ok_or_else(unreadable)?,
            name,
            digest,
            state: RunState::read(&state).ok_or_else(unreadable)?,
            pid: u32::try_from(pid).map_err(|_| unreadable())?,
            created_ms: count(created_ms),
        })
    }

    fn lock(&self, id: RunNumber, holder: Option<u32>) -> Result<RunLock> {
        RunLock::take(&self.inner.place, id)?.ok_or_else(|| {
            let who = holder.map_or_else(
                || "another process".to_owned(),
                |pid| format!("the process {pid}"),
            );
            Error::new(
                DatabaseErrorKind::Locked,
                format!("run {id} is being worked on by {who}. Wait for it, or end it first."),
            )
        })
    }

    fn held(&self, id: RunNumber, lock: RunLock) -> LockedRun {
        LockedRun {
            store: self.clone(),
            id,
            _lock: lock,
        }
    }
}

/// A query that returns runs.
type RunQuery<'q> =
    sqlx::query::QueryAs<'q, sqlx::Sqlite, RunColumns, sqlx::sqlite::SqliteArguments>;

impl LockedRun {
    /// Returns its number.
    pub fn id(&self) -> RunNumber {
        self.id
    }

    /// Returns the database it is in.
    pub fn store(&self) -> &SqliteDatabase {
        &self.store
    }

    /// Returns the conversation under this key, and begins it if it does not exist.
    pub async fn conversation(&self, key: &str) -> Result<StoredConversation> {
        self.store.conversation_of(self.id, key).await
    }

    /// Stores a fact, such as the result of a task, and replaces an earlier one with the same key.
    pub async fn keep_fact(&self, key: &str, body: &str) -> Result<()> {
        let store = &self.store;
        let body = store.clean(body);
        let mut connection = store.inner.connection.lock().await;
        sqlx::query(
            "INSERT INTO facts (run, key, body, at_ms) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (run, key) DO UPDATE SET body = excluded.body, at_ms = excluded.at_ms",
        )
        .bind(self.id.0)
        .bind(key)
        .bind(&*body)
        .bind(store.now_ms())
        .execute(&mut *connection)
        .await
        .map_err(|cause| store.fault().of(&cause))?;
        Ok(())
    }

    /// Returns all facts, in the order of their keys.
    pub async fn facts(&self) -> Result<Vec<(String, String)>> {
        self.store.facts(self.id).await
    }

    /// Returns the side effects of all conversations of the run so far, including turns in
    /// progress.
    pub async fn deeds(&self) -> Result<Vec<agent::ToolAction>> {
        let keys: Vec<String> = {
            let mut connection = self.store.inner.connection.lock().await;
            sqlx::query_scalar("SELECT key FROM conversations WHERE run = $1 ORDER BY id")
                .bind(self.id.0)
                .fetch_all(&mut *connection)
                .await
                .map_err(|cause| self.store.fault().of(&cause))?
        };
        let mut deeds = Vec::new();
        for key in keys {
            let history = self.conversation(&key).await?.read().await?;
            deeds.extend(history.turns.into_iter().flat_map(|turn| turn.deeds));
            let ended = history.notes.into_iter().filter_map(|note| match note {
                agent::TurnNote::Ended { deeds, .. } => Some(deeds),
                _ => None,
            });
            deeds.extend(ended.flatten());
        }
        Ok(deeds)
    }

    /// Stores the progress of the run.
    pub async fn set_state(&self, state: RunState) -> Result<()> {
        let store = &self.store;
        let mut connection = store.inner.connection.lock().await;
        sqlx::query("UPDATE runs SET state = $1, pid = $2, changed_ms = $3 WHERE id = $4")
            .bind(state.as_str())
            .bind(i64::from(store.inner.options.pid))
            .bind(store.now_ms())
            .bind(self.id.0)
            .execute(&mut *connection)
            .await
            .map_err(|cause| store.fault().of(&cause))?;
        Ok(())
    }
}
