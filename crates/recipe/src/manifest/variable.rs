//! Declared variables: their types and rules, checked against themselves.

use indexmap::IndexMap;
use serde_json::Value;

use crate::fields::{FileProblems, ManifestFields, ManifestText, ManifestValue, UnsupportedKey};
use crate::regex::RecipeRegex;
use crate::variables::typed;

/// Type of a variable's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableType {
    String,
    Number,
    Boolean,
    Enum,
    Array,
    Object,
    File,
    Directory,
}

/// One declared variable.
#[derive(Clone, Debug)]
pub struct RecipeVariable {
    pub kind: VariableType,
    pub required: bool,
    /// Applied when no value is given; a string may be a template over earlier variables.
    pub default: Option<ManifestValue>,
    /// Shown to the person who is asked, never applied.
    pub suggestion: Option<Value>,
    pub prompt: Option<String>,
    pub description: Option<String>,
    pub pattern: Option<ManifestText>,
    pub min: Option<f64>,
    pub max: Option<f64>,
    pub values: Vec<String>,
    pub multiple: bool,
    /// Index of the positional argument that fills it, from zero.
    pub position: Option<u32>,
    /// Never recorded, never shown, typed without an echo.
    pub secret: bool,
    /// A condition over the variables before it; the run asks for the variable only if it holds.
    pub when: Option<ManifestText>,
    /// Labels for the words of an enum, shown where a person chooses.
    pub labels: Vec<(String, String)>,
    /// A template over the variables before it; the value cannot be given in another way.
    pub computed: Option<ManifestValue>,
    /// Message for a value that breaks the rules, instead of the rule itself.
    pub message: Option<String>,
}

const TYPES: [(&str, VariableType); 8] = [
    ("string", VariableType::String),
    ("number", VariableType::Number),
    ("boolean", VariableType::Boolean),
    ("enum", VariableType::Enum),
    ("array", VariableType::Array),
    ("object", VariableType::Object),
    ("file", VariableType::File),
    ("directory", VariableType::Directory),
];

const KEYS: [&str; 17] = [
    "type",
    "required",
    "default",
    "suggestion",
    "prompt",
    "description",
    "pattern",
    "min",
    "max",
    "values",
    "multiple",
    "position",
    "secret",
    "when",
    "labels",
    "computed",
    "message",
];

const FOREIGN: [UnsupportedKey; 3] = [
    (
        "validation",
        "write the rule itself: `pattern`, `min`, `max` or `values`",
    ),
    ("enum", "write the allowed words under `values`"),
    ("options", "write the allowed words under `values`"),
];

/// Names a template could not read, or that a run fills itself.
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

impl VariableType {
    pub fn as_str(self) -> &'static str {
        let found = TYPES.iter().find(|(_, kind)| *kind == self);
        found.map_or("string", |(name, _)| name)
    }
}

pub(super) fn read_all(
    recipe: &ManifestFields<'_>,
    problems: &mut FileProblems<'_>,
) -> IndexMap<String, RecipeVariable> {
    let mut variables = IndexMap::new();
    let mut positions: Vec<(u32, String)> = Vec::new();
    for entry in recipe.map("variables", problems) {
        if !is_name(&entry.key) {
            let message = format!("`{}` cannot be the name of a variable", entry.key);
            let hint = "use letters, digits and `_`, not beginning with a digit";
            problems.note_with_hint(entry.key_at, message, Some(hint.to_owned()));
        }
        if RESERVED.contains(&entry.key.as_str()) {
            let message = format!("`{}` is reserved and cannot be a variable", entry.key);
            problems.note(entry.key_at, message);
        }
        let Some(variable) = read(&entry.value, problems) else {
            continue;
        };
        if let Some(position) = variable.position {
            if let Some((_, other)) = positions.iter().find(|(taken, _)| *taken == position) {
                let message = format!("`{other}` already has position {position}");
                problems.note(entry.key_at, message);
            }
            positions.push((position, entry.key.clone()));
        }
        variables.insert(entry.key.clone(), variable);
    }
    variables
}

