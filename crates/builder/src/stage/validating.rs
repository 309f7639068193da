//! Validating: reverts stray changes, runs the checks and compares them with the untouched tree,
//! applies the rules.

use std::sync::Arc;

use vcs::{ChangeKind, PathSelection};
use workspace::{PathKind, RelPath, Root, WriteGrant};

use crate::active_job::{ActiveJob, StageHalt, blocking, watched};
use crate::job::{BuildJob, FailureCode};
use crate::job_repository::{ChangedPath, JobRepository, JobWorktree, follows};
use crate::plan::{BuildPlan, FileAction};
use crate::stage::generating::{WorkArea, commands, plan_of};
use crate::task_type::ProofRequirement;
use crate::validation::baseline::BaselineCache;
use crate::validation::checks::{self, CheckContext, CheckOutcome, NotRun};
use crate::validation::{
    CheckEnvironment, CheckReport, CheckVerdict, FixProof, ProjectCheck, ValidationReport, rules,
};

/// The report of a round of checks, and the conclusion.
pub(crate) struct JudgedRound {
    pub(crate) report: ValidationReport,
    pub(crate) proof: Option<FixProof>,
    pub(crate) next: NextStage,
}

/// The stage that follows a round of checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextStage {
    /// Everything that passed before passes now.
    Finish,
    /// New failures exist, and the model repairs them.
    Repair,
    /// New failures remain, and repairs did not help enough.
    Draft,
    /// The project has checks but none could run, so the work cannot be judged.
    NotJudged,
}

/// Tells whether a worktree equals the job's commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorktreeState {
    /// Nothing has changed it.
    Untouched,
    /// A model or a command has changed it, or may have.
    WorkedIn,
}

/// Returns the results of the checks on the untouched tree; runs those that are not cached.
pub(crate) async fn baseline(
    site: &mut ActiveJob<'_>,
    ground: &JobRepository,
    (tree, state): (&JobWorktree, WorktreeState),
) -> Result<Vec<CheckOutcome>, StageHalt> {
    let checks = site.job.checks.clone();
    if checks.is_empty() {
        return Ok(Vec::new());
    }
    let environment = environment(site, tree).await?;
    let origin = ground.origin(site.bench, &site.job)?;
    let hash = origin.as_ref().unwrap_or(tree).base_hash()?;
    let id = site.job.id.clone();
    let baselines = BaselineCache {
        cache: &site.bench.places.cache,
        job: &id,
        tree: &hash,
        environment: &environment,
    };
    let known: Vec<Option<CheckOutcome>> =
        checks.iter().map(|check| baselines.load(check)).collect();
    let missing: Vec<ProjectCheck> = checks
        .iter()
        .zip(&known)
        .filter(|(_, known)| known.is_none())
        .map(|(check, _)| check.clone())
        .collect();
    let mut fresh = run_untouched(site, ground, (tree, state), &missing)
        .await?
        .into_iter();
    let mut all = Vec::new();
    for (check, known) in checks.iter().zip(known) {
        let ran = match known {
            Some(ran) => ran,
            None => {
                let ran = fresh.next().unwrap_or_default();
                baselines.save(check, &ran)?;
                ran
            }
        };
        all.push(ran);
    }
    Ok(all)
}

/// Runs checks on an untouched tree: this one if it is unchanged, otherwise another.
async fn run_untouched(
    site: &mut ActiveJob<'_>,
    ground: &JobRepository,
    (tree, state): (&JobWorktree, WorktreeState),
    checks: &[ProjectCheck],
) -> Result<Vec<CheckOutcome>, StageHalt> {
    if checks.is_empty() {
        return Ok(Vec::new());
    }
    site.say("Running the checks on the untouched project.", None)
        .await?;
    if let Some(origin) = ground.origin(site.bench, &site.job)? {
        return run_all(site, checks, &origin).await;
    }
    match state {
        // Later checks reuse the build products made here.
        WorktreeState::Untouched => {
            let ran = run_all(site, checks, tree).await?;
            put_back_strays(site, ground, tree)?;
            Ok(ran)
        }
        WorktreeState::WorkedIn => {
            let untouched = ground.untouched(site.bench, &site.job)?;
            run_all(site, checks, &untouched).await
        }
    }
}

/// Describes the environment of the checks.
async fn environment(
    site: &ActiveJob<'_>,
    tree: &JobWorktree,
) -> Result<CheckEnvironment, StageHalt> {
    let (commands, checks) = (commands(site)?, site.job.checks.clone());
    let (workspace, borrowed) = (Arc::clone(&tree.workspace), tree.borrowed().to_vec());
    let checkout = site.bench.project.to_path_buf();
    blocking(move || {
        CheckEnvironment::probe(&commands, &workspace, (&checkout, &borrowed), &checks)
    })
    .await
}

