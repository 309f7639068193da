//! The variables of a recipe: what was asked for, and what templates use without asking.

use serde_json::{Value, json};

use super::prompts::{Kind, Question};
use super::survey::{How, Use};

/// A variable to declare.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Variable {
    pub(super) name: String,
    /// Keys and values of its declaration, in order.
    pub(super) fields: Vec<(&'static str, Value)>,
}

/// Names that hygen derives or fills in, and how they are said here.
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

/// What the action is called, and what is said about its variables.
pub(super) struct Declared {
    pub(super) variables: Vec<Variable>,
    pub(super) warnings: Vec<(u32, String)>,
}

/// Declares everything an action asks for or uses; uses come with the line of their template.
pub(super) fn declare(
    generator: &str,
    action: &str,
    questions: &[Question],
    uses: &[(Use, u32)],
) -> Declared {
    let mut declared = Declared {
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
        let mut variable = Variable {
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

fn asked_for(question: &Question) -> Vec<(&'static str, Value)> {
    let kind = match question.kind {
        Kind::Select | Kind::MultiSelect if question.choices.is_empty() => "string",
        Kind::Text => "string",
        Kind::Number => "number",
        Kind::Confirm => "boolean",
        Kind::Select | Kind::MultiSelect => "enum",
    };
    let mut fields = vec![("type", json!(kind))];
    if kind == "enum" {
        fields.push(("values", json!(question.choices)));
    }
    if question.kind == Kind::MultiSelect && kind == "enum" {
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

/// The default, if it is one of the declared type.
fn default(question: &Question, kind: &str) -> Option<Value> {
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

/// A type for a value that hygen takes from the command line without declaring it.
fn guessed(name: &str, uses: &[(Use, u32)]) -> Vec<(&'static str, Value)> {
    let hows: Vec<How> = uses
        .iter()
        .filter(|(used, _)| used.name == name)
        .map(|(used, _)| used.how)
        .collect();
    let only = |wanted: &[How]| hows.iter().all(|how| wanted.contains(how));
    if hows.contains(&How::List) {
        let mut fields = vec![("type", json!("array"))];
        fields.push(if hows.contains(&How::Maybe) {
            ("default", json!([]))
        } else {
            ("required", json!(true))
        });
        return fields;
    }
    if only(&[How::Test, How::Maybe]) && hows.contains(&How::Test) {
        return vec![("type", json!("boolean")), ("default", json!(false))];
    }
    match hows.contains(&How::Maybe) {
        true => vec![("type", json!("string"))],
        false => vec![("type", json!("string")), ("required", json!(true))],
    }
}
