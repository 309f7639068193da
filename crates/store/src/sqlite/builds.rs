//! Build jobs in the database: implements the builder's port.
//!
//! A job is one document with its status and revision beside it, so that a change is one statement
//! that either finds the job as it expects it or does nothing. Its run gives it conversations,
//! costs and the lock.

use agent::TurnJournal;
use builder::{
    BuildJob, BuildProgress, ConversationKind, JobChange, JobFuture, JobId, JobLock, JobStatus,
    JobStore,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::Connection as _;

use super::{SqliteDatabase, integer};
use crate::error::{DatabaseErrorKind, Error, Result};
use crate::lock::{self, RunLock};
use crate::record::{RunKind, RunNumber, RunState};

impl JobStore for SqliteDatabase {
    fn create<'a>(&'a self, job: &'a BuildJob) -> JobFuture<'a, ()> {
        Box::pin(async {
            match self.insert_build(job).await? {
                RowMatch::Yes => Ok(()),
                RowMatch::No => Err(builder::twice(&job.id)),
            }
        })
    }

    fn get<'a>(&'a self, id: &'a JobId) -> JobFuture<'a, BuildJob> {
        Box::pin(async {
            let body = self.build_body(id).await?;
            let body = body.ok_or_else(|| builder::unknown(id))?;
            Ok(self.read_body(&body)?)
        })
    }

    fn list(
        &self,
        status: Option<JobStatus>,
        after: Option<JobId>,
        count: usize,
    ) -> JobFuture<'_, Vec<BuildJob>> {
        Box::pin(async move {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            let bodies = self.build_bodies(status, after, count).await?;
            let jobs = bodies.iter().map(|body| self.read_body(body));
            Ok(jobs.collect::<Result<_>>()?)
        })
    }

    fn compare_and_set<'a>(&'a self, change: &'a JobChange) -> JobFuture<'a, ()> {
        Box::pin(async {
            if self.update_build(change).await? == RowMatch::Yes {
                return Ok(());
            }
            let id = &change.job().id;
            let now = self.get(id).await?;
            Err(builder::moved_on(id, now.status()))
        })
    }

    fn note<'a>(&'a self, progress: &'a BuildProgress) -> JobFuture<'a, ()> {
        Box::pin(async {
            let body = write_body(progress)?;
            let body = self.clean(&body);
            let mut connection = self.inner.connection.lock().await;
            let kept = sqlx::query("INSERT INTO build_progress (build, body) VALUES ($1, $2)")
                .bind(progress.job_id.as_str())
                .bind(&*body)
                .execute(&mut *connection)
                .await;
            kept.map_err(|cause| self.fault().of(&cause))?;
            Ok(())
        })
    }

    fn progress<'a>(&'a self, id: &'a JobId) -> JobFuture<'a, Vec<BuildProgress>> {
        Box::pin(async {
            let mut connection = self.inner.connection.lock().await;
            let bodies: std::result::Result<Vec<String>, sqlx::Error> =
                sqlx::query_scalar("SELECT body FROM build_progress WHERE build = $1 ORDER BY id")
                    .bind(id.as_str())
                    .fetch_all(&mut *connection)
                    .await;
            let bodies = bodies.map_err(|cause| self.fault().of(&cause))?;
            let progress = bodies.iter().map(|body| self.read_body(body));
            Ok(progress.collect::<Result<_>>()?)
        })
    }

    fn conversation<'a>(
        &'a self,
        id: &'a JobId,
        talk: ConversationKind,
    ) -> JobFuture<'a, Box<dyn TurnJournal + 'a>> {
        Box::pin(async move {
            let run = self.build_run(id).await?;
            let conversation = self.conversation_of(run, talk.as_str()).await?;
            Ok(Box::new(conversation) as Box<dyn TurnJournal + 'a>)
        })
    }

    fn hold<'a>(&'a self, id: &'a JobId) -> JobFuture<'a, JobLock> {
        Box::pin(async {
            let run = self.build_run(id).await?;
            match RunLock::take(&self.inner.place, run)? {
                Some(lock) => Ok(JobLock::new(lock)),
                None => Err(builder::held(id)),
            }
        })
    }
}

/// Says whether a statement found the row it expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowMatch {
    Yes,
    No,
}

impl SqliteDatabase {
    /// Tells whether a process works on the build at this moment.
    pub async fn is_build_held(&self, id: &JobId) -> std::result::Result<bool, builder::Error> {
        let run = self.build_run(id).await?;
        Ok(lock::is_taken(&self.inner.place, run)?)
    }

