//! The layout of a YAML text, and new blocks written in the same layout.
//!
//! The tree that is edited indents everything new by two. So a new map or list is first put in as a
//! word that the text does not contain, and the word is then replaced by a block in the layout of
//! the text.

use std::cell::RefCell;

use serde_json::{Value, json};

use super::yaml::is_ambiguous;
use crate::yaml::{ManifestData, ManifestNode};

/// Wide enough that no string is folded over several lines.
const FOLDED_WRAP_CHARS: usize = 1 << 20;

/// The habits of a text.
pub(super) struct YamlLayout {
    pub(super) newline: &'static str,
    step: usize,
    /// True if the dash of a list is in the column of its key.
    dashes_at_key: bool,
}

/// Placeholder words for values that are not written yet.
pub(super) struct ValuePlaceholders {
    word: String,
    values: RefCell<Vec<Value>>,
}

impl YamlLayout {
    pub(super) fn of(text: &str, indent: usize) -> Self {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let mut layout = YamlLayout {
            newline,
            step: indent,
            dashes_at_key: false,
        };
        let Ok(root) = crate::yaml::parse("", text) else {
            return layout;
        };
        let lines: Vec<&str> = text.lines().collect();
        if let Some(step) = step_of(&root) {
            layout.step = step;
        }
        if let Some(dash) = dash_of(&root, &lines) {
            layout.dashes_at_key = dash == 0;
        }
        layout
    }

    /// Writes a value on its own, from column one, ending with a newline.
    pub(super) fn render(&self, value: &Value) -> String {
        let options = serde_saphyr::ser_options! {
            indent_step: self.step,
            compact_list_indent: self.dashes_at_key,
            folded_wrap_chars: FOLDED_WRAP_CHARS,
            prefer_block_scalars: !ends_in_blank_lines(value),
            quote_all: has_ambiguous(value),
        };
        // A value that cannot be written is found when the result is read again.
        let written = serde_saphyr::to_string_with_options(value, options).unwrap_or_default();
        format!("{}\n", written.trim_end_matches('\n'))
    }
}

impl ValuePlaceholders {
    pub(super) fn new(text: &str) -> Self {
        let mut word = "zgap".to_owned();
        while text.contains(&word) {
            word.push('z');
        }
        Self {
            word,
            values: RefCell::new(Vec::new()),
        }
    }

    /// Returns a placeholder word for a value that needs lines of its own.
    pub(super) fn take(&self, value: &Value) -> Option<String> {
        let spread = match value {
            Value::Object(map) => !map.is_empty(),
            Value::Array(items) => !items.is_empty(),
            _ => false,
        };
        let mut values = self.values.borrow_mut();
        spread.then(|| {
            values.push(value.clone());
            self.name(values.len() - 1)
        })
    }

    pub(super) fn fill(&self, text: &str, layout: &YamlLayout) -> String {
        let mut text = text.to_owned();
        for (index, value) in self.values.borrow().iter().enumerate() {
            let name = self.name(index);
            let Some(at) = text.find(&name) else { continue };
            let start = text[..at].rfind('\n').map_or(0, |at| at + 1);
            let end = text[at..]
                .find(['\r', '\n'])
                .map_or(text.len(), |end| at + end);
            let behind = text[at + name.len()..end].trim_end().to_owned();
            let before = text[start..at].trim_end().to_owned();
            let line = match before.strip_suffix('-') {
                Some(indent) if indent.is_empty() || indent.ends_with(' ') => {
                    let items = layout.render(&json!([value]));
                    format!("{indent}{}", block(&items, indent.chars().count(), layout))
                }
                _ => {
                    let entry = layout.render(&json!({ "k": value }));
                    let lines = entry.split_once('\n').map_or("", |(_, lines)| lines);
                    let column = " ".repeat(column_of_key(&before));
                    let lines = block(lines, column.len(), layout);
                    format!("{before}{behind}{}{column}{lines}", layout.newline)
                }
            };
            text.replace_range(start..end, &line);
        }
        text
    }

    fn name(&self, index: usize) -> String {
        format!("{}{index}x", self.word)
    }
}

/// Returns true if a string in the value needs quotes that the writer would not give it.
fn has_ambiguous(value: &Value) -> bool {
    match value {
        Value::String(text) => is_ambiguous(text),
        Value::Array(items) => items.iter().any(has_ambiguous),
        Value::Object(map) => map
            .iter()
            .any(|(key, value)| is_ambiguous(key) || has_ambiguous(value)),
        _ => false,
    }
}

/// Returns true if a string in the value ends in blank lines that a block would lose.
fn ends_in_blank_lines(value: &Value) -> bool {
    match value {
        Value::String(text) => text.ends_with("\n\n") || text.trim().is_empty(),
        Value::Array(items) => items.iter().any(ends_in_blank_lines),
        Value::Object(map) => map.values().any(ends_in_blank_lines),
        _ => false,
    }
}

/// Lines moved right, except the first; without the last line end.
fn block(lines: &str, columns: usize, layout: &YamlLayout) -> String {
    let separator = format!("{}{}", layout.newline, " ".repeat(columns));
    let lines: Vec<&str> = lines.trim_end_matches('\n').split('\n').collect();
    let mut out = lines.join(&separator);
    // Blank lines inside a text block stay blank.
    let blank = format!("{separator}{}", layout.newline);
    while out.contains(&blank) {
        out = out.replace(&blank, &layout.newline.repeat(2));
    }
    out
}

/// Returns the column of the key on a line like `  - - key:`.
fn column_of_key(line: &str) -> usize {
    let mut rest = line.trim_start_matches(' ');
    while let Some(after) = rest.strip_prefix("- ").or_else(|| rest.strip_prefix("? ")) {
        rest = after.trim_start_matches(' ');
    }
    line.len() - rest.len()
}

/// Returns the indentation of the first nested map, from its key.
fn step_of(node: &ManifestNode) -> Option<usize> {
    match &node.data {
        ManifestData::List(items) => items.iter().find_map(step_of),
        ManifestData::Map(entries) => entries.iter().find_map(|entry| {
            let inner = match &entry.value.data {
                ManifestData::Map(inner) => inner.first(),
                _ => None,
            };
            let below = inner.filter(|inner| inner.key_at.line > entry.key_at.line);
            let step = below.and_then(|inner| {
                usize::try_from(inner.key_at.column.checked_sub(entry.key_at.column)?).ok()
            });
            step.filter(|columns| *columns > 0)
                .or_else(|| step_of(&entry.value))
        }),
        _ => None,
    }
}

/// Returns the indentation of the first list's dash, from its key.
fn dash_of(node: &ManifestNode, lines: &[&str]) -> Option<usize> {
    match &node.data {
        ManifestData::List(items) => items.iter().find_map(|item| dash_of(item, lines)),
        ManifestData::Map(entries) => entries.iter().find_map(|entry| {
            let ManifestData::List(items) = &entry.value.data else {
                return dash_of(&entry.value, lines);
            };
            let first = items.first()?;
            let line = lines.get((first.at.line as usize).checked_sub(1)?)?;
            let column = line.len() - line.trim_start().len();
            let below = first.at.line > entry.key_at.line && line.trim_start().starts_with('-');
            let key = (entry.key_at.column as usize).checked_sub(1)?;
            match below {
                true => column.checked_sub(key),
                false => items.iter().find_map(|item| dash_of(item, lines)),
            }
        }),
        _ => None,
    }
}
