//! Runs: begun, found again, held by one process, and ended.

use sqlx::Connection as _;

use super::journal::Conversation;
use super::{Store, count};
use crate::error::{Error, Kind, Result};
use crate::lock::{self, Lock};
use crate::record::{NewRun, RunId, RunKind, RunRecord, RunState, Spent};

/// A run that is ours: nobody else can resume it until this is dropped.
#[derive(Debug)]
pub struct Run {
    store: Store,
    id: RunId,
    _lock: Lock,
}

type Row = (i64, String, String, String, String, i64, i64);

const COLUMNS: &str = "id, kind, name, digest, state, pid, created_ms";

impl Store {
    /// Begins a run.
    pub async fn begin(&self, new: &NewRun) -> Result<Run> {
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
        // Locked before anybody else can see it.
        let lock = self.lock(RunId(id), None)?;
        step.commit()
            .await
            .map_err(|cause| self.fault().of(&cause))?;
        Ok(self.held(RunId(id), lock))
    }

    /// Takes up a run that its process has left.
    pub async fn resume(&self, id: RunId) -> Result<Run> {
        let record = self.find(id).await?;
        let lock = self.lock(id, Some(record.pid))?;
        let run = self.held(id, lock);
        run.set_state(RunState::Running).await?;
        Ok(run)
    }

    /// The run with this number.
    pub async fn find(&self, id: RunId) -> Result<RunRecord> {
        let rows = self
            .select("WHERE id = $1", |query| query.bind(id.0))
            .await?;
        rows.into_iter().next().ok_or_else(|| {
            Error::new(
                Kind::Missing,
                format!("there is no run {id} in {}", self.inner.place.display()),
            )
        })
    }

    /// The last run that was begun from this file.
    pub async fn latest(&self, kind: RunKind, name: &str) -> Result<Option<RunRecord>> {
        let newest = "WHERE kind = $1 AND name = $2 ORDER BY id DESC LIMIT 1";
        let rows = self.select(newest, |query| {
            query.bind(kind.as_str()).bind(name.to_owned())
        });
        Ok(rows.await?.into_iter().next())
    }

    /// The last runs, newest first.
    pub async fn recent(&self, runs_max: u32) -> Result<Vec<RunRecord>> {
        let newest = "ORDER BY id DESC LIMIT $1";
        self.select(newest, |query| query.bind(i64::from(runs_max)))
            .await
    }

    /// What a run has paid for so far.
    pub async fn spent(&self, id: RunId) -> Result<Spent> {
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
        Ok(Spent {
            calls: count(calls),
            tokens: count(tokens),
            micro_usd: count(micro_usd),
            unpriced_calls: count(unpriced),
        })
    }

    /// The facts of a run, whoever holds it, in the order of their keys.
    pub async fn facts(&self, id: RunId) -> Result<Vec<(String, String)>> {
        let mut connection = self.inner.connection.lock().await;
        sqlx::query_as("SELECT key, body FROM facts WHERE run = $1 ORDER BY key")
            .bind(id.0)
            .fetch_all(&mut *connection)
            .await
            .map_err(|cause| self.fault().of(&cause))
    }

    /// Whether somebody works on the run at this moment.
    pub fn is_held(&self, id: RunId) -> Result<bool> {
        lock::is_taken(&self.inner.place, id)
    }

    /// The conversation of a run under this key, begun if it is not there.
    pub(super) async fn conversation_of(&self, run: RunId, key: &str) -> Result<Conversation> {
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
        Ok(Conversation {
            store: self.clone(),
            id,
        })
    }

    async fn select<'q>(
        &self,
        rest: &'static str,
        bind: impl FnOnce(Query<'q>) -> Query<'q>,
    ) -> Result<Vec<RunRecord>> {
        let sql = sqlx::AssertSqlSafe(format!("SELECT {COLUMNS} FROM runs {rest}"));
        let mut connection = self.inner.connection.lock().await;
        let rows = bind(sqlx::query_as(sql)).fetch_all(&mut *connection).await;
        let rows = rows.map_err(|cause| self.fault().of(&cause))?;
        rows.into_iter().map(|row| self.record(row)).collect()
    }

    fn record(&self, row: Row) -> Result<RunRecord> {
        let (id, kind, name, digest, state, pid, created_ms) = row;
        let unreadable = || self.fault().corrupt("a run is unreadable");
        Ok(RunRecord {
            id: RunId(id),
            kind: RunKind::read(&kind).ok_or_else(unreadable)?,
            name,
            digest,
            state: RunState::read(&state).ok_or_else(unreadable)?,
            pid: u32::try_from(pid).map_err(|_| unreadable())?,
            created_ms: count(created_ms),
        })
    }

    fn lock(&self, id: RunId, holder: Option<u32>) -> Result<Lock> {
        Lock::take(&self.inner.place, id)?.ok_or_else(|| {
            let who = holder.map_or_else(
                || "another process".to_owned(),
                |pid| format!("the process {pid}"),
            );
            Error::new(
                Kind::Locked,
                format!("run {id} is being worked on by {who}. Wait for it, or end it first."),
            )
        })
    }

    fn held(&self, id: RunId, lock: Lock) -> Run {
        Run {
            store: self.clone(),
            id,
            _lock: lock,
        }
    }
}

type Query<'q> = sqlx::query::QueryAs<'q, sqlx::Sqlite, Row, sqlx::sqlite::SqliteArguments>;

impl Run {
    /// Its number.
    pub fn id(&self) -> RunId {
        self.id
    }

    /// The database it is in.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The conversation under this key, begun if it is not there.
    pub async fn conversation(&self, key: &str) -> Result<Conversation> {
        self.store.conversation_of(self.id, key).await
    }

    /// Keeps a fact, such as what became of a task; one that was kept before is replaced.
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

    /// All facts, in the order of their keys.
    pub async fn facts(&self) -> Result<Vec<(String, String)>> {
        self.store.facts(self.id).await
    }

    /// What all conversations of the run did so far, also in turns under way.
    pub async fn deeds(&self) -> Result<Vec<agent::Deed>> {
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
                agent::Note::Ended { deeds, .. } => Some(deeds),
                _ => None,
            });
            deeds.extend(ended.flatten());
        }
        Ok(deeds)
    }

    /// Says how far the run has come.
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
