//! Reviewing: compares the work with the plan, and shows it as diffs.

use std::sync::Arc;

use vcs::ChangeKind;
use workspace::{ChangeSet, RelPath, Root, Workspace};

use crate::active_job::{ActiveJob, StageHalt, blocking};
use crate::conversation;
use crate::job_repository::{ChangedPath, JobRepository};
use crate::plan::{BuildPlan, FileAction};
use crate::prompts;
use crate::result::{BuildResult, ChangedFile, DraftReason, FileDiff, FileOutcome, PlanCoverage};
use crate::review::{self, BuildReview, HunkDecision};
use crate::stage::generating::{WorkArea, plan_of};
use crate::stage::validating::{JudgedRound, NextStage, planned_changes};
use crate::tree_index::{AffectedFiles, TreeIndex};
use crate::validation::{CheckVerdict, ValidationReport, new_skips};

/// Collects the data a reviewer wants to see.
pub(crate) async fn review(
    site: &mut ActiveJob<'_>,
    ground: &JobRepository,
    yard: &WorkArea,
    judged: &JudgedRound,
) -> Result<BuildResult, StageHalt> {
    let changes = planned_changes(site, &yard.tree)?;
    let plan = plan_of(&site.job)?.clone();
    let impact = impact(site, ground, yard, &changes).await?;
    let mut result = site.job.result.clone();
    // The saved work of an earlier attempt is not the published work.
    (result.branch, result.commit, result.patch_file) = (None, None, None);
    let from = |moved: &ChangedPath| {
        let from = moved.change.from.as_deref()?;
        yard.tree.project_path(from)
    };
    result.files = changes
        .iter()
        .map(|moved| file(moved, from(moved)))
        .collect();
    result.diffs = changes.iter().map(diff).collect();
    result.plan_coverage = Some(coverage(&plan, &changes, &yard.tree.workspace));
    result.impacted_files = impact.files;
    result.impacted_tests = impact.tests;
    result.validation.clone_from(&judged.report.checks);
    result.judgement = Some(judged.report.judgement());
    result.draft = match judged.next {
        NextStage::Draft => Some(DraftReason::ChecksFailed),
        NextStage::NotJudged => Some(DraftReason::NotJudged),
        NextStage::Finish | NextStage::Repair => None,
    };
    result.validation_passed = judged.report.passed();
    if let Some(note) = not_judged(&judged.report) {
        result.note(note);
    }
    result.skipped_tests = new_skips(&changes);
    let words = site.job.work.last_words.as_deref().map(str::trim);
    result.closing_words = words.filter(|words| !words.is_empty()).map(str::to_owned);
    result.validation_errors = prompts::residual(&judged.report);
    result.proof.clone_from(&judged.proof);
    result.spent(&conversation::totals(site).await?);
    Ok(result)
}

/// Removes rejected hunks from the work. Comments stay for the model.
pub(crate) async fn take_out(
    site: &mut ActiveJob<'_>,
    ground: &JobRepository,
    yard: &WorkArea,
) -> Result<(), StageHalt> {
    let Some(review) = site.job.work.review.clone() else {
        return Ok(());
    };
    let untouched = ground.untouched(site.bench, &site.job)?;
    let mut changes = ChangeSet::new();
    let mut whole = Vec::new();
    for moved in planned_changes(site, &yard.tree)? {
        let file = FileDiff {
            path: moved.path.clone(),
            diff: String::from_utf8_lossy(&moved.change.diff).into_owned(),
        };
        let count = review::hunks(std::slice::from_ref(&file)).len();
        let rejected = review.rejected(&moved.path, count);
        if rejected.is_empty() {
            continue;
        }
        let before = untouched.workspace.read_text(&moved.path).ok().flatten();
        let rest = before.and_then(|before| review::without_hunks(&before, &file, &rejected));
        match rest {
            Some(text) if rejected.len() < count => {
                changes.write(moved.path, text);
            }
            _ => {
                let from = moved.change.from.as_deref();
                whole.extend(from.and_then(|from| yard.tree.project_path(from)));
                whole.push(moved.path);
            }
        }
    }
    if !changes.is_empty() {
        Root::open(yard.tree.path())?.apply(&changes)?;
    }
    yard.tree.put_back(&whole, &untouched)?;
    let left = review.has_comments().then(|| BuildReview {
        remarks: review
            .remarks
            .iter()
            .filter(|remark| remark.decision != HunkDecision::Reject)
            .cloned()
            .collect(),
        ..review
    });
    site.store(|job| job.work.review = left).await
}

