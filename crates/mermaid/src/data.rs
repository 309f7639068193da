//! Reads the data in `@{ … }`: a few keys in YAML.

use serde_json::{Map, Value};

use crate::lexer::entity;
use crate::yaml;

/// Replace the ends of an entity code while YAML is read, where `#` would begin a comment.
const CODE_START: char = '\u{fdd0}';
const CODE_END: char = '\u{fdd1}';

/// Reads the text between the braces. A line is a flow map without its braces, several lines are a
/// block. Something that is YAML and no map says nothing; nothing at all is `None`.
pub(crate) fn parse(written: &str) -> Result<Option<Map<String, Value>>, String> {
    let guarded = guard(&join_quoted_lines(written));
    let yaml = if guarded.contains('\n') {
        format!("{guarded}\n")
    } else {
        format!("{{\n{guarded}\n}}")
    };
    Ok(match yaml::read(&yaml)? {
        Value::Object(map) => Some(
            map.into_iter()
                .map(|(k, v)| (restore(&k), restored(v)))
                .collect(),
        ),
        Value::Null => None,
        _ => Some(Map::new()),
    })
}

/// Replaces a line break inside double quotes and the next line's indent by `<br/>`.
fn join_quoted_lines(written: &str) -> String {
    let mut out = String::with_capacity(written.len());
    for (index, part) in written.split('"').enumerate() {
        if index > 0 {
            out.push('"');
        }
        if index % 2 == 0 {
            out.push_str(part);
            continue;
        }
        let mut lines = part.split('\n');
        out.push_str(lines.next().unwrap_or(""));
        for line in lines {
            // Only the first of several breaks counts: the rest are the next line's indent.
            if !out.ends_with("<br/>") || !line.trim().is_empty() {
                if !out.ends_with(LINE_JOIN) {
                    out.push_str(LINE_JOIN);
                }
                out.push_str(line.trim_start());
            }
        }
    }
    out
}

const LINE_JOIN: &str = "<br/>";

fn guard(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('#') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(bytes) = entity(rest) {
            out.push(CODE_START);
            out.push_str(&rest[1..bytes - 1]);
            out.push(CODE_END);
            rest = &rest[bytes..];
        } else {
            out.push('#');
            rest = &rest[1..];
        }
    }
    out.push_str(rest);
    out
}

fn restore(text: &str) -> String {
    text.replace(CODE_START, "#").replace(CODE_END, ";")
}

fn restored(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(restore(&text)),
        Value::Array(items) => items.into_iter().map(restored).collect(),
        Value::Object(map) => {
            let pairs = map.into_iter().map(|(k, v)| (restore(&k), restored(v)));
            Value::Object(pairs.collect())
        }
        other => other,
    }
}