/// Runs the checks on the work, and decides on the next stage.
pub(crate) async fn validate(
    site: &mut ActiveJob<'_>,
    ground: &JobRepository,
    yard: &WorkArea,
) -> Result<JudgedRound, StageHalt> {
    note_links(site, put_back_links(site, ground, &yard.tree)?).await?;
    note_strays(site, put_back_strays(site, ground, &yard.tree)?).await?;
    let changes = planned_changes(site, &yard.tree)?;
    if changes.is_empty() {
        return nothing_done(site);
    }
    let before = baseline(site, ground, (&yard.tree, WorktreeState::WorkedIn)).await?;
    let all = site.job.checks.clone();
    let now = run_all(site, &all, &yard.tree).await?;
    // Files that checks leave behind are no part of the work.
    put_back_links(site, ground, &yard.tree)?;
    put_back_strays(site, ground, &yard.tree)?;
    let compared = all.iter().zip(&before).zip(&now);
    let mut report = ValidationReport {
        checks: compared
            .map(|((check, before), now)| checks::compare(check, before, now))
            .collect(),
    };
    report.checks.extend(rules(site, ground, yard, &changes)?);
    let proof = proof(site, ground, &changes, (&before, &now)).await?;
    if let Some(FixProof::NotProven { because }) = &proof {
        report
            .checks
            .push(rules::failed("proof", vec![because.clone()]));
    }
    let next = next(site, &report);
    Ok(JudgedRound {
        report,
        proof,
        next,
    })
}

/// Tells the model that it changed nothing, as long as repairs are left.
fn nothing_done(site: &ActiveJob<'_>) -> Result<JudgedRound, StageHalt> {
    let failure = "none of the files of the plan was changed".to_owned();
    let report = ValidationReport {
        checks: vec![rules::failed("plan", vec![failure])],
    };
    match next(site, &report) {
        NextStage::Repair => Ok(JudgedRound {
            report,
            proof: None,
            next: NextStage::Repair,
        }),
        NextStage::Finish | NextStage::Draft | NextStage::NotJudged => {
            let message = "the model changed none of the plan's files, even after a reminder; \
                           describe the change more precisely, and plan it again";
            Err(StageHalt::Failed(
                FailureCode::NothingGenerated,
                message.to_owned(),
            ))
        }
    }
}

/// Lists the changes that belong to the work: the plan's files and the lock files that follow them.
pub(crate) fn planned_changes(
    site: &ActiveJob<'_>,
    tree: &JobWorktree,
) -> Result<Vec<ChangedPath>, StageHalt> {
    let plan = plan_of(&site.job)?;
    let followers = tree.changes(&PathSelection::All)?;
    let followers = followers.into_iter().map(|change| change.path);
    let followers: Vec<RelPath> = followers.filter(|path| follows(path, plan)).collect();
    tree.changes(&tree.git_paths(plan.touched().chain(&followers)))
}

/// Reverts changes outside the plan, which only commands can have made, and returns their paths.
fn put_back_strays(
    site: &ActiveJob<'_>,
    ground: &JobRepository,
    tree: &JobWorktree,
) -> Result<Vec<RelPath>, StageHalt> {
    let plan = plan_of(&site.job)?.clone();
    let grant = plan.grant();
    let mut strays = Vec::new();
    for moved in tree.changes(&PathSelection::All)? {
        let from = moved.change.from.as_deref();
        let from = from.and_then(|from| tree.project_path(from));
        let is_permitted = match &from {
            Some(from) => {
                permits(&grant, &moved.path, ChangeKind::Added)
                    && permits(&grant, from, ChangeKind::Deleted)
            }
            None => permits(&grant, &moved.path, moved.change.kind) || follows(&moved.path, &plan),
        };
        if !is_permitted {
            strays.push(moved.path);
            strays.extend(from);
        }
    }
    // If git sees a pair of paths as a move, the plan may permit one of them by itself.
    strays.retain(|path| !is_as_planned(&plan, path));
    if !strays.is_empty() {
        let untouched = ground.untouched(site.bench, &site.job)?;
        tree.put_back(&strays, &untouched)?;
    }
    Ok(strays)
}