fn read(
    node: &crate::yaml::ManifestNode,
    problems: &mut FileProblems<'_>,
) -> Option<RecipeVariable> {
    let fields = ManifestFields::open(node, "a variable", problems)?;
    fields.only(&[&KEYS], &FOREIGN, problems);
    let values = fields.strings("values", problems);
    let kind = match fields.has("type") {
        true => fields.word("type", &TYPES, problems)?,
        false if !values.is_empty() => VariableType::Enum,
        false => VariableType::String,
    };
    let variable = RecipeVariable {
        kind,
        required: fields.flag("required", problems).unwrap_or(false),
        default: fields.datum("default", problems),
        suggestion: fields
            .datum("suggestion", problems)
            .map(|datum| datum.value),
        prompt: fields.string("prompt", problems),
        description: fields.string("description", problems),
        pattern: fields.text("pattern", problems),
        min: fields.number("min", problems),
        max: fields.number("max", problems),
        values,
        multiple: fields.flag("multiple", problems).unwrap_or(false),
        position: fields.count("position", problems),
        secret: fields.flag("secret", problems).unwrap_or(false),
        when: fields.text("when", problems),
        labels: read_labels(&fields, problems),
        computed: fields.datum("computed", problems),
        message: fields.string("message", problems),
    };
    check(&variable, &fields, problems);
    Some(variable)
}

/// Reads the label of each word: `labels: { card: A card, table: A table }`.
fn read_labels(
    fields: &ManifestFields<'_>,
    problems: &mut FileProblems<'_>,
) -> Vec<(String, String)> {
    let labels = fields.text_map("labels", problems).into_iter();
    labels.map(|(word, label)| (word, label.text)).collect()
}

/// Rules that contradict the type, or one another.
fn check(variable: &RecipeVariable, fields: &ManifestFields<'_>, problems: &mut FileProblems<'_>) {
    let kind = variable.kind.as_str();
    let mut only_for = |key: &str, wanted: &[VariableType]| {
        if fields.has(key) && !wanted.contains(&variable.kind) {
            let names: Vec<&str> = wanted.iter().map(|kind| kind.as_str()).collect();
            let message = format!("`{key}` has no meaning for a variable of type {kind}");
            let hint = format!("it is for {}", names.join(", "));
            problems.note_with_hint(fields.key_at(key), message, Some(hint));
        }
    };
    only_for(
        "pattern",
        &[
            VariableType::String,
            VariableType::File,
            VariableType::Directory,
        ],
    );
    only_for("min", &[VariableType::Number]);
    only_for("max", &[VariableType::Number]);
    only_for("values", &[VariableType::Enum]);
    only_for("multiple", &[VariableType::Enum]);
    only_for("labels", &[VariableType::Enum]);
    if variable.kind == VariableType::Enum && variable.values.is_empty() {
        let hint = "list the allowed words under `values`".to_owned();
        problems.note_with_hint(
            fields.at,
            "an enum without `values` accepts nothing",
            Some(hint),
        );
    }
    for (word, _) in &variable.labels {
        if !variable.values.contains(word) {
            let message = format!("`labels` names `{word}`, which is not among `values`");
            problems.note(fields.key_at("labels"), message);
        }
    }
    if variable.computed.is_some() {
        for key in [
            "required",
            "default",
            "suggestion",
            "prompt",
            "position",
            "secret",
        ] {
            if fields.has(key) {
                let message = format!("`{key}` has no meaning for a variable that is computed");
                problems.note(fields.key_at(key), message);
            }
        }
    }
    if variable.required && variable.default.is_some() {
        let message = "`required` and `default` contradict each other";
        let hint = "drop `required`, or use `suggestion` instead of `default`".to_owned();
        problems.note_with_hint(fields.key_at("default"), message, Some(hint));
    }
    check_values(variable, fields, problems);
}

/// Reports a pattern that does not compile, a default of another type and bounds that exclude all.
fn check_values(
    variable: &RecipeVariable,
    fields: &ManifestFields<'_>,
    problems: &mut FileProblems<'_>,
) {
    if let Some(pattern) = &variable.pattern
        && let Err(error) = RecipeRegex::new(&pattern.text)
    {
        let message = format!("this is not a regular expression: {}", error.message());
        problems.note(fields.key_at("pattern"), message);
    }
    if let Some(default) = &variable.default
        && !default.value.to_string().contains("{{")
        && let Err(wrong) = typed(variable, &default.value)
    {
        problems.note(fields.key_at("default"), format!("the default {wrong}"));
    }
    if let (Some(min), Some(max)) = (variable.min, variable.max)
        && min > max
    {
        problems.note(
            fields.key_at("min"),
            format!("`min` {min} is greater than `max` {max}"),
        );
    }
}

/// Returns true for a name that an expression can read.
pub(crate) fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars
        .next()
        .is_some_and(|c| c.is_alphabetic() || matches!(c, '_' | '$'))
        && chars.all(|c| c.is_alphanumeric() || matches!(c, '_' | '$'))
}
