//! Reading replies: tolerant in form, strict in meaning.

use serde_json::Value;

/// How many violations of a schema are listed.
const VIOLATIONS_MAX: usize = 20;

/// Every way in which an output is not what a JSON Schema wants; one sentence where the schema
/// itself is broken. References to other documents are never fetched.
#[must_use]
pub fn violations(schema: &Value, output: &Value) -> Vec<String> {
    let validator = match jsonschema::options().offline().build(schema) {
        Ok(validator) => validator,
        Err(error) => return vec![format!("the schema cannot be used: {error}")],
    };
    let errors = validator.iter_errors(output).take(VIOLATIONS_MAX);
    errors
        .map(|error| {
            let at = error.instance_path().as_str().to_owned();
            let at = if at.is_empty() { "/".to_owned() } else { at };
            format!("{at}: {error}")
        })
        .collect()
}
