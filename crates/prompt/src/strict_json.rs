//! JSON read strictly: duplicate keys and deep nesting are errors with a line and a column.
//!
//! `serde_json` keeps the last of two equal keys without a word, which would drop an answer.

use crate::limits::ANSWER_DEPTH_MAX;
use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::fmt;

/// The place and the reason at which a text is not the JSON we accept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JsonFault {
    pub line: usize,
    pub column: usize,
    pub detail: String,
    pub hint: &'static str,
    /// The text ends before the value does.
    pub cut_off: bool,
}

pub(crate) fn parse(text: &str) -> Result<Value, JsonFault> {
    let mut reader = serde_json::Deserializer::from_str(text);
    // The file's own object is one level more than the answers in it.
    let depth_left = ANSWER_DEPTH_MAX + 1;
    DepthLimit(depth_left)
        .deserialize(&mut reader)
        .and_then(|value| reader.end().map(|()| value))
        .map_err(|error| fault(text, &error))
}

/// Drops a byte order mark, which editors add and no author means.
pub(crate) fn without_bom(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

fn fault(text: &str, error: &serde_json::Error) -> JsonFault {
    let message = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    let detail = message.strip_suffix(&position).unwrap_or(&message);
    JsonFault {
        line: error.line().max(1),
        column: error.column().max(1),
        detail: detail.to_owned(),
        hint: hint(text, detail),
        cut_off: error.is_eof(),
    }
}

fn hint(text: &str, detail: &str) -> &'static str {
    const HINTS: [(&str, &str); 8] = [
        ("EOF", "The text ends too early: complete it."),
        (
            "trailing comma",
            "Remove the comma before the closing bracket.",
        ),
        (
            "trailing characters",
            "Keep one JSON object and nothing after it.",
        ),
        (
            "key must be a string",
            "Write every key in double quotes, and no comments.",
        ),
        (
            "control character",
            "Write a line break in a string as \\n.",
        ),
        (
            "invalid escape",
            "Write a backslash in a string as two backslashes.",
        ),
        ("duplicate key", "Keep one of the two."),
        ("nested deeper", "Answer with a flatter value."),
    ];
    if text.trim_start().starts_with("```") {
        return "Remove the Markdown fence around the JSON.";
    }
    HINTS
        .iter()
        .find(|(start, _)| detail.contains(start))
        .map_or(
            "Write one JSON object: {\"key\": answer, …}.",
            |(_, hint)| hint,
        )
}

/// Reads a value that may nest this much deeper.
struct DepthLimit(usize);

impl DepthLimit {
    fn inner<E: serde::de::Error>(&self) -> Result<DepthLimit, E> {
        self.0.checked_sub(1).map(DepthLimit).ok_or_else(|| {
            E::custom(format_args!(
                "an answer is nested deeper than ANSWER_DEPTH_MAX ({ANSWER_DEPTH_MAX})"
            ))
        })
    }
}

impl<'de> DeserializeSeed<'de> for DepthLimit {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for DepthLimit {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(self.inner()?)? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if object.contains_key(&key) {
                let key = crate::text::shorten(&key);
                return Err(A::Error::custom(format_args!("duplicate key `{key}`")));
            }
            let value = entries.next_value_seed(self.inner()?)?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}
