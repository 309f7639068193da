//! JSON, with comments where they are found.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::{Map, Value};

pub(super) fn read(text: &str) -> Result<Value, String> {
    let parsed = jsonc_parser::parse_to_serde_value::<Value>(text, &ParseOptions::default());
    parsed.map_err(|error| format!("this is not valid JSON: {error}"))
}

pub(super) fn merge(text: &str, values: &Map<String, Value>) -> Result<String, String> {
    if text.trim().is_empty() {
        let mut written =
            serde_json::to_string_pretty(values).map_err(|error| error.to_string())?;
        written.push('\n');
        return Ok(written);
    }
    let root = CstRootNode::parse(text, &ParseOptions::default());
    let root = root.map_err(|error| format!("this is not valid JSON: {error}"))?;
    let object = root
        .object_value()
        .ok_or("only an object can be merged into")?;
    merge_object(&object, values);
    Ok(root.to_string())
}

fn merge_object(object: &CstObject, values: &Map<String, Value>) {
    for (key, value) in values {
        let Some(property) = object.get(key) else {
            object.append(key, input(value));
            continue;
        };
        match (property.object_value(), value) {
            (Some(inner), Value::Object(values)) => merge_object(&inner, values),
            _ if property.to_serde_value().as_ref() == Some(value) => {}
            _ => property.set_value(input(value)),
        }
    }
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(map) => {
            let pairs = map.iter().map(|(key, value)| (key.clone(), input(value)));
            CstInputValue::Object(pairs.collect())
        }
    }
}
