//! Settings of a step changed in the text: the bytes of the others stay, comments and layout too.

use mermaid::{DiagramDocument, Span, TextEdit};
use serde_json::{Map, Value};

use crate::block::{self, ConfigEntry};
use crate::drawing::refused;
use crate::error::Error;

/// A pair of an object, by byte in its JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
struct JsonPair {
    name: String,
    start: usize,
    value: usize,
    end: usize,
}

/// The document with other settings of a step.
pub(crate) fn patched(
    document: &DiagramDocument,
    step: &str,
    values: &[(String, Option<Value>)],
) -> Result<DiagramDocument, Error> {
    if document.diagram().node(step).is_none() {
        return Err(refused(format!("There is no step `{step}`.")));
    }
    let mut document = document.clone();
    for (name, value) in values {
        let Some(edit) = one_edit(&document, step, (name, value.as_ref()))? else {
            continue;
        };
        let edited = document.edited(&[edit]);
        document = edited.map_err(|error| Error::of_diagram(&error))?;
    }
    Ok(document)
}

fn one_edit(
    document: &DiagramDocument,
    step: &str,
    (name, value): (&str, Option<&Value>),
) -> Result<Option<TextEdit>, Error> {
    let blocks = block::read(document);
    let entry = blocks.entries.iter().find(|entry| entry.id == step);
    let Some(entry) = entry else {
        let config = value.map(|value| Map::from_iter([(name.to_owned(), value.clone())]));
        let json = config.map(|config| block::laid_out(&Value::Object(config)));
        return Ok(json.map(|json| block::edit(document, step, Some(&json))));
    };
    let broken = || {
        refused(format!(
            "The settings of `{step}` are no JSON yet: mend them in the text first."
        ))
    };
    let config: Map<String, Value> = serde_json::from_str(&entry.json).map_err(|_| broken())?;
    if config.get(name) == value {
        return Ok(None);
    }
    let pairs = pairs(&entry.json).ok_or_else(broken)?;
    let at = pairs.iter().position(|pair| pair.name == name);
    let (start, end, text) = match (at, value) {
        (Some(at), Some(value)) => {
            let pair = pairs.get(at).ok_or_else(broken)?;
            (pair.value, pair.end, one_line(value))
        }
        (None, Some(value)) => {
            let text = format!("{}: {}", Value::from(name), one_line(value));
            match pairs.last() {
                Some(last) => (last.end, last.end, format!(", {text}")),
                None => {
                    let open = entry.json.find('{').ok_or_else(broken)? + 1;
                    let close = entry.json.rfind('}').ok_or_else(broken)?;
                    (open, close, format!(" {text} "))
                }
            }
        }
        (Some(_), None) if pairs.len() == 1 => {
            return Ok(Some(block::edit(document, step, None)));
        }
        (Some(at), None) => {
            let pair = pairs.get(at).ok_or_else(broken)?;
            match (
                pairs.get(at + 1),
                at.checked_sub(1).and_then(|at| pairs.get(at)),
            ) {
                (Some(next), _) => (pair.start, next.start, String::new()),
                (None, Some(last)) => (last.end, pair.end, String::new()),
                (None, None) => return Err(broken()),
            }
        }
        (None, None) => return Ok(None),
    };
    let span = Span {
        start: place(entry, start).ok_or_else(broken)?,
        end: place(entry, end).ok_or_else(broken)?,
    };
    Ok(Some(TextEdit { span, text }))
}

/// Returns the position in the text of a byte of an entry's JSON.
fn place(entry: &ConfigEntry, at: usize) -> Option<usize> {
    let before = entry.json.get(..at)?;
    let line = before.matches('\n').count();
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    Some(entry.lines.get(line)? + at - start)
}

/// A value on one line, with room inside of its braces.
fn one_line(value: &Value) -> String {
    match value {
        Value::Object(map) if !map.is_empty() => {
            let pairs = map.iter().map(|(name, value)| {
                format!("{}: {}", Value::from(name.as_str()), one_line(value))
            });
            format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(one_line).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_string(),
    }
}

/// The pairs of the outermost object of a JSON text that can be read.
fn pairs(json: &str) -> Option<Vec<JsonPair>> {
    let bytes = json.as_bytes();
    let mut pairs = Vec::new();
    let mut at = json.find('{')? + 1;
    loop {
        at = skip(bytes, at, |byte| byte.is_ascii_whitespace() || byte == b',');
        if bytes.get(at)? == &b'}' {
            return Some(pairs);
        }
        let start = at;
        let after = value_end(bytes, at)?;
        let name = serde_json::from_str(json.get(start..after)?).ok()?;
        let colon = skip(bytes, after, |byte| byte.is_ascii_whitespace());
        if bytes.get(colon)? != &b':' {
            return None;
        }
        let value = skip(bytes, colon + 1, |byte| byte.is_ascii_whitespace());
        at = value_end(bytes, value)?;
        pairs.push(JsonPair {
            name,
            start,
            value,
            end: at,
        });
    }
}

fn skip(bytes: &[u8], from: usize, fits: impl Fn(u8) -> bool) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.iter().take_while(|byte| fits(**byte)).count()
}

/// Where the value ends that begins here.
fn value_end(bytes: &[u8], from: usize) -> Option<usize> {
    let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
    for (at, byte) in bytes.iter().enumerate().skip(from) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' if in_string => {
                in_string = false;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ if in_string => {}
            b'"' => in_string = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return Some(at),
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            b',' | b' ' | b'\n' | b'\t' | b'\r' if depth == 0 => return Some(at),
            _ => {}
        }
    }
    None
}
