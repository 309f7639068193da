//! Workflows as files: writes and reads the exchange format of version 2.0.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::config::{ExecutionMode, StepType};
use crate::error::{Error, WorkflowProblem, WorkflowProblemCode};
use crate::id::StepId;
use crate::line_span::LineSpan;
use crate::workflow::{Workflow, parse};

/// The only supported version.
pub(crate) const EXPORT_VERSION: &str = "2.0";

/// An agent that is exported with a workflow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExportedAgent {
    pub id: String,
    #[serde(default)]
    pub display_name: String,
    #[serde(default)]
    pub agent_prompt: String,
}

/// A workflow read from a file, not stored yet.
#[derive(Clone, Debug)]
pub struct WorkflowImport {
    pub name: String,
    pub description: Option<String>,
    pub workflow: Workflow,
    pub agents: Vec<ExportedAgent>,
    /// Slugs that steps name and that neither the file nor the caller knows: an error, unless the
    /// caller creates them.
    pub unknown_agents: Vec<String>,
}

/// The error of a file that cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ImportError {
    /// A sentence.
    pub message: String,
    /// The problems of the workflow's text, where those are the reason.
    pub problems: Vec<WorkflowProblem>,
}

/// Writes a workflow for others. `exported_at` is a timestamp as RFC 3339 writes it.
#[must_use]
pub fn export(
    workflow: &Workflow,
    (name, description): (&str, Option<&str>),
    agents: &[ExportedAgent],
    exported_at: &str,
) -> Value {
    let steps: Vec<Value> = workflow
        .steps()
        .iter()
        .map(|step| {
            let mut fields = Map::new();
            fields.insert("id".to_owned(), json!(step.id));
            fields.insert("name".to_owned(), json!(step.name));
            fields.insert("stepType".to_owned(), json!(step.step_type));
            if step.step_type == StepType::Task {
                fields.insert("execution".to_owned(), json!(step.execution));
            }
            for (key, value) in written(workflow, &step.id) {
                fields.entry(key).or_insert(value);
            }
            Value::Object(fields)
        })
        .collect();
    json!({
        "workflow": {
            "name": name,
            "description": description,
            "mermaidSource": workflow.source(),
            "steps": steps,
        },
        "agents": agents,
        "exportVersion": EXPORT_VERSION,
        "exportedAt": exported_at,
    })
}

/// Reads an exported file, or the bare text of a diagram. Checks everything and stores nothing.
///
/// # Errors
///
/// When the text is neither, has another version, or contains no valid workflow.
pub fn import(text: &str, known_agents: &BTreeSet<String>) -> Result<WorkflowImport, ImportError> {
    let trimmed = text.trim_start_matches('\u{feff}').trim_start();
    let file = match trimmed.starts_with('{') {
        true => serde_json::from_str::<ExportFile>(trimmed)
            .map_err(|error| refuse(format!("The file is no exported workflow: {error}.")))?,
        false => ExportFile::bare(text),
    };
    if file
        .export_version
        .as_deref()
        .is_some_and(|version| version != EXPORT_VERSION)
    {
        let version = file.export_version.unwrap_or_default();
        return Err(refuse(format!(
            "The file has exportVersion {version}; this program reads {EXPORT_VERSION}."
        )));
    }
    let workflow = parse(&file.workflow.mermaid_source).map_err(of_text)?;
    let workflow = with_steps(workflow, &file.workflow.steps)?;
    let named = workflow.steps().iter().flat_map(|step| {
        [
            &step.config.default_assignee_id,
            &step.config.fallback_assignee_id,
        ]
    });
    let mut unknown: BTreeSet<String> = named.flatten().cloned().collect();
    unknown.retain(|slug| {
        !known_agents.contains(slug) && !file.agents.iter().any(|agent| agent.id == *slug)
    });
    let name = match file.workflow.name {
        name if name.trim().is_empty() => workflow.name().unwrap_or("workflow").to_owned(),
        name => name,
    };
    Ok(WorkflowImport {
        name,
        description: file.workflow.description,
        workflow,
        agents: file.agents,
        unknown_agents: unknown.into_iter().collect(),
    })
}

/// The exchange file, as it is read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExportFile {
    workflow: ExportedWorkflow,
    #[serde(default)]
    agents: Vec<ExportedAgent>,
    export_version: Option<String>,
}

/// The workflow in an exchange file.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExportedWorkflow {
    #[serde(default)]
    name: String,
    description: Option<String>,
    mermaid_source: String,
    #[serde(default)]
    steps: Vec<Map<String, Value>>,
}

impl ExportFile {
    fn bare(text: &str) -> ExportFile {
        ExportFile {
            workflow: ExportedWorkflow {
                name: String::new(),
                description: None,
                mermaid_source: text.to_owned(),
                steps: Vec::new(),
            },
            agents: Vec::new(),
            export_version: None,
        }
    }
}

/// Fills in missing configs from `steps`. The text has precedence: `steps` may only agree with it
/// or add to it.
fn with_steps(
    mut workflow: Workflow,
    steps: &[Map<String, Value>],
) -> Result<Workflow, ImportError> {
    for fields in steps {
        let id = fields.get("id").and_then(Value::as_str).unwrap_or_default();
        let id = StepId::new(id);
        let Some(step) = workflow.step(&id) else {
            return Err(refuse(format!(
                "`steps` has `{id}`, which the diagram does not have."
            )));
        };
        let (name, execution, step_type) = (step.name.clone(), step.execution, step.step_type);
        let known = written(&workflow, &id);
        let mut config = Map::new();
        for (key, value) in fields {
            let implied = match key.as_str() {
                "id" => true,
                "name" => value.as_str() == Some(name.as_str()),
                "stepType" => *value == json!(step_type),
                "execution" => *value == json!(execution) || step_type != StepType::Task,
                "type" => *value == json!(execution) || *value == json!(ExecutionMode::Automated),
                _ => value.is_null(),
            };
            match known.get(key) {
                Some(written) if written == value => {}
                Some(_) => {
                    return Err(refuse(format!(
                        "`{key}` of the step `{id}` is one thing in `steps` and another in the diagram."
                    )));
                }
                None if implied => {}
                None => {
                    config.insert(key.clone(), value.clone());
                }
            }
        }
        if !config.is_empty() {
            let mut whole = known.clone();
            whole.extend(config);
            workflow = workflow
                .with_config_value(&id, &Value::Object(whole))
                .map_err(of_text)?;
        }
    }
    Ok(workflow)
}

/// Returns a step's config as the text has it.
fn written(workflow: &Workflow, step: &StepId) -> Map<String, Value> {
    let blocks = crate::block::read(workflow.document());
    let entry = blocks
        .entries
        .iter()
        .find(|entry| entry.id == step.as_str());
    let json = entry.and_then(|entry| serde_json::from_str(&entry.json).ok());
    json.unwrap_or_default()
}

fn of_text(error: Error) -> ImportError {
    ImportError {
        message: format!("The workflow's text cannot be used: {error}"),
        problems: error.problems().to_vec(),
    }
}

fn refuse(message: String) -> ImportError {
    let problem = WorkflowProblem::error(
        WorkflowProblemCode::Config,
        LineSpan::BEGIN,
        message.clone(),
    );
    ImportError {
        message,
        problems: vec![problem],
    }
}
