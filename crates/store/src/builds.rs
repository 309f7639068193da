//! Build jobs in the database: implements the builder's port on both engines.
//!
//! A job is one document with its status and revision beside it, so that a change is one statement
//! that either finds the job as it expects it or does nothing. Its run gives it conversations,
//! costs and the lock.

use agent::TurnJournal;
use builder::{
    BuildJob, BuildProgress, ConversationKind, JobChange, JobFile, JobFuture, JobId, JobLock,
    JobStatus, JobStore,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{DatabaseErrorKind, Error, Result};
use crate::postgres::PostgresDatabase;
use crate::record::{DatabaseFuture, RunFile, RunKind, RunNumber, RunState};
use crate::runs::{self, AgentRuns as _, RunTables, change_held, conversation_of, set_state};
use crate::sqlite::SqliteDatabase;
use crate::tables::{SharedTables, SqlDialect, TableStatement, read_rows, row_limit};

const ADD_RUN: &str = "INSERT INTO runs (kind, name, digest, state, pid, created_ms, changed_ms) \
     VALUES ($1, $2, '', $3, $4, $5, $5) RETURNING id";
const ADD: &str = "INSERT INTO builds (id, run, status, revision, body) SELECT $1, \
     (SELECT max(id) FROM runs WHERE kind = 'build' AND name = $1), $2, $3, $4 WHERE true \
     ON CONFLICT (id) DO NOTHING RETURNING id";
const CHANGE: &str = "UPDATE builds SET status = $1, revision = $2, body = $3 \
     WHERE id = $4 AND status = $5 AND revision = $6 RETURNING id";
const CHANGE_RUN: &str = "UPDATE runs SET state = $1, pid = $2, changed_ms = $3 \
     WHERE id = (SELECT run FROM builds WHERE id = $4) RETURNING id";
const GET: &str = "SELECT body FROM builds WHERE id = $1";
const LIST: &str = "SELECT body FROM builds WHERE ($1 IS NULL OR status = $1) \
     AND ($2 IS NULL OR id < $2) ORDER BY id DESC LIMIT $3";
const RUN: &str = "SELECT run FROM builds WHERE id = $1";
const NOTE: &str = "INSERT INTO build_progress (build, body) VALUES ($1, $2) RETURNING id";
const PROGRESS: &str = "SELECT body FROM build_progress WHERE build = $1 ORDER BY id";

/// Questions about builds beside the builder's own.
pub trait BuildHolds: Send + Sync {
    /// Tells whether a process works on the build at this moment.
    fn is_build_held<'a>(&'a self, id: &'a JobId) -> DatabaseFuture<'a, bool>;
}

impl<T: RunTables> BuildHolds for T {
    fn is_build_held<'a>(&'a self, id: &'a JobId) -> DatabaseFuture<'a, bool> {
        Box::pin(async move {
            match found_run(self, id).await? {
                Some(run) => self.is_held(run).await,
                None => Ok(false),
            }
        })
    }
}

/// Implements the builder's port, which is of another crate, for one engine.
macro_rules! stores_jobs {
    ($database:ty) => {
        impl JobStore for $database {
            fn create<'a>(&'a self, job: &'a BuildJob) -> JobFuture<'a, ()> {
                Box::pin(create(self, job))
            }

            fn get<'a>(&'a self, id: &'a JobId) -> JobFuture<'a, BuildJob> {
                Box::pin(get(self, id))
            }

            fn list(
                &self,
                status: Option<JobStatus>,
                after: Option<JobId>,
                count: usize,
            ) -> JobFuture<'_, Vec<BuildJob>> {
                let statement = TableStatement::new(LIST)
                    .with(status.map(JobStatus::as_str))
                    .with(after.map(String::from))
                    .with(row_limit(count));
                Box::pin(async move { Ok(bodies(self, statement).await?) })
            }

            fn compare_and_set<'a>(&'a self, change: &'a JobChange) -> JobFuture<'a, ()> {
                Box::pin(compare_and_set(self, change))
            }

            fn note<'a>(&'a self, progress: &'a BuildProgress) -> JobFuture<'a, ()> {
                Box::pin(note(self, progress))
            }

            fn progress<'a>(&'a self, id: &'a JobId) -> JobFuture<'a, Vec<BuildProgress>> {
                let statement = TableStatement::new(PROGRESS).with(id.as_str());
                Box::pin(async move { Ok(bodies(self, statement).await?) })
            }

            fn conversation<'a>(
                &'a self,
                id: &'a JobId,
                talk: ConversationKind,
            ) -> JobFuture<'a, Box<dyn TurnJournal + 'a>> {
                Box::pin(async move {
                    let run = run_of(self, id).await?;
                    let conversation = conversation_of(self, run, talk.as_str()).await?;
                    Ok(Box::new(conversation) as Box<dyn TurnJournal + 'a>)
                })
            }

            fn hold<'a>(&'a self, id: &'a JobId) -> JobFuture<'a, JobLock> {
                Box::pin(async move {
                    let run = run_of(self, id).await?;
                    match self.take_run(run).await? {
                        Some(hold) => Ok(JobLock::new(hold)),
                        None => Err(builder::held(id)),
                    }
                })
            }

            fn is_shared(&self) -> bool {
                self.dialect() == SqlDialect::Postgres
            }

            fn keep_files<'a>(&'a self, id: &'a JobId, files: &'a [JobFile]) -> JobFuture<'a, ()> {
                Box::pin(async move {
                    let run = run_of(self, id).await?;
                    let files: Vec<RunFile> = files.iter().map(stored).collect();
                    Ok(runs::keep_files(self, run, &files).await?)
                })
            }

            fn files<'a>(&'a self, id: &'a JobId) -> JobFuture<'a, Vec<JobFile>> {
                Box::pin(async move {
                    let run = run_of(self, id).await?;
                    let files = runs::files_of(self, run).await?;
                    Ok(files.into_iter().map(given).collect())
                })
            }

            fn forget_files<'a>(&'a self, id: &'a JobId) -> JobFuture<'a, ()> {
                Box::pin(async move {
                    let run = run_of(self, id).await?;
                    Ok(runs::forget_files(self, run).await?)
                })
            }
        }
    };
}

