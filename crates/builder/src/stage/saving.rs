//! Saving: whatever becomes of a job, what was written is kept as a branch and a patch.

use vcs::{Branch, ChangeType, Commit, Message, NewCommit, Purpose, Signing};
use workspace::RelPath;

use crate::ground::{Ground, Moved, Tree, git};
use crate::job::Job;
use crate::result::FileDiff;
use crate::site::{Halt, Site};
use crate::stage::generating::{Yard, plan_of};
use crate::stage::validating::planned_changes;
use crate::stage::{reviewing, validating};
use crate::status::Status;

/// The name under which commits say which job made them.
const TRAILER: &str = "Drawloom-Build";

/// What is in a commit that was made.
pub(crate) struct Saved {
    pub(crate) branch: String,
    pub(crate) commit: String,
    pub(crate) patch_file: String,
}

/// Commits the plan's files in the worktree, as a branch and as a patch. None if nothing changed.
pub(crate) fn commit(
    site: &Site<'_>,
    ground: &Ground,
    tree: &Tree,
    purpose: Purpose,
) -> Result<Option<Saved>, Halt> {
    let message = message(&site.job, purpose)?;
    let paths = paths(site, tree)?;
    let new = NewCommit {
        message,
        paths: tree.git_paths(&paths),
        signing: Signing::Off,
    };
    let commit = match tree.worktree.commit(&new) {
        Ok(commit) => commit,
        // It may have been committed just before the process died.
        Err(error) if error.kind() == vcs::ErrorKind::NothingToCommit => {
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
    Ok(Some(Saved {
        branch: branch.to_string(),
        commit: commit.to_string(),
        patch_file,
    }))
}

/// The branch of a commit that was made: a new one, or the one that the job goes on in.
fn branch(
    site: &Site<'_>,
    ground: &Ground,
    (tree, purpose): (&Tree, Purpose),
    commit: &Commit,
) -> Result<Branch, Halt> {
    if site.status() == Status::Publishing
        && let Some(continued) = &site.job.continues
    {
        let branch = Branch::parse(&continued.branch).map_err(git)?;
        let tip = tree.worktree.base();
        let moved = ground.repository.advance_branch(&branch, tip, commit);
        if moved.map_err(git)? {
            return Ok(branch);
        }
    }
    let name = Branch::of_job(purpose, site.job.id.as_str(), &site.job.prompt);
    ground.branch(&name, commit)
}

/// Keeps the work while a person looks at it: a commit that no branch has, and a patch.
pub(crate) fn keep(
    site: &Site<'_>,
    ground: &Ground,
    tree: &Tree,
) -> Result<(String, String), Halt> {
    let new = NewCommit {
        message: message(&site.job, Purpose::Finished)?,
        paths: tree.git_paths(&paths(site, tree)?),
        signing: Signing::Off,
    };
    let commit = match tree.worktree.commit(&new) {
        Err(error) if error.kind() == vcs::ErrorKind::NothingToCommit => {
            tree.worktree.head_commit().map_err(git)?
        }
        made => made.map_err(git)?,
    };
    let patch_file = patch(site, ground, tree, &commit)?;
    Ok((commit.to_string(), patch_file))
}

/// Saves what there is of a job that failed or was cancelled, as far as that is possible.
pub(crate) async fn rescue(
    site: &mut Site<'_>,
    ground: &Ground,
    yard: &Yard,
    how: Rescue,
) -> Result<(), Halt> {
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
            let Some(saved) = commit(site, ground, &yard.tree, Purpose::Draft)? else {
                return Ok(());
            };
            let note = format!(
                "What was written is on the branch `{}` and in the patch {}.",
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
            let message = message(&site.job, Purpose::Draft)?;
            let bytes = yard.tree.worktree.patch(&message, &paths).map_err(git)?;
            let place = write_patch(site, &bytes)?;
            let note = format!("What was written is in the patch {place}.");
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

/// Whether the job's commit has exactly these changes.
fn is_saved(
    site: &Site<'_>,
    ground: &Ground,
    tree: &Tree,
    changes: &[Moved],
) -> Result<bool, Halt> {
    let Some(commit) = &site.job.result.commit else {
        return Ok(false);
    };
    let commit = Commit::parse(commit).map_err(git)?;
    let saved = ground.repository.changes(tree.worktree.base(), &commit);
    let saved = saved.map_err(git)?;
    Ok(saved.iter().eq(changes.iter().map(|moved| &moved.change)))
}

/// The branch and the commit of the job, if they were made and not noted.
fn committed(
    site: &Site<'_>,
    ground: &Ground,
    tree: &Tree,
) -> Result<Option<(String, String)>, Halt> {
    let head = tree.worktree.head_commit().map_err(git)?;
    for purpose in [Purpose::Finished, Purpose::Draft] {
        let branch = Branch::of_job(purpose, site.job.id.as_str(), &site.job.prompt);
        let tip = ground.repository.branch_commit(&branch).map_err(git)?;
        if head != *tree.worktree.base() && tip.as_ref() == Some(&head) {
            return Ok(Some((branch.to_string(), head.to_string())));
        }
    }
    Ok(None)
}

/// How what was written is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rescue {
    /// As a branch and a patch.
    Branch,
    /// As a patch: nobody wants the branch.
    Patch,
}

/// The message of the job's commit.
pub(crate) fn message(job: &Job, purpose: Purpose) -> Result<Message, Halt> {
    let plan = plan_of(job)?;
    let change = ChangeType::of_task(plan.task_type.as_str());
    let mut body = format!("{}\n\n{}\n", plan.summary.trim(), plan.file_list());
    if purpose == Purpose::Draft {
        body.push_str("\nA draft: checks fail, or the work was interrupted.\n");
    }
    let first = job.request().lines().next().unwrap_or_default();
    Ok(Message::new(change, first)
        .body(&body)
        .trailer(TRAILER, job.id.as_str()))
}

/// The title of the pull request: what the build began with, also when it goes on.
pub(crate) fn title(job: &Job) -> Result<String, Halt> {
    let change = ChangeType::of_task(plan_of(job)?.task_type.as_str());
    let first = job.prompt.lines().next().unwrap_or_default();
    Ok(Message::new(change, first).subject())
}

fn paths(site: &Site<'_>, tree: &Tree) -> Result<Vec<RelPath>, Halt> {
    let changes = planned_changes(site, tree)?;
    let mut paths: Vec<RelPath> = plan_of(&site.job)?.touched().cloned().collect();
    paths.extend(changes.into_iter().map(|moved| moved.path));
    paths.sort();
    paths.dedup();
    Ok(paths)
}

fn patch(site: &Site<'_>, ground: &Ground, tree: &Tree, commit: &Commit) -> Result<String, Halt> {
    // Of a build that goes on, the patch holds everything since it began.
    let origin = site
        .job
        .continues
        .as_ref()
        .map(|continued| &continued.origin.commit);
    let base = match origin {
        Some(origin) => Commit::parse(origin).map_err(git)?,
        None => tree.worktree.base().clone(),
    };
    let bytes = ground.repository.patch(&base, commit).map_err(git)?;
    write_patch(site, &bytes)
}

fn write_patch(site: &Site<'_>, bytes: &[u8]) -> Result<String, Halt> {
    let name = format!("{}.patch", site.job.id);
    Ok(site.bench.places.patches.write(&name, bytes)?)
}
