//! Checks a plan against the policy, the tree and the rules of its task type.

use std::collections::BTreeSet;

use workspace::{PathKind, RelPath, Workspace};

use super::{BuildPlan, BuildPlanFile, FileAction, PlanProblems};
use crate::role::FileRole;
use crate::task_type::AllowedFiles;

/// Lists every reason why the plan could not be carried out on this tree.
pub fn check(
    plan: &BuildPlan,
    tree: &Workspace,
    plan_files_max: usize,
) -> Result<(), PlanProblems> {
    let mut problems = Vec::new();
    if plan.files.len() > plan_files_max {
        problems.push(format!(
            "the plan has {} files, more than plan_files_max ({plan_files_max}); plan a smaller \
             step that works by itself",
            plan.files.len()
        ));
    }
    if plan.files.is_empty() {
        problems.push("the plan has no files; a plan changes at least one".to_owned());
    }
    let mut seen = BTreeSet::new();
    for path in plan.touched() {
        if !seen.insert(path) {
            problems.push(format!("`{path}` is named twice; name every file once"));
        }
    }
    for file in &plan.files {
        problems.extend(file_problems(file, tree));
        problems.extend(touch_problem(file, plan));
    }
    problems.extend(nesting_problems(plan));
    if problems.is_empty() {
        Ok(())
    } else {
        Err(PlanProblems(problems))
    }
}

/// Returns the problems of one file: its path by the policy, its action by the tree.
fn file_problems(file: &BuildPlanFile, tree: &Workspace) -> Vec<String> {
    let path = &file.path;
    let mut problems = Vec::new();
    let mut refuse = |path: &RelPath| {
        let refused = tree.policy().check_write(path).err();
        if let Some(denial) = refused {
            problems.push(denial.to_string());
            return true;
        }
        false
    };
    let mut is_refused = refuse(path);
    if let FileAction::Rename { from } = &file.action {
        is_refused |= refuse(from);
    }
    if is_refused {
        return problems;
    }
    match &file.action {
        FileAction::Create => problems.extend(absent(path, tree, "create")),
        FileAction::Modify => problems.extend(present(path, tree, "modify")),
        FileAction::Delete => problems.extend(present(path, tree, "delete")),
        FileAction::Rename { from } => {
            problems.extend(present(from, tree, "rename"));
            problems.extend(absent(path, tree, "rename to"));
        }
    }
    problems
}

fn present(path: &RelPath, tree: &Workspace, verb: &str) -> Option<String> {
    match tree.kind(path) {
        Ok(Some(PathKind::File)) => None,
        Ok(Some(PathKind::Dir)) => Some(format!(
            "`{path}` is a directory; name the files in it to {verb}"
        )),
        Ok(Some(_)) => Some(format!(
            "`{path}` is no plain file to {verb}; leave it alone"
        )),
        Ok(None) => Some(format!(
            "there is no `{path}` to {verb}; check the path, or `create` it"
        )),
        Err(error) => Some(error.to_string()),
    }
}

fn absent(path: &RelPath, tree: &Workspace, verb: &str) -> Option<String> {
    match tree.kind(path) {
        Ok(None) => None,
        Ok(Some(_)) if verb == "create" => Some(format!(
            "`{path}` exists already; `modify` it, or create another file"
        )),
        Ok(Some(_)) => Some(format!(
            "`{path}` exists already; {verb} a path where nothing is"
        )),
        Err(error) => Some(error.to_string()),
    }
}

/// Returns a problem if the task type does not allow touching this file.
fn touch_problem(file: &BuildPlanFile, plan: &BuildPlan) -> Option<String> {
    let (path, kind) = (&file.path, plan.task_type);
    let role = FileRole::of(path);
    match kind.rules().touches {
        AllowedFiles::Tests if role != FileRole::Test => Some(format!(
            "a `{kind}` job touches tests only, and `{path}` is not a test; leave it out, or plan another \
             task type"
        )),
        // Code may only get comments, which validation checks later; it must not be created or
        // moved.
        AllowedFiles::Words if role == FileRole::Code && file.action != FileAction::Modify => {
            Some(format!(
                "a `{kind}` job writes documents and comments, and `{path}` is code; do not {} it",
                file.action.word()
            ))
        }
        AllowedFiles::Anything | AllowedFiles::Tests | AllowedFiles::Words => None,
    }
}

/// Refuses a file inside another file.
fn nesting_problems(plan: &BuildPlan) -> Vec<String> {
    let made = |file: &&BuildPlanFile| {
        matches!(file.action, FileAction::Create | FileAction::Rename { .. })
    };
    let mut problems = Vec::new();
    for inner in plan.files.iter().filter(made) {
        let outer = plan.files.iter().find(|outer| {
            outer.path != inner.path
                && inner.path.is_within(&outer.path)
                && outer.action != FileAction::Delete
        });
        if let Some(outer) = outer {
            problems.push(format!(
                "`{}` cannot be inside `{}`, which is a file of the plan",
                inner.path, outer.path
            ));
        }
    }
    problems
}
