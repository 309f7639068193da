//! What is said to whoever does a step: four layers in a fixed order, each within its budget.

use serde_json::{Value, json};

use crate::expression::{self, Filled};
use crate::workflow::Step;

/// How many bytes a layer may have; what is longer is cut, and says so.
pub const LAYER_BYTES_MAX: usize = 128 << 10;

/// The first layer: how to reply.
pub const BASE: &str = include_str!("base.md");

const BETWEEN: &str = "\n\n---\n\n";

/// What the layers are made of. What is empty has no layer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parts<'a> {
    /// Who the agent is.
    pub agent: Option<&'a str>,
    /// The step's prompt, filled in.
    pub step: Option<&'a str>,
    /// What is asked of this one task besides.
    pub instructions: Option<&'a str>,
    pub title: &'a str,
    pub summary: Option<&'a str>,
    pub tags: &'a [String],
    /// More to know: the note of the turn before, the error of the attempt before.
    pub more: Option<&'a str>,
    /// What the output has to be.
    pub output_schema: Option<&'a Value>,
}

/// The whole prompt of one task.
#[must_use]
pub fn assemble(step: &Step, parts: &Parts<'_>) -> String {
    let mut layers = vec![BASE.trim().to_owned()];
    if let Some(agent) = parts.agent.filter(|text| !text.trim().is_empty()) {
        layers.push(within(format!("## Agent Context\n{agent}")));
    }
    let schema = parts.output_schema.map(|schema| {
        let pretty = serde_json::to_string_pretty(schema).unwrap_or_default();
        format!("The Output section is JSON that this JSON Schema accepts:\n```json\n{pretty}\n```")
    });
    let prompt = parts.step.filter(|text| !text.trim().is_empty());
    if prompt.is_some() || schema.is_some() {
        let said: Vec<&str> = prompt.into_iter().chain(schema.as_deref()).collect();
        let name = &step.name;
        layers.push(within(format!(
            "## Workflow Step: {name}\n{}",
            said.join("\n\n")
        )));
    }
    if let Some(text) = parts.instructions.filter(|text| !text.trim().is_empty()) {
        layers.push(within(format!("## Task Instructions\n{text}")));
    }
    layers.push(within(context(parts)));
    layers.join(BETWEEN)
}

/// A step's prompt with its `{{ }}` filled in from what [`crate::engine::view`] gave, and what could
/// not be, as warnings.
///
/// # Errors
///
/// When an expression of the prompt cannot be evaluated.
pub fn prompt(step: &Step, state: &serde_json::Map<String, Value>) -> Result<Filled, expr::Error> {
    match &step.config.prompt {
        Some(prompt) => expression::fill(prompt, state),
        None => Ok(Filled::default()),
    }
}

/// The reply as JSON, for providers that can be held to a schema: the same five sections.
#[must_use]
pub fn envelope(output_schema: Option<&Value>) -> Value {
    let any = json!({ "type": ["object", "array", "string", "number", "boolean", "null"] });
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["status", "summary", "output", "next_action", "metadata"],
        "properties": {
            "status": { "enum": ["SUCCESS", "PARTIAL", "BLOCKED", "FAILED"] },
            "summary": { "type": "string" },
            "output": output_schema.unwrap_or(&any),
            "next_action": { "enum": ["COMPLETE", "CONTINUE", "ESCALATE", "HOLD"] },
            "next_action_reason": { "type": ["string", "null"] },
            "metadata": {
                "type": "object",
                "additionalProperties": false,
                "required": ["confidence"],
                "properties": {
                    "confidence": { "type": "number", "minimum": 0, "maximum": 1 },
                    "suggested_tags": { "type": "array", "items": { "type": "string" } },
                    "suggested_next_stage": { "type": ["string", "null"] },
                },
            },
        },
    })
}

fn context(parts: &Parts<'_>) -> String {
    let tags = match parts.tags {
        [] => "None".to_owned(),
        tags => tags.join(", "),
    };
    format!(
        "## Task Context\n**Title:** {}\n**Summary:** {}\n**Tags:** {tags}\n**Additional Info:** {}",
        parts.title,
        parts.summary.unwrap_or("N/A"),
        parts.more.unwrap_or("None"),
    )
}

fn within(layer: String) -> String {
    let bytes = layer.len();
    if bytes <= LAYER_BYTES_MAX {
        return layer;
    }
    let cut = expression::head(&layer, LAYER_BYTES_MAX);
    format!("{cut}\n[cut here: {bytes} bytes are more than LAYER_BYTES_MAX = {LAYER_BYTES_MAX}]")
}
