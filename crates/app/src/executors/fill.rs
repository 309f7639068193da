//! What a step says, with its `{{ }}` filled in: as it is, inside of JSON, or safe for a shell.

use expr::Piece;
use flow::expression;
use serde_json::{Map, Value};

/// A text with what it names.
pub(super) fn text(text: &str, state: &Map<String, Value>) -> Result<String, String> {
    let filled = expression::fill(text, state);
    filled
        .map(|filled| filled.text)
        .map_err(|cause| unfilled(text, &cause))
}

/// JSON in which every text is filled. A text that is one `{{ }}` and nothing else becomes the value
/// itself.
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

/// A command line in which every value is one word of the shell, whatever is in it: what a model
/// said is data and never a command.
pub(super) fn command(line: &str, state: &Map<String, Value>) -> Result<String, String> {
    let mut filled = String::new();
    for piece in expr::pieces(line).map_err(|cause| unfilled(line, &cause))? {
        match piece {
            Piece::Text(text) => filled.push_str(text),
            Piece::Expression { source, .. } => {
                let value = expression::value(source, state);
                let value = value.map_err(|cause| unfilled(source, &cause))?;
                let word = match value {
                    None => return Err(format!("`{}` is unknown here.", source.trim())),
                    Some(Value::String(text)) => text,
                    Some(value) => value.to_string(),
                };
                let quoted = shlex::try_quote(&word);
                let quoted = quoted.map_err(|_| {
                    format!(
                        "`{}` has a zero byte, which no command can take.",
                        source.trim()
                    )
                })?;
                filled.push_str(&quoted);
            }
        }
    }
    Ok(filled)
}

/// What stands between the braces of a text that is nothing else.
fn whole(text: &str) -> Option<&str> {
    let pieces = expr::pieces(text.trim()).ok()?;
    match pieces.as_slice() {
        [Piece::Expression { source, .. }] => Some(source),
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
    fn values_in_a_command_are_single_words() {
        let state = json!({ "output": { "name": "a b; rm -rf /", "n": 3, "o": {"x": [1]} } });
        let state = state.as_object().unwrap();
        for (line, expected) in [
            ("echo {{output.name}}", Ok("echo 'a b; rm -rf /'")),
            ("echo {{ output.n }}!", Ok("echo 3!")),
            ("echo {{output.o}}", Ok(r#"echo '{"x":[1]}'"#)),
            (
                "echo {{output.gone}}",
                Err("`output.gone` is unknown here."),
            ),
        ] {
            let filled = command(line, state);
            assert_eq!(
                filled.as_deref().map_err(String::as_str),
                expected,
                "{line}"
            );
        }
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
