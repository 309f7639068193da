//! Reading a map of a manifest: known keys, wanted types, and every problem noted with its place.

use std::time::Duration;

use diagnostics::suggestion;
use serde_json::{Map, Value};

use crate::error::{Diagnostic, Error, FileSpan, RecipeErrorKind};
use crate::yaml::{ManifestData, ManifestEntry, ManifestNode, NodeSpan};

/// A text of a manifest and its position; later stages render or evaluate it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManifestText {
    pub text: String,
    pub place: FileSpan,
}

/// A value of a manifest and its position.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ManifestValue {
    pub value: Value,
    pub place: FileSpan,
}

/// Everything found wrong in one file.
pub(crate) struct FileProblems<'a> {
    pub(crate) file: &'a str,
    pub(crate) text: &'a str,
    found: Vec<Diagnostic>,
}

/// A key that means something elsewhere (in hygen, in Hypergen) and what to do instead.
pub(crate) type UnsupportedKey = (&'static str, &'static str);

/// One map, its keys checked.
pub(crate) struct ManifestFields<'n> {
    /// Worded to follow "in".
    what: &'static str,
    pub(crate) at: NodeSpan,
    entries: &'n [ManifestEntry],
}

impl<'a> FileProblems<'a> {
    pub(crate) fn new(file: &'a str, text: &'a str) -> Self {
        Self {
            file,
            text,
            found: Vec::new(),
        }
    }

    pub(crate) fn note(&mut self, at: NodeSpan, message: impl Into<String>) {
        self.note_with_hint(at, message, None);
    }

    pub(crate) fn note_with_hint(
        &mut self,
        at: NodeSpan,
        message: impl Into<String>,
        hint: Option<String>,
    ) {
        let place = at.place(self.text);
        self.note_at(place, message, hint);
    }

    pub(crate) fn note_at(
        &mut self,
        place: FileSpan,
        message: impl Into<String>,
        hint: Option<String>,
    ) {
        let diagnostic = Diagnostic::new(message).at(self.file, self.text, place);
        self.found.push(diagnostic.maybe_hint(hint));
    }

    pub(crate) fn into_diagnostics(self) -> Vec<Diagnostic> {
        self.found
    }

    /// Returns the value, or an error with everything that is wrong.
    pub(crate) fn finish<T>(mut self, value: Option<T>) -> Result<T, Error> {
        self.found
            .sort_by_key(|diagnostic| diagnostic.place.map(|place| place.line));
        match value {
            Some(value) if self.found.is_empty() => Ok(value),
            _ => Err(Error::of(RecipeErrorKind::Manifest, self.found)),
        }
    }

    fn mistyped(&mut self, key: &str, node: &ManifestNode, wanted: &str) {
        let message = format!("`{key}` must be {wanted}, found {}", node.kind());
        self.note(node.at, message);
    }

    fn text_of(&self, node: &ManifestNode) -> Option<ManifestText> {
        let text = node.written(self.text)?;
        Some(ManifestText {
            text,
            place: node.at.place(self.text),
        })
    }
}

impl<'n> ManifestFields<'n> {
    /// Opens a map and reports every key it should not have.
    pub(crate) fn open(
        node: &'n ManifestNode,
        what: &'static str,
        problems: &mut FileProblems<'_>,
    ) -> Option<Self> {
        let ManifestData::Map(entries) = &node.data else {
            let message = format!("{what} must be a map of keys, found {}", node.kind());
            problems.note(node.at, message);
            return None;
        };
        Some(Self {
            what,
            at: node.at,
            entries,
        })
    }

