//! Runs of tasks, plans and builds, whatever engine stores them: begins, finds, resumes and ends them;
//! one process holds each.

use std::fmt;
use std::sync::Arc;

use crate::error::{DatabaseErrorKind, Error, Result};
use crate::journal::StoredConversation;
use crate::record::{
    CallTotals, DatabaseFuture, NewRun, RunFile, RunKind, RunNumber, RunRecord, RunState,
};
use crate::tables::{
    ColumnRead, SharedTables, SqlDialect, TableRow, TableStatement, TogetherRows, read_rows,
};

/// Releases the lock of a run when it is dropped.
pub(crate) type RunHold = Box<dyn Send + Sync>;

/// An engine's tables and its locks on runs.
pub(crate) trait RunTables: SharedTables {
    /// Takes the lock of a run; `None` if a living process has it.
    fn take_run(&self, run: RunNumber) -> DatabaseFuture<'_, Option<RunHold>>;

    /// Tells whether a living process has the lock of a run.
    fn is_run_taken(&self, run: RunNumber) -> DatabaseFuture<'_, bool>;

    /// Returns the fence of this process's hold on a run, where a hold can be lost.
    fn run_fence(&self, run: RunNumber) -> Option<i64>;

    /// Returns the id of this process.
    fn pid(&self) -> u32;

    /// Returns the same database, for journals that outlive a borrow.
    fn shared(&self) -> Arc<dyn RunTables>;
}

/// The port to runs of tasks and plans, and to what runs of builds share with them.
pub trait AgentRuns: Send + Sync {
    /// Begins a run, and holds it.
    fn begin<'a>(&'a self, new: &'a NewRun) -> DatabaseFuture<'a, LockedRun>;

    /// Resumes a run that its process has left.
    fn resume(&self, id: RunNumber) -> DatabaseFuture<'_, LockedRun>;

    /// Returns the run with this number, or [`DatabaseErrorKind::Missing`].
    fn find(&self, id: RunNumber) -> DatabaseFuture<'_, RunRecord>;

    /// Returns the last run that was begun from this file.
    fn latest<'a>(&'a self, kind: RunKind, name: &'a str) -> DatabaseFuture<'a, Option<RunRecord>>;

    /// Returns the last runs, the newest first.
    fn recent(&self, runs_max: u32) -> DatabaseFuture<'_, Vec<RunRecord>>;

    /// Returns the totals of a run's model calls so far.
    fn spent(&self, id: RunNumber) -> DatabaseFuture<'_, CallTotals>;

    /// Returns the facts of a run in the order of their keys, also while another process holds it.
    fn facts(&self, id: RunNumber) -> DatabaseFuture<'_, Vec<(String, String)>>;

    /// Returns the side effects of all conversations of a run so far, including turns in progress, also
    /// while another process holds it.
    fn deeds(&self, id: RunNumber) -> DatabaseFuture<'_, Vec<agent::ToolAction>>;

    /// Returns the files that a run has written so far, by their paths, also while another process
    /// holds it.
    fn files(&self, id: RunNumber) -> DatabaseFuture<'_, Vec<RunFile>>;

    /// Tells whether a process works on the run at this moment.
    fn is_held(&self, id: RunNumber) -> DatabaseFuture<'_, bool>;
}

/// A run that this process holds: no other process can resume it until this is dropped.
pub struct LockedRun {
    tables: Arc<dyn RunTables>,
    id: RunNumber,
    _hold: RunHold,
}

impl fmt::Debug for LockedRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LockedRun({})", self.id)
    }
}

macro_rules! columns {
    () => {
        "SELECT id, kind, name, digest, state, pid, created_ms FROM runs "
    };
}

const BEGIN: &str = "INSERT INTO runs (kind, name, digest, state, pid, created_ms, changed_ms) \
     VALUES ($1, $2, $3, $4, $5, $6, $6) RETURNING id";
const FIND: &str = concat!(columns!(), "WHERE id = $1");
const LATEST: &str = concat!(
    columns!(),
    "WHERE kind = $1 AND name = $2 ORDER BY id DESC LIMIT 1"
);
const RECENT: &str = concat!(columns!(), "ORDER BY id DESC LIMIT $1");
const SPENT: &str = "SELECT count(*) AS calls, \
     CAST(coalesce(sum(input + output + cache_read + cache_write), 0) AS bigint) AS tokens, \
     CAST(coalesce(sum(micro_usd), 0) AS bigint) AS micro_usd, \
     count(*) - count(micro_usd) AS unpriced \
     FROM calls JOIN conversations ON conversations.id = calls.conversation \
     WHERE conversations.run = $1";