/// Returns one sentence about all checks that judged nothing.
fn not_judged(report: &ValidationReport) -> Option<String> {
    let checks = report.checks.iter();
    let names = checks.filter(|check| check.verdict == CheckVerdict::NotJudged);
    let names: Vec<String> = names.map(|check| format!("`{}`", check.name)).collect();
    (!names.is_empty()).then(|| {
        format!(
            "Not judged: {}. These checks fail on the untouched project as well, without naming a \
             place. See that they can run here, or set `builder.checks`.",
            names.join(", ")
        )
    })
}

fn file(moved: &ChangedPath, from: Option<RelPath>) -> ChangedFile {
    let diff = String::from_utf8_lossy(&moved.change.diff);
    let (mut added, mut removed) = (0, 0);
    let body = diff.lines().skip_while(|line| !line.starts_with("@@"));
    for line in body {
        match line.as_bytes().first() {
            Some(b'+') => added += 1,
            Some(b'-') => removed += 1,
            _ => {}
        }
    }
    ChangedFile {
        path: moved.path.clone(),
        action: match moved.change.kind {
            ChangeKind::Added => FileOutcome::Created,
            ChangeKind::Modified | ChangeKind::Retyped => FileOutcome::Modified,
            ChangeKind::Deleted => FileOutcome::Deleted,
            ChangeKind::Renamed => FileOutcome::Renamed,
        },
        from,
        lines_added: added,
        lines_removed: removed,
    }
}

/// Bytes of one file's diff that are stored with the job; the branch and the patch have it all.
const DIFF_BYTES_MAX: usize = 512 * 1024;

/// Returns the diff of one file, cut to the stored size.
pub(crate) fn diff(moved: &ChangedPath) -> FileDiff {
    let whole = &moved.change.diff;
    let shown = &whole[..whole.len().min(DIFF_BYTES_MAX)];
    let mut diff = String::from_utf8_lossy(shown).into_owned();
    if shown.len() < whole.len() {
        diff.push_str(&format!(
            "\n(cut at DIFF_BYTES_MAX, {DIFF_BYTES_MAX} of {} bytes)\n",
            whole.len()
        ));
    }
    FileDiff {
        path: moved.path.clone(),
        diff,
    }
}

/// Returns the parts of the plan that were carried out.
fn coverage(plan: &BuildPlan, changes: &[ChangedPath], tree: &Workspace) -> PlanCoverage {
    let is_there = |path: &RelPath| matches!(tree.kind(path), Ok(Some(_)));
    let is_changed = |path: &RelPath| changes.iter().any(|moved| moved.path == *path);
    let mut coverage = PlanCoverage::default();
    for file in &plan.files {
        let path = &file.path;
        let done = match &file.action {
            FileAction::Create => is_there(path),
            FileAction::Modify => is_changed(path),
            FileAction::Delete => !is_there(path),
            FileAction::Rename { from } => is_there(path) && !is_there(from),
        };
        coverage.planned.push(path.clone());
        if done {
            coverage.generated.push(path.clone());
        } else {
            coverage.missing.push(path.clone());
        }
    }
    coverage
}

/// Finds files that may be affected: those that import a file which was changed, moved or deleted.
async fn impact(
    site: &ActiveJob<'_>,
    ground: &JobRepository,
    yard: &WorkArea,
    changes: &[ChangedPath],
) -> Result<AffectedFiles, StageHalt> {
    let mut changed: Vec<RelPath> = Vec::new();
    let mut gone = false;
    for moved in changes {
        let from = moved.change.from.as_deref();
        let from = from.and_then(|from| yard.tree.project_path(from));
        match moved.change.kind {
            // No other file can import a new one yet.
            ChangeKind::Added => continue,
            ChangeKind::Deleted | ChangeKind::Renamed => gone = true,
            ChangeKind::Modified | ChangeKind::Retyped => {}
        }
        changed.push(from.unwrap_or_else(|| moved.path.clone()));
    }
    // The importers of a deleted file are found only in a tree that still has it.
    let tree = if gone {
        ground.untouched(site.bench, &site.job)?.workspace
    } else {
        Arc::clone(&yard.tree.workspace)
    };
    let touched: Vec<RelPath> = changes.iter().map(|moved| moved.path.clone()).collect();
    blocking(move || {
        let mut impact = TreeIndex::draw(&tree)?.impact(&changed);
        let is_other = |path: &RelPath| !touched.contains(path) && !changed.contains(path);
        impact.files.retain(is_other);
        impact.tests.retain(is_other);
        Ok(impact)
    })
    .await?
}
