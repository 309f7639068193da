//! The spine: which stages a job goes through, in order. Nothing else decides that.
//!
//! ```text
//! plan    base → index → ask ⇄ correct → present
//! build   worktree → baseline → generate → validate ⇄ repair → review → commit → push → pull request
//!                                                      ↑ comments ┘ where a person looks at it first
//! ```
//!
//! Each stage starts from the stored job, so calling [`plan`] or [`build`] again resumes an
//! interrupted job. A failure is a regular end of a job: it is stored, the unfinished work is
//! saved, and the call returns `Ok`.

use agent::CommandCancel;

use crate::active_job::{ActiveJob, StageHalt};
use crate::build_context::BuildContext;
use crate::error::{BuildErrorKind, Error};
use crate::job::{BuildJob, JobId};
use crate::job_repository::JobRepository;
use crate::kept_files;
use crate::progress::BuildObserver;
use crate::stage::generating::WorkArea;
use crate::stage::saving::Rescue;
use crate::stage::validating::{NextStage, WorktreeState};
use crate::stage::{generating, planning, publishing, repairing, reviewing, saving, validating};
use crate::status::JobStatus;
use crate::validation::baseline;

/// Makes a plan for a job, from `queued` or `planning` to `plan_ready` or an end.
pub async fn plan(
    bench: &BuildContext<'_>,
    id: &JobId,
    observer: &mut dyn BuildObserver,
) -> Result<BuildJob, Error> {
    let mut site = ActiveJob::open(bench, id, observer).await?;
    if !matches!(site.status(), JobStatus::Queued | JobStatus::Planning) {
        return Ok(site.job);
    }
    let ground = JobRepository::open(bench, &site.cancel)?;
    let ended = planning_stages(&mut site, &ground).await;
    end(&mut site, ended).await
}

async fn planning_stages(
    site: &mut ActiveJob<'_>,
    ground: &JobRepository,
) -> Result<(), StageHalt> {
    site.check().await?;
    planning::begin(site, ground).await?;
    let planned = planning::ask(site, ground).await?;
    planning::present(site, planned).await
}

/// Builds a job with an approved plan, from `generating`, `validating`, `repairing` or `publishing`
/// to an end.
pub async fn build(
    bench: &BuildContext<'_>,
    id: &JobId,
    observer: &mut dyn BuildObserver,
) -> Result<BuildJob, Error> {
    let mut site = ActiveJob::open(bench, id, observer).await?;
    if !site.status().is_active() {
        return Ok(site.job);
    }
    if matches!(site.status(), JobStatus::Queued | JobStatus::Planning) {
        let message = format!("the build `{id}` has no approved plan yet; plan it first");
        return Err(Error::new(BuildErrorKind::Conflict, message));
    }
    let ground = JobRepository::open(bench, &site.cancel)?;
    let ended = building_stages(&mut site, &ground).await;
    end(&mut site, ended).await
}

async fn building_stages(
    site: &mut ActiveJob<'_>,
    ground: &JobRepository,
) -> Result<(), StageHalt> {
    site.check().await?;
    if site.status() == JobStatus::Publishing && kept_files::has_commit(site, ground)? {
        publishing::send(site, ground).await?;
        return publishing::finish(site).await;
    }
    let yard = generating::worktree(site, ground).await?;
    if site.status() == JobStatus::Generating {
        if yard.state == WorktreeState::Untouched {
            validating::baseline(site, ground, (&yard.tree, WorktreeState::Untouched)).await?;
        }
        generating::generate(site, &yard).await?;
        let message = "The files are written; running the checks.";
        site.keep(JobStatus::Validating, message, |_| {}).await?;
    }
    reviewing::take_out(site, ground, &yard).await?;
    while site.status() != JobStatus::Publishing {
        if site.status() == JobStatus::Repairing {
            repairing::repair(site, &yard).await?;
            let message = "Running the checks again.";
            let done = |job: &mut BuildJob| job.work.review = None;
            site.keep(JobStatus::Validating, message, done).await?;
        }
        if validate_and_review(site, ground, &yard).await? == StageOutcome::Done {
            return Ok(());
        }
    }
    publishing::commit(site, ground, &yard).await?;
    publishing::send(site, ground).await?;
    publishing::finish(site).await
}

