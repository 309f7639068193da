//! What a person decides about a job. Each decision is one compare-and-set: of two that are made
//! at once, one gets a conflict and nothing else happens.

use crate::bench::Bench;
use crate::error::{Error, Kind};
use crate::job::{Base, Change, Continued, Job, JobId, checked_prompt};
use crate::plan::Plan;
use crate::progress::{EVENT, Progress};
use crate::review::{self, Review};
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

/// How an approved plan is built, where that is not as the job was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Approval {
    /// Everything up to the review, and nothing published.
    pub dry_run: bool,
    /// A local branch, and nothing that leaves the machine.
    pub is_local: bool,
    /// A person looks at the work before anything is pushed.
    pub review: bool,
}

/// As [`approve`], and with more said about how it is built.
pub async fn approve_as(bench: &Bench<'_>, id: &JobId, how: Approval) -> Result<Job, Error> {
    let job = bench.jobs.get(id).await?;
    let words = "The plan was approved.";
    settle(bench, &job, Status::Generating, words, |job| {
        let options = &mut job.options;
        options.dry_run |= how.dry_run;
        options.review |= how.review;
        if how.is_local {
            options.publish = crate::job::Publish::Local;
        }
    })
    .await
}

/// Decides about work that waits: it is published as it is, or [`crate::run::build`] has the model
/// do what the comments say, takes out what was turned down, and holds it against the checks again.
pub async fn review(bench: &Bench<'_>, id: &JobId, review: Review) -> Result<Job, Error> {
    let job = bench.jobs.get(id).await?;
    if job.status() != Status::ReviewReady {
        let message = format!(
            "the build `{id}` is `{}`, and no work of it waits for a review",
            job.status()
        );
        return Err(Error::new(Kind::Conflict, message));
    }
    review.check(&review::hunks(&job.result.diffs))?;
    if review.accepts_all() {
        let words = "The work was accepted.";
        return settle(bench, &job, Status::Publishing, words, |_| {}).await;
    }
    let (status, words) = match review.has_comments() {
        true => (
            Status::Repairing,
            "The work was commented; the model is told.",
        ),
        false => (Status::Validating, "Parts of the work were turned down."),
    };
    settle(bench, &job, status, words, |job| {
        job.work.review_rounds += 1;
        job.work.review = Some(review);
        job.work.report = None;
        job.work.repairs_before = job.result.repair_attempts;
    })
    .await
}

/// Asks for more in the branch of a build that has come to its end. It is planned next, in the same
/// conversation, from the commit it ended with.
pub async fn follow_up(bench: &Bench<'_>, id: &JobId, prompt: &str) -> Result<Job, Error> {
    let prompt = checked_prompt(prompt)?;
    let job = bench.jobs.get(id).await?;
    let done = matches!(job.status(), Status::Completed | Status::CompletedDraft);
    let (Some(commit), Some(branch), Some(base), true) =
        (&job.result.commit, &job.result.branch, &job.base, done)
    else {
        let message = format!(
            "the build `{id}` is `{}` and has no branch to go on in; a follow-up takes a build that is \
             complete or a draft, and no dry run",
            job.status()
        );
        return Err(Error::new(Kind::Conflict, message));
    };
    let origin = job
        .continues
        .as_ref()
        .map_or(base, |continued| &continued.origin);
    let continued = Continued {
        origin: origin.clone(),
        branch: branch.clone(),
    };
    let start = Base {
        commit: commit.clone(),
        branch: base.branch.clone(),
    };
    let words = "The build goes on.";
    settle(bench, &job, Status::Planning, words, |job| {
        job.follow_ups.push(prompt);
        job.continues = Some(continued);
        job.base = Some(start);
        job.plan = None;
        job.checks.clear();
        job.result.pushed = false;
        job.work.report = None;
        job.work.saved = None;
        job.work.repairs_before = job.result.repair_attempts;
    })
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
