//! A job while a process works on it: the job, its observer, and the ways it can stop.

use std::future::Future;
use std::time::Duration;

use agent::CommandCancel;

use crate::build_context::BuildContext;
use crate::error::{BuildErrorKind, Error};
use crate::job::{BuildJob, FailureCode, JobFailure, JobId};
use crate::progress::{BuildObserver, BuildProgress, EVENT};
use crate::status::JobStatus;
use crate::store::JobLock;

/// Interval at which a working process checks whether the job was cancelled elsewhere.
const LOOK_EVERY: Duration = Duration::from_millis(400);

/// The reason why a stage stopped early.
#[derive(Debug)]
pub(crate) enum StageHalt {
    /// The job fails; this is its failure.
    Failed(FailureCode, String),
    /// A person cancelled the job.
    Cancelled,
    /// The work stops here; the job is resumed later.
    Interrupted,
    /// An error outside the job's own course.
    Broken(Error),
}

impl From<Error> for StageHalt {
    fn from(error: Error) -> StageHalt {
        StageHalt::Broken(error)
    }
}

impl From<workspace::Error> for StageHalt {
    fn from(error: workspace::Error) -> StageHalt {
        let code = match error.kind() {
            workspace::WorkspaceErrorKind::Denied => FailureCode::Policy,
            _ => FailureCode::Files,
        };
        StageHalt::Failed(code, error.to_string())
    }
}

/// A job that this process works on.
pub(crate) struct ActiveJob<'a> {
    pub(crate) bench: &'a BuildContext<'a>,
    pub(crate) job: BuildJob,
    pub(crate) observer: &'a mut dyn BuildObserver,
    /// Set when the job is cancelled or the work has to stop.
    pub(crate) cancel: CommandCancel,
    _hold: JobLock,
}

