//! Validating: strays put back, checks run and compared with the untouched tree, rules held.

use std::sync::Arc;

use vcs::{ChangeKind, Paths};
use workspace::{Grant, Kind, RelPath, Root};

use crate::ground::{Ground, Moved, Tree, follows};
use crate::job::{FailureCode, Job};
use crate::plan::{FileAction, Plan};
use crate::site::{Halt, Site, blocking, watched};
use crate::stage::generating::{Yard, commands, plan_of};
use crate::task_type::Proof;
use crate::validation::baseline::Baselines;
use crate::validation::checks::{self, NotRun, Ran, Surroundings};
use crate::validation::{Check, CheckReport, Environment, Proven, Report, Verdict, rules};

/// What a round of checks found, and what it means.
pub(crate) struct Judged {
    pub(crate) report: Report,
    pub(crate) proof: Option<Proven>,
    pub(crate) next: Next,
}

/// What comes after a round of checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Everything passes that passed before.
    Finish,
    /// Something new fails, and the model is told.
    Repair,
    /// Something new fails, and telling the model did not help or did not help enough.
    Draft,
    /// There are checks and none of them could run, so nobody can say whether the work is right.
    NotJudged,
}

/// Whether a worktree is as the job's commit has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Nobody has worked in it.
    Untouched,
    /// Somebody has, or may have.
    WorkedIn,
}

