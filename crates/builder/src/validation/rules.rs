//! Rules that a plan and a task type add to the project's own checks.

use std::path::Path;

use workspace::{ChangeSet, PathChange, RelPath, Root, Workspace};

use super::comments::same_code;
use super::{CheckReport, CheckVerdict, FixProof, ProjectCheck};
use crate::job_repository::ChangedPath;
use crate::plan::{BuildPlan, FileAction};
use crate::role::FileRole;
use crate::task_type::AllowedFiles;

/// Reports a violated rule as a failed check.
pub(crate) fn failed(name: &str, new_failures: Vec<String>) -> CheckReport {
    CheckReport {
        name: name.to_owned(),
        command: String::new(),
        verdict: CheckVerdict::Failed,
        exit_code: None,
        new_failures,
        old_failures: 0,
        because: None,
        sandbox: None,
        output: String::new(),
        duration_ms: 0,
    }
}

/// Lists files of the plan that should exist and do not, or the other way round. A planned change
/// that was not made is no failure: the work may not need it, and the coverage shows it.
pub(crate) fn missing(plan: &BuildPlan, tree: &Workspace) -> Vec<String> {
    let is_there = |path: &RelPath| matches!(tree.kind(path), Ok(Some(_)));
    let mut missing = Vec::new();
    for file in &plan.files {
        let path = &file.path;
        match &file.action {
            FileAction::Create if !is_there(path) => {
                missing.push(format!(
                    "{path}: the plan creates it, but it does not exist"
                ));
            }
            FileAction::Delete if is_there(path) => {
                missing.push(format!("{path}: the plan deletes it, but it still exists"));
            }
            FileAction::Rename { from } if !is_there(path) || is_there(from) => {
                missing.push(format!(
                    "{path}: the plan moves `{from}` here, and that was not done"
                ));
            }
            _ => {}
        }
    }
    missing
}

/// Returns true if the rules have to read code files.
pub(crate) fn reads_code<'p>(
    plan: &BuildPlan,
    mut changed: impl Iterator<Item = &'p RelPath>,
) -> bool {
    plan.task_type.rules().touches == AllowedFiles::Words
        && changed.any(|path| FileRole::of(path) != FileRole::Document)
}

/// Lists code files in which more than comments changed.
pub(crate) fn words_only(changed: &[&RelPath], before: &Workspace, now: &Workspace) -> Vec<String> {
    let text = |tree: &Workspace, path: &RelPath| tree.read_text(path).ok().flatten();
    let mut wrong = Vec::new();
    for path in changed
        .iter()
        .filter(|path| FileRole::of(path) != FileRole::Document)
    {
        let (old, new) = (text(before, path), text(now, path));
        let same = match (old, new) {
            (Some(old), Some(new)) => same_code(path.extension().unwrap_or_default(), &old, &new),
            _ => Some(false),
        };
        match same {
            Some(true) => {}
            Some(false) => wrong.push(format!("{path}: more than comments changed in it")),
            None => wrong.push(format!(
                "{path}: the comment syntax of this file type is unknown, so it must stay unchanged"
            )),
        }
    }
    wrong
}

/// The places of the checks that run tests.
pub(crate) fn test_checks(checks: &[ProjectCheck]) -> Vec<usize> {
    let places = checks.iter().enumerate();
    let tests = places.filter(|(_, check)| check.name.split(' ').next() == Some("test"));
    tests.map(|(at, _)| at).collect()
}

/// Returns the test files of a job, or the reason why they prove nothing.
pub(crate) fn proof_files(
    changes: &[ChangedPath],
    has_tests: bool,
) -> (Vec<RelPath>, Option<FixProof>) {
    let not_checked = |because: &str| {
        let because = because.to_owned();
        (Vec::new(), Some(FixProof::NotChecked { because }))
    };
    if !has_tests {
        return not_checked("the project has no check called `test`");
    }
    let is_test = |moved: &&ChangedPath| {
        FileRole::of(&moved.path) == FileRole::Test && moved.change.kind != vcs::ChangeKind::Deleted
    };
    let files: Vec<RelPath> = changes
        .iter()
        .filter(is_test)
        .map(|moved| moved.path.clone())
        .collect();
    if !files.is_empty() {
        return (files, None);
    }
    // Tests inside the file they test cannot run without the change beside them.
    let has_inner = changes.iter().any(|moved| {
        let diff = String::from_utf8_lossy(&moved.change.diff);
        let added = diff.lines().filter(|line| line.starts_with('+'));
        let marks = [
            "#[test]",
            "#[cfg(test)]",
            "::test]",
            "it(",
            "test(",
            "def test_",
        ];
        let mut added = added;
        added.any(|line| marks.iter().any(|mark| line.contains(mark)))
    });
    if has_inner {
        return not_checked(
            "the tests are in the files that were repaired, and cannot be run without",
        );
    }
    let because =
        "no test was added or changed: write one that fails because of the bug".to_owned();
    (Vec::new(), Some(FixProof::NotProven { because }))
}

/// Copies files from one tree into another.
pub(crate) fn copy(files: &[RelPath], from: &Path, to: &Path) -> Result<(), workspace::Error> {
    let (from, to) = (Root::open(from)?, Root::open(to)?);
    let mut changes = ChangeSet::new();
    for path in files {
        if let Some(bytes) = from.read(path)? {
            let executable = from.is_executable(path)?;
            changes.put(path.clone(), PathChange::Write { bytes, executable });
        }
    }
    to.apply(&changes)?;
    Ok(())
}