/// Tells the loop whether another stage follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StageOutcome {
    More,
    Done,
}

/// One round: from `validating` to `repairing`, to `publishing`, or, for a dry run, to the end.
async fn validate_and_review(
    site: &mut ActiveJob<'_>,
    ground: &JobRepository,
    yard: &WorkArea,
) -> Result<StageOutcome, StageHalt> {
    let judged = validating::validate(site, ground, yard).await?;
    let message = validating::sentence(&judged.report);
    let (report, errors) = (judged.report.clone(), judged.report.new_failures());
    if judged.next == NextStage::Repair {
        site.keep(JobStatus::Repairing, &message, |job| {
            job.work.report = Some(report);
            job.work.errors_by_round.push(errors);
            job.result.repair_attempts += 1;
        })
        .await?;
        return Ok(StageOutcome::More);
    }
    let result = reviewing::review(site, ground, yard, &judged).await?;
    let options = &site.job.options;
    if options.review && !options.dry_run {
        let (commit, patch_file) = saving::keep(site, ground, &yard.tree)?;
        kept_files::store(site, &yard.tree).await?;
        site.keep(JobStatus::ReviewReady, &message, |job| {
            job.result = result;
            job.result.patch_file = Some(patch_file);
            job.work.saved = Some(commit);
            job.work.report = Some(report);
            job.work.errors_by_round.push(errors);
        })
        .await?;
        return Ok(StageOutcome::Done);
    }
    let (status, step) = match (options.dry_run, judged.next) {
        (false, _) => (JobStatus::Publishing, StageOutcome::More),
        (true, NextStage::Draft | NextStage::NotJudged) => {
            (JobStatus::CompletedDraft, StageOutcome::Done)
        }
        (true, NextStage::Finish | NextStage::Repair) => (JobStatus::Completed, StageOutcome::Done),
    };
    site.keep(status, &message, |job| {
        job.result = result;
        job.work.report = Some(report);
        job.work.errors_by_round.push(errors);
    })
    .await?;
    Ok(step)
}

/// Resumes a job at its present status; leaves a job alone that waits for a person or has ended.
pub async fn resume(
    bench: &BuildContext<'_>,
    id: &JobId,
    observer: &mut dyn BuildObserver,
) -> Result<BuildJob, Error> {
    let job = bench.jobs.get(id).await?;
    match job.status() {
        JobStatus::Queued | JobStatus::Planning => plan(bench, id, observer).await,
        JobStatus::Generating
        | JobStatus::Validating
        | JobStatus::Repairing
        | JobStatus::Publishing => build(bench, id, observer).await,
        _ => Ok(job),
    }
}