/// How the checks end on the untouched tree. Those of which that is not known are run.
pub(crate) async fn baseline(
    site: &mut Site<'_>,
    ground: &Ground,
    (tree, state): (&Tree, State),
) -> Result<Vec<Ran>, Halt> {
    let checks = site.job.checks.clone();
    if checks.is_empty() {
        return Ok(Vec::new());
    }
    let environment = environment(site, tree).await?;
    let origin = ground.origin(site.bench, &site.job)?;
    let hash = origin.as_ref().unwrap_or(tree).base_hash()?;
    let id = site.job.id.clone();
    let baselines = Baselines {
        cache: &site.bench.places.cache,
        job: &id,
        tree: &hash,
        environment: &environment,
    };
    let known: Vec<Option<Ran>> = checks.iter().map(|check| baselines.load(check)).collect();
    let missing: Vec<Check> = checks
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

/// Runs checks on the untouched tree: this one if nobody has worked in it, else another.
async fn run_untouched(
    site: &mut Site<'_>,
    ground: &Ground,
    (tree, state): (&Tree, State),
    checks: &[Check],
) -> Result<Vec<Ran>, Halt> {
    if checks.is_empty() {
        return Ok(Vec::new());
    }
    site.say("The checks are run on the untouched project.", None)
        .await?;
    if let Some(origin) = ground.origin(site.bench, &site.job)? {
        return run_all(site, checks, &origin).await;
    }
    match state {
        // What the checks build here is used again later.
        State::Untouched => {
            let ran = run_all(site, checks, tree).await?;
            put_back_strays(site, ground, tree)?;
            Ok(ran)
        }
        State::WorkedIn => {
            let untouched = ground.untouched(site.bench, &site.job)?;
            run_all(site, checks, &untouched).await
        }
    }
}

/// What the checks run in.
async fn environment(site: &Site<'_>, tree: &Tree) -> Result<Environment, Halt> {
    let (commands, checks) = (commands(site)?, site.job.checks.clone());
    let (workspace, borrowed) = (Arc::clone(&tree.workspace), tree.borrowed().to_vec());
    let checkout = site.bench.project.to_path_buf();
    blocking(move || Environment::probe(&commands, &workspace, (&checkout, &borrowed), &checks))
        .await
}

/// Runs the checks on the work and decides what comes next.
pub(crate) async fn validate(
    site: &mut Site<'_>,
    ground: &Ground,
    yard: &Yard,
) -> Result<Judged, Halt> {
    note_strays(site, put_back_strays(site, ground, &yard.tree)?).await?;
    let changes = planned_changes(site, &yard.tree)?;
    if changes.is_empty() {
        return nothing_done(site);
    }
    let before = baseline(site, ground, (&yard.tree, State::WorkedIn)).await?;
    let all = site.job.checks.clone();
    let now = run_all(site, &all, &yard.tree).await?;
    // What checks leave behind is nobody's work.
    put_back_strays(site, ground, &yard.tree)?;
    let compared = all.iter().zip(&before).zip(&now);
    let mut report = Report {
        checks: compared
            .map(|((check, before), now)| checks::compare(check, before, now))
            .collect(),
    };
    explain_denials(site, &mut report);
    report.checks.extend(rules(site, ground, yard, &changes)?);
    let proof = proof(site, ground, &changes, (&before, &now)).await?;
    if let Some(Proven::NotProven { because }) = &proof {
        report
            .checks
            .push(rules::failed("proof", vec![because.clone()]));
    }
    let next = next(site, &report);
    Ok(Judged {
        report,
        proof,
        next,
    })
}

/// Says of checks that were denied something that the sandbox may be the reason.
fn explain_denials(site: &Site<'_>, report: &mut Report) {
    if site.bench.commands.sandbox == exec::sandbox::Requirement::None {
        return;
    }
    for check in &mut report.checks {
        if let Some(because) = &mut check.because
            && checks::is_denied(because)
        {
            because.push_str(
                " (the sandbox may forbid it: `drawloom doctor` lists its limits, \
                 `agent.sandbox.writable` adds folders)",
            );
        }
    }
}

/// The model is told that it did nothing, as long as telling it may help.
fn nothing_done(site: &Site<'_>) -> Result<Judged, Halt> {
    let failure = "none of the files of the plan was changed".to_owned();
    let report = Report {
        checks: vec![rules::failed("plan", vec![failure])],
    };
    match next(site, &report) {
        Next::Repair => Ok(Judged {
            report,
            proof: None,
            next: Next::Repair,
        }),
        Next::Finish | Next::Draft | Next::NotJudged => {
            let message = "the model changed none of the files of the plan, also after it was told; \
                           say more precisely what is to be built, and plan it again";
            Err(Halt::Failed(
                FailureCode::NothingGenerated,
                message.to_owned(),
            ))
        }
    }
}

/// What of the work is part of it: the plan's files and the lock files that follow them.
pub(crate) fn planned_changes(site: &Site<'_>, tree: &Tree) -> Result<Vec<Moved>, Halt> {
    let plan = plan_of(&site.job)?;
    let followers = tree.changes(&Paths::All)?;
    let followers = followers.into_iter().map(|change| change.path);
    let followers: Vec<RelPath> = followers.filter(|path| follows(path, plan)).collect();
    tree.changes(&tree.git_paths(plan.touched().chain(&followers)))
}

/// Puts back what is not as the plan permits: only commands can have changed it. Says what it was.
fn put_back_strays(site: &Site<'_>, ground: &Ground, tree: &Tree) -> Result<Vec<RelPath>, Halt> {
    let plan = plan_of(&site.job)?.clone();
    let grant = plan.grant();
    let mut strays = Vec::new();
    for moved in tree.changes(&Paths::All)? {
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
    // Of a pair that looks like a move, one half may be permitted by itself.
    strays.retain(|path| !is_as_planned(&plan, path));
    if !strays.is_empty() {
        let untouched = ground.untouched(site.bench, &site.job)?;
        tree.put_back(&strays, &untouched)?;
    }
    Ok(strays)
}

/// Puts back files of the plan that a command turned into links: a link leads wherever it likes, and
/// whoever checks out the branch would follow it.
pub(crate) fn put_back_links(site: &Site<'_>, ground: &Ground, tree: &Tree) -> Result<(), Halt> {
    let plan = plan_of(&site.job)?;
    let root = Root::open(tree.path())?;
    let is_link = |path: &&RelPath| matches!(root.kind(path), Ok(Some(Kind::Symlink)));
    let links: Vec<RelPath> = plan.touched().filter(is_link).cloned().collect();
    if links.is_empty() {
        return Ok(());
    }
    let untouched = ground.untouched(site.bench, &site.job)?;
    // One that was a link before is the project's own.
    tree.put_back(&links, &untouched)
}

async fn note_strays(site: &mut Site<'_>, strays: Vec<RelPath>) -> Result<(), Halt> {
    if strays.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = strays.iter().map(|path| format!("`{path}`")).collect();
    let message = format!(
        "Commands changed files that the plan does not name; they were put back: {}.",
        names.join(", ")
    );
    site.say(&message, None).await?;
    site.store(|job| job.result.note(message)).await
}

fn permits(grant: &Grant, path: &RelPath, kind: ChangeKind) -> bool {
    use workspace::Action;
    let action = match kind {
        ChangeKind::Added | ChangeKind::Renamed => Action::Create,
        ChangeKind::Modified => Action::Modify,
        ChangeKind::Deleted => Action::Delete,
        // A file that became a link leads wherever it likes.
        ChangeKind::Retyped => return false,
    };
    let mut files = grant.iter();
    files.any(|(planned, actions)| planned == path && actions.contains(&action))
}

/// Whether the plan has this path made or gone, whatever git took it for.
fn is_as_planned(plan: &Plan, path: &RelPath) -> bool {
    plan.files.iter().any(|file| match &file.action {
        FileAction::Create | FileAction::Delete => file.path == *path,
        FileAction::Rename { from } => file.path == *path || from == path,
        FileAction::Modify => false,
    })
}

/// What the plan and the task type ask for beside the project's checks.
fn rules(
    site: &Site<'_>,
    ground: &Ground,
    yard: &Yard,
    changes: &[Moved],
) -> Result<Vec<CheckReport>, Halt> {
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

/// For a bug fix: whether a test of the job fails without the change and passes with it.
async fn proof(
    site: &mut Site<'_>,
    ground: &Ground,
    changes: &[Moved],
    (before, now): (&[Ran], &[Ran]),
) -> Result<Option<Proven>, Halt> {
    let plan = plan_of(&site.job)?;
    if plan.task_type.rules().proof == Proof::No {
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
        return Ok(Some(Proven::NotChecked { because }));
    }
    let passes = tests.iter().all(|at| {
        let new = crate::validation::new_ones(&before[*at].failures, &now[*at].failures);
        new.is_empty()
    });
    if !passes {
        let because = "the tests do not pass yet".to_owned();
        return Ok(Some(Proven::NotChecked { because }));
    }
    site.say("The job's tests are run without its change.", None)
        .await?;
    let checks: Vec<Check> = tests
        .iter()
        .map(|at| site.job.checks[*at].clone())
        .collect();
    let old = ground.untouched(site.bench, &site.job)?;
    let work = ground.worktree_root(&site.job.id)?;
    rules::copy(&files, &work, old.path())?;
    let ran = run_all(site, &checks, &old).await;
    // It is not untouched any more.
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
        let because = "the tests of this job pass without its change as well: write one that fails \
                       because of the bug";
        Proven::NotProven {
            because: because.to_owned(),
        }
    } else {
        Proven::Proven { tests: shown }
    }))
}

