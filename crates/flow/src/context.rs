//! What is shown of a value where it may be too long: whole items, and a sentence about the rest.

use serde_json::{Map, Value};

use crate::expression;

/// How many tokens of earlier results a step is shown unless `contextTokensMax` says otherwise, and
/// however it says it.
pub const CONTEXT_TOKENS_DEFAULT: u32 = 30_000;
pub const CONTEXT_TOKENS_MAX: u32 = 1_000_000;
/// How many bytes count as a token.
pub const TOKEN_BYTES: usize = 4;

/// A value as a text that fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpted {
    pub text: String,
    /// What was left out, as the begin of a sentence: `33 of 80 items`.
    pub left_out: Option<String>,
}

/// Shows a value in at most so many bytes. What is too long loses whole items from its end: of a list,
/// of the longest list in an object, then whole fields; a text is cut at the end of a line.
#[must_use]
pub fn excerpt(value: &Value, bytes_max: usize) -> Excerpted {
    let text = pretty(value);
    if text.len() <= bytes_max {
        return Excerpted {
            text,
            left_out: None,
        };
    }
    match value {
        Value::Array(items) => {
            let (kept, left_out) = first_items(items, bytes_max.saturating_sub(4));
            shortened(&Value::Array(kept), left_out)
        }
        Value::Object(fields) => of_object(fields, bytes_max),
        _ => of_text(&text, bytes_max),
    }
}

fn shortened(value: &Value, left_out: String) -> Excerpted {
    Excerpted {
        text: pretty(value),
        left_out: Some(left_out),
    }
}

/// The longest list of an object is what it is about; the results of a join are one.
fn of_object(fields: &Map<String, Value>, bytes_max: usize) -> Excerpted {
    let lists = fields
        .iter()
        .filter_map(|(name, value)| Some((name, value.as_array()?)));
    let longest = lists.max_by_key(|(_, items)| items.iter().map(bytes).sum::<usize>());
    if let Some((name, items)) = longest {
        let mut rest = fields.clone();
        rest.insert(name.clone(), Value::Array(Vec::new()));
        let room = bytes_max.saturating_sub(bytes(&Value::Object(rest.clone())));
        let (kept, left_out) = first_items(items, room);
        if !kept.is_empty() {
            rest.insert(name.clone(), Value::Array(kept));
            return shortened(&Value::Object(rest), format!("{left_out} of `{name}`"));
        }
    }
    let mut kept = Map::new();
    let mut room = bytes_max.saturating_sub(4);
    let mut missing = Vec::new();
    for (name, value) in fields {
        let needed = name.len() + bytes(value) + 8;
        match needed <= room {
            true => {
                room -= needed;
                kept.insert(name.clone(), value.clone());
            }
            false => missing.push(format!("`{name}`")),
        }
    }
    let left_out = match missing.len() {
        1 => format!("the field {}", missing.concat()),
        _ => format!("the fields {}", missing.join(", ")),
    };
    shortened(&Value::Object(kept), left_out)
}

/// As many items as fit, and what that leaves out.
fn first_items(items: &[Value], bytes_max: usize) -> (Vec<Value>, String) {
    let mut room = bytes_max;
    let fitting = items.iter().take_while(|item| {
        let needed = bytes(item) + 2;
        let fits = needed <= room;
        room = room.saturating_sub(needed);
        fits
    });
    let kept: Vec<Value> = fitting.cloned().collect();
    let left_out = format!("{} of {} items", items.len() - kept.len(), items.len());
    (kept, left_out)
}

fn of_text(text: &str, bytes_max: usize) -> Excerpted {
    let head = expression::head(text, bytes_max);
    let kept = head.rfind('\n').map_or(head, |at| &head[..at]);
    let kept = if kept.len() * 2 < head.len() {
        head
    } else {
        kept
    };
    Excerpted {
        text: kept.to_owned(),
        left_out: Some(format!(
            "{} of {} bytes",
            text.len() - kept.len(),
            text.len()
        )),
    }
}

/// How long a value is, two levels deep in what surrounds it.
fn bytes(value: &Value) -> usize {
    let text = pretty_json(value);
    text.len() + 4 * (text.matches('\n').count() + 1)
}

/// A text as it is, everything else as JSON that people can read.
#[must_use]
pub fn pretty(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => pretty_json(value),
    }
}

fn pretty_json(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_too_long_loses_whole_items_and_says_which() {
        let item = |n: u32| json!({ "n": n, "text": "x".repeat(50) });
        let items: Vec<Value> = (0..20).map(item).collect();
        let joined = json!({ "results": items, "failed": [], "counts": { "total": 20 } });
        for (value, bytes_max, expected) in [
            (json!("short"), 10, None),
            (json!(items), 1_000_000, None),
            (json!(items), 1_000, Some("items")),
            (joined, 1_000, Some("items of `results`")),
            (
                json!({ "a": "x".repeat(300), "b": 1 }),
                100,
                Some("the field `a`"),
            ),
            (json!("line\n".repeat(100)), 101, Some("401 of 500 bytes")),
            (json!([]), 0, Some("0 of 0 items")),
        ] {
            let shown = excerpt(&value, bytes_max);
            assert!(shown.text.len() <= bytes_max.max(2), "{}", shown.text);
            let left_out = shown.left_out.unwrap_or_default();
            match expected {
                Some(expected) => assert!(left_out.contains(expected), "{left_out}"),
                None => assert_eq!(left_out, ""),
            }
            // What is left is still what it was: JSON, and whole items of it.
            if !value.is_string() {
                let read: Value = serde_json::from_str(&shown.text).unwrap();
                assert_eq!(read.is_array(), value.is_array());
            }
        }
    }
}
