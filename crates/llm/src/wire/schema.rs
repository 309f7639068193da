//! Whether a schema can be held to strictly.

use serde_json::Value;

/// Strict modes take only schemas whose objects list all their fields as required and no others.
pub(crate) fn is_strict(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            let closed = fields
                .get("properties")
                .and_then(Value::as_object)
                .is_none_or(|properties| {
                    let required = fields.get("required").and_then(Value::as_array);
                    let all = required.is_some_and(|required| {
                        properties
                            .keys()
                            .all(|name| required.iter().any(|entry| entry.as_str() == Some(name)))
                    });
                    all && fields.get("additionalProperties") == Some(&Value::Bool(false))
                });
            let open_object = fields.get("type").is_some_and(|kind| kind == "object")
                && !fields.contains_key("properties");
            closed && !open_object && fields.values().all(is_strict)
        }
        Value::Array(all) => all.iter().all(is_strict),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::is_strict;

    #[test]
    fn only_closed_schemas_are_strict() {
        let closed = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false});
        assert!(is_strict(&closed));
        assert!(is_strict(&json!({"type": "array", "items": closed})));
        for open in [
            json!({"type": "object", "properties": {"a": {}}, "required": ["a"]}),
            json!({"type": "object", "properties": {"a": {}}, "additionalProperties": false}),
            json!({"type": "object"}),
            json!({"type": "array", "items": {"type": "object", "properties": {"a": {}}}}),
        ] {
            assert!(!is_strict(&open), "{open}");
        }
    }
}
