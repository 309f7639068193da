//! The input schema of a workflow: the JSON Schema of `%% @input:`, checked before anything runs.

use mermaid::DiagramDocument;
use serde_json::Value;

use crate::block::ConfigBlocks;
use crate::error::{WorkflowProblem, WorkflowProblemCode};
use crate::response;
use crate::settings;
use crate::workflow::Workflow;

/// The entry of the config block that is no step's, unless a step has this id.
pub(crate) const INPUT: &str = "input";

/// Reads the schema of a workflow's input.
pub(crate) fn schema(
    document: &DiagramDocument,
    blocks: &ConfigBlocks,
    problems: &mut Vec<WorkflowProblem>,
) -> Option<Value> {
    if document.diagram().node(INPUT).is_some() {
        return None;
    }
    let entry = blocks.entries.iter().find(|entry| entry.id == INPUT)?;
    let read = serde_json::from_str::<Value>(&entry.json).map_err(|cause| cause.to_string());
    let schema = read.and_then(|schema| match settings::no_schema(&schema) {
        None => Ok(schema),
        Some(wrong) => Err(wrong),
    });
    match schema {
        Ok(schema) => Some(schema),
        Err(wrong) => {
            let message = format!("`@input` is no JSON Schema: {wrong}.");
            problems.push(WorkflowProblem::error(
                WorkflowProblemCode::Config,
                entry.spot,
                message,
            ));
            None
        }
    }
}

impl Workflow {
    /// Returns the schema that the input of a run must fit, as `%% @input:` gives it.
    #[must_use]
    pub fn input_schema(&self) -> Option<&Value> {
        self.input_schema.as_ref()
    }

    /// Checks an input and fills in its defaults.
    ///
    /// # Errors
    ///
    /// A sentence that names everything that does not fit the schema.
    pub fn checked_input(&self, input: Value) -> Result<Value, String> {
        let Some(schema) = self.input_schema() else {
            return Ok(input);
        };
        let mut input = match input {
            Value::Null => Value::Object(serde_json::Map::new()),
            input => input,
        };
        let properties = schema.get("properties").and_then(Value::as_object);
        if let (Value::Object(fields), Some(properties)) = (&mut input, properties) {
            for (name, property) in properties {
                if let Some(default) = property
                    .get("default")
                    .filter(|_| !fields.contains_key(name))
                {
                    fields.insert(name.clone(), default.clone());
                }
            }
        }
        match response::violations(schema, &input) {
            wrong if wrong.is_empty() => Ok(input),
            wrong => Err(format!(
                "The input does not match the workflow's schema: {}.",
                wrong.join("; ")
            )),
        }
    }
}