/// Reverts files of the plan that a command turned into links, and returns their paths: a link can
/// point anywhere, and everyone who checks out the branch would follow it.
pub(crate) fn put_back_links(
    site: &ActiveJob<'_>,
    ground: &JobRepository,
    tree: &JobWorktree,
) -> Result<Vec<RelPath>, StageHalt> {
    let plan = plan_of(&site.job)?;
    let root = Root::open(tree.path())?;
    // Below a link that leads out, nothing can be looked at.
    let is_link = |path: &&RelPath| matches!(root.kind(path), Ok(Some(PathKind::Symlink)) | Err(_));
    let links: Vec<RelPath> = plan.touched().filter(is_link).cloned().collect();
    if links.is_empty() {
        return Ok(links);
    }
    let untouched = ground.untouched(site.bench, &site.job)?;
    // A path that was a link before belongs to the project.
    let before = Root::open(untouched.path())?;
    let is_new = |path: &RelPath| !matches!(before.kind(path), Ok(Some(PathKind::Symlink)));
    let links: Vec<RelPath> = links.into_iter().filter(is_new).collect();
    tree.put_back(&links, &untouched)?;
    Ok(links)
}

async fn note_links(site: &mut ActiveJob<'_>, links: Vec<RelPath>) -> Result<(), StageHalt> {
    if links.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = links.iter().map(|path| format!("`{path}`")).collect();
    let message = format!(
        "Commands replaced files of the plan by links; they were restored: {}.",
        names.join(", ")
    );
    site.say(&message, None).await?;
    site.store(|job| job.result.note(message)).await
}

async fn note_strays(site: &mut ActiveJob<'_>, strays: Vec<RelPath>) -> Result<(), StageHalt> {
    if strays.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = strays.iter().map(|path| format!("`{path}`")).collect();
    let message = format!(
        "Commands changed files that the plan does not name; they were restored: {}.",
        names.join(", ")
    );
    site.say(&message, None).await?;
    site.store(|job| job.result.note(message)).await
}

fn permits(grant: &WriteGrant, path: &RelPath, kind: ChangeKind) -> bool {
    use workspace::GrantedAction;
    let action = match kind {
        ChangeKind::Added | ChangeKind::Renamed => GrantedAction::Create,
        ChangeKind::Modified => GrantedAction::Modify,
        ChangeKind::Deleted => GrantedAction::Delete,
        // A file that became a link can point anywhere.
        ChangeKind::Retyped => return false,
    };
    let mut files = grant.iter();
    files.any(|(planned, actions)| planned == path && actions.contains(&action))
}

/// Returns true if the plan creates or deletes this path, whatever git detected.
fn is_as_planned(plan: &BuildPlan, path: &RelPath) -> bool {
    plan.files.iter().any(|file| match &file.action {
        FileAction::Create | FileAction::Delete => file.path == *path,
        FileAction::Rename { from } => file.path == *path || from == path,
        FileAction::Modify => false,
    })
}

/// Checks the rules of the plan and the task type, beside the project's checks.
fn rules(
    site: &ActiveJob<'_>,
    ground: &JobRepository,
    yard: &WorkArea,
    changes: &[ChangedPath],
) -> Result<Vec<CheckReport>, StageHalt> {
    let plan = plan_of(&site.job)?;
    let mut reports = Vec::new();
    let missing = rules::missing(plan, &yard.tree.workspace);
    if !missing.is_empty() {
        reports.push(rules::failed("plan", missing));
    }
    if rules::reads_code(plan, changes.iter().map(|moved| &moved.path)) {
        let untouched = ground.untouched(site.bench, &site.job)?;
        let changed: Vec<&RelPath> = changes.iter().map(|moved| &moved.path).collect();
        let wrong = rules::words_only(&changed, &untouched.workspace, &yard.tree.workspace);
        if !wrong.is_empty() {
            reports.push(rules::failed("task-type", wrong));
        }
    }
    Ok(reports)
}