    /// Reports every key that is not known.
    pub(crate) fn only(
        &self,
        known: &[&[&str]],
        foreign: &[UnsupportedKey],
        problems: &mut FileProblems<'_>,
    ) {
        let known: Vec<&str> = known.iter().flat_map(|keys| keys.iter().copied()).collect();
        for entry in self.entries {
            let key = entry.key.as_str();
            if known.contains(&key) {
                continue;
            }
            let advice = foreign
                .iter()
                .find(|(name, _)| *name == key)
                .map(|(_, advice)| advice);
            let (message, hint) = match advice {
                Some(advice) => (
                    format!("`{key}` is not supported in {}", self.what),
                    Some((*advice).to_owned()),
                ),
                None => (
                    format!("unknown key `{key}` in {}", self.what),
                    suggestion(key, known.iter().copied()),
                ),
            };
            problems.note_with_hint(entry.key_at, message, hint);
        }
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &'n str> {
        self.entries.iter().map(|entry| entry.key.as_str())
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.node(key).is_some()
    }

    /// Returns the value of a key; `key:` with nothing after it counts as absent.
    pub(crate) fn node(&self, key: &str) -> Option<&'n ManifestNode> {
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        (!entry.value.is_null()).then_some(&entry.value)
    }

    pub(crate) fn key_at(&self, key: &str) -> NodeSpan {
        let entry = self.entries.iter().find(|entry| entry.key == key);
        entry.map_or(self.at, |entry| entry.key_at)
    }

    pub(crate) fn text(&self, key: &str, problems: &mut FileProblems<'_>) -> Option<ManifestText> {
        let node = self.node(key)?;
        let text = problems.text_of(node);
        if text.is_none() {
            problems.mistyped(key, node, "a string");
        }
        text
    }

    pub(crate) fn string(&self, key: &str, problems: &mut FileProblems<'_>) -> Option<String> {
        self.text(key, problems).map(|text| text.text)
    }

    /// Reads a text that must be there and not be blank.
    pub(crate) fn required(
        &self,
        key: &str,
        problems: &mut FileProblems<'_>,
    ) -> Option<ManifestText> {
        let text = match self.node(key) {
            Some(_) => self.text(key, problems)?,
            None => {
                problems.note(self.at, format!("`{key}` is missing in {}", self.what));
                return None;
            }
        };
        if text.text.trim().is_empty() {
            problems.note_at(
                text.place,
                format!("`{key}` is empty in {}", self.what),
                None,
            );
            return None;
        }
        Some(text)
    }

    pub(crate) fn flag(&self, key: &str, problems: &mut FileProblems<'_>) -> Option<bool> {
        let node = self.node(key)?;
        match node.data {
            ManifestData::Bool(value) => Some(value),
            _ => {
                problems.mistyped(key, node, "`true` or `false`");
                None
            }
        }
    }

    pub(crate) fn number(&self, key: &str, problems: &mut FileProblems<'_>) -> Option<f64> {
        let node = self.node(key)?;
        match &node.data {
            ManifestData::Number(value) => value.as_f64(),
            _ => {
                problems.mistyped(key, node, "a number");
                None
            }
        }
    }

    pub(crate) fn count(&self, key: &str, problems: &mut FileProblems<'_>) -> Option<u32> {
        let node = self.node(key)?;
        let count = match &node.data {
            ManifestData::Number(value) => {
                value.as_u64().and_then(|value| u32::try_from(value).ok())
            }
            _ => None,
        };
        if count.is_none() {
            problems.mistyped(key, node, "a whole number that is not negative");
        }
        count
    }

    /// Reads `30s`, `500ms`, `2m`, `1h`, or a number of milliseconds.
    pub(crate) fn duration(&self, key: &str, problems: &mut FileProblems<'_>) -> Option<Duration> {
        let node = self.node(key)?;
        let duration = node
            .written(problems.text)
            .and_then(|text| parse_duration(&text));
        if duration.is_none() {
            problems.mistyped(
                key,
                node,
                "a time such as `30s`, `500ms`, `2m` or milliseconds",
            );
        }
        duration
    }

    /// Reads one text or a list of texts.
    pub(crate) fn texts(&self, key: &str, problems: &mut FileProblems<'_>) -> Vec<ManifestText> {
        let Some(node) = self.node(key) else {
            return Vec::new();
        };
        if let Some(text) = problems.text_of(node) {
            return vec![text];
        }
        let ManifestData::List(items) = &node.data else {
            problems.mistyped(key, node, "a string or a list of strings");
            return Vec::new();
        };
        let mut texts = Vec::new();
        for item in items {
            match problems.text_of(item) {
                Some(text) => texts.push(text),
                None => problems.mistyped(key, item, "a list of strings"),
            }
        }
        texts
    }

    pub(crate) fn strings(&self, key: &str, problems: &mut FileProblems<'_>) -> Vec<String> {
        self.texts(key, problems)
            .into_iter()
            .map(|text| text.text)
            .collect()
    }

    pub(crate) fn datum(&self, key: &str, problems: &FileProblems<'_>) -> Option<ManifestValue> {
        let node = self.node(key)?;
        Some(ManifestValue {
            value: node.to_json(),
            place: node.at.place(problems.text),
        })
    }

    pub(crate) fn list(&self, key: &str, problems: &mut FileProblems<'_>) -> &'n [ManifestNode] {
        match self.node(key) {
            None => &[],
            Some(ManifestNode {
                data: ManifestData::List(items),
                ..
            }) => items,
            Some(node) => {
                problems.mistyped(key, node, "a list");
                &[]
            }
        }
    }

    pub(crate) fn map(&self, key: &str, problems: &mut FileProblems<'_>) -> &'n [ManifestEntry] {
        match self.node(key) {
            None => &[],
            Some(ManifestNode {
                data: ManifestData::Map(entries),
                ..
            }) => entries,
            Some(node) => {
                problems.mistyped(key, node, "a map");
                &[]
            }
        }
    }

    /// Reads a map of values of any kind.
    pub(crate) fn json_map(
        &self,
        key: &str,
        problems: &mut FileProblems<'_>,
    ) -> Map<String, Value> {
        let entries = self.map(key, problems);
        entries
            .iter()
            .map(|entry| (entry.key.clone(), entry.value.to_json()))
            .collect()
    }

    /// Reads a map whose values are texts.
    pub(crate) fn text_map(
        &self,
        key: &str,
        problems: &mut FileProblems<'_>,
    ) -> Vec<(String, ManifestText)> {
        let mut texts = Vec::new();
        for entry in self.map(key, problems) {
            match problems.text_of(&entry.value) {
                Some(text) => texts.push((entry.key.clone(), text)),
                None => problems.mistyped(&entry.key, &entry.value, "a string"),
            }
        }
        texts
    }

    /// Reads one of a few words.
    pub(crate) fn word<T: Copy>(
        &self,
        key: &str,
        words: &[(&str, T)],
        problems: &mut FileProblems<'_>,
    ) -> Option<T> {
        let text = self.text(key, problems)?;
        let found = words.iter().find(|(word, _)| *word == text.text);
        if found.is_none() {
            let message = format!("`{}` is not a {key} of {}", text.text, self.what);
            let hint = suggestion(&text.text, words.iter().map(|(word, _)| *word));
            problems.note_at(text.place, message, hint);
        }
        found.map(|(_, value)| *value)
    }
}

pub(crate) fn parse_duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: f64 = digits.trim().parse().ok()?;
    let scale_ms = match text[digits.len()..].trim() {
        "" | "ms" => 1.0,
        "s" => 1_000.0,
        "m" => 60_000.0,
        "h" => 3_600_000.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(number * scale_ms / 1_000.0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_with_their_unit() {
        for (text, expected_ms) in [
            ("30s", Some(30_000)),
            ("500ms", Some(500)),
            ("250", Some(250)),
            ("1.5m", Some(90_000)),
            ("1h", Some(3_600_000)),
            ("-1s", None),
            ("soon", None),
            ("3 days", None),
        ] {
            let found = parse_duration(text).map(|duration| duration.as_millis());
            assert_eq!(found, expected_ms, "{text}");
        }
    }
}