const FACTS: &str = "SELECT key, body FROM facts WHERE run = $1 ORDER BY key";
const KEEP_FACT: &str = "INSERT INTO facts (run, key, body, at_ms) VALUES ($1, $2, $3, $4) \
     ON CONFLICT (run, key) DO UPDATE SET body = excluded.body, at_ms = excluded.at_ms RETURNING run";
const SET_STATE: &str =
    "UPDATE runs SET state = $1, pid = $2, changed_ms = $3 WHERE id = $4 RETURNING id";
const CONVERSATION: &str = "INSERT INTO conversations (run, key, created_ms) VALUES ($1, $2, $3) \
     ON CONFLICT (run, key) DO UPDATE SET key = excluded.key RETURNING id";
const CONVERSATIONS: &str = "SELECT id FROM conversations WHERE run = $1 ORDER BY id";
/// Locks the lease until the transaction ends, so that no other process takes the run over meanwhile.
const IS_OURS: &str = "SELECT fence FROM run_leases WHERE run = $1 AND fence = $2 FOR SHARE";
const KEEP_FILE: &str = "INSERT INTO run_files (run, path, content, is_gone, is_executable, before, at_ms) \
     VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (run, path) DO UPDATE SET \
     content = excluded.content, is_gone = excluded.is_gone, \
     is_executable = excluded.is_executable, at_ms = excluded.at_ms RETURNING run";
const FILES: &str = "SELECT path, content, is_gone, is_executable, before FROM run_files \
     WHERE run = $1 ORDER BY path";
const FORGET_FILES: &str = "DELETE FROM run_files WHERE run = $1 RETURNING run";

impl<T: RunTables> AgentRuns for T {
    fn begin<'a>(&'a self, new: &'a NewRun) -> DatabaseFuture<'a, LockedRun> {
        Box::pin(async move {
            let statement = TableStatement::new(BEGIN)
                .with(new.kind.as_str())
                .with(new.name.as_str())
                .with(new.digest.as_str())
                .with(RunState::Running.as_str())
                .with(u64::from(self.pid()))
                .with(self.time_ms());
            let rows = self.change_rows(statement).await?;
            let id = read_rows(self, "a run", &rows, |row| row.integer("id"))?.pop();
            let id = id.ok_or_else(|| self.unreadable_row("a run", "it was not added"))?;
            hold(self, RunNumber(id), None).await
        })
    }

    fn resume(&self, id: RunNumber) -> DatabaseFuture<'_, LockedRun> {
        Box::pin(async move {
            let record = self.find(id).await?;
            let run = hold(self, id, Some(record.pid)).await?;
            run.set_state(RunState::Running).await?;
            Ok(run)
        })
    }

    fn find(&self, id: RunNumber) -> DatabaseFuture<'_, RunRecord> {
        Box::pin(async move {
            let found = select(self, TableStatement::new(FIND).with(id.0)).await?;
            found.into_iter().next().ok_or_else(|| {
                let message = format!("there is no run {id} in the database");
                Error::new(DatabaseErrorKind::Missing, message)
            })
        })
    }

    fn latest<'a>(&'a self, kind: RunKind, name: &'a str) -> DatabaseFuture<'a, Option<RunRecord>> {
        Box::pin(async move {
            let statement = TableStatement::new(LATEST).with(kind.as_str()).with(name);
            Ok(select(self, statement).await?.into_iter().next())
        })
    }

    fn recent(&self, runs_max: u32) -> DatabaseFuture<'_, Vec<RunRecord>> {
        let statement = TableStatement::new(RECENT).with(u64::from(runs_max));
        Box::pin(async move { select(self, statement).await })
    }

    fn spent(&self, id: RunNumber) -> DatabaseFuture<'_, CallTotals> {
        Box::pin(async move {
            let rows = self.look(TableStatement::new(SPENT).with(id.0)).await?;
            let read = |row: &TableRow| {
                Ok(CallTotals {
                    calls: row.count("calls")?,
                    tokens: row.count("tokens")?,
                    micro_usd: row.count("micro_usd")?,
                    unpriced_calls: row.count("unpriced")?,
                })
            };
            let totals = read_rows(self, "the costs of a run", &rows, read)?.pop();
            Ok(totals.unwrap_or_default())
        })
    }

    fn facts(&self, id: RunNumber) -> DatabaseFuture<'_, Vec<(String, String)>> {
        Box::pin(async move { facts_of(self, id).await })
    }

    fn deeds(&self, id: RunNumber) -> DatabaseFuture<'_, Vec<agent::ToolAction>> {
        Box::pin(async move { deeds_of(self, id).await })
    }

    fn files(&self, id: RunNumber) -> DatabaseFuture<'_, Vec<RunFile>> {
        Box::pin(async move { files_of(self, id).await })
    }

    fn is_held(&self, id: RunNumber) -> DatabaseFuture<'_, bool> {
        self.is_run_taken(id)
    }
}

