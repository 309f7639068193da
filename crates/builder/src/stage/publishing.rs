//! Publishing: commit, branch, push and pull request, each stored before the next is tried.

use vcs::{
    BranchName, BranchPurpose, MANUAL_FIX_LABEL, NOT_JUDGED_LABEL, NewPullRequest, PullReadiness,
    PushRequest,
};

use crate::active_job::{ActiveJob, StageHalt, blocking, watched};
use crate::body;
use crate::job::{FailureCode, PublishMode};
use crate::job_repository::JobRepository;
use crate::result::DraftReason;
use crate::stage::generating::WorkArea;
use crate::stage::saving;
use crate::status::JobStatus;
use crate::validation::BuildJudgement;

/// Returns the kind of branch the work is published on.
pub(crate) fn purpose(site: &ActiveJob<'_>) -> BranchPurpose {
    if site.job.result.is_draft() {
        BranchPurpose::Draft
    } else {
        BranchPurpose::Finished
    }
}

/// Makes branch and patch, unless that was done before the process died.
pub(crate) async fn commit(
    site: &mut ActiveJob<'_>,
    ground: &JobRepository,
    yard: &WorkArea,
) -> Result<(), StageHalt> {
    site.check().await?;
    let saved = saving::commit(site, ground, &yard.tree, purpose(site))?;
    let Some(saved) = saved else {
        let message = "there is nothing to publish: no file has changed";
        return Err(StageHalt::Failed(
            FailureCode::NothingGenerated,
            message.to_owned(),
        ));
    };
    site.record(|job| {
        job.result.branch = Some(saved.branch.clone());
        job.result.commit = Some(saved.commit.clone());
        job.result.patch_file = Some(saved.patch_file.clone());
    })
    .await?;
    let message = format!("The work is on the branch `{}`.", saved.branch);
    site.say(&message, None).await
}

/// Pushes the branch and opens the pull request, as far as there is a remote and a forge.
pub(crate) async fn send(
    site: &mut ActiveJob<'_>,
    ground: &JobRepository,
) -> Result<(), StageHalt> {
    site.check().await?;
    let Some(branch) = site.job.result.branch.clone() else {
        return Ok(());
    };
    let patch = site.job.result.patch_file.clone().unwrap_or_default();
    let outlet = site.bench.outlet;
    let local = |why: &str| format!("The branch `{branch}` is local: {why}. The patch is {patch}.");
    if site.job.options.publish == PublishMode::Local {
        let note = local("that was asked for");
        return site.store(|job| job.result.note(note)).await;
    }
    let remote = ground.repository.remote(&outlet.remote);
    if remote.map_err(|error| push_failed(&error))?.is_none() {
        let note = local(&format!("there is no remote `{}`", outlet.remote));
        return site.store(|job| job.result.note(note)).await;
    }
    let branch = BranchName::parse(&branch).map_err(|error| push_failed(&error))?;
    push(site, ground, &branch).await?;
    if outlet.forge.is_none() {
        let note =
            format!("The branch `{branch}` was pushed; no forge is configured for a pull request.");
        return site.store(|job| job.result.note(note)).await;
    }
    open_pull(site, branch).await
}

/// Marks the job as done.
pub(crate) async fn finish(site: &mut ActiveJob<'_>) -> Result<(), StageHalt> {
    let result = &site.job.result;
    let place = match (&result.pr_url, &result.branch) {
        (Some(url), _) => format!(" {url}"),
        (None, Some(branch)) => format!(" The branch is `{branch}`."),
        (None, None) => String::new(),
    };
    let status = match purpose(site) {
        BranchPurpose::Finished => JobStatus::Completed,
        BranchPurpose::Draft => JobStatus::CompletedDraft,
    };
    let words = match result.draft {
        _ if status == JobStatus::Completed => "The build is complete.",
        Some(DraftReason::NotJudged) => "The build is a draft: no check could judge it.",
        Some(DraftReason::ChecksFailed) | None => "The build is a draft: some checks fail.",
    };
    site.keep(status, &format!("{words}{place}"), |_| {}).await
}

