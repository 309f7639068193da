//! Decides if a provider's strict mode accepts a schema.

use serde_json::{Map, Value};

/// Keywords of JSON Schema that strict modes refuse anywhere.
const REFUSED: [&str; 10] = [
    "allOf",
    "dependentRequired",
    "dependentSchemas",
    "else",
    "if",
    "not",
    "oneOf",
    "patternProperties",
    "prefixItems",
    "then",
];

/// Strict modes take only schemas in which every value has a kind, every array says what is in it,
/// and every object lists all its fields as required and no others.
pub(crate) fn is_strict(schema: &Value) -> bool {
    let Some(fields) = schema.as_object() else {
        return false;
    };
    let has = |word: &str| fields.contains_key(word);
    let says_kind = ["type", "enum", "const", "anyOf", "$ref"]
        .into_iter()
        .any(has);
    says_kind
        && !REFUSED.into_iter().any(has)
        && (!is_of(fields, "object") || is_closed(fields))
        && (!is_of(fields, "array") || fields.get("items").is_some_and(is_strict))
        && fields
            .get("anyOf")
            .is_none_or(|all| all.as_array().is_some_and(|all| all.iter().all(is_strict)))
        && ["$defs", "definitions"].into_iter().all(|word| {
            let named = fields.get(word).and_then(Value::as_object);
            named.is_none_or(|named| named.values().all(is_strict))
        })
}

/// True if the schema allows values of this kind; `type` may be a list.
fn is_of(fields: &Map<String, Value>, kind: &str) -> bool {
    let stated = match fields.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(|one| one == kind),
        Some(one) => one == kind,
        None => false,
    };
    let implied = match kind {
        "object" => "properties",
        _ => "items",
    };
    stated || fields.contains_key(implied)
}

fn is_closed(fields: &Map<String, Value>) -> bool {
    let Some(properties) = fields.get("properties").and_then(Value::as_object) else {
        return false;
    };
    let required = fields.get("required").and_then(Value::as_array);
    let is_required = |name: &String| {
        required.is_some_and(|all| all.iter().any(|entry| entry.as_str() == Some(name)))
    };
    fields.get("additionalProperties") == Some(&Value::Bool(false))
        && properties.keys().all(is_required)
        && properties.values().all(is_strict)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::is_strict;

    fn object(field: Value) -> Value {
        json!({
            "type": "object",
            "properties": {"a": field},
            "required": ["a"],
            "additionalProperties": false,
        })
    }

    #[test]
    fn closed_schemas_are_strict() {
        let closed = object(json!({"type": "string"}));
        for strict in [
            closed.clone(),
            json!({"type": "array", "items": closed}),
            object(json!({"type": ["string", "null"]})),
            object(json!({"enum": ["x", "y"]})),
            object(json!({"anyOf": [closed, {"type": "null"}]})),
            // A field may be called like a word of the language.
            json!({
                "type": "object",
                "properties": {"type": {"type": "string"}, "items": {"type": "number"}},
                "required": ["type", "items"],
                "additionalProperties": false,
            }),
            json!({"$defs": {"x": closed}, "$ref": "#/$defs/x"}),
        ] {
            assert!(is_strict(&strict), "{strict}");
        }
    }

    #[test]
    fn schemas_with_anything_left_open_are_not() {
        for open in [
            json!({}),
            json!(true),
            json!({"type": "object"}),
            json!({"type": "array"}),
            json!({"type": "array", "items": {}}),
            json!({"type": ["array", "null"]}),
            json!({"description": "anything"}),
            object(json!({})),
            object(json!({"anyOf": [{}, {"type": "null"}]})),
            object(json!({"oneOf": [{"type": "string"}]})),
            json!({"$defs": {"x": {}}, "$ref": "#/$defs/x"}),
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}),
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false}),
            json!({"type": "array", "items": {"type": "object", "properties": {"a": {}}}}),
        ] {
            assert!(!is_strict(&open), "{open}");
        }
    }
}
