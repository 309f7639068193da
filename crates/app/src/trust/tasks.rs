//! The acts of task and plan files: the commands by which they know that they are done.

use std::path::Path;

use agent::task::{Criterion, Task};
use workspace::RelPath;

use super::act::ProjectAct;
use crate::{Error, ProcessEnvironment, Project, tasks};

/// Returns the acts of a task or plan in a file.
pub(super) fn acts_of_file(
    project: &Project,
    surroundings: &ProcessEnvironment,
    path: &Path,
) -> Result<Vec<ProjectAct>, Error> {
    let (name, tasks) = tasks::read_tasks(project, surroundings, path)?;
    Ok(acts_of(&name, &tasks))
}

/// Refuses tasks whose commands are not trusted.
pub(crate) fn require_tasks(project: &Project, file: &str, tasks: &[Task]) -> Result<(), Error> {
    project.trust.require(acts_of(file, tasks))
}

fn acts_of(file: &str, tasks: &[Task]) -> Vec<ProjectAct> {
    tasks.iter().filter_map(|task| act_of(file, task)).collect()
}

/// Makes the act of a task of this file, if it runs anything.
pub(super) fn act_of(file: &str, task: &Task) -> Option<ProjectAct> {
    let does: Vec<String> = task.validation_criteria.iter().filter_map(does).collect();
    let subject = format!("{file}: {}", task.subtask_id);
    (!does.is_empty()).then(|| ProjectAct {
        file: Some(file.to_owned()),
        ..ProjectAct::said(subject, does)
    })
}

/// Says what checking a criterion would run. A text alone may turn out to be a command.
pub(super) fn does(criterion: &Criterion) -> Option<String> {
    match criterion {
        Criterion::Run(run) => Some(match run.cwd.as_ref().map(RelPath::as_str) {
            Some(folder) => format!("runs `{}` in {folder}, in the sandbox", run.run),
            None => format!("runs `{}`, in the sandbox", run.run),
        }),
        Criterion::Text(text) => Some(format!(
            "runs `{text}`, in the sandbox, if there is such a program"
        )),
        Criterion::FileExists(_) | Criterion::Describe(_) => None,
    }
}
