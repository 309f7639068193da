//! What a plan and a task type ask for beside the project's own checks.

use std::path::Path;

use workspace::{Change, ChangeSet, RelPath, Root, Workspace};

use super::comments::same_code;
use super::{Check, CheckReport, Proven, Verdict};
use crate::ground::Moved;
use crate::plan::{FileAction, Plan};
use crate::role::Role;
use crate::task_type::Touches;

/// A rule that is not kept, as a check that fails.
pub(crate) fn failed(name: &str, new_failures: Vec<String>) -> CheckReport {
    CheckReport {
        name: name.to_owned(),
        command: String::new(),
        verdict: Verdict::Failed,
        exit_code: None,
        new_failures,
        old_failures: 0,
        because: None,
        output: String::new(),
        duration_ms: 0,
    }
}

/// Files of the plan that should be there and are not, or the other way round. A file that was to
/// be changed and is not is no failure: the work may do without, and the coverage says so.
pub(crate) fn missing(plan: &Plan, tree: &Workspace) -> Vec<String> {
    let is_there = |path: &RelPath| matches!(tree.kind(path), Ok(Some(_)));
    let mut missing = Vec::new();
    for file in &plan.files {
        let path = &file.path;
        match &file.action {
            FileAction::Create if !is_there(path) => {
                missing.push(format!("{path}: the plan creates it, and it is not there"));
            }
            FileAction::Delete if is_there(path) => {
                missing.push(format!(
                    "{path}: the plan deletes it, and it is still there"
                ));
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

/// Whether the rules have to look into code files.
pub(crate) fn reads_code<'p>(plan: &Plan, mut changed: impl Iterator<Item = &'p RelPath>) -> bool {
    plan.task_type.rules().touches == Touches::Words
        && changed.any(|path| Role::of(path) != Role::Document)
}

/// Code files in which more than words changed.
pub(crate) fn words_only(changed: &[&RelPath], before: &Workspace, now: &Workspace) -> Vec<String> {
    let text = |tree: &Workspace, path: &RelPath| tree.read_text(path).ok().flatten();
    let mut wrong = Vec::new();
    for path in changed
        .iter()
        .filter(|path| Role::of(path) != Role::Document)
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
                "{path}: it is not known how comments are written in it, so it stays as it is"
            )),
        }
    }
    wrong
}

/// The places of the checks that run tests.
pub(crate) fn test_checks(checks: &[Check]) -> Vec<usize> {
    let places = checks.iter().enumerate();
    let tests = places.filter(|(_, check)| check.name.split(' ').next() == Some("test"));
    tests.map(|(at, _)| at).collect()
}

/// The test files of a job, or why they prove nothing.
pub(crate) fn proof_files(changes: &[Moved], has_tests: bool) -> (Vec<RelPath>, Option<Proven>) {
    let not_checked = |because: &str| {
        let because = because.to_owned();
        (Vec::new(), Some(Proven::NotChecked { because }))
    };
    if !has_tests {
        return not_checked("the project has no check called `test`");
    }
    let is_test = |moved: &&Moved| {
        Role::of(&moved.path) == Role::Test && moved.change.kind != vcs::ChangeKind::Deleted
    };
    let files: Vec<RelPath> = changes
        .iter()
        .filter(is_test)
        .map(|moved| moved.path.clone())
        .collect();
    if !files.is_empty() {
        return (files, None);
    }
    // Tests that stand in the file they test cannot be run without the change beside them.
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
            "the tests stand in the files that were mended, and cannot be run without",
        );
    }
    let because =
        "no test was added or changed: write one that fails because of the bug".to_owned();
    (Vec::new(), Some(Proven::NotProven { because }))
}

/// Copies files from one tree into another.
pub(crate) fn copy(files: &[RelPath], from: &Path, to: &Path) -> Result<(), workspace::Error> {
    let (from, to) = (Root::open(from)?, Root::open(to)?);
    let mut changes = ChangeSet::new();
    for path in files {
        if let Some(bytes) = from.read(path)? {
            let executable = from.is_executable(path)?;
            changes.put(path.clone(), Change::Write { bytes, executable });
        }
    }
    to.apply(&changes)?;
    Ok(())
}