impl LockedRun {
    /// Returns its number.
    pub fn id(&self) -> RunNumber {
        self.id
    }

    /// Returns the conversation under this key, and begins it if it does not exist.
    pub async fn conversation(&self, key: &str) -> Result<StoredConversation> {
        conversation_of(&*self.tables, self.id, key).await
    }

    /// Stores a fact, such as the result of a task, and replaces an earlier one with the same key.
    pub async fn keep_fact(&self, key: &str, body: &str) -> Result<()> {
        let statement = TableStatement::new(KEEP_FACT)
            .with(self.id.0)
            .with(key)
            .with(self.tables.scrubbed(body))
            .with(self.tables.time_ms());
        self.change(vec![statement]).await
    }

    /// Returns all facts, in the order of their keys.
    pub async fn facts(&self) -> Result<Vec<(String, String)>> {
        facts_of(&*self.tables, self.id).await
    }

    /// Returns the side effects of all conversations of the run so far, including turns in
    /// progress.
    pub async fn deeds(&self) -> Result<Vec<agent::ToolAction>> {
        deeds_of(&*self.tables, self.id).await
    }

    /// Stores the progress of the run.
    pub async fn set_state(&self, state: RunState) -> Result<()> {
        let statement = set_state(&*self.tables, TableStatement::new(SET_STATE), state);
        self.change(vec![statement.with(self.id.0)]).await
    }

    /// Returns the files of the run, for a journal that stores them while the run is at work.
    pub fn file_store(&self) -> RunFileStore {
        RunFileStore {
            tables: Arc::clone(&self.tables),
            run: self.id,
        }
    }

    /// Returns true if the run may go on on a machine that has none of its files.
    pub fn is_shared(&self) -> bool {
        self.tables.dialect() == SqlDialect::Postgres
    }

    async fn change(&self, statements: Vec<TableStatement>) -> Result<()> {
        // The row of the run is there as long as the run is held.
        let _ = change_held(&*self.tables, self.id, statements).await?;
        Ok(())
    }
}

/// The files that a run has written so far.
#[derive(Clone)]
pub struct RunFileStore {
    tables: Arc<dyn RunTables>,
    run: RunNumber,
}

impl RunFileStore {
    /// Stores the present content of files that the run has written. What it found there first stays
    /// as it was stored first.
    pub async fn keep(&self, files: &[RunFile]) -> Result<()> {
        keep_files(&*self.tables, self.run, files).await
    }

    /// Returns the files that the run has written so far, by their paths.
    pub async fn all(&self) -> Result<Vec<RunFile>> {
        files_of(&*self.tables, self.run).await
    }
}

/// Adds the values of a run's new state to a statement: the state, the process, the time.
pub(crate) fn set_state(
    tables: &(impl RunTables + ?Sized),
    statement: TableStatement,
    state: RunState,
) -> TableStatement {
    statement
        .with(state.as_str())
        .with(u64::from(tables.pid()))
        .with(tables.time_ms())
}

/// Runs statements in one transaction. Where this process's hold on the run can be lost, they are
/// refused as soon as another process has taken the run over.
pub(crate) async fn change_held(
    tables: &(impl RunTables + ?Sized),
    run: RunNumber,
    mut statements: Vec<TableStatement>,
) -> Result<TogetherRows> {
    let Some(fence) = tables.run_fence(run) else {
        return tables.change_together(statements).await;
    };
    statements.insert(0, TableStatement::new(IS_OURS).with(run.0).with(fence));
    Ok(match tables.change_together(statements).await? {
        Ok(mut rows) => {
            rows.remove(0);
            Ok(rows)
        }
        Err(0) => return Err(taken_over(run)),
        Err(at) => Err(at - 1),
    })
}

pub(crate) async fn keep_files(
    tables: &(impl RunTables + ?Sized),
    run: RunNumber,
    files: &[RunFile],
) -> Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    let keep = |file: &RunFile| {
        TableStatement::new(KEEP_FILE)
            .with(run.0)
            .with(file.path.as_str())
            .with(file.content.clone().unwrap_or_default())
            .with(file.content.is_none())
            .with(file.is_executable)
            .with(file.before.clone())
            .with(tables.time_ms())
    };
    let _ = change_held(tables, run, files.iter().map(keep).collect()).await?;
    Ok(())
}

