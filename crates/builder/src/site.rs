//! Where a job is worked on: the job as it changes, who watches, and how it can end.

use std::future::Future;
use std::time::Duration;

use agent::Cancel;

use crate::bench::Bench;
use crate::error::{Error, Kind};
use crate::job::{Failure, FailureCode, Job, JobId};
use crate::progress::{BuildObserver, EVENT, Progress};
use crate::status::Status;
use crate::store::Hold;

/// How often a job at work is looked at for having been cancelled elsewhere.
const LOOK_EVERY: Duration = Duration::from_millis(400);

/// Why a stage did not come to its end.
#[derive(Debug)]
pub(crate) enum Halt {
    /// The job fails; this is its failure.
    Failed(FailureCode, String),
    /// Somebody cancelled the job.
    Cancelled,
    /// The work is to stop here; the job is gone on with later.
    Interrupted,
    /// Something that is not part of the job's story.
    Broken(Error),
}

impl From<Error> for Halt {
    fn from(error: Error) -> Halt {
        Halt::Broken(error)
    }
}

impl From<workspace::Error> for Halt {
    fn from(error: workspace::Error) -> Halt {
        let code = match error.kind() {
            workspace::ErrorKind::Denied => FailureCode::Policy,
            _ => FailureCode::Files,
        };
        Halt::Failed(code, error.to_string())
    }
}

/// A job at work.
pub(crate) struct Site<'a> {
    pub(crate) bench: &'a Bench<'a>,
    pub(crate) job: Job,
    pub(crate) observer: &'a mut dyn BuildObserver,
    /// Switched when the job is cancelled or the work is to stop.
    pub(crate) cancel: Cancel,
    _hold: Hold,
}

impl<'a> Site<'a> {
    /// Takes the job in hand; nobody else works on it meanwhile.
    pub(crate) async fn open(
        bench: &'a Bench<'a>,
        id: &JobId,
        observer: &'a mut dyn BuildObserver,
    ) -> Result<Site<'a>, Error> {
        let hold = bench.jobs.hold(id).await?;
        let job = bench.jobs.get(id).await?;
        Ok(Site {
            bench,
            job,
            observer,
            cancel: Cancel::default(),
            _hold: hold,
        })
    }

    pub(crate) fn status(&self) -> Status {
        self.job.status()
    }

    /// Takes a step, or keeps what is known now where the job is there already, and says so.
    pub(crate) async fn keep(
        &mut self,
        to: Status,
        message: &str,
        edit: impl FnOnce(&mut Job),
    ) -> Result<(), Halt> {
        let now_ms = self.bench.clock.now_ms();
        let change = if to == self.status() {
            self.job.amend(now_ms, edit)
        } else {
            self.job.change(to, now_ms, edit)?
        };
        match self.bench.jobs.compare_and_set(&change).await {
            Ok(()) => {}
            Err(error) if error.kind() == Kind::Conflict => {
                let now = self.bench.jobs.get(&self.job.id).await?;
                let cancelled = now.status() == Status::Cancelled;
                self.job = now;
                return Err(if cancelled {
                    Halt::Cancelled
                } else {
                    Halt::Broken(error)
                });
            }
            Err(error) => return Err(Halt::Broken(error)),
        }
        self.job = change.into_job();
        self.say(message, None).await
    }

    /// Keeps what is known now, without a step and without words.
    pub(crate) async fn store(&mut self, edit: impl FnOnce(&mut Job)) -> Result<(), Halt> {
        self.keep(self.status(), "", edit).await
    }

    /// Keeps what was done to the outside world, also with a job that was cancelled meanwhile.
    pub(crate) async fn record(&mut self, edit: impl Fn(&mut Job)) -> Result<(), Halt> {
        match self.store(&edit).await {
            Err(Halt::Cancelled) => {
                self.store(&edit).await?;
                Err(Halt::Cancelled)
            }
            kept => kept,
        }
    }

    /// Tells whoever watches, and keeps it with the job.
    pub(crate) async fn say(&mut self, message: &str, detail: Option<&str>) -> Result<(), Halt> {
        if message.is_empty() {
            return Ok(());
        }
        let progress = Progress {
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

    /// Whether the work has to stop, and how.
    pub(crate) async fn check(&mut self) -> Result<(), Halt> {
        // Whoever wants to say something gets a turn, also where one thread does everything.
        tokio::task::yield_now().await;
        if self.bench.cancel.is_cancelled() {
            return Err(Halt::Interrupted);
        }
        let now = self.bench.jobs.get(&self.job.id).await?;
        if now.status() == Status::Cancelled {
            self.job = now;
            return Err(Halt::Cancelled);
        }
        Ok(())
    }

    /// What a stop of the loop means for the job.
    pub(crate) async fn stopped(&mut self, error: &agent::Error) -> Halt {
        use agent::Kind as Agent;
        let code = match error.kind() {
            Agent::Cancelled => {
                return match self.check().await {
                    Err(halt) => halt,
                    Ok(()) => Halt::Interrupted,
                };
            }
            Agent::Journal => return Halt::Broken(Error::new(Kind::Store, error.to_string())),
            Agent::Setup | Agent::Mcp => {
                return Halt::Broken(Error::new(Kind::Setup, error.to_string()));
            }
            Agent::Limit => FailureCode::Limit,
            Agent::Budget => FailureCode::Budget,
            Agent::Model => FailureCode::Provider,
            Agent::Refused | Agent::EmptyReply => FailureCode::Refused,
            Agent::Tool => FailureCode::Checks,
        };
        Halt::Failed(code, error.to_string())
    }

    /// Sets the job to failed. The step at which it failed is where it can be taken up again.
    pub(crate) async fn fail(&mut self, code: FailureCode, message: String) -> Result<(), Halt> {
        let failure = Failure {
            code,
            message: message.clone(),
            step: self.status(),
        };
        self.keep(Status::Failed, &message, |job| job.error = Some(failure))
            .await
    }
}

/// Does the work while looking now and then whether it is still wanted. `cancel` is switched when
/// it is not; the work is then waited for, and ends soon.
pub(crate) async fn watched<T>(
    bench: &Bench<'_>,
    id: &JobId,
    cancel: &Cancel,
    work: impl Future<Output = T>,
) -> T {
    let mut work = std::pin::pin!(work);
    // Side by side with the work, and never in its way: a store may let only one of them in.
    tokio::select! {
        biased;
        done = &mut work => return done,
        () = unwanted(bench, id) => cancel.cancel(),
    }
    work.await
}

/// Comes to its end when the work is not wanted any more.
async fn unwanted(bench: &Bench<'_>, id: &JobId) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        if bench.cancel.is_cancelled() {
            return;
        }
        let now = bench.jobs.get(id).await;
        if now.is_ok_and(|job| job.status() == Status::Cancelled) {
            return;
        }
    }
}

/// Work with files and programs, away from the thread that drives the conversation.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Halt> {
    tokio::task::spawn_blocking(work).await.map_err(|failed| {
        let message = format!("a stage broke down ({failed}). This is a defect; please report it.");
        Halt::Broken(Error::new(Kind::Setup, message))
    })
}
