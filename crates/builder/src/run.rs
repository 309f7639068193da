//! The spine: which stages a job goes through, in order. Nothing else decides that.
//!
//! ```text
//! plan    base → index → ask ⇄ correct → present
//! build   worktree → baseline → generate → validate ⇄ repair → review → commit → push → pull request
//!                                                      ↑ comments ┘ where a person looks at it first
//! ```
//!
//! Each stage begins with what is kept of the job, so that calling [`plan`] or [`build`] again is
//! how an interrupted job is gone on with. A failure is part of the job's story: it is kept, what
//! was written is saved, and the call returns `Ok`.

use agent::Cancel;

use crate::bench::Bench;
use crate::error::{Error, Kind};
use crate::ground::Ground;
use crate::job::{Job, JobId};
use crate::progress::BuildObserver;
use crate::site::{Halt, Site};
use crate::stage::generating::Yard;
use crate::stage::saving::Rescue;
use crate::stage::validating::{Next, State};
use crate::stage::{generating, planning, publishing, repairing, reviewing, saving, validating};
use crate::status::Status;
use crate::validation::baseline;

/// Makes a plan for a job, from `queued` or `planning` to `plan_ready` or an end.
pub async fn plan(
    bench: &Bench<'_>,
    id: &JobId,
    observer: &mut dyn BuildObserver,
) -> Result<Job, Error> {
    let mut site = Site::open(bench, id, observer).await?;
    if !matches!(site.status(), Status::Queued | Status::Planning) {
        return Ok(site.job);
    }
    let ground = Ground::open(bench, &site.cancel)?;
    let ended = planning_stages(&mut site, &ground).await;
    end(&mut site, ended).await
}

async fn planning_stages(site: &mut Site<'_>, ground: &Ground) -> Result<(), Halt> {
    site.check().await?;
    planning::begin(site, ground).await?;
    let planned = planning::ask(site, ground).await?;
    planning::present(site, planned).await
}

/// Builds a job whose plan was approved, from `generating`, `validating`, `repairing` or
/// `publishing` to an end.
pub async fn build(
    bench: &Bench<'_>,
    id: &JobId,
    observer: &mut dyn BuildObserver,
) -> Result<Job, Error> {
    let mut site = Site::open(bench, id, observer).await?;
    if !site.status().is_active() {
        return Ok(site.job);
    }
    if matches!(site.status(), Status::Queued | Status::Planning) {
        let message = format!("the build `{id}` has no approved plan yet; plan it first");
        return Err(Error::new(Kind::Conflict, message));
    }
    let ground = Ground::open(bench, &site.cancel)?;
    let ended = building_stages(&mut site, &ground).await;
    end(&mut site, ended).await
}

async fn building_stages(site: &mut Site<'_>, ground: &Ground) -> Result<(), Halt> {
    site.check().await?;
    if site.status() == Status::Publishing && site.job.result.commit.is_some() {
        publishing::send(site, ground).await?;
        return publishing::finish(site).await;
    }
    let yard = generating::worktree(site, ground).await?;
    if site.status() == Status::Generating {
        if yard.state == State::Untouched {
            validating::baseline(site, ground, (&yard.tree, State::Untouched)).await?;
        }
        generating::generate(site, &yard).await?;
        let message = "The files are written; the checks are run.";
        site.keep(Status::Validating, message, |_| {}).await?;
    }
    reviewing::take_out(site, ground, &yard).await?;
    while site.status() != Status::Publishing {
        if site.status() == Status::Repairing {
            repairing::repair(site, &yard).await?;
            let message = "The checks are run again.";
            let done = |job: &mut Job| job.work.review = None;
            site.keep(Status::Validating, message, done).await?;
        }
        if validate_and_review(site, ground, &yard).await? == Step::Done {
            return Ok(());
        }
    }
    publishing::commit(site, ground, &yard).await?;
    publishing::send(site, ground).await?;
    publishing::finish(site).await
}

/// Whether there is more to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    More,
    Done,
}

/// One round: from `validating` to `repairing`, to `publishing`, or, for a dry run, to the end.
async fn validate_and_review(
    site: &mut Site<'_>,
    ground: &Ground,
    yard: &Yard,
) -> Result<Step, Halt> {
    let judged = validating::validate(site, ground, yard).await?;
    let message = validating::sentence(&judged.report);
    let (report, errors) = (judged.report.clone(), judged.report.new_failures());
    if judged.next == Next::Repair {
        site.keep(Status::Repairing, &message, |job| {
            job.work.report = Some(report);
            job.work.errors_by_round.push(errors);
            job.result.repair_attempts += 1;
        })
        .await?;
        return Ok(Step::More);
    }
    let result = reviewing::review(site, ground, yard, &judged).await?;
    let options = &site.job.options;
    if options.review && !options.dry_run {
        let (commit, patch_file) = saving::keep(site, ground, &yard.tree)?;
        site.keep(Status::ReviewReady, &message, |job| {
            job.result = result;
            job.result.patch_file = Some(patch_file);
            job.work.saved = Some(commit);
            job.work.report = Some(report);
            job.work.errors_by_round.push(errors);
        })
        .await?;
        return Ok(Step::Done);
    }
    let (status, step) = match (options.dry_run, judged.next) {
        (false, _) => (Status::Publishing, Step::More),
        (true, Next::Draft | Next::NotJudged) => (Status::CompletedDraft, Step::Done),
        (true, Next::Finish | Next::Repair) => (Status::Completed, Step::Done),
    };
    site.keep(status, &message, |job| {
        job.result = result;
        job.work.report = Some(report);
        job.work.errors_by_round.push(errors);
    })
    .await?;
    Ok(step)
}

