//! The prompt of a task: four layers in a fixed order, each within its budget.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::context::{self, TOKEN_BYTES};
use crate::engine::TaskRow;
use crate::expression::{self, FilledText};
use crate::workflow::WorkflowStep;

/// Limits the bytes of a layer; a longer one is cut, with a remark.
pub(crate) const LAYER_BYTES_MAX: usize = 128 << 10;

/// The first layer: the instructions for replying.
pub(crate) const BASE: &str = include_str!("base.md");
/// The same for [`ReplyForm::Envelope`].
pub(crate) const BASE_ENVELOPE: &str = include_str!("base_envelope.md");

const BETWEEN: &str = "\n\n---\n\n";

/// The form in which a reply is requested. The parser reads both, whichever was requested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ReplyForm {
    /// Five sections of Markdown.
    #[default]
    Sections,
    /// One JSON object that [`envelope`] describes, from providers that can be held to a schema.
    Envelope,
}

/// The parts of the layers. An empty part adds no layer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PromptParts<'a> {
    /// The description of the agent.
    pub agent: Option<&'a str>,
    /// The step's prompt, filled in.
    pub step: Option<&'a str>,
    /// Additional instructions for this one task.
    pub instructions: Option<&'a str>,
    pub title: &'a str,
    pub summary: Option<&'a str>,
    pub tags: &'a [String],
    /// More context: the note of the previous turn, the error of the previous attempt.
    pub more: Option<&'a str>,
    /// The schema of the output.
    pub output_schema: Option<&'a Value>,
    pub form: ReplyForm,
}

/// One layer of a prompt, as it is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptLayer {
    /// `base`, `agent`, `step`, `instructions` or `task`.
    pub name: String,
    pub text: String,
}

/// Builds the whole prompt of one task.
#[must_use]
pub fn assemble(step: &WorkflowStep, parts: &PromptParts<'_>) -> String {
    joined(&layers(step, parts))
}

/// Joins the layers of a prompt into one text.
#[must_use]
pub fn joined(layers: &[PromptLayer]) -> String {
    let texts: Vec<&str> = layers.iter().map(|layer| layer.text.as_str()).collect();
    texts.join(BETWEEN)
}

/// Builds the layers of one task's prompt, in their order.
#[must_use]
pub fn layers(step: &WorkflowStep, parts: &PromptParts<'_>) -> Vec<PromptLayer> {
    let (base, output) = match parts.form {
        ReplyForm::Sections => (BASE, "The Output section"),
        ReplyForm::Envelope => (BASE_ENVELOPE, "`output`"),
    };
    let mut layers = Vec::new();
    let mut add = |name: &str, text: String| {
        let name = name.to_owned();
        layers.push(PromptLayer { name, text });
    };
    add("base", base.trim().to_owned());
    if let Some(agent) = parts.agent.filter(|text| !text.trim().is_empty()) {
        add("agent", within(format!("## Agent Context\n{agent}")));
    }
    let schema = parts.output_schema.map(|schema| {
        let pretty = serde_json::to_string_pretty(schema).unwrap_or_default();
        format!("{output} is JSON that this JSON Schema accepts:\n```json\n{pretty}\n```")
    });
    let prompt = parts.step.filter(|text| !text.trim().is_empty());
    if prompt.is_some() || schema.is_some() {
        let said: Vec<&str> = prompt.into_iter().chain(schema.as_deref()).collect();
        let name = &step.name;
        let text = format!("## Workflow Step: {name}\n{}", said.join("\n\n"));
        add("step", within(text));
    }
    if let Some(text) = parts.instructions.filter(|text| !text.trim().is_empty()) {
        add(
            "instructions",
            within(format!("## Task Instructions\n{text}")),
        );
    }
    // The parts are limited one by one, so that cutting omits whole items.
    add("task", context(parts));
    layers
}

/// Fills in a step's prompt from the values that [`crate::engine::view`] returned. References that
/// could not be filled in become warnings.
///
/// # Errors
///
/// When an expression of the prompt cannot be evaluated.
pub fn prompt(
    step: &WorkflowStep,
    state: &serde_json::Map<String, Value>,
) -> Result<FilledText, expr::Error> {
    match &step.config.prompt {
        Some(prompt) => expression::fill_prompt(prompt, state),
        None => Ok(FilledText::default()),
    }
}

