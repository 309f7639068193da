//! Workflows as files: the exchange format of version 2.0, written and read.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::config::{Execution, StepType};
use crate::error::{Code, Error, Problem};
use crate::id::StepId;
use crate::spot::Spot;
use crate::workflow::{Workflow, parse};

/// The only version there is.
pub const EXPORT_VERSION: &str = "2.0";

/// An agent that travels with a workflow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Agent {
    pub id: String,
    #[serde(default)]
    pub display_name: String,
    #[serde(default)]
    pub agent_prompt: String,
}

/// A workflow read from a file, and nothing of it kept yet.
#[derive(Clone, Debug)]
pub struct Import {
    pub name: String,
    pub description: Option<String>,
    pub workflow: Workflow,
    pub agents: Vec<Agent>,
    /// Slugs that steps name and that neither the file nor the caller knows: an error, unless they
    /// are to be created.
    pub unknown_agents: Vec<String>,
}

/// Why a file cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ImportError {
    /// A sentence.
    pub message: String,
    /// What is wrong with the workflow's text, where that is the reason.
    pub problems: Vec<Problem>,
}

/// Writes a workflow for others. `exported_at` is a timestamp as RFC 3339 writes it.
#[must_use]
pub fn export(
    workflow: &Workflow,
    (name, description): (&str, Option<&str>),
    agents: &[Agent],
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

/// Reads an exported file, or the bare text of a diagram. Everything is checked, nothing is kept.
///
/// # Errors
///
/// When it is neither, is of another version, or its workflow is none.
pub fn import(text: &str, known_agents: &BTreeSet<String>) -> Result<Import, ImportError> {
    let trimmed = text.trim_start_matches('\u{feff}').trim_start();
    let file = match trimmed.starts_with('{') {
        true => serde_json::from_str::<File>(trimmed)
            .map_err(|error| refuse(format!("The file is no exported workflow: {error}.")))?,
        false => File::bare(text),
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
    Ok(Import {
        name,
        description: file.workflow.description,
        workflow,
        agents: file.agents,
        unknown_agents: unknown.into_iter().collect(),
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    workflow: FileWorkflow,
    #[serde(default)]
    agents: Vec<Agent>,
    export_version: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FileWorkflow {
    #[serde(default)]
    name: String,
    description: Option<String>,
    mermaid_source: String,
    #[serde(default)]
    steps: Vec<Map<String, Value>>,
}

impl File {
    fn bare(text: &str) -> File {
        File {
            workflow: FileWorkflow {
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

/// The text is what counts; `steps` may only say the same, or fill in what the text leaves out.
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
                "type" => *value == json!(execution) || *value == json!(Execution::Automated),
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

/// A step's config as it is written in the text.
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
    let problem = Problem::error(Code::Config, Spot::BEGIN, message.clone());
    ImportError {
        message,
        problems: vec![problem],
    }
}
