//! The variables of a recipe: those that prompts ask for, and those that templates use without a
//! prompt.

use serde_json::{Value, json};

use super::prompts::{HygenPrompt, HygenPromptKind};
use super::script_analysis::{NameUse, NameUseKind};

/// A variable to declare.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct HygenVariable {
    pub(super) name: String,
    /// Keys and values of its declaration, in order.
    pub(super) fields: Vec<(&'static str, Value)>,
}

/// Names that hygen derives or fills in, and their expressions here.
const DERIVED: [(&str, &str); 5] = [
    ("Name", "{{ capitalize(name) }}"),
    ("names", "{{ pluralize(name) }}"),
    ("Names", "{{ capitalize(pluralize(name)) }}"),
    ("ts", "{{ Date.now() }}"),
    ("cwd", "."),
];

/// Names a recipe fills itself.
const RESERVED: [&str; 8] = [
    "answers",
    "state",
    "recipe",
    "step",
    "result",
    "provide",
    "fileExists",
    "dirExists",
];

/// The variables of an action, and the warnings about them.
pub(super) struct HygenVariables {
    pub(super) variables: Vec<HygenVariable>,
    pub(super) warnings: Vec<(u32, String)>,
}

/// Declares everything an action asks for or uses; uses come with the line of their template.
pub(super) fn declare(
    generator: &str,
    action: &str,
    questions: &[HygenPrompt],
    uses: &[(NameUse, u32)],
) -> HygenVariables {
    let mut declared = HygenVariables {
        variables: Vec::new(),
        warnings: Vec::new(),
    };
    let mut names: Vec<&str> = Vec::new();
    let used = |name: &str| uses.iter().any(|(used, _)| used.name == name);
    let derives = DERIVED[..3].iter().any(|(name, _)| used(name));
    let asked = |name: &str| questions.iter().find(|question| question.name == name);
    if used("name") || derives || asked("name").is_some() {
        names.push("name");
    }
    names.extend(questions.iter().map(|question| question.name.as_str()));
    names.extend(uses.iter().map(|(used, _)| used.name.as_str()));
    let mut done = Vec::new();
    for name in names {
        if done.contains(&name) || name == "attributes" {
            continue;
        }
        done.push(name);
        let line = uses
            .iter()
            .find(|(used, _)| used.name == name)
            .map_or(1, |(_, line)| *line);
        if RESERVED.contains(&name)
            || matches!(name, "_" | "templates" | "actionfolder" | "subaction")
        {
            let why = "is not available here: rename it, or write the value out";
            declared.warnings.push((line, format!("`{name}` {why}")));
            continue;
        }
        let fields = match (asked(name), name) {
            (Some(question), _) => asked_for(question),
            (None, "name") => vec![("type", json!("string")), ("required", json!(true))],
            (None, "generator") => vec![("type", json!("string")), ("default", json!(generator))],
            (None, "action") => vec![("type", json!("string")), ("default", json!(action))],
            (None, name) => match DERIVED.iter().find(|(derived, _)| *derived == name) {
                Some((_, default)) => vec![("type", json!("string")), ("default", json!(default))],
                None => guessed(name, uses),
            },
        };
        let mut variable = HygenVariable {
            name: name.to_owned(),
            fields,
        };
        if name == "name" {
            variable.fields.push(("position", json!(0)));
        }
        declared.variables.push(variable);
    }
    declared
}

fn asked_for(question: &HygenPrompt) -> Vec<(&'static str, Value)> {
    let kind = match question.kind {
        HygenPromptKind::Select | HygenPromptKind::MultiSelect if question.choices.is_empty() => {
            "string"
        }
        HygenPromptKind::Text => "string",
        HygenPromptKind::Number => "number",
        HygenPromptKind::Confirm => "boolean",
        HygenPromptKind::Select | HygenPromptKind::MultiSelect => "enum",
    };
    let mut fields = vec![("type", json!(kind))];
    if kind == "enum" {
        fields.push(("values", json!(question.choices)));
    }
    if question.kind == HygenPromptKind::MultiSelect && kind == "enum" {
        fields.push(("multiple", json!(true)));
    }
    if let Some(message) = &question.message {
        fields.push(("prompt", json!(message)));
    }
    fields.push(match default(question, kind) {
        Some(value) => ("default", value),
        None => ("required", json!(true)),
    });
    fields
}

/// Returns the default, if it is of the declared type.
fn default(question: &HygenPrompt, kind: &str) -> Option<Value> {
    let value = question.default.as_ref()?;
    let index = value.as_u64().and_then(|index| usize::try_from(index).ok());
    match (kind, value) {
        // A number among choices is the place of one of them.
        ("enum", Value::Number(_)) => question.choices.get(index?).map(|choice| json!(choice)),
        ("enum", Value::String(choice)) => question.choices.contains(choice).then(|| value.clone()),
        ("string", Value::String(text)) => Some(json!(text.replace("{{", "{{ '{{' }}"))),
        ("string", Value::Number(_) | Value::Bool(_)) => Some(json!(value.to_string())),
        ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) => Some(value.clone()),
        ("number", Value::String(text)) => text.parse::<f64>().ok().map(|number| json!(number)),
        ("boolean", Value::String(text)) => Some(json!(text == "true")),
        _ => None,
    }
}

/// Guesses the type of a value that hygen takes from the command line without declaring it.
fn guessed(name: &str, uses: &[(NameUse, u32)]) -> Vec<(&'static str, Value)> {
    let hows: Vec<NameUseKind> = uses
        .iter()
        .filter(|(used, _)| used.name == name)
        .map(|(used, _)| used.how)
        .collect();
    let only = |wanted: &[NameUseKind]| hows.iter().all(|how| wanted.contains(how));
    if hows.contains(&NameUseKind::List) {
        let mut fields = vec![("type", json!("array"))];
        fields.push(if hows.contains(&NameUseKind::Maybe) {
            ("default", json!([]))
        } else {
            ("required", json!(true))
        });
        return fields;
    }
    if only(&[NameUseKind::Test, NameUseKind::Maybe]) && hows.contains(&NameUseKind::Test) {
        return vec![("type", json!("boolean")), ("default", json!(false))];
    }
    match hows.contains(&NameUseKind::Maybe) {
        true => vec![("type", json!("string"))],
        false => vec![("type", json!("string")), ("required", json!(true))],
    }
}
