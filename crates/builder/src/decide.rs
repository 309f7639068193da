//! A person's decisions about a job. Each decision is one compare-and-set: of two made at the same
//! time, one fails with a conflict and has no other effect.

use crate::build_context::BuildContext;
use crate::error::{BuildErrorKind, Error};
use crate::job::{BaseCommit, BuildJob, ContinuedBuild, JobChange, JobId, checked_prompt};
use crate::plan::BuildPlan;
use crate::progress::{BuildProgress, EVENT};
use crate::review::{self, BuildReview};
use crate::status::JobStatus;

/// Approves the plan. [`crate::run::build`] then builds it.
pub async fn approve(bench: &BuildContext<'_>, id: &JobId) -> Result<BuildJob, Error> {
    let job = bench.jobs.get(id).await?;
    settle(
        bench,
        &job,
        JobStatus::Generating,
        "The plan was approved.",
        |_| {},
    )
    .await
}

/// Build options that the approval changes from the original request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanApproval {
    /// Stops after the review data is made; nothing is published.
    pub dry_run: bool,
    /// Makes a local branch only; nothing leaves the machine.
    pub is_local: bool,
    /// Waits for a person's review before anything is pushed.
    pub review: bool,
}

/// Works like [`approve`], with changed build options.
pub async fn approve_as(
    bench: &BuildContext<'_>,
    id: &JobId,
    how: PlanApproval,
) -> Result<BuildJob, Error> {
    let job = bench.jobs.get(id).await?;
    let words = "The plan was approved.";
    settle(bench, &job, JobStatus::Generating, words, |job| {
        let options = &mut job.options;
        options.dry_run |= how.dry_run;
        options.review |= how.review;
        if how.is_local {
            options.publish = crate::job::PublishMode::Local;
        }
    })
    .await
}

/// Decides about work that waits for review: it is published unchanged, or [`crate::run::build`]
/// lets the model act on the comments, removes the rejected hunks, and runs the checks again.
pub async fn review(
    bench: &BuildContext<'_>,
    id: &JobId,
    review: BuildReview,
) -> Result<BuildJob, Error> {
    let job = bench.jobs.get(id).await?;
    if job.status() != JobStatus::ReviewReady {
        let message = format!(
            "the build `{id}` is `{}`, and no work of it waits for a review",
            job.status()
        );
        return Err(Error::new(BuildErrorKind::Conflict, message));
    }
    review.check(&review::hunks(&job.result.diffs))?;
    if review.accepts_all() {
        let words = "The work was accepted.";
        return settle(bench, &job, JobStatus::Publishing, words, |_| {}).await;
    }
    let (status, words) = match review.has_comments() {
        true => (
            JobStatus::Repairing,
            "The work has comments; the model gets them.",
        ),
        false => (JobStatus::Validating, "Parts of the work were rejected."),
    };
    settle(bench, &job, status, words, |job| {
        job.work.review_rounds += 1;
        job.work.review = Some(review);
        job.work.report = None;
        job.work.repairs_before = job.result.repair_attempts;
    })
    .await
}

