//! One value against one declaration: from words, from JSON, and by the declared rules.

use serde_json::{Number, Value};

use crate::manifest::{RecipeVariable, VariableType};
use crate::regex::RecipeRegex;

/// Reason why a value does not fit, worded to follow "`name`".
pub(crate) type WrongValue = String;

/// Converts words of a command line to a value; a repeated option gives several.
pub(crate) fn from_words(variable: &RecipeVariable, words: &[String]) -> Result<Value, WrongValue> {
    let many = variable.kind == VariableType::Array || variable.multiple;
    let value = match words {
        [] if variable.kind == VariableType::Boolean => Value::Bool(true),
        [] => return Err("needs a value".to_owned()),
        words if many => read_list(words)?,
        [word] => from_text(variable, word)?,
        _ => {
            return Err(format!(
                "is given {} times, and holds one value",
                words.len()
            ));
        }
    };
    checked(variable, &value)
}

/// Converts a default or an argument of a sub-recipe to a value: rendered templates are texts.
pub(crate) fn typed(variable: &RecipeVariable, value: &Value) -> Result<Value, WrongValue> {
    let value = match (variable.kind, value) {
        (VariableType::String, Value::Number(_) | Value::Bool(_)) => {
            Value::String(value.to_string())
        }
        (VariableType::Array, Value::String(text)) => read_list(std::slice::from_ref(text))?,
        (VariableType::Enum, Value::String(text)) if variable.multiple => {
            read_list(std::slice::from_ref(text))?
        }
        (_, Value::String(text)) => from_text(variable, text)?,
        _ => value.clone(),
    };
    checked(variable, &value)
}

/// Returns the value unchanged if it is of the declared type and keeps the rules.
pub(crate) fn checked(variable: &RecipeVariable, value: &Value) -> Result<Value, WrongValue> {
    check(variable, value).map_err(|wrong| match (&variable.message, variable.secret) {
        (Some(message), _) => format!("is not right: {message}"),
        // A message about a secret must not show its value.
        (None, true) => "breaks its rules".to_owned(),
        (None, false) => wrong,
    })?;
    Ok(value.clone())
}

fn from_text(variable: &RecipeVariable, text: &str) -> Result<Value, WrongValue> {
    match variable.kind {
        VariableType::String
        | VariableType::Enum
        | VariableType::File
        | VariableType::Directory => Ok(Value::String(text.to_owned())),
        VariableType::Number => number(text).ok_or_else(|| mistyped("a number", text)),
        VariableType::Boolean => boolean(text).ok_or_else(|| mistyped("true or false", text)),
        VariableType::Array => read_list(std::slice::from_ref(&text.to_owned())),
        VariableType::Object => match serde_json::from_str(text) {
            Ok(Value::Object(map)) => Ok(Value::Object(map)),
            Ok(_) => Err(mistyped("a JSON object", text)),
            Err(error) => Err(format!("must be a JSON object: {error}")),
        },
    }
}

fn number(text: &str) -> Option<Value> {
    let text = text.trim();
    if let Ok(whole) = text.parse::<i64>() {
        return Some(Value::from(whole));
    }
    let digits = text.trim_start_matches(['-', '+']);
    let value: f64 = text.parse().ok()?;
    // `inf` and `nan` parse as well, and are no numbers to anyone.
    let numeric = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    Number::from_f64(value)
        .filter(|_| numeric)
        .map(Value::Number)
}

fn boolean(text: &str) -> Option<Value> {
    match text.trim().to_lowercase().as_str() {
        "true" | "yes" | "1" => Some(Value::Bool(true)),
        "false" | "no" | "0" => Some(Value::Bool(false)),
        _ => None,
    }
}

