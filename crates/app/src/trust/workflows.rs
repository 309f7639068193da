//! The acts of workflows: the steps that run a command or call an address.

use std::path::Path;

use flow::{Handler, Step, Workflow};
use serde_json::Value;

use super::act::{Act, digest};
use crate::executors::setting;
use crate::workflows::{self, Sheet, WORKFLOWS_DIR};
use crate::{Error, Project, Surroundings};

/// Returns the acts of every workflow of the project.
pub(super) fn acts(project: &Project) -> Result<Vec<Act>, Error> {
    let mut acts = Vec::new();
    for sheet in workflows::all(project)? {
        acts.extend(acts_of(&sheet));
    }
    Ok(acts)
}

pub(super) fn acts_of_file(
    project: &Project,
    surroundings: &Surroundings,
    path: &Path,
) -> Result<Vec<Act>, Error> {
    Ok(acts_of(&workflows::read(project, surroundings, path)?))
}

fn acts_of(sheet: &Sheet) -> Vec<Act> {
    let steps = sheet.workflow.iter().flat_map(Workflow::steps);
    let acts = steps.filter_map(|step| act(&sheet.shown, step));
    let is_listed = sheet.shown.starts_with(WORKFLOWS_DIR);
    let file = (!is_listed).then(|| sheet.shown.clone());
    acts.map(|act| Act {
        file: file.clone(),
        ..act
    })
    .collect()
}

/// The hash is that of what the step does, wherever it is kept: in a file, or with a run.
fn act(file: &str, step: &Step) -> Option<Act> {
    let text = |name| {
        setting(step, name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let does = match step.config.handler? {
        Handler::Command => {
            let words = setting(step, "argv").and_then(Value::as_array);
            let words = words.into_iter().flatten().filter_map(Value::as_str);
            let words: Vec<&str> = words.collect();
            let line = match words.is_empty() {
                true => text("run").to_owned(),
                false => words.join(" "),
            };
            format!("runs `{line}`, in the sandbox")
        }
        Handler::Http => {
            let method = setting(step, "method").and_then(Value::as_str);
            format!("sends {} {}", method.unwrap_or("GET"), text("url"))
        }
        _ => return None,
    };
    let config = step
        .config
        .config
        .as_ref()
        .map(|config| Value::Object(config.clone()));
    let config = config.unwrap_or_default().to_string();
    let digest = digest([does.as_str(), &config].into_iter());
    Some(Act {
        subject: format!("{file}: {}", step.id),
        does: vec![does],
        digest,
        file: None,
    })
}

/// Refuses to begin a workflow whose steps are not trusted.
pub(crate) fn require_workflow(project: &Project, sheet: &Sheet) -> Result<(), Error> {
    project.trust.require(acts_of(sheet))
}

/// Refuses a step that is not trusted, before it is carried out.
pub(crate) fn require_step(project: &Project, step: &Step) -> Result<(), Error> {
    let acts = act("a workflow", step).into_iter().collect();
    project.trust.require(acts)?;
    match step.config.handler {
        Some(Handler::Command) => project.trust.require_settings(&["agent.sandbox"]),
        _ => Ok(()),
    }
}