pub(crate) async fn files_of(
    tables: &(impl RunTables + ?Sized),
    run: RunNumber,
) -> Result<Vec<RunFile>> {
    let rows = tables.look(TableStatement::new(FILES).with(run.0)).await?;
    read_rows(tables, "a file of a run", &rows, |row| {
        Ok(RunFile {
            path: row.text("path")?,
            content: match row.flag("is_gone")? {
                true => None,
                false => Some(row.bytes("content")?),
            },
            is_executable: row.flag("is_executable")?,
            before: row.maybe_text("before")?,
        })
    })
}

pub(crate) async fn forget_files(tables: &(impl RunTables + ?Sized), run: RunNumber) -> Result<()> {
    let _ = change_held(tables, run, vec![forget_statement(run)]).await?;
    Ok(())
}

/// Returns the statement that removes the files of a run.
pub(crate) fn forget_statement(run: RunNumber) -> TableStatement {
    TableStatement::optional(FORGET_FILES).with(run.0)
}

/// Returns the conversation of a run under this key, and begins it if it does not exist.
pub(crate) async fn conversation_of(
    tables: &(impl RunTables + ?Sized),
    run: RunNumber,
    key: &str,
) -> Result<StoredConversation> {
    let statement = TableStatement::new(CONVERSATION)
        .with(run.0)
        .with(key)
        .with(tables.time_ms());
    let rows = tables.change_rows(statement).await?;
    let id = read_rows(tables, "a conversation", &rows, |row| row.integer("id"))?.pop();
    let id = id.ok_or_else(|| tables.unreadable_row("a conversation", "it was not begun"))?;
    Ok(StoredConversation {
        tables: tables.shared(),
        run,
        id,
    })
}

async fn deeds_of(
    tables: &(impl RunTables + ?Sized),
    run: RunNumber,
) -> Result<Vec<agent::ToolAction>> {
    let statement = TableStatement::new(CONVERSATIONS).with(run.0);
    let rows = tables.look(statement).await?;
    let ids = read_rows(tables, "a conversation", &rows, |row| row.integer("id"))?;
    let mut deeds = Vec::new();
    for id in ids {
        let conversation = StoredConversation {
            tables: tables.shared(),
            run,
            id,
        };
        let history = conversation.read().await?;
        deeds.extend(history.turns.into_iter().flat_map(|turn| turn.deeds));
        let ended = history.notes.into_iter().filter_map(|note| match note {
            agent::TurnNote::Ended { deeds, .. } => Some(deeds),
            _ => None,
        });
        deeds.extend(ended.flatten());
    }
    Ok(deeds)
}

async fn facts_of(
    tables: &(impl RunTables + ?Sized),
    run: RunNumber,
) -> Result<Vec<(String, String)>> {
    let rows = tables.look(TableStatement::new(FACTS).with(run.0)).await?;
    read_rows(tables, "a fact", &rows, |row| {
        Ok((row.text("key")?, row.text("body")?))
    })
}

async fn hold(
    tables: &(impl RunTables + ?Sized),
    id: RunNumber,
    holder: Option<u32>,
) -> Result<LockedRun> {
    let hold = tables.take_run(id).await?.ok_or_else(|| {
        let who = holder.map_or_else(
            || "another process".to_owned(),
            |pid| format!("the process {pid}"),
        );
        let message =
            format!("run {id} is being worked on by {who}. Wait for it, or end it first.");
        Error::new(DatabaseErrorKind::Locked, message)
    })?;
    Ok(LockedRun {
        tables: tables.shared(),
        id,
        _hold: hold,
    })
}

async fn select(
    tables: &(impl RunTables + ?Sized),
    statement: TableStatement,
) -> Result<Vec<RunRecord>> {
    let rows = tables.look(statement).await?;
    read_rows(tables, "a run", &rows, read_run)
}

fn read_run(row: &TableRow) -> ColumnRead<RunRecord> {
    let (kind, state) = (row.text("kind")?, row.text("state")?);
    Ok(RunRecord {
        id: RunNumber(row.integer("id")?),
        kind: RunKind::read(&kind).ok_or_else(|| format!("`{kind}` is no kind"))?,
        name: row.text("name")?,
        digest: row.text("digest")?,
        state: RunState::read(&state).ok_or_else(|| format!("`{state}` is no state"))?,
        pid: u32::try_from(row.integer("pid")?).map_err(|cause| cause.to_string())?,
        created_ms: row.count("created_ms")?,
    })
}

fn taken_over(run: RunNumber) -> Error {
    let message = format!(
        "this process did not renew its lease in time, and another process has taken over run {run}; \
         earlier data is safe, and the other process continues the run"
    );
    Error::new(DatabaseErrorKind::Locked, message)
}
