//! Arguments held against a tool's schema, and sentences about what does not fit.

use jsonschema::Validator;
use jsonschema::error::ValidationErrorKind;
use serde_json::{Map, Value};

/// Number of problems reported for one call.
const PROBLEMS_MAX: usize = 5;
/// The longest piece of a schema that is quoted.
const QUOTE_BYTES_MAX: usize = 400;

/// A compiled schema. An invalid schema checks nothing: only the server can correct it, and its
/// tool may work all the same.
pub(crate) struct ArgumentSchema(Option<Validator>);

impl ArgumentSchema {
    pub(crate) fn new(schema: &Value) -> ArgumentSchema {
        ArgumentSchema(jsonschema::validator_for(schema).ok())
    }

    /// Returns the problems of the arguments, each with the schema's line about it; `None` if there
    /// are no problems.
    pub(crate) fn problems(
        &self,
        tool: &llm::ToolDeclaration,
        arguments: &Map<String, Value>,
    ) -> Option<String> {
        let validator = self.0.as_ref()?;
        // The validator takes a value; the clone is of this call's arguments only.
        let arguments = Value::Object(arguments.clone());
        let problems: Vec<String> = validator
            .iter_errors(&arguments)
            .take(PROBLEMS_MAX)
            .map(|error| sentence(tool, &error))
            .collect();
        (!problems.is_empty()).then(|| problems.join(" "))
    }
}

/// Returns the sentence sent to the model about arguments that could not be read at all.
pub(crate) fn malformed(tool: &llm::ToolDeclaration, why: &str) -> String {
    format!(
        "The call of `{}` was not made: {why}. Its arguments are one JSON object; {}",
        tool.name,
        required_line(&tool.schema)
    )
}

fn sentence(tool: &llm::ToolDeclaration, error: &jsonschema::ValidationError<'_>) -> String {
    let place = error.instance_path().to_string();
    let field = place.split('/').nth(1).unwrap_or_default();
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            format!(
                "`{name}` is missing{}: {}.",
                at(&place),
                line(&tool.schema, name)
            )
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let known = tool.schema.get("properties").and_then(Value::as_object);
            let known = known.map(|known| known.keys().map(String::as_str).collect::<Vec<_>>());
            format!(
                "There is no argument `{}`{}; there are: {}.",
                unexpected.join("`, `"),
                at(&place),
                known.unwrap_or_default().join(", ")
            )
        }
        _ if field.is_empty() => format!("{error}; {}", required_line(&tool.schema)),
        _ => format!(
            "`{}`: {error}; the schema says {}.",
            place.trim_start_matches('/'),
            line(&tool.schema, field)
        ),
    }
}

fn at(place: &str) -> String {
    match place.trim_start_matches('/') {
        "" => String::new(),
        place => format!(" in `{place}`"),
    }
}

/// Returns the schema of one argument, on one line.
fn line(schema: &Value, name: &str) -> String {
    let property = schema.get("properties").and_then(|all| all.get(name));
    let text = property.map(|property| format!("{{\"{name}\":{property}}}"));
    quoted(&text.unwrap_or_else(|| format!("{{\"{name}\":…}}")))
}

fn required_line(schema: &Value) -> String {
    let required = schema.get("required").cloned().unwrap_or_default();
    let known = schema.get("properties").and_then(Value::as_object);
    let known: Vec<_> = known
        .into_iter()
        .flatten()
        .map(|(name, _)| name.as_str())
        .collect();
    quoted(&format!(
        "arguments: {}; required: {required}.",
        known.join(", ")
    ))
}

fn quoted(text: &str) -> String {
    let end = text.floor_char_boundary(QUOTE_BYTES_MAX);
    match text.get(end..) {
        None | Some("") => text.to_owned(),
        Some(_) => format!("{}…", &text[..end]),
    }
}
