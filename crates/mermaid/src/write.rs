//! Labels and data, written so that the reader gets back exactly what was meant.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::chars::{is_space, is_word};
use crate::diagram::TextLabel;
use crate::entity::encode;
use crate::syntax::TextKind;
use crate::yaml::YAML_DEPTH_MAX;

/// Writes a label with its quotes, to go between brackets or pipes.
pub(crate) fn in_brackets(label: &TextLabel) -> String {
    let text = &label.text;
    let bare = label.kind == TextKind::Text;
    let last = text.char_indices().next_back().map_or(0, |(at, _)| at);
    let written = encode(text, |at, c| {
        let edge = at == 0 || at == last;
        match c {
            '"' => true,
            '[' | ']' | '(' | ')' | '{' | '}' | '|' => bare || (c == '}' && text.contains('\n')),
            '`' => label.kind == TextKind::Markdown || at == 0,
            '/' | '\\' | '-' => bare && edge,
            '~' | '@' => bare,
            '%' => text.contains("%%"),
            '=' => at == last,
            '<' => is_open_tag(text, at),
            '\r' => true,
            c => edge && is_space(c),
        }
    });
    let written = if written.is_empty() {
        " "
    } else {
        written.as_str()
    };
    match label.kind {
        TextKind::Text => written.to_owned(),
        TextKind::String => format!("\"{written}\""),
        TextKind::Markdown => format!("\"`{written}`\""),
    }
}

/// True if a `<` begins a tag that does not end in the same text.
fn is_open_tag(text: &str, at: usize) -> bool {
    let after = &text[at + 1..];
    after.starts_with(is_word) && !after.contains('>')
}

/// Writes `key: value` for `@{ … }` on one line.
pub(crate) fn flow(key: &str, value: &Value) -> String {
    format!("{} {}", key_and_colon(key, " "), flow_value(value))
}

/// True if a value holds a map, which does not fit on one line: the first `}` would end the data.
pub(crate) fn holds_map(value: &Value) -> bool {
    match value {
        Value::Object(_) => true,
        Value::Array(items) => items.iter().any(holds_map),
        _ => false,
    }
}

/// Writes the pairs of a map for `@{ … }` over several lines.
pub(crate) fn block(data: &Map<String, Value>, depth: usize) -> String {
    let indent = "    ".repeat(depth);
    let pairs = data.iter().map(|(key, value)| {
        let key = key_and_colon(key, &format!("\n{indent}"));
        format!("{indent}{key}{}", block_value(value, depth + 1))
    });
    pairs.collect()
}

fn block_value(value: &Value, depth: usize) -> String {
    match value {
        Value::Object(inner) if !inner.is_empty() && depth <= BLOCK_DEPTH_MAX => {
            format!("\n{}", block(inner, depth))
        }
        Value::Array(items) if depth <= BLOCK_DEPTH_MAX && items.iter().any(holds_map) => {
            let indent = "    ".repeat(depth);
            let items = items.iter();
            let items = items.map(|item| format!("{indent}-{}", block_value(item, depth + 1)));
            format!("\n{}", items.collect::<String>())
        }
        other => format!(" {}\n", flow_value(other)),
    }
}

/// Depth to which maps and lists in `@{ … }` are written: deeper than the reader goes.
const BLOCK_DEPTH_MAX: usize = YAML_DEPTH_MAX + 10;

/// Length of a key written as `key: value`. YAML allows 1 024 characters; a longer key is marked as
/// one, `? key : value`.
const KEY_BYTES_MAX: usize = 1_000;

fn key_and_colon(key: &str, gap: &str) -> String {
    let key = scalar_key(key);
    if key.len() > KEY_BYTES_MAX {
        format!("? {key}{gap}:")
    } else {
        format!("{key}:")
    }
}

fn scalar_key(key: &str) -> String {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let plain = key.starts_with(|c: char| c.is_ascii_alphabetic()) && key.chars().all(word);
    let known = [
        "true", "false", "null", "True", "False", "Null", "TRUE", "FALSE", "NULL",
    ];
    if plain && !known.contains(&key) {
        return key.to_owned();
    }
    quoted(key)
}

fn flow_value(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(flow_value).collect();
            format!("[{}]", items.join(", "))
        }
        // A map without pairs: the data cannot hold braces.
        Value::Object(_) => "!!map".to_owned(),
        other => other.to_string(),
    }
}

/// Writes a YAML string in which no character means anything to the readers before YAML.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for (at, c) in text.char_indices() {
        let rest = &text[at + c.len_utf8()..];
        let escape = match c {
            '"' => true,
            '%' => text.contains("%%"),
            '<' => rest.starts_with(is_word),
            '=' => rest.is_empty(),
            _ => false,
        };
        match c {
            '\\' => out.push_str("\\\\"),
            c if escape => {
                let _ = write!(out, "\\x{:02x}", u32::from(c));
            }
            c if c.is_control() || is_space(c) && c != ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
