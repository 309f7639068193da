//! Interpolates the `{{ }}` of a step: in a text, inside of JSON, or as data of a command.

use expr::InterpolationPiece;
use expr::shell::{self, CommandPart, FilledCommand};
use flow::expression;
use serde_json::{Map, Value};

/// Interpolates a text.
pub(super) fn text(text: &str, state: &Map<String, Value>) -> Result<String, String> {
    let filled = expression::fill(text, state);
    filled
        .map(|filled| filled.text)
        .map_err(|cause| unfilled(text, &cause))
}

/// Interpolates every text of a JSON value. A text that is one `{{ }}` and nothing else becomes the
/// value itself.
pub(super) fn json(value: &Value, state: &Map<String, Value>) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => match whole(text) {
            Some(source) => expression::value(source, state)
                .map_err(|cause| unfilled(source, &cause))?
                .unwrap_or(Value::Null),
            None => Value::String(self::text(text, state)?),
        },
        Value::Array(items) => {
            let filled = items.iter().map(|item| json(item, state));
            Value::Array(filled.collect::<Result<_, _>>()?)
        }
        Value::Object(fields) => {
            let filled = fields
                .iter()
                .map(|(key, value)| Ok((key.clone(), json(value, state)?)));
            Value::Object(filled.collect::<Result<_, String>>()?)
        }
        other => other.clone(),
    })
}

/// Interpolates a command line; its values become variables of the shell, so that text from a model
/// is data and never a command.
pub(super) fn command(line: &str, state: &Map<String, Value>) -> Result<FilledCommand, String> {
    let parts = shell::parts(line).map_err(|cause| unfilled(line, &cause))?;
    let places = shell::command_line(&parts);
    let places = places.map_err(|refusal| format!("{refusal}; {}", refusal.hint))?;
    let sources: Vec<&str> = parts.iter().filter_map(source).collect();
    let values = sources.iter().map(|source| word(source, state));
    let values = values.collect::<Result<Vec<_>, _>>()?;
    let filled = places.fill(&values);
    filled.map_err(|refusal| format!("`{}`: {refusal}.", sources[refusal.value]))
}

/// Interpolates a program and its arguments: one word each, and a word for each item if a text is
/// one `{{ }}` with a list.
pub(super) fn words(texts: &[Value], state: &Map<String, Value>) -> Result<Vec<String>, String> {
    let texts: Vec<&str> = texts
        .iter()
        .map(|text| text.as_str().unwrap_or_default())
        .collect();
    let mut words = Vec::new();
    for text in &texts {
        words.push(shell::parts(text).map_err(|cause| unfilled(text, &cause))?);
    }
    shell::words(&words).map_err(|refusal| format!("{refusal}; {}", refusal.hint))?;
    let mut filled = Vec::new();
    for parts in &words {
        if let [CommandPart::Value(source)] = parts[..]
            && let Value::Array(items) = known(source, state)?
        {
            filled.extend(items.iter().map(printed));
            continue;
        }
        let pieces = parts.iter().map(|part| match part {
            CommandPart::Text(text) => Ok((*text).to_owned()),
            CommandPart::Value(source) => word(source, state),
        });
        filled.push(pieces.collect::<Result<String, String>>()?);
    }
    for word in &filled {
        shell::check_value(0, word).map_err(|refusal| format!("A word of `argv`: {refusal}."))?;
    }
    Ok(filled)
}

fn source<'p>(part: &CommandPart<'p>) -> Option<&'p str> {
    match part {
        CommandPart::Text(_) => None,
        CommandPart::Value(source) => Some(source),
    }
}

fn word(source: &str, state: &Map<String, Value>) -> Result<String, String> {
    known(source, state).map(|value| printed(&value))
}

/// Evaluates an expression, which must have a value.
pub(super) fn known(source: &str, state: &Map<String, Value>) -> Result<Value, String> {
    let value = expression::value(source, state);
    let value = value.map_err(|cause| unfilled(source, &cause))?;
    value.ok_or_else(|| format!("`{}` is unknown here.", source.trim()))
}

/// Prints a value as text: a string unchanged, anything else as JSON.
pub(super) fn printed(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Returns the expression of a text that is nothing but one `{{ }}`.
fn whole(text: &str) -> Option<&str> {
    let pieces = expr::pieces(text.trim()).ok()?;
    match pieces.as_slice() {
        [InterpolationPiece::Expression { source, .. }] => Some(source),
        _ => None,
    }
}

fn unfilled(text: &str, cause: &expr::Error) -> String {
    format!("`{}` cannot be filled in: {cause}", text.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_in_a_command_are_variables() {
        let state = json!({ "output": { "name": "a b; rm -rf /", "n": 3, "o": {"x": [1]} } });
        let state = state.as_object().unwrap();
        for (line, expected) in [
            ("echo {{output.name}}", Ok("echo 'a b; rm -rf /'")),
            ("echo \"{{output.name}}\"", Ok("echo \"a b; rm -rf /\"")),
            ("echo {{ output.n }}!", Ok("echo 3!")),
            ("echo {{output.o}}", Ok(r#"echo '{"x":[1]}'"#)),
            (
                "echo {{output.gone}}",
                Err("`output.gone` is unknown here."),
            ),
        ] {
            let filled = command(line, state).map(|filled| filled.shown);
            assert_eq!(
                filled.as_deref().map_err(String::as_str),
                expected,
                "{line}"
            );
        }
        let filled = command("echo {{output.name}} '{{output.n}}'", state).unwrap();
        assert_eq!(filled.script, "echo \"$DL_1\" ''\"$DL_2\"''");
    }

    #[test]
    fn words_are_filled_one_by_one_and_lists_spread() {
        let state = json!({ "output": { "files": ["a b", "-c"], "n": 3 } });
        let state = state.as_object().unwrap();
        let argv = json!([
            "ls",
            "--n={{output.n}}",
            "{{output.files}}",
            "x {{output.files}}"
        ]);
        let filled = words(argv.as_array().unwrap(), state).unwrap();
        assert_eq!(filled, ["ls", "--n=3", "a b", "-c", r#"x ["a b","-c"]"#]);
        let argv = json!(["sh", "-c", "{{output.n}}"]);
        assert!(words(argv.as_array().unwrap(), state).is_err());
    }

    #[test]
    fn a_text_that_is_one_reference_keeps_the_type() {
        let state = json!({ "output": { "n": 3 } });
        let filled = json(
            &json!({"a": "{{output.n}}", "b": ["n={{output.n}}"]}),
            state.as_object().unwrap(),
        );
        assert_eq!(filled.unwrap(), json!({"a": 3, "b": ["n=3"]}));
    }
}
