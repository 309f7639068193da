//! `validation_criteria` with values: a command's values are data, and a value makes no command.

use expr::shell;
use flow::WorkflowStep;
use serde_json::{Map, Value, json};

use super::super::{interpolate, setting};

pub(crate) const SETTING: &str = "validation_criteria";

/// Interpolates the criteria. `run` is a command line, in which values are quoted for their places.
/// A text alone may be read as a command, so one with values is a description.
pub(super) fn filled(criteria: &Value, state: &Map<String, Value>) -> Result<Value, String> {
    let Value::Array(items) = criteria else {
        return Err(format!("`{SETTING}` must be a list."));
    };
    let items = items.iter().map(|item| match item {
        Value::String(text) if text.contains("{{") => {
            Ok(json!({ "describe": interpolate::text(text, state)? }))
        }
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| {
                let value = match (key.as_str(), value) {
                    ("run", Value::String(line)) => {
                        Value::String(interpolate::command(line, state)?.shown)
                    }
                    _ => interpolate::json(value, state)?,
                };
                Ok((key.clone(), value))
            });
            Ok(Value::Object(fields.collect::<Result<_, String>>()?))
        }
        other => Ok(other.clone()),
    });
    Ok(Value::Array(items.collect::<Result<_, String>>()?))
}

/// Returns the problems of the command lines in a step's criteria.
pub(super) fn problems(step: &WorkflowStep) -> Vec<String> {
    let items = setting(step, SETTING).and_then(Value::as_array);
    let lines = items.into_iter().flatten();
    let lines = lines.filter_map(|item| item.get("run")?.as_str());
    let refusals = lines.filter_map(|line| {
        let parts = shell::parts(line).ok()?;
        shell::command_line(&parts).err()
    });
    refusals
        .map(|refusal| {
            let hint = &refusal.hint;
            format!("`run` in `{SETTING}`: a value is not safe here: {refusal}; {hint}.")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_in_criteria_are_data() {
        let state = json!({ "output": { "x": "a; touch evil '" } });
        let given = json!([
            { "run": "grep -q {{output.x}} f", "cwd": "src" },
            "true {{output.x}}",
            "cargo test",
            { "describe": "it says {{output.x}}" },
        ]);
        let filled = filled(&given, state.as_object().unwrap()).unwrap();
        let expected = json!([
            { "run": r"grep -q 'a; touch evil '\''' f", "cwd": "src" },
            { "describe": "true a; touch evil '" },
            "cargo test",
            { "describe": "it says a; touch evil '" },
        ]);
        assert_eq!(filled, expected);
    }
}