/// Removes worktrees that no active job needs, and returns their number. Call it at start.
/// Worktrees in use by another process are left alone.
pub async fn reconcile(bench: &BuildContext<'_>) -> Result<usize, Error> {
    let ground = JobRepository::open(bench, &CommandCancel::default())?;
    let mut removed = 0;
    for id in ground.jobs()? {
        if is_at_work(bench, &id).await? {
            continue;
        }
        let hold = bench.jobs.hold(&id).await;
        if hold
            .as_ref()
            .is_err_and(|error| error.kind() == BuildErrorKind::Held)
        {
            continue;
        }
        // A person may have tried it again meanwhile.
        if !is_at_work(bench, &id).await? {
            ground.remove(&id)?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// Returns true if a job is in the middle of its work, whether a process is at it or not.
async fn is_at_work(bench: &BuildContext<'_>, id: &JobId) -> Result<bool, Error> {
    match bench.jobs.get(id).await {
        Ok(job) => Ok(job.status().is_active()),
        Err(error) if error.kind() == BuildErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Saves and removes the work of a cancelled job, unless another process still works on it.
pub(crate) async fn clean_up(bench: &BuildContext<'_>, job: BuildJob) -> Result<BuildJob, Error> {
    let mut nobody = agent::NoAgentObserver;
    let mut site = match ActiveJob::open(bench, &job.id, &mut nobody).await {
        Ok(site) => site,
        // The process that works on the job notices the cancellation and cleans up.
        Err(error) if error.kind() == BuildErrorKind::Held => return Ok(job),
        Err(error) => return Err(error),
    };
    end(&mut site, Err(StageHalt::Cancelled)).await
}

/// Ends a run: with success, with a failure, by cancellation, or only for now.
async fn end(site: &mut ActiveJob<'_>, ended: Result<(), StageHalt>) -> Result<BuildJob, Error> {
    // The signal that stopped the work must not stop saving it.
    site.cancel = CommandCancel::default();
    let ground = &JobRepository::open(site.bench, &site.cancel)?;
    let halt = match ended {
        Ok(()) => {
            clear(site, ground).await?;
            return Ok(site.job.clone());
        }
        Err(halt) => halt,
    };
    let halt = match halt {
        // An interrupted git does not say why, so look up the cause.
        StageHalt::Interrupted => site.check().await.err().unwrap_or(StageHalt::Interrupted),
        halt => halt,
    };
    if !matches!(halt, StageHalt::Broken(_)) {
        account(site).await;
    }
    let settled = match halt {
        StageHalt::Failed(code, message) => {
            let saved = save(site, ground, Rescue::Branch).await;
            let message = match saved {
                Err(StageHalt::Failed(_, why)) => {
                    format!("{message}\nWhat was written could not be saved: {why}")
                }
                _ => message,
            };
            site.fail(code, message).await
        }
        StageHalt::Cancelled => {
            // The decision is stored already, and unsaved work of a cancelled job is not wanted
            // either.
            save(site, ground, Rescue::Patch).await.or(Ok(()))
        }
        StageHalt::Interrupted => {
            let message = format!(
                "the build `{}` was interrupted; it is kept and can be resumed",
                site.job.id
            );
            return Err(Error::new(BuildErrorKind::Interrupted, message));
        }
        StageHalt::Broken(error) => return Err(error),
    };
    match settled {
        Ok(()) | Err(StageHalt::Cancelled) => {
            clear(site, ground).await?;
            Ok(site.job.clone())
        }
        Err(StageHalt::Broken(error)) => Err(error),
        Err(StageHalt::Failed(_, message)) => Err(Error::new(BuildErrorKind::Setup, message)),
        Err(StageHalt::Interrupted) => Err(Error::new(
            BuildErrorKind::Interrupted,
            "the build was interrupted",
        )),
    }
}

/// Records the cost, also of a plan that could not be used. A store that fails here also fails at
/// the next step, which reports it.
async fn account(site: &mut ActiveJob<'_>) {
    if let Ok(totals) = crate::conversation::totals(site).await {
        site.store(|job| job.result.spent(&totals)).await.ok();
    }
}

/// Removes the files a job needs only while it is worked on.
async fn clear(site: &ActiveJob<'_>, ground: &JobRepository) -> Result<(), Error> {
    ground.remove(&site.job.id)?;
    if site.status() == JobStatus::Cancelled {
        kept_files::forget(site).await?;
    }
    baseline::forget(&site.bench.places.cache, &site.job.id)?;
    Ok(())
}

/// Saves the job's work, if there is any.
async fn save(
    site: &mut ActiveJob<'_>,
    ground: &JobRepository,
    how: Rescue,
) -> Result<(), StageHalt> {
    let has_work = ground.has_worktree(&site.job.id)? || kept_files::are_stored(site).await?;
    if site.job.plan.is_none() || !has_work {
        return Ok(());
    }
    let yard = generating::worktree(site, ground).await?;
    kept_files::store(site, &yard.tree).await?;
    saving::rescue(site, ground, &yard, how).await
}
