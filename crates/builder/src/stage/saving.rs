//! Saving: stores the work as a branch and a patch, however the job ends.

use vcs::{
    BranchName, BranchPurpose, ChangeType, CommitId, CommitMessage, CommitSigning, NewCommit,
};
use workspace::RelPath;

use crate::active_job::{ActiveJob, StageHalt};
use crate::job::BuildJob;
use crate::job_repository::{ChangedPath, JobRepository, JobWorktree, git};
use crate::result::FileDiff;
use crate::stage::generating::{WorkArea, plan_of};
use crate::stage::validating::planned_changes;
use crate::stage::{reviewing, validating};
use crate::status::JobStatus;

/// The name under which commits say which job made them.
const TRAILER: &str = "Drawloom-Build";

/// Names the commit, branch and patch file of saved work.
pub(crate) struct SavedCommit {
    pub(crate) branch: String,
    pub(crate) commit: String,
    pub(crate) patch_file: String,
}

/// Commits the plan's files in the worktree, as a branch and as a patch; `None` if nothing changed.
pub(crate) fn commit(
    site: &ActiveJob<'_>,
    ground: &JobRepository,
    tree: &JobWorktree,
    purpose: BranchPurpose,
) -> Result<Option<SavedCommit>, StageHalt> {
    let message = message(&site.job, purpose)?;
    let paths = paths(site, tree)?;
    let new = NewCommit {
        message,
        paths: tree.git_paths(&paths),
        signing: CommitSigning::Off,
    };
    let commit = match tree.worktree.commit(&new) {
        Ok(commit) => commit,
        // It may have been committed just before the process died.
        Err(error) if error.kind() == vcs::VcsErrorKind::NothingToCommit => {
            let head = tree.worktree.head_commit().map_err(git)?;
            if head == *tree.worktree.base() {
                return Ok(None);
            }
            head
        }
        Err(error) => return Err(git(error)),
    };
    let branch = branch(site, ground, (tree, purpose), &commit)?;
    let patch_file = patch(site, ground, tree, &commit)?;
    Ok(Some(SavedCommit {
        branch: branch.to_string(),
        commit: commit.to_string(),
        patch_file,
    }))
}

/// Returns the branch for a commit: a new one, or the one that a follow-up continues.
fn branch(
    site: &ActiveJob<'_>,
    ground: &JobRepository,
    (tree, purpose): (&JobWorktree, BranchPurpose),
    commit: &CommitId,
) -> Result<BranchName, StageHalt> {
    if site.status() == JobStatus::Publishing
        && let Some(continued) = &site.job.continues
    {
        let branch = BranchName::parse(&continued.branch).map_err(git)?;
        let tip = tree.worktree.base();
        let moved = ground.repository.advance_branch(&branch, tip, commit);
        if moved.map_err(git)? {
            return Ok(branch);
        }
    }
    let name = BranchName::of_job(purpose, site.job.id.as_str(), &site.job.prompt);
    ground.branch(&name, commit)
}

/// Saves the work during a review: as a commit that is on no branch, and as a patch.
pub(crate) fn keep(
    site: &ActiveJob<'_>,
    ground: &JobRepository,
    tree: &JobWorktree,
) -> Result<(String, String), StageHalt> {
    let new = NewCommit {
        message: message(&site.job, BranchPurpose::Finished)?,
        paths: tree.git_paths(&paths(site, tree)?),
        signing: CommitSigning::Off,
    };
    let commit = match tree.worktree.commit(&new) {
        Err(error) if error.kind() == vcs::VcsErrorKind::NothingToCommit => {
            tree.worktree.head_commit().map_err(git)?
        }
        made => made.map_err(git)?,
    };
    let patch_file = patch(site, ground, tree, &commit)?;
    Ok((commit.to_string(), patch_file))
}

/// Saves the work of a failed or cancelled job, as far as possible.
pub(crate) async fn rescue(
    site: &mut ActiveJob<'_>,
    ground: &JobRepository,
    yard: &WorkArea,
    how: Rescue,
) -> Result<(), StageHalt> {
    validating::put_back_links(site, ground, &yard.tree)?;
    let changes = planned_changes(site, &yard.tree)?;
    if changes.is_empty() || is_saved(site, ground, &yard.tree, &changes)? {
        return Ok(());
    }
    if site.job.options.dry_run {
        let diffs: Vec<FileDiff> = changes.iter().map(reviewing::diff).collect();
        return site.store(|job| job.result.diffs = diffs).await;
    }
    match how {
        Rescue::Branch => {
            let Some(saved) = commit(site, ground, &yard.tree, BranchPurpose::Draft)? else {
                return Ok(());
            };
            let note = format!(
                "The work is on the branch `{}` and in the patch {}.",
                saved.branch, saved.patch_file
            );
            site.store(|job| {
                job.result.branch = Some(saved.branch);
                job.result.commit = Some(saved.commit);
                job.result.patch_file = Some(saved.patch_file);
                job.result.note(note);
            })
            .await
        }
        Rescue::Patch => {
            // The commit may have been made just before the job was cancelled.
            let made = committed(site, ground, &yard.tree)?;
            let paths = yard.tree.git_paths(&paths(site, &yard.tree)?);
            let message = message(&site.job, BranchPurpose::Draft)?;
            let bytes = yard.tree.worktree.patch(&message, &paths).map_err(git)?;
            let place = write_patch(site, &bytes)?;
            let note = format!("The work is in the patch {place}.");
            site.store(|job| {
                if let Some((branch, commit)) = made {
                    job.result.branch = Some(branch);
                    job.result.commit = Some(commit);
                }
                job.result.patch_file = Some(place);
                job.result.note(note);
            })
            .await
        }
    }
}

