//! The acts of workflows: the steps that run a command or call an address.

use std::path::Path;

use flow::{StepHandler, Workflow, WorkflowStep};
use serde_json::Value;

use super::act::{ProjectAct, digest};
use super::tasks::act_of;
use crate::executors::{CRITERIA, setting};
use crate::tasks::diagram::StepTask;
use crate::workflows::{self, LoadedWorkflow, WORKFLOWS_DIR};
use crate::{Error, ProcessEnvironment, Project};

/// Returns the acts of every workflow of the project.
pub(super) fn acts(project: &Project) -> Result<Vec<ProjectAct>, Error> {
    let mut acts = Vec::new();
    for sheet in workflows::all(project)? {
        acts.extend(acts_of(&sheet));
    }
    Ok(acts)
}

pub(super) fn acts_of_file(
    project: &Project,
    surroundings: &ProcessEnvironment,
    path: &Path,
) -> Result<Vec<ProjectAct>, Error> {
    Ok(acts_of(&workflows::read(project, surroundings, path)?))
}

fn acts_of(sheet: &LoadedWorkflow) -> Vec<ProjectAct> {
    let steps = sheet.workflow.iter().flat_map(Workflow::steps);
    let acts = steps.filter_map(|step| act(&sheet.shown, step));
    let is_listed = sheet.shown.starts_with(WORKFLOWS_DIR);
    let file = (!is_listed).then(|| sheet.shown.clone());
    acts.map(|act| ProjectAct {
        file: file.clone(),
        ..act
    })
    .collect()
}

/// Makes the act of a step. The hash covers what the step does, wherever the step is stored: in a
/// file, or with a run.
fn act(file: &str, step: &WorkflowStep) -> Option<ProjectAct> {
    let text = |name| {
        setting(step, name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let does = match step.config.handler? {
        StepHandler::Task => {
            // A step that cannot be read does nothing.
            let task = StepTask::of(step).ok()?;
            return act_of(task.file.as_deref().unwrap_or(file), &task.task);
        }
        StepHandler::CodeGeneration | StepHandler::Planning | StepHandler::Validation => {
            let given = setting(step, CRITERIA)?.as_array()?;
            let lines = given.iter().filter_map(command_of);
            let lines: Vec<String> = lines.map(|line| format!("`{line}`")).collect();
            match lines.is_empty() {
                true => return None,
                false => format!("runs {}, in the sandbox", lines.join(" and ")),
            }
        }
        StepHandler::Command => {
            let words = setting(step, "argv").and_then(Value::as_array);
            let words = words.into_iter().flatten().filter_map(Value::as_str);
            let words: Vec<&str> = words.collect();
            let line = match words.is_empty() {
                true => text("run").to_owned(),
                false => words.join(" "),
            };
            format!("runs `{line}`, in the sandbox")
        }
        StepHandler::Http => {
            let method = setting(step, "method").and_then(Value::as_str);
            format!("sends {} {}", method.unwrap_or("GET"), text("url"))
        }
        StepHandler::Mcp => {
            format!(
                "calls the tool `{}` of the MCP server `{}`",
                text("tool"),
                text("server")
            )
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
    Some(ProjectAct {
        subject: format!("{file}: {}", step.id),
        does: vec![does],
        digest,
        file: None,
    })
}

/// Returns the command of a criterion; a text alone may turn out to be one.
fn command_of(criterion: &Value) -> Option<&str> {
    criterion.get("run").unwrap_or(criterion).as_str()
}

/// Returns the acts of a workflow that no workflow of the project has, nor its own text before.
pub(crate) fn new_acts(
    project: &Project,
    sheet: &LoadedWorkflow,
    before: Option<&LoadedWorkflow>,
) -> Result<Vec<ProjectAct>, Error> {
    let mut new = acts_of(sheet);
    if new.is_empty() {
        return Ok(new);
    }
    let mut known = acts(project)?;
    known.extend(before.into_iter().flat_map(acts_of));
    new.retain(|act| !known.iter().any(|known| known.digest == act.digest));
    Ok(new)
}

/// Refuses to begin a workflow whose steps are not trusted.
pub(crate) fn require_workflow(project: &Project, sheet: &LoadedWorkflow) -> Result<(), Error> {
    project.trust.require(acts_of(sheet))
}

/// Refuses a step that is not trusted, before it is carried out.
pub(crate) fn require_step(project: &Project, step: &WorkflowStep) -> Result<(), Error> {
    let acts = act("a workflow", step).into_iter().collect();
    project.trust.require(acts)?;
    match step.config.handler {
        Some(StepHandler::Command) => project.trust.require_settings(&["agent.sandbox"]),
        Some(StepHandler::Mcp) => project.trust.require_settings(&["mcp."]),
        _ => Ok(()),
    }
}