    async fn insert_build(&self, job: &BuildJob) -> Result<RowMatch> {
        let body = write_body(job)?;
        let body = self.clean(&body);
        let now = self.now_ms();
        let mut connection = self.inner.connection.lock().await;
        let kept = async {
            let mut step = connection.begin_with("BEGIN IMMEDIATE").await?;
            let run: i64 = sqlx::query_scalar(
                "INSERT INTO runs (kind, name, digest, state, pid, created_ms, changed_ms) \
                 VALUES ($1, $2, '', $3, $4, $5, $5) RETURNING id",
            )
            .bind(RunKind::Build.as_str())
            .bind(job.id.as_str())
            .bind(state_of(job.status()).as_str())
            .bind(i64::from(self.inner.options.pid))
            .bind(now)
            .fetch_one(&mut *step)
            .await?;
            let inserted = sqlx::query(
                "INSERT INTO builds (id, run, status, revision, body) VALUES ($1, $2, $3, $4, $5) \
                 ON CONFLICT (id) DO NOTHING",
            )
            .bind(job.id.as_str())
            .bind(run)
            .bind(job.status().as_str())
            .bind(integer(job.revision()))
            .bind(&*body)
            .execute(&mut *step)
            .await?;
            if inserted.rows_affected() == 0 {
                step.rollback().await?;
                return Ok(RowMatch::No);
            }
            step.commit().await?;
            Ok(RowMatch::Yes)
        };
        kept.await
            .map_err(|cause: sqlx::Error| self.fault().of(&cause))
    }

    async fn update_build(&self, change: &JobChange) -> Result<RowMatch> {
        let job = change.job();
        let body = write_body(job)?;
        let body = self.clean(&body);
        let mut connection = self.inner.connection.lock().await;
        let kept = async {
            let mut step = connection.begin_with("BEGIN IMMEDIATE").await?;
            let updated = sqlx::query(
                "UPDATE builds SET status = $1, revision = $2, body = $3 \
                 WHERE id = $4 AND status = $5 AND revision = $6",
            )
            .bind(job.status().as_str())
            .bind(integer(job.revision()))
            .bind(&*body)
            .bind(job.id.as_str())
            .bind(change.transition().from().as_str())
            .bind(integer(change.revision()))
            .execute(&mut *step)
            .await?;
            if updated.rows_affected() == 0 {
                step.rollback().await?;
                return Ok(RowMatch::No);
            }
            sqlx::query(
                "UPDATE runs SET state = $1, pid = $2, changed_ms = $3 \
                 WHERE id = (SELECT run FROM builds WHERE id = $4)",
            )
            .bind(state_of(job.status()).as_str())
            .bind(i64::from(self.inner.options.pid))
            .bind(self.now_ms())
            .bind(job.id.as_str())
            .execute(&mut *step)
            .await?;
            step.commit().await?;
            Ok(RowMatch::Yes)
        };
        kept.await
            .map_err(|cause: sqlx::Error| self.fault().of(&cause))
    }

    async fn build_body(&self, id: &JobId) -> Result<Option<String>> {
        let mut connection = self.inner.connection.lock().await;
        sqlx::query_scalar("SELECT body FROM builds WHERE id = $1")
            .bind(id.as_str())
            .fetch_optional(&mut *connection)
            .await
            .map_err(|cause| self.fault().of(&cause))
    }

    async fn build_bodies(
        &self,
        status: Option<JobStatus>,
        after: Option<JobId>,
        count: i64,
    ) -> Result<Vec<String>> {
        let mut connection = self.inner.connection.lock().await;
        sqlx::query_scalar(
            "SELECT body FROM builds WHERE ($1 IS NULL OR status = $1) AND ($2 IS NULL OR id < $2) \
             ORDER BY id DESC LIMIT $3",
        )
        .bind(status.map(JobStatus::as_str))
        .bind(after.map(String::from))
        .bind(count)
        .fetch_all(&mut *connection)
        .await
        .map_err(|cause| self.fault().of(&cause))
    }

    /// Returns the run that a build's conversations and lock belong to.
    async fn build_run(&self, id: &JobId) -> std::result::Result<RunNumber, builder::Error> {
        let mut connection = self.inner.connection.lock().await;
        let run: std::result::Result<Option<i64>, sqlx::Error> =
            sqlx::query_scalar("SELECT run FROM builds WHERE id = $1")
                .bind(id.as_str())
                .fetch_optional(&mut *connection)
                .await;
        let run = run.map_err(|cause| self.fault().of(&cause))?;
        run.map(RunNumber).ok_or_else(|| builder::unknown(id))
    }

    fn read_body<T: DeserializeOwned>(&self, body: &str) -> Result<T> {
        serde_json::from_str(body).map_err(|cause| {
            self.fault()
                .corrupt(&format!("a build is unreadable: {cause}"))
        })
    }
}

fn write_body(record: &impl Serialize) -> Result<String> {
    serde_json::to_string(record).map_err(|cause| {
        let message = format!("a build cannot be written as JSON: {cause}. Report this.");
        Error::new(DatabaseErrorKind::Conflict, message)
    })
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