/// Returns true if the job's commit has exactly these changes.
fn is_saved(
    site: &ActiveJob<'_>,
    ground: &JobRepository,
    tree: &JobWorktree,
    changes: &[ChangedPath],
) -> Result<bool, StageHalt> {
    let Some(commit) = &site.job.result.commit else {
        return Ok(false);
    };
    let commit = CommitId::parse(commit).map_err(git)?;
    let saved = ground.repository.changes(tree.worktree.base(), &commit);
    let saved = saved.map_err(git)?;
    Ok(saved.iter().eq(changes.iter().map(|moved| &moved.change)))
}

/// The branch and the commit of the job, if they were made and not noted.
fn committed(
    site: &ActiveJob<'_>,
    ground: &JobRepository,
    tree: &JobWorktree,
) -> Result<Option<(String, String)>, StageHalt> {
    let head = tree.worktree.head_commit().map_err(git)?;
    for purpose in [BranchPurpose::Finished, BranchPurpose::Draft] {
        let branch = BranchName::of_job(purpose, site.job.id.as_str(), &site.job.prompt);
        let tip = ground.repository.branch_commit(&branch).map_err(git)?;
        if head != *tree.worktree.base() && tip.as_ref() == Some(&head) {
            return Ok(Some((branch.to_string(), head.to_string())));
        }
    }
    Ok(None)
}

/// The form in which unfinished work is saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rescue {
    /// As a branch and a patch.
    Branch,
    /// As a patch, because a branch is not wanted.
    Patch,
}

/// The message of the job's commit.
pub(crate) fn message(job: &BuildJob, purpose: BranchPurpose) -> Result<CommitMessage, StageHalt> {
    let plan = plan_of(job)?;
    let change = ChangeType::of_task(plan.task_type.as_str());
    let mut body = format!("{}\n\n{}\n", plan.summary.trim(), plan.file_list());
    if purpose == BranchPurpose::Draft {
        body.push_str("\nA draft: checks fail, or the work was interrupted.\n");
    }
    let first = job.request().lines().next().unwrap_or_default();
    Ok(CommitMessage::new(change, first)
        .body(&body)
        .trailer(TRAILER, job.id.as_str()))
}

/// The title of the pull request: the first prompt, also for a follow-up.
pub(crate) fn title(job: &BuildJob) -> Result<String, StageHalt> {
    let change = ChangeType::of_task(plan_of(job)?.task_type.as_str());
    let first = job.prompt.lines().next().unwrap_or_default();
    Ok(CommitMessage::new(change, first).subject())
}

fn paths(site: &ActiveJob<'_>, tree: &JobWorktree) -> Result<Vec<RelPath>, StageHalt> {
    let changes = planned_changes(site, tree)?;
    let mut paths: Vec<RelPath> = plan_of(&site.job)?.touched().cloned().collect();
    paths.extend(changes.into_iter().map(|moved| moved.path));
    paths.sort();
    paths.dedup();
    Ok(paths)
}

fn patch(
    site: &ActiveJob<'_>,
    ground: &JobRepository,
    tree: &JobWorktree,
    commit: &CommitId,
) -> Result<String, StageHalt> {
    // The patch of a follow-up has everything since the build began.
    let origin = site
        .job
        .continues
        .as_ref()
        .map(|continued| &continued.origin.commit);
    let base = match origin {
        Some(origin) => CommitId::parse(origin).map_err(git)?,
        None => tree.worktree.base().clone(),
    };
    let bytes = ground.repository.patch(&base, commit).map_err(git)?;
    write_patch(site, &bytes)
}

fn write_patch(site: &ActiveJob<'_>, bytes: &[u8]) -> Result<String, StageHalt> {
    let name = format!("{}.patch", site.job.id);
    Ok(site.bench.places.patches.write(&name, bytes)?)
}