/// Reads a list: one word is a JSON array or a comma list; several words are the elements.
fn read_list(words: &[String]) -> Result<Value, WrongValue> {
    let [word] = words else {
        return Ok(words
            .iter()
            .map(|word| Value::String(word.clone()))
            .collect());
    };
    if word.trim_start().starts_with('[') {
        let read = serde_json::from_str::<Vec<Value>>(word);
        return read
            .map(Value::Array)
            .map_err(|error| format!("must be a JSON array: {error}"));
    }
    let parts = word
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty());
    Ok(parts.map(|part| Value::String(part.to_owned())).collect())
}

fn check(variable: &RecipeVariable, value: &Value) -> Result<(), WrongValue> {
    check_not_empty(variable, value)?;
    let shown = || shorten(&value.to_string());
    match (variable.kind, value) {
        (VariableType::String, Value::String(text)) => check_pattern(variable, text),
        (VariableType::File | VariableType::Directory, Value::String(text)) => {
            workspace::RelPath::parse(text)
                .map_err(|error| format!("must be a path inside the project: {error}"))?;
            check_pattern(variable, text)
        }
        (VariableType::Number, Value::Number(number)) => check_range(variable, number),
        (VariableType::Boolean, Value::Bool(_)) | (VariableType::Object, Value::Object(_)) => {
            Ok(())
        }
        (VariableType::Array, Value::Array(_)) => Ok(()),
        (VariableType::Enum, Value::Array(words)) if variable.multiple => {
            words.iter().try_for_each(|word| check_word(variable, word))
        }
        (VariableType::Enum, _) if !variable.multiple => check_word(variable, value),
        (kind, _) => {
            let wanted = match kind {
                VariableType::String => "a string",
                VariableType::Number => "a number",
                VariableType::Boolean => "true or false",
                VariableType::Enum => "a list of the allowed words",
                VariableType::Array => "a list",
                VariableType::Object => "an object",
                VariableType::File | VariableType::Directory => "a path",
            };
            Err(mistyped(wanted, &shown()))
        }
    }
}

/// Refuses a required value that is empty.
fn check_not_empty(variable: &RecipeVariable, value: &Value) -> Result<(), WrongValue> {
    let is_empty = match value {
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    };
    match is_empty && variable.required {
        true => Err("needs a value, and this one is empty".to_owned()),
        false => Ok(()),
    }
}

fn check_word(variable: &RecipeVariable, value: &Value) -> Result<(), WrongValue> {
    let known = |word: &str| variable.values.iter().any(|allowed| allowed == word);
    match value {
        Value::String(word) if known(word) => Ok(()),
        _ => {
            let word = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            let near = diagnostics::nearest(&word, variable.values.iter().map(String::as_str));
            let hint = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            let allowed = variable.values.join(", ");
            Err(format!(
                "must be one of: {allowed}; found `{}`{hint}",
                shorten(&word)
            ))
        }
    }
}

fn check_pattern(variable: &RecipeVariable, text: &str) -> Result<(), WrongValue> {
    let Some(pattern) = &variable.pattern else {
        return Ok(());
    };
    let found = RecipeRegex::new(&pattern.text).and_then(|regex| regex.is_match(text));
    match found {
        Ok(true) => Ok(()),
        Ok(false) => Err(format!(
            "does not match the pattern {}; found `{}`",
            pattern.text,
            shorten(text)
        )),
        Err(error) => Err(format!(
            "has a pattern that cannot be used: {}",
            error.message()
        )),
    }
}

fn check_range(variable: &RecipeVariable, number: &Number) -> Result<(), WrongValue> {
    let value = number.as_f64().unwrap_or(f64::NAN);
    match (variable.min, variable.max) {
        (Some(min), _) if value < min => Err(format!("must be at least {min}; found {number}")),
        (_, Some(max)) if value > max => Err(format!("must be at most {max}; found {number}")),
        _ => Ok(()),
    }
}

fn mistyped(wanted: &str, found: &str) -> WrongValue {
    format!("must be {wanted}; found `{}`", shorten(found))
}

/// Most characters of a wrong value that a message repeats.
const SHOWN_CHARS_MAX: usize = 80;

fn shorten(text: &str) -> String {
    let mut short: String = text.chars().take(SHOWN_CHARS_MAX).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
