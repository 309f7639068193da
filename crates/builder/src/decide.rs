//! What a person decides about a job. Each decision is one compare-and-set: of two that are made
//! at once, one gets a conflict and nothing else happens.

use crate::bench::Bench;
use crate::error::{Error, Kind};
use crate::job::{Change, Job, JobId};
use crate::plan::Plan;
use crate::progress::{EVENT, Progress};
use crate::status::Status;

/// Lets the job be built by its plan. [`crate::run::build`] does it.
pub async fn approve(bench: &Bench<'_>, id: &JobId) -> Result<Job, Error> {
    let job = bench.jobs.get(id).await?;
    settle(
        bench,
        &job,
        Status::Generating,
        "The plan was approved.",
        |_| {},
    )
    .await
}

/// Puts an edited plan in the place of the one that waits. It waits on; approving is another
/// decision. A plan that could not be carried out is refused with everything that is wrong.
pub async fn edit(bench: &Bench<'_>, id: &JobId, mut plan: Plan) -> Result<Job, Error> {
    let _hold = bench.jobs.hold(id).await?;
    let job = bench.jobs.get(id).await?;
    if job.status() != Status::PlanReady {
        let message = format!(
            "the build `{id}` is `{}`; only a plan that waits for a decision can be edited",
            job.status()
        );
        return Err(Error::new(Kind::Conflict, message));
    }
    if let Some(given) = job.options.task_type {
        plan.task_type = given;
    }
    let checks = crate::stage::planning::recheck(bench, &job, &plan).await?;
    let change = job.amend(bench.clock.now_ms(), |job| {
        job.plan = Some(plan);
        job.checks = checks;
    });
    keep(bench, change, "The plan was edited.").await
}

/// Ends the job without building it.
pub async fn reject(bench: &Bench<'_>, id: &JobId) -> Result<Job, Error> {
    let job = bench.jobs.get(id).await?;
    settle(
        bench,
        &job,
        Status::Rejected,
        "The plan was rejected.",
        |_| {},
    )
    .await
}

/// Ends the job wherever it is. A process that works on it notices, keeps what is there as a
/// patch, and stops; where none does, that is done here.
pub async fn cancel(bench: &Bench<'_>, id: &JobId) -> Result<Job, Error> {
    loop {
        let job = bench.jobs.get(id).await?;
        let done = settle(
            bench,
            &job,
            Status::Cancelled,
            "The build was cancelled.",
            |_| {},
        )
        .await;
        match done {
            // Whoever works on it took a step in between; the decision holds for the next one.
            Err(error) if error.kind() == Kind::Conflict && !job.status().is_final() => {
                let now = bench.jobs.get(id).await?;
                if now.revision() == job.revision() {
                    return Err(error);
                }
            }
            Err(error) => return Err(error),
            Ok(job) => return crate::run::clean_up(bench, job).await,
        }
    }
}

/// Lets a job that failed be taken up again at the step that failed.
pub async fn retry(bench: &Bench<'_>, id: &JobId) -> Result<Job, Error> {
    let job = bench.jobs.get(id).await?;
    let step = match (&job.error, job.status()) {
        (Some(failure), Status::Failed) => match failure.step {
            Status::Queued => Status::Planning,
            step => step,
        },
        _ => {
            let message = format!(
                "the build `{id}` is `{}`; only one that failed can be tried again",
                job.status()
            );
            return Err(Error::new(Kind::Conflict, message));
        }
    };
    settle(bench, &job, step, "The build is tried again.", |job| {
        job.error = None;
    })
    .await
}

/// Lets what a job made be published, again or for the first time.
pub async fn publish(bench: &Bench<'_>, id: &JobId) -> Result<Job, Error> {
    let job = bench.jobs.get(id).await?;
    if job.result.commit.is_none() {
        let message = format!(
            "the build `{id}` has no commit to publish; `drawloom builds show {id}` says how it stands"
        );
        return Err(Error::new(Kind::Conflict, message));
    }
    let words = "The work is published.";
    settle(bench, &job, Status::Publishing, words, |job| {
        job.error = None;
        job.options.publish = crate::job::Publish::PullRequest;
    })
    .await
}

async fn settle(
    bench: &Bench<'_>,
    job: &Job,
    to: Status,
    message: &str,
    edit: impl FnOnce(&mut Job),
) -> Result<Job, Error> {
    let change = job.change(to, bench.clock.now_ms(), edit)?;
    keep(bench, change, message).await
}

async fn keep(bench: &Bench<'_>, change: Change, message: &str) -> Result<Job, Error> {
    bench.jobs.compare_and_set(&change).await?;
    let job = change.into_job();
    let progress = Progress {
        event: EVENT.to_owned(),
        job_id: job.id.clone(),
        status: job.status(),
        message: message.to_owned(),
        detail: None,
        at_ms: job.updated_ms,
    };
    bench.jobs.note(&progress).await?;
    Ok(job)
}
