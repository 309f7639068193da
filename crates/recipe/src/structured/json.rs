//! JSON with the liberties people take in settings files: comments, trailing commas, bare keys.

use jsonc_parser::ast;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use jsonc_parser::errors::ParseError;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Map, Number, Value};

use super::MergeEdit;
use super::changes::{self, EditableMap};
use super::error::Error;

pub(super) fn read(text: &str) -> Result<Value, Error> {
    let bare = without_mark(text);
    let parsed = parse_to_ast(bare, &CollectOptions::default(), &options());
    let parsed = parsed.map_err(|error| broken(bare, &error))?;
    parsed
        .value
        .map_or(Ok(Value::Null), |value| convert(bare, &value))
}

pub(super) fn merge(edit: &MergeEdit<'_>) -> Result<String, Error> {
    let bare = without_mark(edit.text);
    let mark = &edit.text[..edit.text.len() - bare.len()];
    let blank = bare.trim();
    if matches!(blank, "" | "{}" | "[]" | "null") {
        let end = if blank.is_empty() {
            "\n"
        } else {
            &bare[bare.trim_end().len()..]
        };
        return Ok(format!("{mark}{}{end}", pretty(edit.after, edit.indent)?));
    }
    let root = CstRootNode::parse(bare, &options()).map_err(|error| broken(bare, &error))?;
    match (root.object_value(), edit.maps()) {
        (Some(object), Some((before, changes))) => {
            changes::edit(&mut JsonObjectEditor { object }, before, changes)?;
        }
        _ => match root.array_value() {
            Some(array) => append(&array, edit.added()),
            None => root.set_value(input(edit.after)),
        },
    }
    Ok(format!("{mark}{root}"))
}

struct JsonObjectEditor {
    object: CstObject,
}

impl EditableMap for JsonObjectEditor {
    fn set(&mut self, key: &str, value: &Value) -> Result<(), Error> {
        let Some(property) = self.object.get(key) else {
            self.object.append(key, input(value));
            return Ok(());
        };
        let old = property.value();
        if let (Some(old), Value::String(new)) = (&old, value)
            && let Some(written) = quoted_like(old, new)
        {
            if let Some(literal) = old.as_string_lit() {
                literal.set_raw_value(written);
            }
            return Ok(());
        }
        let spread = old.as_ref().is_some_and(has_newline);
        property.set_value(input(value));
        match property.value() {
            Some(new) if spread && !new.children_exclude_trivia_and_tokens().is_empty() => {
                new.as_array().inspect(CstArray::ensure_multiline);
            }
            _ => {}
        }
        Ok(())
    }

    fn remove(&mut self, key: &str) {
        if let Some(property) = self.object.get(key) {
            property.remove();
        }
    }

    fn append(&mut self, key: &str, items: &[Value]) -> Result<(), Error> {
        if let Some(array) = self.object.array_value(key) {
            append(&array, items);
        }
        Ok(())
    }

    fn child(&mut self, key: &str) -> Option<Box<dyn EditableMap + '_>> {
        let object = self.object.object_value(key)?;
        Some(Box::new(JsonObjectEditor { object }))
    }
}

fn append(array: &CstArray, items: &[Value]) {
    for item in items {
        array.append(input(item));
    }
}

/// Keeps a string single-quoted if the new text allows it.
fn quoted_like(old: &CstNode, new: &str) -> Option<String> {
    let single = old.as_string_lit()?.raw_value().starts_with('\'');
    let plain = !new.contains(['\'', '\\']) && !new.chars().any(char::is_control);
    (single && plain).then(|| format!("'{new}'"))
}

fn has_newline(node: &CstNode) -> bool {
    node.children().iter().any(CstNode::is_newline)
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

fn pretty(value: &Value, indent: usize) -> Result<String, Error> {
    let indent = " ".repeat(indent);
    let mut written = Vec::new();
    let formatter = PrettyFormatter::with_indent(indent.as_bytes());
    let wrong = |error: String| Error::new(format!("the values cannot be written: {error}"));
    value
        .serialize(&mut Serializer::with_formatter(&mut written, formatter))
        .map_err(|error| wrong(error.to_string()))?;
    String::from_utf8(written).map_err(|error| wrong(error.to_string()))
}

fn convert(text: &str, value: &ast::Value<'_>) -> Result<Value, Error> {
    Ok(match value {
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::BooleanLit(literal) => Value::Bool(literal.value),
        ast::Value::StringLit(literal) => Value::String(literal.value.clone().into_owned()),
        ast::Value::NumberLit(literal) => {
            let wrong = || {
                let message = format!("`{}` is not a number that can be kept", literal.value);
                Error::new(message).at_byte(text, literal.range.start)
            };
            number(literal.value).map(Value::Number).ok_or_else(wrong)?
        }
        ast::Value::Array(array) => {
            let items = array.elements.iter().map(|item| convert(text, item));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        ast::Value::Object(object) => {
            let mut map = Map::new();
            for property in &object.properties {
                let value = convert(text, &property.value)?;
                map.insert(property.name.clone().into_string(), value);
            }
            Value::Object(map)
        }
    })
}

/// Reads JSON's numbers, and JSON5's `+1`, `.5`, `5.` and `0xff`.
fn number(written: &str) -> Option<Number> {
    if let Ok(number) = written.parse::<Number>() {
        return Some(number);
    }
    let (negative, digits) = match written.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, written.strip_prefix('+').unwrap_or(written)),
    };
    let hexadecimal = digits
        .strip_prefix("0x")
        .or_else(|| digits.strip_prefix("0X"));
    if let Some(hexadecimal) = hexadecimal {
        let value = i64::from_str_radix(hexadecimal, 16).ok()?;
        return Some(Number::from(if negative { -value } else { value }));
    }
    if let Ok(value) = digits.parse::<i64>() {
        return Some(Number::from(if negative { -value } else { value }));
    }
    let value = digits.parse::<f64>().ok()?;
    Number::from_f64(if negative { -value } else { value })
}

fn options() -> ParseOptions {
    ParseOptions {
        allow_missing_commas: false,
        allow_non_finite_numbers: false,
        ..ParseOptions::default()
    }
}

fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

fn broken(text: &str, error: &ParseError) -> Error {
    let mut reason = error.kind().to_string();
    if let Some(first) = reason.get(..1) {
        let first = first.to_lowercase();
        reason.replace_range(..1, &first);
    }
    let wrong = Error::new(format!("this is not valid JSON: {reason}"));
    let hint = reason
        .contains("comma")
        .then(|| "put a comma between the two".to_owned());
    wrong.at_byte(text, error.range().start).maybe_hint(hint)
}
