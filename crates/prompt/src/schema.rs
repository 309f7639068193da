//! JSON Schemas: the author's, made usable, and the one every kind of answer implies.

use crate::answers::REQUEST_KEY;
use crate::limits::VIOLATIONS_MAX;
use crate::questionnaire::{AnswerKind, Question, Questionnaire};
use crate::text;
use jsonschema::Validator;
use serde_json::{Map, Value, json};

/// Compiles the author's schema; the error says what is wrong with it. References to other
/// documents are never fetched: such a schema is broken.
pub(crate) fn compile(schema: &Value) -> Result<Validator, String> {
    if !matches!(schema, Value::Object(_) | Value::Bool(_)) {
        return Err(format!(
            "it is {}, but a schema is an object",
            text::shown(schema)
        ));
    }
    jsonschema::options()
        .offline()
        .build(schema)
        .map_err(|error| text::shorten(&error.to_string()))
}

/// Lists every violation of the schema, each with its JSON pointer.
pub(crate) fn violations(validator: &Validator, value: &Value) -> Vec<String> {
    let mut errors = validator.iter_errors(value);
    let mut listed: Vec<String> = errors
        .by_ref()
        .take(VIOLATIONS_MAX)
        .map(|error| {
            let pointer = error.instance_path().as_str();
            let at = if pointer.is_empty() { "/" } else { pointer };
            format!(
                "{}: {}",
                text::shorten(at),
                text::shorten(&error.to_string())
            )
        })
        .collect();
    let more = errors.count();
    if more > 0 {
        listed.push(format!("and {more} more"));
    }
    listed
}

/// Returns the schema an answer to this question must match, with the prompt as its description.
pub(crate) fn of_question(question: &Question) -> Value {
    let mut implied = of_kind(&question.kind);
    // An empty text is no answer, unless a rule of the author's own allows it.
    let is_text = matches!(question.kind, AnswerKind::Text | AnswerKind::Code { .. });
    let is_ruled = question.schema.is_some() || question.guardrails.length_min.is_some();
    if is_text && question.required && !is_ruled {
        implied.insert("pattern".to_owned(), json!("\\S"));
    }
    if matches!(question.kind, AnswerKind::Pick { .. } | AnswerKind::List) {
        let least = question.items.least(question.required);
        if least > 0 {
            implied.insert("minItems".to_owned(), json!(least));
        }
        if let Some(max) = question.items.max {
            implied.insert("maxItems".to_owned(), json!(max));
        }
    }
    let mut schema = match (&question.schema, implied.is_empty()) {
        (None, _) => implied,
        (Some(Value::Object(own)), true) => own.clone(),
        (Some(own), true) => object(json!({ "allOf": [own] })),
        (Some(own), false) => object(json!({ "allOf": [implied, own] })),
    };
    if !schema.contains_key("description") && !question.prompt.is_empty() {
        schema.insert("description".to_owned(), json!(question.prompt));
    }
    Value::Object(schema)
}

/// Returns the schema of the whole answers object.
pub(crate) fn of_answers(questionnaire: &Questionnaire) -> Value {
    let mut properties = Map::new();
    properties.insert(
        REQUEST_KEY.to_owned(),
        json!({ "const": questionnaire.request_id() }),
    );
    for (at, question) in questionnaire.questions().enumerate() {
        let mut schema = of_question(question);
        if !question.required {
            schema = json!({ "anyOf": [schema, { "type": "null" }] });
        }
        properties.insert(question.key.clone(), standalone(schema, at));
    }
    let required: Vec<&str> = questionnaire
        .questions()
        .filter(|question| question.required)
        .map(|question| question.key.as_str())
        .collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn of_kind(kind: &AnswerKind) -> Map<String, Value> {
    object(match kind {
        AnswerKind::Any | AnswerKind::Json => json!({}),
        AnswerKind::Text | AnswerKind::Code { .. } => json!({ "type": "string" }),
        AnswerKind::Boolean => json!({ "type": "boolean" }),
        AnswerKind::Number => json!({ "type": "number" }),
        AnswerKind::List => json!({ "type": "array" }),
        AnswerKind::Select { from } => json!({ "enum": distinct(from) }),
        AnswerKind::Pick { from } => json!({
            "type": "array",
            "items": { "enum": distinct(from) },
            "uniqueItems": true,
        }),
        AnswerKind::Order { from } => json!({
            "type": "array",
            "items": { "enum": distinct(from) },
            "minItems": from.len(),
            "maxItems": from.len(),
            "uniqueItems": distinct(from).len() == from.len(),
        }),
    })
}

/// Drops repeated members, which `enum` forbids and a computed list of choices may have.
fn distinct(from: &[Value]) -> Vec<&Value> {
    let mut seen: Vec<&Value> = Vec::with_capacity(from.len());
    for value in from {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen
}

/// Gives a schema an `$id`, so that an author's `#/$defs/…` still means the author's own schema
/// when it becomes a part of a larger one.
fn standalone(schema: Value, at: usize) -> Value {
    match &schema {
        Value::Object(own) if !own.contains_key("$id") && refers(&schema) => {
            let mut own = own.clone();
            own.insert("$id".to_owned(), json!(format!("urn:drawloom:answer:{at}")));
            Value::Object(own)
        }
        _ => schema,
    }
}

fn refers(schema: &Value) -> bool {
    match schema {
        Value::Object(object) => object.contains_key("$ref") || object.values().any(refers),
        Value::Array(items) => items.iter().any(refers),
        _ => false,
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}
