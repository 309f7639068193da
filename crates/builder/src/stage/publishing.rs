//! Publishing: commit, branch, push and pull request, each kept before the next is tried.

use vcs::{Branch, MANUAL_FIX_LABEL, NOT_JUDGED_LABEL, NewPull, Purpose, Push, Readiness};

use crate::body;
use crate::ground::Ground;
use crate::job::{FailureCode, Publish};
use crate::result::DraftReason;
use crate::site::{Halt, Site, blocking, watched};
use crate::stage::generating::Yard;
use crate::stage::saving;
use crate::status::Status;
use crate::validation::Judgement;

/// Whether the work passes, and so under which name it goes out.
pub(crate) fn purpose(site: &Site<'_>) -> Purpose {
    if site.job.result.is_draft() {
        Purpose::Draft
    } else {
        Purpose::Finished
    }
}

/// Makes branch and patch, unless that was done before the process died.
pub(crate) async fn commit(site: &mut Site<'_>, ground: &Ground, yard: &Yard) -> Result<(), Halt> {
    site.check().await?;
    let saved = saving::commit(site, ground, &yard.tree, purpose(site))?;
    let Some(saved) = saved else {
        let message = "there is nothing to publish: the files are as they were";
        return Err(Halt::Failed(
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

/// Pushes the branch and opens the pull request, as far as there is somewhere to go.
pub(crate) async fn send(site: &mut Site<'_>, ground: &Ground) -> Result<(), Halt> {
    site.check().await?;
    let Some(branch) = site.job.result.branch.clone() else {
        return Ok(());
    };
    let patch = site.job.result.patch_file.clone().unwrap_or_default();
    let outlet = site.bench.outlet;
    let local = |why: &str| format!("The branch `{branch}` is local: {why}. The patch is {patch}.");
    if site.job.options.publish == Publish::Local {
        let note = local("that was asked for");
        return site.store(|job| job.result.note(note)).await;
    }
    let remote = ground.repository.remote(&outlet.remote);
    if remote.map_err(|error| push_failed(&error))?.is_none() {
        let note = local(&format!("there is no remote `{}`", outlet.remote));
        return site.store(|job| job.result.note(note)).await;
    }
    let branch = Branch::parse(&branch).map_err(|error| push_failed(&error))?;
    push(site, ground, &branch).await?;
    if outlet.forge.is_none() {
        let note = format!(
            "The branch `{branch}` was pushed; no forge is known to open a pull request at."
        );
        return site.store(|job| job.result.note(note)).await;
    }
    open_pull(site, branch).await
}

/// Says that the job is done.
pub(crate) async fn finish(site: &mut Site<'_>) -> Result<(), Halt> {
    let result = &site.job.result;
    let place = match (&result.pr_url, &result.branch) {
        (Some(url), _) => format!(" {url}"),
        (None, Some(branch)) => format!(" The branch is `{branch}`."),
        (None, None) => String::new(),
    };
    let status = match purpose(site) {
        Purpose::Finished => Status::Completed,
        Purpose::Draft => Status::CompletedDraft,
    };
    let words = match result.draft {
        _ if status == Status::Completed => "The build is complete.",
        Some(DraftReason::NotJudged) => "The build is a draft: no check could judge it.",
        Some(DraftReason::ChecksFailed) | None => "The build is a draft: some checks fail.",
    };
    site.keep(status, &format!("{words}{place}"), |_| {}).await
}

async fn push(site: &mut Site<'_>, ground: &Ground, branch: &Branch) -> Result<(), Halt> {
    if site.job.result.pushed {
        return Ok(());
    }
    let outlet = site.bench.outlet;
    site.say(
        &format!("The branch is pushed to `{}`.", outlet.remote),
        None,
    )
    .await?;
    let mut push = Push::new(branch.clone());
    push.remote.clone_from(&outlet.remote);
    push.token.clone_from(&outlet.token);
    let repository = ground.repository.clone();
    let work = blocking(move || repository.push(&push));
    let (bench, id, cancel) = (site.bench, site.job.id.clone(), site.cancel.clone());
    match watched(bench, &id, &cancel, work).await? {
        Ok(_) => site.record(|job| job.result.pushed = true).await,
        Err(error) if error.kind() == vcs::ErrorKind::Cancelled => {
            site.check().await?;
            Err(Halt::Interrupted)
        }
        Err(error) => Err(push_failed(&error)),
    }
}

async fn open_pull(site: &mut Site<'_>, head: Branch) -> Result<(), Halt> {
    let Some(forge) = site.bench.outlet.forge.as_deref() else {
        return Ok(());
    };
    site.say("The pull request is opened.", None).await?;
    let named = site.bench.outlet.base.clone();
    let started_from = site.job.base.as_ref().and_then(|base| base.branch.clone());
    let base = match named.clone().or(started_from) {
        Some(base) => Branch::parse(&base),
        None => forge.default_branch().await,
    };
    let base = base.map_err(|error| forge_failed(&error))?;
    let mut new = new_pull(site, head, base)?;
    let published = match publish(site, forge, &new).await? {
        // The branch the job started from may never have been pushed.
        Err(error) if error.kind() == vcs::ErrorKind::Refused && named.is_none() => {
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

fn new_pull(site: &Site<'_>, head: Branch, base: Branch) -> Result<NewPull, Halt> {
    let purpose = purpose(site);
    let readiness = match purpose {
        Purpose::Finished => Readiness::Ready,
        Purpose::Draft => Readiness::Draft,
    };
    let result = &site.job.result;
    let has_checks = !result.validation.is_empty();
    let label = match (purpose, result.judgement) {
        // Also where a person allowed it: whoever merges should know.
        (_, Some(Judgement::NotJudged)) if has_checks => Some(NOT_JUDGED_LABEL),
        (Purpose::Draft, _) => Some(MANUAL_FIX_LABEL),
        (Purpose::Finished, _) => None,
    };
    let labels = label.map(str::to_owned).into_iter().collect();
    Ok(NewPull {
        title: saving::title(&site.job)?,
        body: body::pull_request(&site.job),
        head,
        base,
        readiness,
        labels,
    })
}

/// Opens the pull request, as long as it is wanted.
async fn publish(
    site: &mut Site<'_>,
    forge: &dyn vcs::Forge,
    new: &NewPull,
) -> Result<Result<vcs::Published, vcs::Error>, Halt> {
    let (bench, id, cancel) = (site.bench, site.job.id.clone(), site.cancel.clone());
    let work = watched(bench, &id, &cancel, async {
        // Asking again finds what was opened, so nothing is lost by not waiting.
        tokio::select! {
            published = forge.publish(new) => Some(published),
            () = until(&cancel) => None,
        }
    });
    match work.await {
        Some(published) => Ok(published),
        None => {
            site.check().await?;
            Err(Halt::Interrupted)
        }
    }
}

/// Waits until somebody asks for the end.
async fn until(cancel: &agent::Cancel) {
    while !cancel.is_cancelled() {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

fn push_failed(error: &vcs::Error) -> Halt {
    let message = format!(
        "{error} The branch and the patch are here; `drawloom builds publish` tries again."
    );
    Halt::Failed(FailureCode::Push, message)
}

fn forge_failed(error: &vcs::Error) -> Halt {
    let message = format!("{error} The branch was pushed; `drawloom builds publish` tries again.");
    Halt::Failed(FailureCode::Forge, message)
}