/// The recipient of a prompt, and the form of the reply.
#[derive(Clone, Copy, Debug, Default)]
pub struct PromptRequest<'a> {
    /// The agent's own prompt.
    pub agent: Option<&'a str>,
    /// Additional instructions for this one task.
    pub instructions: Option<&'a str>,
    pub form: ReplyForm,
}

/// The layers of a task's prompt, and warnings for the person who looks after the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayeredPrompt {
    pub layers: Vec<PromptLayer>,
    pub warnings: Vec<String>,
}

/// Builds the prompt of a task, for a model or for a person.
///
/// # Errors
///
/// When an expression of the prompt cannot be evaluated.
pub fn of_task(
    step: &WorkflowStep,
    task: &TaskRow,
    state: &Map<String, Value>,
    asked: PromptRequest<'_>,
) -> Result<LayeredPrompt, expr::Error> {
    let filled = prompt(step, state)?;
    let mut warnings: Vec<String> = filled.unknown.iter().map(|path| unknown(path)).collect();
    warnings.extend(filled.cut.iter().map(|path| {
        format!("The prompt shows only the beginning of `{path}`: it is longer than REFERENCE_BYTES_MAX = {} bytes.", expression::REFERENCE_BYTES_MAX)
    }));
    let before = before(step, state, &mut warnings);
    let more: Vec<String> = before.into_iter().chain(so_far(task)).collect();
    let more = (!more.is_empty()).then(|| more.join("\n\n"));
    let mut tags = task.tags.clone();
    let around = task.id.path.items().last();
    tags.extend(around.map(|item| format!("foreach:{}", item.foreach)));
    let parts = PromptParts {
        agent: asked.agent,
        step: (!filled.text.is_empty()).then_some(filled.text.as_str()),
        instructions: asked.instructions,
        title: &title(step, task, state),
        summary: step.config.description.as_deref(),
        tags: &tags,
        more: more.as_deref(),
        output_schema: step.config.output_schema.as_ref(),
        form: asked.form,
    };
    Ok(LayeredPrompt {
        layers: layers(step, &parts),
        warnings,
    })
}

fn unknown(path: &str) -> String {
    match path.starts_with("input.") {
        true => format!(
            "The prompt names `{path}`, which neither the run's input nor the previous step has."
        ),
        false => format!("The prompt names `{path}`, which is unknown here."),
    }
}

/// Returns the name of the step, with the item it is about.
fn title(step: &WorkflowStep, task: &TaskRow, state: &Map<String, Value>) -> String {
    let total = state.get("total").and_then(Value::as_u64);
    match (task.id.path.items().last(), total) {
        (Some(item), Some(total)) => format!("{} [{}/{total}]", step.name, item.index + 1),
        _ => step.name.clone(),
    }
}

/// Returns the output of the previous step, or of the steps of `contextFrom`, and the item of the
/// task. A value that is too long is cut to whole items, with a sentence and a warning.
fn before(
    step: &WorkflowStep,
    state: &Map<String, Value>,
    warnings: &mut Vec<String>,
) -> Vec<String> {
    let mut values: Vec<(String, &Value)> = Vec::new();
    for variable in &step.item_variables {
        values.extend(
            state
                .get(variable)
                .map(|item| (format!("The item `{variable}`"), item)),
        );
    }
    match &step.config.context_from {
        None => values.extend(
            state
                .get("output")
                .map(|output| ("The step before gave".to_owned(), output)),
        ),
        Some(steps) => {
            let given = |id: &String| state.get("steps")?.get(id)?.get("output");
            values.extend(
                steps
                    .iter()
                    .filter_map(|id| Some((format!("The step `{id}` gave"), given(id)?))),
            );
        }
    }
    let tokens = step.context_tokens();
    let mut room = tokens as usize * TOKEN_BYTES;
    let mut told = Vec::new();
    for (what, value) in values {
        let shown = context::excerpt(value, room);
        room = room.saturating_sub(shown.text.len());
        let mut text = format!("{what}:\n{}", shown.text);
        if let Some(left_out) = shown.left_out {
            let limit = format!("contextTokensMax = {tokens}");
            text.push_str(&format!(
                "\n[{left_out} left out here: more than {limit} tokens]"
            ));
            warnings.push(format!(
                "{what} more than fits {limit}: {left_out} left out of the prompt."
            ));
        }
        told.push(text);
    }
    told
}