/// Asks for more work in the branch of a finished build. The job is planned next, in the same
/// conversation, from the commit it ended with.
pub async fn follow_up(
    bench: &BuildContext<'_>,
    id: &JobId,
    prompt: &str,
) -> Result<BuildJob, Error> {
    let prompt = checked_prompt(prompt)?;
    let job = bench.jobs.get(id).await?;
    let done = matches!(
        job.status(),
        JobStatus::Completed | JobStatus::CompletedDraft
    );
    let (Some(commit), Some(branch), Some(base), true) =
        (&job.result.commit, &job.result.branch, &job.base, done)
    else {
        let message = format!(
            "the build `{id}` is `{}` and has no branch to continue; a follow-up needs a complete \
             build or a draft, not a dry run",
            job.status()
        );
        return Err(Error::new(BuildErrorKind::Conflict, message));
    };
    let origin = job
        .continues
        .as_ref()
        .map_or(base, |continued| &continued.origin);
    let continued = ContinuedBuild {
        origin: origin.clone(),
        branch: branch.clone(),
    };
    let start = BaseCommit {
        commit: commit.clone(),
        branch: base.branch.clone(),
    };
    let words = "The build continues.";
    settle(bench, &job, JobStatus::Planning, words, |job| {
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

/// Replaces the plan that waits for approval by an edited one. Approving it is a separate decision.
/// A plan that cannot be carried out is refused, with all its problems.
pub async fn edit(
    bench: &BuildContext<'_>,
    id: &JobId,
    mut plan: BuildPlan,
) -> Result<BuildJob, Error> {
    let _hold = bench.jobs.hold(id).await?;
    let job = bench.jobs.get(id).await?;
    if job.status() != JobStatus::PlanReady {
        let message = format!(
            "the build `{id}` is `{}`; only a plan that waits for a decision can be edited",
            job.status()
        );
        return Err(Error::new(BuildErrorKind::Conflict, message));
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
pub async fn reject(bench: &BuildContext<'_>, id: &JobId) -> Result<BuildJob, Error> {
    let job = bench.jobs.get(id).await?;
    settle(
        bench,
        &job,
        JobStatus::Rejected,
        "The plan was rejected.",
        |_| {},
    )
    .await
}

/// Cancels the job at any status. A process that works on it notices, saves the unfinished work as
/// a patch, and stops; if no process works on it, this call saves the work.
pub async fn cancel(bench: &BuildContext<'_>, id: &JobId) -> Result<BuildJob, Error> {
    loop {
        let job = bench.jobs.get(id).await?;
        let done = settle(
            bench,
            &job,
            JobStatus::Cancelled,
            "The build was cancelled.",
            |_| {},
        )
        .await;
        match done {
            // The process working on the job changed it in between; decide again on the new status.
            Err(error) if error.kind() == BuildErrorKind::Conflict && !job.status().is_final() => {
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

/// Resumes a failed job at the step that failed.
pub async fn retry(bench: &BuildContext<'_>, id: &JobId) -> Result<BuildJob, Error> {
    let job = bench.jobs.get(id).await?;
    let step = match (&job.error, job.status()) {
        (Some(failure), JobStatus::Failed) => match failure.step {
            JobStatus::Queued => JobStatus::Planning,
            step => step,
        },
        _ => {
            let message = format!(
                "the build `{id}` is `{}`; only one that failed can be tried again",
                job.status()
            );
            return Err(Error::new(BuildErrorKind::Conflict, message));
        }
    };
    settle(bench, &job, step, "The build is tried again.", |job| {
        job.error = None;
    })
    .await
}

/// Allows the job's work to be published, again or for the first time.
pub async fn publish(bench: &BuildContext<'_>, id: &JobId) -> Result<BuildJob, Error> {
    let job = bench.jobs.get(id).await?;
    if job.result.commit.is_none() {
        let message = format!(
            "the build `{id}` has no commit to publish; `drawloom builds show {id}` shows its status"
        );
        return Err(Error::new(BuildErrorKind::Conflict, message));
    }
    let words = "The work is published.";
    settle(bench, &job, JobStatus::Publishing, words, |job| {
        job.error = None;
        job.options.publish = crate::job::PublishMode::PullRequest;
    })
    .await
}

async fn settle(
    bench: &BuildContext<'_>,
    job: &BuildJob,
    to: JobStatus,
    message: &str,
    edit: impl FnOnce(&mut BuildJob),
) -> Result<BuildJob, Error> {
    let change = job.change(to, bench.clock.now_ms(), edit)?;
    keep(bench, change, message).await
}

async fn keep(
    bench: &BuildContext<'_>,
    change: JobChange,
    message: &str,
) -> Result<BuildJob, Error> {
    bench.jobs.compare_and_set(&change).await?;
    let job = change.into_job();
    let progress = BuildProgress {
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