/// For a bug fix: checks that a test of the job fails without the change and passes with it.
async fn proof(
    site: &mut ActiveJob<'_>,
    ground: &JobRepository,
    changes: &[ChangedPath],
    (before, now): (&[CheckOutcome], &[CheckOutcome]),
) -> Result<Option<FixProof>, StageHalt> {
    let plan = plan_of(&site.job)?;
    if plan.task_type.rules().proof == ProofRequirement::No {
        return Ok(None);
    }
    let tests: Vec<usize> = rules::test_checks(&site.job.checks);
    let (files, verdict) = rules::proof_files(changes, !tests.is_empty());
    if let Some(verdict) = verdict {
        return Ok(Some(verdict));
    }
    if let Some(at) = tests
        .iter()
        .find(|at| now[**at].is_opaque && before[**at].is_opaque)
    {
        let (name, cause) = (&site.job.checks[*at].name, checks::cause(&now[*at]));
        let because = format!("the check `{name}` could not run: {cause}");
        return Ok(Some(FixProof::NotChecked { because }));
    }
    let passes = tests.iter().all(|at| {
        let new = crate::validation::new_ones(&before[*at].failures, &now[*at].failures);
        new.is_empty()
    });
    if !passes {
        let because = "the tests do not pass yet".to_owned();
        return Ok(Some(FixProof::NotChecked { because }));
    }
    site.say("Running the job's tests without its change.", None)
        .await?;
    let checks: Vec<ProjectCheck> = tests
        .iter()
        .map(|at| site.job.checks[*at].clone())
        .collect();
    let old = ground.untouched(site.bench, &site.job)?;
    let work = ground.worktree_root(&site.job.id)?;
    rules::copy(&files, &work, old.path())?;
    let ran = run_all(site, &checks, &old).await;
    // The test run has changed it, so it is not untouched any more.
    ground.forget_untouched(&site.job.id)?;
    let without = ran?;
    let mut shown = Vec::new();
    for (at, without) in tests.iter().zip(&without) {
        shown.extend(crate::validation::new_ones(
            &before[*at].failures,
            &without.failures,
        ));
    }
    shown.dedup();
    Ok(Some(if shown.is_empty() {
        let because = "the tests of this job also pass without its change: write one that fails \
                       because of the bug";
        FixProof::NotProven {
            because: because.to_owned(),
        }
    } else {
        FixProof::Proven { tests: shown }
    }))
}

/// Runs checks one after the other, until the job is cancelled.
async fn run_all(
    site: &mut ActiveJob<'_>,
    checks: &[ProjectCheck],
    tree: &JobWorktree,
) -> Result<Vec<CheckOutcome>, StageHalt> {
    let surroundings = CheckContext {
        commands: commands(site)?,
        seconds_max: site.bench.settings.check_seconds_max,
        cancel: site.cancel.clone(),
    };
    let mut all = Vec::new();
    for check in checks {
        site.check().await?;
        site.say(
            &format!("Running the check `{}`.", check.name),
            Some(&check.run),
        )
        .await?;
        let (check_here, surroundings) = (check.clone(), surroundings.clone());
        let workspace = Arc::clone(&tree.workspace);
        let work = blocking(move || checks::run(&check_here, &workspace, &surroundings));
        let (bench, id, cancel) = (site.bench, site.job.id.clone(), site.cancel.clone());
        match watched(bench, &id, &cancel, work).await? {
            Ok(ran) => all.push(ran),
            Err(NotRun::Cancelled) => {
                site.check().await?;
                return Err(StageHalt::Interrupted);
            }
            Err(NotRun::Broken(why)) => {
                let message = format!("the check `{}` could not be run: {why}", check.name);
                return Err(StageHalt::Failed(FailureCode::Checks, message));
            }
        }
    }
    Ok(all)
}

fn next(site: &ActiveJob<'_>, report: &ValidationReport) -> NextStage {
    if !report.has_failed() {
        let is_allowed = site.job.options.allow_unjudged || site.bench.settings.allow_unjudged;
        return match report.judged_nothing() && !is_allowed {
            true => NextStage::NotJudged,
            false => NextStage::Finish,
        };
    }
    let (attempts, attempts_max) = (repairs_made(&site.job), site.bench.settings.repairs_max);
    let shrank = match &site.job.work.report {
        Some(before) => report.is_better_than(before),
        None => true,
    };
    if attempts >= attempts_max || !shrank {
        NextStage::Draft
    } else {
        NextStage::Repair
    }
}

/// Counts the repairs since a person's last request.
pub(crate) fn repairs_made(job: &BuildJob) -> u32 {
    job.result
        .repair_attempts
        .saturating_sub(job.work.repairs_before)
}

/// The sentence about a round of checks.
pub(crate) fn sentence(report: &ValidationReport) -> String {
    if report.checks.is_empty() {
        return "There are no checks to run.".to_owned();
    }
    let names = |wanted: CheckVerdict| {
        let checks = report.checks.iter();
        let checks = checks.filter(|check| check.verdict == wanted);
        let names: Vec<&str> = checks.map(|check| check.name.as_str()).collect();
        names.join(", ")
    };
    let (failed, passed) = (names(CheckVerdict::Failed), names(CheckVerdict::Passed));
    let old = names(CheckVerdict::FailedBefore);
    let mut parts = Vec::new();
    for (what, which) in [
        ("fail in new ways", failed),
        ("pass", passed),
        ("fail as before", old),
        ("not judged", names(CheckVerdict::NotJudged)),
    ] {
        if !which.is_empty() {
            parts.push(format!("{which}: {what}"));
        }
    }
    format!("The checks ended ({}).", parts.join("; "))
}