/// Returns the notes and errors of earlier turns and attempts.
fn so_far(task: &TaskRow) -> Vec<String> {
    let mut told = Vec::new();
    if let (Some(note), Some(output)) = (&task.note, &task.output) {
        let shown = context::excerpt(output, SO_FAR_BYTES_MAX);
        told.push(format!(
            "You asked for another turn ({note}). Your output so far:\n{}",
            shown.text
        ));
        told.extend(shown.left_out.map(|left_out| {
            format!("[{left_out} left out here: more than SO_FAR_BYTES_MAX = {SO_FAR_BYTES_MAX}]")
        }));
    } else if let Some(note) = &task.note {
        told.push(format!("You asked for another turn: {note}"));
    }
    if let Some(failure) = &task.failure {
        told.push(format!("The attempt before failed: {}", failure.message));
    }
    told
}

/// Limits the bytes shown of the output of an earlier turn.
const SO_FAR_BYTES_MAX: usize = 32 << 10;

/// Returns the JSON Schema of a reply, for providers that enforce one: the same five sections, with
/// the step's output schema inside.
///
/// Nothing in it is optional and every object is closed, because strict modes require that. An
/// output without a schema is a text, because a schema cannot be strict and allow anything.
#[must_use]
pub fn envelope(output_schema: Option<&Value>) -> Value {
    let mut definitions = Map::new();
    let output = match output_schema {
        Some(Value::Object(schema)) => inside(schema, &mut definitions),
        _ => json!({ "type": "string" }),
    };
    let one_of = |words: &[&str]| json!({ "type": "string", "enum": words });
    let mut envelope = json!({
        "type": "object",
        "additionalProperties": false,
        "required": [
            "status", "summary", "output", "next_action", "next_action_reason", "metadata",
        ],
        "properties": {
            "status": one_of(&["SUCCESS", "PARTIAL", "BLOCKED", "FAILED"]),
            "summary": { "type": "string" },
            "output": output,
            "next_action": one_of(&["COMPLETE", "CONTINUE", "ESCALATE", "HOLD"]),
            "next_action_reason": { "type": ["string", "null"] },
            "metadata": {
                "type": "object",
                "additionalProperties": false,
                "required": ["confidence", "suggested_tags", "suggested_next_stage"],
                "properties": {
                    "confidence": { "type": "number" },
                    "suggested_tags": { "type": "array", "items": { "type": "string" } },
                    "suggested_next_stage": { "type": ["string", "null"] },
                },
            },
        },
    });
    if let Some(fields) = envelope.as_object_mut() {
        fields.extend(definitions);
    }
    envelope
}

/// The place of the step's schema inside the envelope's.
const OUTPUT_POINTER: &str = "#/properties/output";
/// The keys under which schemas keep shared definitions. Providers find these only at the top
/// level.
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];

/// Embeds a whole schema in the envelope: moves its definitions to the envelope's, and adapts its
/// references.
fn inside(schema: &Map<String, Value>, definitions: &mut Map<String, Value>) -> Value {
    let mut schema = schema.clone();
    schema.remove("$schema");
    schema.remove("$id");
    for word in DEFINITIONS {
        if let Some(mut given) = schema.remove(word) {
            redirect(&mut given);
            definitions.insert(word.to_owned(), given);
        }
    }
    let mut schema = Value::Object(schema);
    redirect(&mut schema);
    schema
}

fn redirect(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(redirect),
        Value::Object(fields) => {
            for (name, value) in fields {
                match (name.as_str(), value) {
                    ("$ref", Value::String(target)) => {
                        if let Some(moved) = moved(target) {
                            *target = moved;
                        }
                    }
                    // Values of these keys are data, even if they look like schemas.
                    ("const" | "enum" | "default" | "examples", _) => {}
                    (_, value) => redirect(value),
                }
            }
        }
        _ => {}
    }
}

/// Returns the new target of a reference inside the envelope, if it changes.
fn moved(target: &str) -> Option<String> {
    let pointer = target.strip_prefix('#')?;
    let is_definition = DEFINITIONS.iter().any(|word| {
        let rest = pointer
            .strip_prefix('/')
            .and_then(|rest| rest.strip_prefix(word));
        rest.is_some_and(|rest| rest.starts_with('/'))
    });
    let is_pointer = pointer.is_empty() || pointer.starts_with('/');
    (is_pointer && !is_definition).then(|| format!("{OUTPUT_POINTER}{pointer}"))
}

fn context(parts: &PromptParts<'_>) -> String {
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
