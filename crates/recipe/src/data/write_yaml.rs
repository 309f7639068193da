//! Values as YAML text: blocks, and quotes only where they are needed.

use serde_json::{Map, Value};

const STEP: usize = 2;

/// `key: value` lines at an indentation, each ended with a line feed.
pub(super) fn entry(out: &mut String, key: &str, value: &Value, indent: usize) {
    pad(out, indent);
    out.push_str(&scalar(key));
    out.push(':');
    after_mark(out, value, indent);
}

/// What follows a `:`; a block goes below it.
fn after_mark(out: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            out.push('\n');
            entries(out, map, indent + STEP);
        }
        Value::Array(items) if !items.is_empty() => {
            out.push('\n');
            for item in items {
                list_item(out, item, indent + STEP);
            }
        }
        plain => {
            out.push(' ');
            out.push_str(&flow(plain));
            out.push('\n');
        }
    }
}

fn entries(out: &mut String, map: &Map<String, Value>, indent: usize) {
    for (key, value) in map {
        entry(out, key, value, indent);
    }
}

fn list_item(out: &mut String, item: &Value, indent: usize) {
    let start = out.len();
    match item {
        Value::Object(map) if !map.is_empty() => entries(out, map, indent + STEP),
        Value::Array(items) if !items.is_empty() => {
            for inner in items {
                list_item(out, inner, indent + STEP);
            }
        }
        plain => {
            pad(out, indent + STEP);
            out.push_str(&flow(plain));
            out.push('\n');
        }
    }
    // The dash takes the place of the two columns before the first key.
    out.replace_range(start + indent..=start + indent, "-");
}

/// A value on one line.
pub(super) fn flow(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        // JSON is YAML.
        other => other.to_string(),
    }
}

fn scalar(text: &str) -> String {
    let plain_start = |c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '.' | '/');
    let plain = |c: char| {
        c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | '-' | ' ' | '@' | '+' | '$')
    };
    let safe = text.starts_with(plain_start) && text.chars().all(plain) && !text.ends_with(' ');
    if safe && !means_something_else(text) {
        return text.to_owned();
    }
    Value::String(text.to_owned()).to_string()
}

/// Words that some reader of YAML takes for a boolean, nothing or a number.
fn means_something_else(text: &str) -> bool {
    let words = [
        "true", "false", "yes", "no", "on", "off", "y", "n", "null", "nan",
    ];
    let lower = text.to_lowercase();
    words.contains(&lower.as_str())
        || text.parse::<f64>().is_ok()
        || matches!(lower.as_str(), ".inf" | ".nan" | "." | "..")
}

fn pad(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n(' ', indent));
}
