//! An answer of the shape that a schema asks for, as words to be filled in.

use serde_json::Value;

/// Returns the words for a shell, if the schema says enough; `'…'` marks values that only the
/// person knows.
pub(super) fn words(schema: &Value) -> Option<String> {
    let Some(fields) = schema["properties"].as_object() else {
        return one(schema);
    };
    let required = schema["required"].as_array();
    let is_required = |name: &str| {
        required.is_none_or(|names| names.iter().any(|one| one.as_str() == Some(name)))
    };
    let words = fields
        .iter()
        .filter(|(name, _)| is_required(name))
        .map(|(name, field)| format!("{name}={}", one(field).unwrap_or_else(|| "'…'".to_owned())));
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| words.join(" "))
}

fn one(schema: &Value) -> Option<String> {
    if let Some(choices) = schema["enum"].as_array() {
        return choices.first().map(word);
    }
    Some(match schema["type"].as_str()? {
        "boolean" => "true".to_owned(),
        "integer" | "number" => schema["minimum"].as_i64().unwrap_or(0).to_string(),
        "array" => "'[…]'".to_owned(),
        "object" => "'{…}'".to_owned(),
        "null" => "null".to_owned(),
        _ => "'…'".to_owned(),
    })
}

fn word(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    let quoted = shlex::try_quote(&text).map(|quoted| quoted.into_owned());
    quoted.unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::words;

    #[test]
    fn an_answer_has_the_shape_that_is_asked_for() {
        for (schema, expected) in [
            (
                json!({"type": "object", "required": ["ok"],
                    "properties": {"ok": {"type": "boolean"}, "note": {"type": "string"}}}),
                Some("ok=true"),
            ),
            (
                json!({"properties": {"verdict": {"enum": ["go on", "stop"]},
                    "score": {"type": "integer"}, "why": {"type": "string"}}}),
                Some("verdict='go on' score=0 why='…'"),
            ),
            (json!({"type": "string"}), Some("'…'")),
            (json!({"enum": ["approve", "reject"]}), Some("approve")),
            (json!({}), None),
            (json!(true), None),
        ] {
            assert_eq!(words(&schema).as_deref(), expected, "{schema}");
        }
    }
}
