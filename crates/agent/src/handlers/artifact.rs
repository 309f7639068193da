//! Output artifacts: whether they can be seen at all, and whether they are there in the end.

use workspace::{RelPath, Workspace};

use super::result::{ArtifactState, FailureKind, OutputArtifact, TaskFailure};
use super::task_run::TaskRun;
use crate::task::Task;

/// Fails before the model is paid if an output artifact could never be found.
pub(super) fn check_visible(desk: &mut TaskRun<'_>) -> Result<(), TaskFailure> {
    let policy = desk.bench.workspace.policy();
    let outputs = desk.order.task.output_artifacts.iter();
    let denials: Vec<String> = outputs
        .filter_map(|path| policy.check_read(path).err())
        .map(|denial| denial.to_string())
        .collect();
    if denials.is_empty() {
        return Ok(());
    }
    let message = format!(
        "An output artifact can never be found: {}.",
        denials.join("; ")
    );
    Err(desk.fail(FailureKind::Files, message))
}

/// Returns the state of each output artifact of a task.
pub(super) fn states(
    workspace: &Workspace,
    task: &Task,
    written: &[RelPath],
) -> Vec<OutputArtifact> {
    let state = |path: &RelPath| match workspace.kind(path) {
        Ok(Some(_)) if written.contains(path) => ArtifactState::Written,
        Ok(Some(_)) => ArtifactState::Present,
        Ok(None) | Err(_) => ArtifactState::Missing,
    };
    let outputs = task.output_artifacts.iter();
    outputs
        .map(|path| OutputArtifact {
            path: path.clone(),
            state: state(path),
        })
        .collect()
}