/// Runs checks one after the other, as long as they are wanted.
async fn run_all(site: &mut Site<'_>, checks: &[Check], tree: &Tree) -> Result<Vec<Ran>, Halt> {
    let surroundings = Surroundings {
        commands: commands(site)?,
        tool_cache: site.bench.places.tool_cache(),
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
                return Err(Halt::Interrupted);
            }
            Err(NotRun::Broken(why)) => {
                let message = format!("the check `{}` could not be run: {why}", check.name);
                return Err(Halt::Failed(FailureCode::Checks, message));
            }
        }
    }
    Ok(all)
}

fn next(site: &Site<'_>, report: &Report) -> Next {
    if !report.has_failed() {
        let is_allowed = site.job.options.allow_unjudged || site.bench.settings.allow_unjudged;
        return match report.judged_nothing() && !is_allowed {
            true => Next::NotJudged,
            false => Next::Finish,
        };
    }
    let (attempts, attempts_max) = (repairs_made(&site.job), site.bench.settings.repairs_max);
    let shrank = match &site.job.work.report {
        Some(before) => report.is_better_than(before),
        None => true,
    };
    if attempts >= attempts_max || !shrank {
        Next::Draft
    } else {
        Next::Repair
    }
}

/// How many repairs there were since a person last asked for something.
pub(crate) fn repairs_made(job: &Job) -> u32 {
    job.result
        .repair_attempts
        .saturating_sub(job.work.repairs_before)
}

/// The sentence about a round of checks.
pub(crate) fn sentence(report: &Report) -> String {
    if report.checks.is_empty() {
        return "There are no checks to run.".to_owned();
    }
    let names = |wanted: Verdict| {
        let checks = report.checks.iter();
        let checks = checks.filter(|check| check.verdict == wanted);
        let names: Vec<&str> = checks.map(|check| check.name.as_str()).collect();
        names.join(", ")
    };
    let (failed, passed) = (names(Verdict::Failed), names(Verdict::Passed));
    let old = names(Verdict::FailedBefore);
    let mut parts = Vec::new();
    for (what, which) in [
        ("fail in new ways", failed),
        ("pass", passed),
        ("fail as before", old),
        ("not judged", names(Verdict::NotJudged)),
    ] {
        if !which.is_empty() {
            parts.push(format!("{which}: {what}"));
        }
    }
    format!("The checks ended ({}).", parts.join("; "))
}
