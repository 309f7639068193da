//! `.env` files: `NAME=value` lines as Docker, Ruby and Node read them.

use serde_json::{Map, Value};

use super::error::Error;

pub(super) fn read(text: &str) -> Result<Value, Error> {
    let mut values = Map::new();
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    while !rest.is_empty() {
        let at = text.len() - rest.len();
        let line = rest.lines().next().unwrap_or("");
        let bare = line.trim();
        if bare.is_empty() || bare.starts_with('#') {
            rest = after_line(rest);
            continue;
        }
        let Some(equals) = line.find('=') else {
            let wrong = format!("`{bare}` is not NAME=value");
            let error = Error::new(wrong).at_byte(text, at);
            return Err(error.hint("write NAME=value, or begin a comment with #"));
        };
        let name = line[..equals].trim();
        let name = name.strip_prefix("export ").map_or(name, str::trim_start);
        let (value, left) = value(&rest[equals + 1..])
            .ok_or_else(|| Error::new("a quote is not closed").at_byte(text, at + equals + 1))?;
        values.insert(name.to_owned(), Value::String(value));
        rest = left;
    }
    Ok(Value::Object(values))
}

/// Reads the value at the beginning of a text; returns it and the text after its line.
fn value(text: &str) -> Option<(String, &str)> {
    let start = text.trim_start_matches([' ', '\t']);
    for quote in ['"', '\'', '`'] {
        let Some(inner) = start.strip_prefix(quote) else {
            continue;
        };
        let end = closing(inner, quote)?;
        let written = inner[..end].replace("\r\n", "\n");
        let value = if quote == '"' {
            unescape(&written)
        } else {
            written
        };
        return Some((value, after_line(&inner[end + 1..])));
    }
    let line = start.lines().next().unwrap_or("");
    let comment = line.find(" #").or_else(|| line.find("\t#"));
    let value = line[..comment.unwrap_or(line.len())].trim_end();
    let value = if value.starts_with('#') { "" } else { value };
    Some((value.to_owned(), after_line(start)))
}

fn closing(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quote == '"' => escaped = true,
            c if c == quote => return Some(at),
            _ => {}
        }
    }
    None
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some(c @ ('"' | '\\' | '$')) => out.push(c),
            Some(other) => out.extend(['\\', other]),
            None => out.push('\\'),
        }
    }
    out
}

fn after_line(text: &str) -> &str {
    text.find('\n').map_or("", |at| &text[at + 1..])
}