stores_jobs!(SqliteDatabase);
stores_jobs!(PostgresDatabase);

async fn create(
    tables: &impl RunTables,
    job: &BuildJob,
) -> std::result::Result<(), builder::Error> {
    let run = TableStatement::new(ADD_RUN)
        .with(RunKind::Build.as_str())
        .with(job.id.as_str())
        .with(state_of(job.status()).as_str())
        .with(u64::from(tables.pid()))
        .with(tables.time_ms());
    let add = TableStatement::new(ADD)
        .with(job.id.as_str())
        .with(job.status().as_str())
        .with(job.revision())
        .with(tables.scrubbed(&write_body(job)?));
    match tables.change_together(vec![run, add]).await? {
        Ok(_) => Ok(()),
        Err(_) => Err(builder::twice(&job.id)),
    }
}

async fn get(tables: &impl RunTables, id: &JobId) -> std::result::Result<BuildJob, builder::Error> {
    let found = bodies(tables, TableStatement::new(GET).with(id.as_str())).await?;
    found.into_iter().next().ok_or_else(|| builder::unknown(id))
}

async fn compare_and_set(
    tables: &impl RunTables,
    change: &JobChange,
) -> std::result::Result<(), builder::Error> {
    let job = change.job();
    let id = &job.id;
    let edit = TableStatement::new(CHANGE)
        .with(job.status().as_str())
        .with(job.revision())
        .with(tables.scrubbed(&write_body(job)?))
        .with(id.as_str())
        .with(change.transition().from().as_str())
        .with(change.revision());
    let state = state_of(job.status());
    let run = set_state(tables, TableStatement::new(CHANGE_RUN), state).with(id.as_str());
    let mut statements = vec![edit, run];
    let number = run_of(tables, id).await?;
    if job.status().is_settled() {
        statements.push(runs::forget_statement(number));
    }
    let changed = change_held(tables, number, statements).await?;
    match changed {
        Ok(_) => Ok(()),
        Err(_) => Err(builder::moved_on(id, get(tables, id).await?.status())),
    }
}

async fn note(
    tables: &impl RunTables,
    progress: &BuildProgress,
) -> std::result::Result<(), builder::Error> {
    let id = &progress.job_id;
    let statement = TableStatement::new(NOTE)
        .with(id.as_str())
        .with(tables.scrubbed(&write_body(progress)?));
    let run = run_of(tables, id).await?;
    let _ = change_held(tables, run, vec![statement]).await?;
    Ok(())
}

async fn bodies<T: DeserializeOwned>(
    tables: &impl SharedTables,
    statement: TableStatement,
) -> Result<Vec<T>> {
    let rows = tables.look(statement).await?;
    read_rows(tables, "a build", &rows, |row| {
        serde_json::from_str(&row.text("body")?).map_err(|cause| cause.to_string())
    })
}

/// Returns the run that a build's conversations and lock belong to.
async fn run_of(
    tables: &impl RunTables,
    id: &JobId,
) -> std::result::Result<RunNumber, builder::Error> {
    let found = found_run(tables, id).await?;
    found.ok_or_else(|| builder::unknown(id))
}

async fn found_run(tables: &impl RunTables, id: &JobId) -> Result<Option<RunNumber>> {
    let rows = tables
        .look(TableStatement::new(RUN).with(id.as_str()))
        .await?;
    let run = read_rows(tables, "a build", &rows, |row| row.integer("run"))?.pop();
    Ok(run.map(RunNumber))
}

fn write_body(record: &impl Serialize) -> Result<String> {
    serde_json::to_string(record).map_err(|cause| {
        let message = format!("a build cannot be written as JSON: {cause}. Report this.");
        Error::new(DatabaseErrorKind::Conflict, message)
    })
}

fn stored(file: &JobFile) -> RunFile {
    RunFile {
        path: file.path.clone(),
        content: file.content.clone(),
        is_executable: file.is_executable,
        before: None,
    }
}

fn given(file: RunFile) -> JobFile {
    JobFile {
        path: file.path,
        content: file.content,
        is_executable: file.is_executable,
    }
}

/// Maps the status of a build to the state of its run.
fn state_of(status: JobStatus) -> RunState {
    match status {
        JobStatus::Completed => RunState::Done,
        JobStatus::CompletedDraft | JobStatus::Failed => RunState::Failed,
        JobStatus::PlanReady
        | JobStatus::ReviewReady
        | JobStatus::Rejected
        | JobStatus::Cancelled => RunState::Stopped,
        _ => RunState::Running,
    }
}