/// Goes on with a job wherever it stands; what waits for a person, or has ended, is left alone.
pub async fn resume(
    bench: &Bench<'_>,
    id: &JobId,
    observer: &mut dyn BuildObserver,
) -> Result<Job, Error> {
    let job = bench.jobs.get(id).await?;
    match job.status() {
        Status::Queued | Status::Planning => plan(bench, id, observer).await,
        Status::Generating | Status::Validating | Status::Repairing | Status::Publishing => {
            build(bench, id, observer).await
        }
        _ => Ok(job),
    }
}

/// Removes worktrees that no job at work needs, and says how many. To be called at start. What
/// another process has in hand is left alone.
pub async fn reconcile(bench: &Bench<'_>) -> Result<usize, Error> {
    let ground = Ground::open(bench, &Cancel::default())?;
    let mut removed = 0;
    for id in ground.jobs()? {
        let hold = bench.jobs.hold(&id).await;
        if hold.as_ref().is_err_and(|error| error.kind() == Kind::Held) {
            continue;
        }
        let is_needed = match bench.jobs.get(&id).await {
            Ok(job) => job.status().is_active(),
            Err(error) if error.kind() == Kind::NotFound => false,
            Err(error) => return Err(error),
        };
        if !is_needed {
            ground.remove(&id)?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// Saves and removes what a job that was cancelled has left, unless somebody is at it.
pub(crate) async fn clean_up(bench: &Bench<'_>, job: Job) -> Result<Job, Error> {
    let mut nobody = agent::Nobody;
    let mut site = match Site::open(bench, &job.id, &mut nobody).await {
        Ok(site) => site,
        // Whoever works on it notices and does it.
        Err(error) if error.kind() == Kind::Held => return Ok(job),
        Err(error) => return Err(error),
    };
    end(&mut site, Err(Halt::Cancelled)).await
}

/// Ends a run: well, with a failure, because somebody cancelled, or only for now.
async fn end(site: &mut Site<'_>, ended: Result<(), Halt>) -> Result<Job, Error> {
    // What stopped the work does not stop the saving of it.
    site.cancel = Cancel::default();
    let ground = &Ground::open(site.bench, &site.cancel)?;
    let halt = match ended {
        Ok(()) => {
            clear(site, ground)?;
            return Ok(site.job.clone());
        }
        Err(halt) => halt,
    };
    let halt = match halt {
        // What stops git does not say why.
        Halt::Interrupted => site.check().await.err().unwrap_or(Halt::Interrupted),
        halt => halt,
    };
    if !matches!(halt, Halt::Broken(_)) {
        account(site).await;
    }
    let settled = match halt {
        Halt::Failed(code, message) => {
            let saved = save(site, ground, Rescue::Branch).await;
            let message = match saved {
                Err(Halt::Failed(_, why)) => {
                    format!("{message}\nWhat was written could not be saved: {why}")
                }
                _ => message,
            };
            site.fail(code, message).await
        }
        Halt::Cancelled => {
            // The decision is kept already; what cannot be saved is not wanted either.
            save(site, ground, Rescue::Patch).await.or(Ok(()))
        }
        Halt::Interrupted => {
            let message = format!(
                "the build `{}` was interrupted; it is kept as it is and can be gone on with",
                site.job.id
            );
            return Err(Error::new(Kind::Interrupted, message));
        }
        Halt::Broken(error) => return Err(error),
    };
    match settled {
        Ok(()) | Err(Halt::Cancelled) => {
            clear(site, ground)?;
            Ok(site.job.clone())
        }
        Err(Halt::Broken(error)) => Err(error),
        Err(Halt::Failed(_, message)) => Err(Error::new(Kind::Setup, message)),
        Err(Halt::Interrupted) => Err(Error::new(Kind::Interrupted, "the build was interrupted")),
    }
}

/// Counts what was paid for, also for a plan that could not be used. A store that fails here fails at
/// the next step as well, and says so there.
async fn account(site: &mut Site<'_>) {
    if let Ok(totals) = crate::talk::totals(site).await {
        site.store(|job| job.result.spent(&totals)).await.ok();
    }
}

/// Removes what a job needed only while it was worked on.
fn clear(site: &Site<'_>, ground: &Ground) -> Result<(), Error> {
    ground.remove(&site.job.id)?;
    baseline::forget(&site.bench.places.cache, &site.job.id)?;
    Ok(())
}

/// Keeps what a job has written, if it has written anything.
async fn save(site: &mut Site<'_>, ground: &Ground, how: Rescue) -> Result<(), Halt> {
    if site.job.plan.is_none() || !ground.has_worktree(&site.job.id)? {
        return Ok(());
    }
    let yard = generating::worktree(site, ground).await?;
    saving::rescue(site, ground, &yard, how).await
}
