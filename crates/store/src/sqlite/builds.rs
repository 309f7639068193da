//! Build jobs in the database: the port that the builder keeps them behind.
//!
//! A job is one document with its status and revision beside it, so that a change is one statement
//! that either finds the job as it expects it or does nothing. Its run gives it conversations,
//! costs and the lock.

use agent::Journal;
use builder::{Change, Hold, Job, JobId, Jobs, Kept, Progress, Status, Talk};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::Connection as _;

use super::{Store, integer};
use crate::error::{Error, Kind, Result};
use crate::lock::{self, Lock};
use crate::record::{RunId, RunKind, RunState};

impl Jobs for Store {
    fn create<'a>(&'a self, job: &'a Job) -> Kept<'a, ()> {
        Box::pin(async {
            match self.insert_build(job).await? {
                Done::Yes => Ok(()),
                Done::No => Err(builder::twice(&job.id)),
            }
        })
    }

    fn get<'a>(&'a self, id: &'a JobId) -> Kept<'a, Job> {
        Box::pin(async {
            let body = self.build_body(id).await?;
            let body = body.ok_or_else(|| builder::unknown(id))?;
            Ok(self.read_body(&body)?)
        })
    }

    fn list(
        &self,
        status: Option<Status>,
        after: Option<JobId>,
        count: usize,
    ) -> Kept<'_, Vec<Job>> {
        Box::pin(async move {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            let bodies = self.build_bodies(status, after, count).await?;
            let jobs = bodies.iter().map(|body| self.read_body(body));
            Ok(jobs.collect::<Result<_>>()?)
        })
    }

    fn compare_and_set<'a>(&'a self, change: &'a Change) -> Kept<'a, ()> {
        Box::pin(async {
            if self.update_build(change).await? == Done::Yes {
                return Ok(());
            }
            let id = &change.job().id;
            let now = self.get(id).await?;
            Err(builder::moved_on(id, now.status()))
        })
    }

    fn note<'a>(&'a self, progress: &'a Progress) -> Kept<'a, ()> {
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

    fn progress<'a>(&'a self, id: &'a JobId) -> Kept<'a, Vec<Progress>> {
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

    fn conversation<'a>(&'a self, id: &'a JobId, talk: Talk) -> Kept<'a, Box<dyn Journal + 'a>> {
        Box::pin(async move {
            let run = self.build_run(id).await?;
            let conversation = self.conversation_of(run, talk.as_str()).await?;
            Ok(Box::new(conversation) as Box<dyn Journal + 'a>)
        })
    }

    fn hold<'a>(&'a self, id: &'a JobId) -> Kept<'a, Hold> {
        Box::pin(async {
            let run = self.build_run(id).await?;
            match Lock::take(&self.inner.place, run)? {
                Some(lock) => Ok(Hold::new(lock)),
                None => Err(builder::held(id)),
            }
        })
    }
}

/// Whether a statement found what it expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Done {
    Yes,
    No,
}

impl Store {
    /// Whether somebody works on the build at this moment.
    pub async fn is_build_held(&self, id: &JobId) -> std::result::Result<bool, builder::Error> {
        let run = self.build_run(id).await?;
        Ok(lock::is_taken(&self.inner.place, run)?)
    }

    async fn insert_build(&self, job: &Job) -> Result<Done> {
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
                return Ok(Done::No);
            }
            step.commit().await?;
            Ok(Done::Yes)
        };
        kept.await
            .map_err(|cause: sqlx::Error| self.fault().of(&cause))
    }

    async fn update_build(&self, change: &Change) -> Result<Done> {
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
                return Ok(Done::No);
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
            Ok(Done::Yes)
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
        status: Option<Status>,
        after: Option<JobId>,
        count: i64,
    ) -> Result<Vec<String>> {
        let mut connection = self.inner.connection.lock().await;
        sqlx::query_scalar(
            "SELECT body FROM builds WHERE ($1 IS NULL OR status = $1) AND ($2 IS NULL OR id < $2) \
             ORDER BY id DESC LIMIT $3",
        )
        .bind(status.map(Status::as_str))
        .bind(after.map(String::from))
        .bind(count)
        .fetch_all(&mut *connection)
        .await
        .map_err(|cause| self.fault().of(&cause))
    }

    /// The run that a build's conversations and lock belong to.
    async fn build_run(&self, id: &JobId) -> std::result::Result<RunId, builder::Error> {
        let mut connection = self.inner.connection.lock().await;
        let run: std::result::Result<Option<i64>, sqlx::Error> =
            sqlx::query_scalar("SELECT run FROM builds WHERE id = $1")
                .bind(id.as_str())
                .fetch_optional(&mut *connection)
                .await;
        let run = run.map_err(|cause| self.fault().of(&cause))?;
        run.map(RunId).ok_or_else(|| builder::unknown(id))
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
        Error::new(Kind::Conflict, message)
    })
}

/// How a build stands, in the words of runs.
fn state_of(status: Status) -> RunState {
    match status {
        Status::Completed => RunState::Done,
        Status::CompletedDraft | Status::Failed => RunState::Failed,
        Status::PlanReady | Status::ReviewReady | Status::Rejected | Status::Cancelled => {
            RunState::Stopped
        }
        _ => RunState::Running,
    }
}
