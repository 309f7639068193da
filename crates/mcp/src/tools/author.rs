//! `author`: workflows checked, saved and explained; templates tried.

use app::application::TextSave;
use app::workflows::LoadedWorkflow;
use flow::{EdgeCondition, StepId, TextHash};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::CallOutcome;
use crate::DrawloomServer;
use crate::failure::ToolFailure;

/// Arguments of `check_workflow`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CheckWorkflow {
    /// The Mermaid text.
    mermaid: String,
}

/// Arguments of `save_workflow`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SaveWorkflow {
    name: String,
    /// The Mermaid text.
    mermaid: String,
    /// The hash of the text that was changed.
    #[serde(default)]
    seen: Option<String>,
    /// A line that says why.
    #[serde(default)]
    message: String,
}

/// Arguments of `explain_step`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExplainStep {
    /// The workflow's name.
    workflow: String,
    /// The step's id in the diagram.
    step: String,
}

/// Arguments of `render_template`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RenderTemplate {
    /// The template's text.
    template: String,
    /// Its values, by name.
    #[serde(default)]
    data: Map<String, Value>,
}

pub(crate) async fn render(server: &DrawloomServer, arguments: RenderTemplate) -> CallOutcome {
    let RenderTemplate { template, data } = arguments;
    let rendered = server.use_cases.render_template(template, data).await?;
    Ok(json!({
        "text": rendered.text,
        "questions": rendered.questions,
        "undefined": rendered.undefined,
    }))
}

pub(crate) async fn check(server: &DrawloomServer, arguments: CheckWorkflow) -> CallOutcome {
    let text = arguments.mermaid;
    let sheet = server.use_cases.check_text("workflow", text).await?;
    Ok(checked(&sheet))
}

fn checked(sheet: &LoadedWorkflow) -> Value {
    let problems = sheet.problems.iter().map(|problem| {
        json!({
            "severity": format!("{:?}", problem.severity).to_lowercase(),
            "line": problem.line,
            "column": problem.column,
            "message": problem.message,
            "hint": problem.hint,
        })
    });
    let steps = sheet.workflow.iter().flat_map(|workflow| workflow.steps());
    json!({
        "can_run": sheet.is_fine(),
        "problems": problems.collect::<Vec<_>>(),
        "steps": steps.map(|step| step.id.as_str()).collect::<Vec<_>>(),
        "hash": TextHash::of(&sheet.source).as_str(),
    })
}

pub(crate) async fn save(server: &DrawloomServer, arguments: SaveWorkflow) -> CallOutcome {
    let SaveWorkflow {
        name,
        mermaid,
        seen,
        message,
    } = arguments;
    let save = TextSave {
        name,
        source: mermaid,
        seen,
        message,
    };
    let (sheet, version) = server.use_cases.save_workflow(save).await?;
    let mut saved = checked(&sheet);
    saved["version"] = version.number.into();
    Ok(saved)
}

pub(crate) async fn explain(server: &DrawloomServer, arguments: ExplainStep) -> CallOutcome {
    let sheet = server.use_cases.sheet(&arguments.workflow).await?;
    let Some(workflow) = &sheet.workflow else {
        let message = format!("the text of `{}` is no workflow", arguments.workflow);
        return Err(ToolFailure::new(message).hint("check_workflow lists its problems"));
    };
    let Some(step) = workflow.step(&StepId::new(arguments.step.as_str())) else {
        let steps: Vec<&str> = workflow
            .steps()
            .iter()
            .map(|step| step.id.as_str())
            .collect();
        let message = format!("there is no step `{}`", arguments.step);
        return Err(ToolFailure::new(message).hint(format!("the steps are {}", steps.join(", "))));
    };
    let edges = workflow.outgoing(&step.id).map(|edge| {
        let when = match &edge.when {
            EdgeCondition::Condition(condition) => condition.to_string(),
            _ => edge.label.clone(),
        };
        json!({ "to": edge.to.as_str(), "when": when })
    });
    let reads = step.reads.iter().map(|read| read.path.join("."));
    Ok(json!({
        "step": step.id.as_str(),
        "name": step.name,
        "type": step.step_type,
        "execution": step.execution,
        "handler": step.config.handler,
        "prompt": step.config.prompt,
        "assignee": step.config.default_assignee_id,
        "output_schema": step.config.output_schema,
        "reads": reads.collect::<Vec<_>>(),
        "edges": edges.collect::<Vec<_>>(),
        "hash": TextHash::of(&sheet.source).as_str(),
    }))
}