async fn push(
    site: &mut ActiveJob<'_>,
    ground: &JobRepository,
    branch: &BranchName,
) -> Result<(), StageHalt> {
    if site.job.result.pushed {
        return Ok(());
    }
    let outlet = site.bench.outlet;
    site.say(
        &format!("The branch is pushed to `{}`.", outlet.remote),
        None,
    )
    .await?;
    let mut push = PushRequest::new(branch.clone());
    push.remote.clone_from(&outlet.remote);
    push.token.clone_from(&outlet.token);
    let repository = ground.repository.clone();
    let work = blocking(move || repository.push(&push));
    let (bench, id, cancel) = (site.bench, site.job.id.clone(), site.cancel.clone());
    match watched(bench, &id, &cancel, work).await? {
        Ok(_) => site.record(|job| job.result.pushed = true).await,
        Err(error) if error.kind() == vcs::VcsErrorKind::Cancelled => {
            site.check().await?;
            Err(StageHalt::Interrupted)
        }
        Err(error) => Err(push_failed(&error)),
    }
}

async fn open_pull(site: &mut ActiveJob<'_>, head: BranchName) -> Result<(), StageHalt> {
    let Some(forge) = site.bench.outlet.forge.as_deref() else {
        return Ok(());
    };
    site.say("The pull request is opened.", None).await?;
    let named = site.bench.outlet.base.clone();
    let started_from = site.job.base.as_ref().and_then(|base| base.branch.clone());
    let base = match named.clone().or(started_from) {
        Some(base) => BranchName::parse(&base),
        None => forge.default_branch().await,
    };
    let base = base.map_err(|error| forge_failed(&error))?;
    let mut new = new_pull(site, head, base)?;
    let published = match publish(site, forge, &new).await? {
        // The branch the job started from may never have been pushed.
        Err(error) if error.kind() == vcs::VcsErrorKind::Refused && named.is_none() => {
            let default = forge.default_branch().await;
            let default = default.map_err(|error| forge_failed(&error))?;
            if default == new.base {
                return Err(forge_failed(&error));
            }
            let note = format!(
                "The pull request goes to `{default}`: one to `{}` was refused.",
                new.base
            );
            site.store(|job| job.result.note(note)).await?;
            new.base = default;
            publish(site, forge, &new).await?
        }
        published => published,
    };
    let published = published.map_err(|error| forge_failed(&error))?;
    site.record(|job| {
        job.result.pr_url = Some(published.pull.url.clone());
        job.result.pr_number = Some(published.pull.number);
        for note in &published.notes {
            job.result.note(note.clone());
        }
    })
    .await
}

fn new_pull(
    site: &ActiveJob<'_>,
    head: BranchName,
    base: BranchName,
) -> Result<NewPullRequest, StageHalt> {
    let purpose = purpose(site);
    let readiness = match purpose {
        BranchPurpose::Finished => PullReadiness::Ready,
        BranchPurpose::Draft => PullReadiness::Draft,
    };
    let result = &site.job.result;
    let has_checks = !result.validation.is_empty();
    let label = match (purpose, result.judgement) {
        // Also if a person allowed it: the person who merges should know.
        (_, Some(BuildJudgement::NotJudged)) if has_checks => Some(NOT_JUDGED_LABEL),
        (BranchPurpose::Draft, _) => Some(MANUAL_FIX_LABEL),
        (BranchPurpose::Finished, _) => None,
    };
    let labels = label.map(str::to_owned).into_iter().collect();
    Ok(NewPullRequest {
        title: saving::title(&site.job)?,
        body: body::pull_request(&site.job),
        head,
        base,
        readiness,
        labels,
    })
}

/// Opens the pull request, unless the job is cancelled.
async fn publish(
    site: &mut ActiveJob<'_>,
    forge: &dyn vcs::Forge,
    new: &NewPullRequest,
) -> Result<Result<vcs::PublishOutcome, vcs::Error>, StageHalt> {
    let (bench, id, cancel) = (site.bench, site.job.id.clone(), site.cancel.clone());
    let work = watched(bench, &id, &cancel, async {
        // A later call finds an already opened request, so not waiting loses nothing.
        tokio::select! {
            published = forge.publish(new) => Some(published),
            () = until(&cancel) => None,
        }
    });
    match work.await {
        Some(published) => Ok(published),
        None => {
            site.check().await?;
            Err(StageHalt::Interrupted)
        }
    }
}

/// Waits for the cancellation.
async fn until(cancel: &agent::CommandCancel) {
    while !cancel.is_cancelled() {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

fn push_failed(error: &vcs::Error) -> StageHalt {
    let message = format!(
        "{error} The branch and the patch are here; `drawloom builds publish` tries again."
    );
    StageHalt::Failed(FailureCode::Push, message)
}

fn forge_failed(error: &vcs::Error) -> StageHalt {
    let message = format!("{error} The branch was pushed; `drawloom builds publish` tries again.");
    StageHalt::Failed(FailureCode::Forge, message)
}
