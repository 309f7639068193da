//! `.env` files: `NAME=value` lines, quotes and `export` understood.

use serde_json::{Map, Value};

pub(super) fn read(text: &str) -> Value {
    let mut values = Map::new();
    for line in text.lines() {
        let line = line.trim();
        let line = line.strip_prefix("export ").unwrap_or(line);
        let Some((name, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) else {
            continue;
        };
        values.insert(name.trim().to_owned(), Value::String(unquote(value.trim())));
    }
    Value::Object(values)
}

fn unquote(value: &str) -> String {
    for quote in ['"', '\''] {
        let inner = value
            .strip_prefix(quote)
            .and_then(|rest| rest.split(quote).next());
        if let Some(inner) = inner {
            return if quote == '"' {
                inner.replace("\\n", "\n")
            } else {
                inner.to_owned()
            };
        }
    }
    value
        .split(" #")
        .next()
        .unwrap_or(value)
        .trim_end()
        .to_owned()
}