impl<'a> ActiveJob<'a> {
    /// Locks the job for this process and loads it.
    pub(crate) async fn open(
        bench: &'a BuildContext<'a>,
        id: &JobId,
        observer: &'a mut dyn BuildObserver,
    ) -> Result<ActiveJob<'a>, Error> {
        let hold = bench.jobs.hold(id).await?;
        let job = bench.jobs.get(id).await?;
        Ok(ActiveJob {
            bench,
            job,
            observer,
            cancel: CommandCancel::default(),
            _hold: hold,
        })
    }

    pub(crate) fn status(&self) -> JobStatus {
        self.job.status()
    }

    /// Takes a transition, or stores the edit alone if the job already has that status, and reports
    /// progress.
    pub(crate) async fn keep(
        &mut self,
        to: JobStatus,
        message: &str,
        edit: impl FnOnce(&mut BuildJob),
    ) -> Result<(), StageHalt> {
        let now_ms = self.bench.clock.now_ms();
        let change = if to == self.status() {
            self.job.amend(now_ms, edit)
        } else {
            self.job.change(to, now_ms, edit)?
        };
        match self.bench.jobs.compare_and_set(&change).await {
            Ok(()) => {}
            Err(error) if error.kind() == BuildErrorKind::Conflict => {
                let now = self.bench.jobs.get(&self.job.id).await?;
                let cancelled = now.status() == JobStatus::Cancelled;
                self.job = now;
                return Err(if cancelled {
                    StageHalt::Cancelled
                } else {
                    StageHalt::Broken(error)
                });
            }
            Err(error) => return Err(StageHalt::Broken(error)),
        }
        self.job = change.into_job();
        self.say(message, None).await
    }

    /// Stores an edit without a transition and without a progress event.
    pub(crate) async fn store(
        &mut self,
        edit: impl FnOnce(&mut BuildJob),
    ) -> Result<(), StageHalt> {
        self.keep(self.status(), "", edit).await
    }

    /// Stores an effect on the outside world, also if the job was cancelled meanwhile.
    pub(crate) async fn record(&mut self, edit: impl Fn(&mut BuildJob)) -> Result<(), StageHalt> {
        match self.store(&edit).await {
            Err(StageHalt::Cancelled) => {
                self.store(&edit).await?;
                Err(StageHalt::Cancelled)
            }
            kept => kept,
        }
    }

    /// Reports progress to the observer, and stores it with the job.
    pub(crate) async fn say(
        &mut self,
        message: &str,
        detail: Option<&str>,
    ) -> Result<(), StageHalt> {
        if message.is_empty() {
            return Ok(());
        }
        let progress = BuildProgress {
            event: EVENT.to_owned(),
            job_id: self.job.id.clone(),
            status: self.job.status(),
            message: message.to_owned(),
            detail: detail.map(str::to_owned),
            at_ms: self.bench.clock.now_ms(),
        };
        self.observer.notice_progress(&progress);
        Ok(self.bench.jobs.note(&progress).await?)
    }

    /// Returns the halt if the work has to stop.
    pub(crate) async fn check(&mut self) -> Result<(), StageHalt> {
        // Lets other tasks run, even on a single-threaded runtime, so that a cancellation can
        // arrive.
        tokio::task::yield_now().await;
        if self.bench.cancel.is_cancelled() {
            return Err(StageHalt::Interrupted);
        }
        let now = self.bench.jobs.get(&self.job.id).await?;
        if now.status() == JobStatus::Cancelled {
            self.job = now;
            return Err(StageHalt::Cancelled);
        }
        Ok(())
    }

    /// Maps an error of the agent loop to a halt of the job.
    pub(crate) async fn stopped(&mut self, error: &agent::Error) -> StageHalt {
        use agent::AgentErrorKind as Agent;
        let code = match error.kind() {
            Agent::Cancelled => {
                return match self.check().await {
                    Err(halt) => halt,
                    Ok(()) => StageHalt::Interrupted,
                };
            }
            Agent::Journal => {
                return StageHalt::Broken(Error::new(BuildErrorKind::Store, error.to_string()));
            }
            Agent::Setup | Agent::Mcp => {
                return StageHalt::Broken(Error::new(BuildErrorKind::Setup, error.to_string()));
            }
            Agent::Limit => FailureCode::Limit,
            Agent::Budget => FailureCode::Budget,
            Agent::Model => FailureCode::Provider,
            Agent::Refused | Agent::EmptyReply => FailureCode::Refused,
            Agent::Tool => FailureCode::Checks,
        };
        StageHalt::Failed(code, error.to_string())
    }

    /// Sets the job to failed. It can be resumed at the step that failed.
    pub(crate) async fn fail(
        &mut self,
        code: FailureCode,
        message: String,
    ) -> Result<(), StageHalt> {
        let failure = JobFailure {
            code,
            message: message.clone(),
            step: self.status(),
        };
        self.keep(JobStatus::Failed, &message, |job| job.error = Some(failure))
            .await
    }
}

/// Runs the work and checks now and then whether the job was cancelled. If it was, sets `cancel`
/// and waits for the work, which then ends soon.
pub(crate) async fn watched<T>(
    bench: &BuildContext<'_>,
    id: &JobId,
    cancel: &CommandCancel,
    work: impl Future<Output = T>,
) -> T {
    let mut work = std::pin::pin!(work);
    // Runs beside the work and never blocks it: a store may admit only one of them at a time.
    tokio::select! {
        biased;
        done = &mut work => return done,
        () = unwanted(bench, id) => cancel.cancel(),
    }
    work.await
}

/// Returns once the job is cancelled.
async fn unwanted(bench: &BuildContext<'_>, id: &JobId) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        if bench.cancel.is_cancelled() {
            return;
        }
        let now = bench.jobs.get(id).await;
        if now.is_ok_and(|job| job.status() == JobStatus::Cancelled) {
            return;
        }
    }
}

/// Runs work with files and programs on a blocking thread, away from the conversation.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, StageHalt> {
    tokio::task::spawn_blocking(work).await.map_err(|failed| {
        let message = format!("a stage broke down ({failed}). This is a defect; please report it.");
        StageHalt::Broken(Error::new(BuildErrorKind::Setup, message))
    })
}
