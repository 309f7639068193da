//! Excerpts of values that may be too long: whole items, and a sentence about the rest.

use serde_json::{Map, Value};

use crate::expression;
use crate::workflow::WorkflowStep;

/// Limits the tokens of earlier results that a step is shown by default; `contextTokensMax` may set
/// up to [`CONTEXT_TOKENS_MAX`].
pub const CONTEXT_TOKENS_DEFAULT: u32 = 30_000;
pub const CONTEXT_TOKENS_MAX: u32 = 1_000_000;
/// The bytes that count as one token.
pub(crate) const TOKEN_BYTES: usize = 4;

/// A value as text, cut to fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExcerptedValue {
    pub text: String,
    /// The omitted part, as the beginning of a sentence: `33 of 80 items`.
    pub left_out: Option<String>,
}

/// Prints a value in at most `bytes_max` bytes. A longer one loses whole items from its end: of a
/// list, of the longest list in an object, then whole fields; a text is cut at the end of a line.
#[must_use]
pub fn excerpt(value: &Value, bytes_max: usize) -> ExcerptedValue {
    let text = pretty(value);
    if text.len() <= bytes_max {
        return ExcerptedValue {
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

fn shortened(value: &Value, left_out: String) -> ExcerptedValue {
    ExcerptedValue {
        text: pretty(value),
        left_out: Some(left_out),
    }
}

/// Cuts the longest list of an object, which is usually its main content, as in the results of a
/// join.
fn of_object(fields: &Map<String, Value>, bytes_max: usize) -> ExcerptedValue {
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

/// Returns as many items as fit, and a description of the omitted ones.
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

fn of_text(text: &str, bytes_max: usize) -> ExcerptedValue {
    let head = expression::head(text, bytes_max);
    let kept = head.rfind('\n').map_or(head, |at| &head[..at]);
    let kept = if kept.len() * 2 < head.len() {
        head
    } else {
        kept
    };
    ExcerptedValue {
        text: kept.to_owned(),
        left_out: Some(format!(
            "{} of {} bytes",
            text.len() - kept.len(),
            text.len()
        )),
    }
}

/// Returns the length of a value printed two levels deep in its surroundings.
fn bytes(value: &Value) -> usize {
    let text = pretty_json(value);
    text.len() + 4 * (text.matches('\n').count() + 1)
}

/// Prints a text as it is, and everything else as indented JSON.
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

impl WorkflowStep {
    /// Returns how many tokens of earlier results this step is shown.
    #[must_use]
    pub fn context_tokens(&self) -> u32 {
        let tokens = self.config.context_tokens_max;
        tokens
            .unwrap_or(CONTEXT_TOKENS_DEFAULT)
            .min(CONTEXT_TOKENS_MAX)
    }
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
            // The rest stays what it was: valid JSON, with whole items.
            if !value.is_string() {
                let read: Value = serde_json::from_str(&shown.text).unwrap();
                assert_eq!(read.is_array(), value.is_array());
            }
        }
    }
}
