//! Steps: the keys that all tools share.

use std::time::Duration;

use serde_json::{Map, Value};

use super::order::{self, StepOrder};
use super::tool::{self, StepTool};
use super::variable::is_name;
use crate::error::FileSpan;
use crate::fields::{FileProblems, ManifestFields, ManifestText, ManifestValue, UnsupportedKey};
use crate::yaml::ManifestNode;

/// Most steps of one list.
pub const STEPS_MAX: usize = 1000;

/// One step of a recipe.
#[derive(Clone, Debug)]
pub struct RecipeStep {
    pub name: String,
    pub place: FileSpan,
    pub tool: StepTool,
    pub description: Option<String>,
    pub when: Option<ManifestText>,
    pub depends_on: Vec<ManifestText>,
    pub continue_on_error: bool,
    pub timeout: Option<Duration>,
    pub retries: u32,
    /// Values for this step alone; strings are templates.
    pub variables: Map<String, Value>,
    pub environment: Vec<(String, ManifestText)>,
    /// Variables set from the step's result.
    pub exports: Vec<(String, ManifestText)>,
    pub for_each: Option<ForEach>,
    /// Commands of neighbouring steps that say so run at the same time.
    pub parallel: bool,
}

/// One template, many files.
#[derive(Clone, Debug)]
pub struct ForEach {
    /// A list, or an expression that gives one.
    pub list: ManifestValue,
    pub item: String,
    pub index: String,
}

const KEYS: [&str; 16] = [
    "name",
    "tool",
    "description",
    "when",
    "dependsOn",
    "continueOnError",
    "timeout",
    "retries",
    "variables",
    "environment",
    "exports",
    "forEach",
    "as",
    "index",
    "parallel",
    "tags",
];

const FOREIGN: [UnsupportedKey; 3] = [
    ("if", "write `when:`"),
    ("condition", "write `when:`"),
    ("needs", "write `dependsOn:`"),
];

const RETRIES_MAX: u32 = 100;

/// Reads a list of steps and decides their order, unless a step could not be read.
pub(super) fn read_ordered(
    fields: &ManifestFields<'_>,
    key: &str,
    problems: &mut FileProblems<'_>,
) -> (Vec<RecipeStep>, Option<StepOrder>) {
    let steps = read_all(fields, key, problems);
    // A step that could not be read is missing from the list; without this check, every step that
    // depends on it would be reported too.
    let complete = steps.len() == fields.list(key, problems).len();
    let order = complete.then(|| order::decide(&steps, problems)).flatten();
    (steps, order)
}

fn read_all(
    fields: &ManifestFields<'_>,
    key: &str,
    problems: &mut FileProblems<'_>,
) -> Vec<RecipeStep> {
    let nodes = fields.list(key, problems);
    if nodes.len() > STEPS_MAX {
        let message = format!(
            "{} steps are more than STEPS_MAX = {STEPS_MAX}",
            nodes.len()
        );
        problems.note(fields.key_at(key), message);
        return Vec::new();
    }
    if fields.has(key) && nodes.is_empty() {
        problems.note(fields.key_at(key), format!("`{key}` is empty"));
    }
    nodes
        .iter()
        .enumerate()
        .filter_map(|(index, node)| read(node, index, problems))
        .collect()
}

fn read(node: &ManifestNode, index: usize, problems: &mut FileProblems<'_>) -> Option<RecipeStep> {
    let fields = ManifestFields::open(node, "a step", problems)?;
    let tool_name = tool::name_of(&fields, problems)?;
    let foreign = [&FOREIGN, tool::foreign(tool_name)].concat();
    fields.only(&[&KEYS, tool::keys(tool_name)], &foreign, problems);
    let tool = tool::read(tool_name, &fields, problems);
    let place = fields.key_at("name").place(problems.text);
    // No step refers to one inside `sequence` and `parallel`, so a name is optional there.
    let name = fields.string("name", problems);
    let mut step = RecipeStep {
        name: name.unwrap_or_else(|| format!("step {}", index + 1)),
        place,
        tool: tool?,
        description: fields.string("description", problems),
        when: fields.text("when", problems),
        depends_on: fields.texts("dependsOn", problems),
        continue_on_error: fields.flag("continueOnError", problems).unwrap_or(false),
        timeout: fields.duration("timeout", problems),
        retries: fields.count("retries", problems).unwrap_or(0),
        variables: fields.json_map("variables", problems),
        environment: fields.text_map("environment", problems),
        exports: fields.text_map("exports", problems),
        for_each: read_for_each(&fields, problems),
        parallel: read_parallel(&fields, problems),
    };
    complete(&mut step, &fields, problems);
    for (name, text) in &step.exports {
        if !is_name(name) {
            let message = format!("`{name}` cannot be the name of a variable");
            problems.note_at(text.place, message, None);
        }
    }
    Some(step)
}

/// Moves `retries` and the exported variable of an `ai` step to where they take effect, and checks
/// `retries` against the tool's limit.
fn complete(step: &mut RecipeStep, fields: &ManifestFields<'_>, problems: &mut FileProblems<'_>) {
    let mut retries_max = RETRIES_MAX;
    if let StepTool::Ai(ai) = &mut step.tool {
        retries_max = prompt::limits::RETRIES_MAX;
        let said = fields.has("retries").then_some(step.retries);
        ai.retries = said.or(ai.retries);
        step.retries = ai.retries.unwrap_or(0);
        let export = |name: &ManifestText| {
            let text = "result.value".to_owned();
            let place = name.place;
            (name.text.clone(), ManifestText { text, place })
        };
        step.exports.extend(ai.variable.as_ref().map(export));
    }
    if step.retries > retries_max {
        let message = format!("`retries` is more than RETRIES_MAX = {retries_max}");
        problems.note(fields.key_at("retries"), message);
    }
}

/// Reads `parallel`: `true` marks a step; a list of steps is the tool, not a mark.
fn read_parallel(fields: &ManifestFields<'_>, problems: &mut FileProblems<'_>) -> bool {
    let is_tool = fields
        .node("parallel")
        .is_some_and(|node| matches!(node.data, crate::yaml::ManifestData::List(_)));
    !is_tool && fields.flag("parallel", problems).unwrap_or(false)
}

fn read_for_each(fields: &ManifestFields<'_>, problems: &mut FileProblems<'_>) -> Option<ForEach> {
    let name = |key: &str, default: &str, problems: &mut FileProblems<'_>| {
        let Some(text) = fields.text(key, problems) else {
            return default.to_owned();
        };
        if !is_name(&text.text) {
            let message = format!("`{}` cannot be the name of a variable", text.text);
            problems.note_at(text.place, message, None);
        }
        text.text
    };
    let item = name("as", "item", problems);
    let index = name("index", "index", problems);
    let Some(list) = fields.datum("forEach", problems) else {
        for key in ["as", "index"] {
            if fields.has(key) {
                let message = format!("`{key}` has no meaning without `forEach`");
                problems.note(fields.key_at(key), message);
            }
        }
        return None;
    };
    if !matches!(list.value, Value::Array(_) | Value::String(_)) {
        let message = "`forEach` must be a list, or an expression that gives one";
        problems.note_at(list.place, message, None);
        return None;
    }
    Some(ForEach { list, item, index })
}
