//! Merging into YAML text: only the lines that must change are written anew.
//!
//! The tree says where every key stands; edits are made to whole entries, from the end of the text
//! to its beginning, so that positions stay true. The caller reads the result again, so a layout
//! this does not understand becomes an error and never a wrong file.

use serde_json::{Map, Value};

use super::write_yaml::{entry, flow};
use crate::inject::{line_end, with_line_end};
use crate::yaml::{Data, Entry, Node, parse};

/// Lines `from..to` (counted from zero) become `text`.
struct Edit {
    from: usize,
    to: usize,
    text: String,
}

pub(super) fn merge(file: &str, text: &str, values: &Map<String, Value>) -> Result<String, String> {
    let end = line_end(text);
    let mut plain = with_line_end(text, "\n");
    if !plain.is_empty() && !plain.ends_with('\n') {
        plain.push('\n');
    }
    let root = parse(file, &plain).map_err(|error| error.to_string())?;
    let lines: Vec<&str> = plain.split_inclusive('\n').collect();
    let mut merge = Merge {
        text: &plain,
        lines,
        edits: Vec::new(),
    };
    match &root.data {
        Data::Map(entries) => merge.map(entries, values, merge.lines.len())?,
        _ => {
            let mut added = String::new();
            for (key, value) in values {
                entry(&mut added, key, value, 0);
            }
            merge.insert(merge.lines.len(), added);
        }
    }
    Ok(with_line_end(&merge.applied(), end))
}

struct Merge<'t> {
    text: &'t str,
    lines: Vec<&'t str>,
    edits: Vec<Edit>,
}

impl Merge<'_> {
    /// Merges into a block map whose lines end before `until`.
    fn map(
        &mut self,
        entries: &[Entry],
        values: &Map<String, Value>,
        until: usize,
    ) -> Result<(), String> {
        let Some(first) = entries.first() else {
            return Err("a map has no keys".to_owned());
        };
        let indent = first.key_at.column as usize - 1;
        for (key, value) in values {
            let at = entries.iter().position(|entry| entry.key == *key);
            let Some(at) = at else { continue };
            let next = entries
                .get(at + 1)
                .map_or(until, |next| next.key_at.line as usize - 1);
            self.entry(&entries[at], value, next)?;
        }
        let mut added = String::new();
        for (key, value) in values {
            if !entries.iter().any(|entry| entry.key == *key) {
                entry(&mut added, key, value, indent);
            }
        }
        let last = entries
            .last()
            .map_or(0, |entry| entry.key_at.line as usize - 1);
        if !added.is_empty() {
            let place = self.last_line(last, until) + 1;
            self.insert(place, added);
        }
        Ok(())
    }

    /// Makes one entry, whose lines end before `until`, hold `value`.
    fn entry(&mut self, old: &Entry, value: &Value, until: usize) -> Result<(), String> {
        let before = old.value.to_json();
        if super::same(&before, value) {
            return Ok(());
        }
        if let (Data::Map(entries), Value::Object(values)) = (&old.value.data, value) {
            if !entries.is_empty() && !self.is_flow(&old.value) {
                return self.map(entries, values, until);
            }
            let mut merged = before.clone();
            super::deep_merge(&mut merged, values);
            return self.rewrite(old, &merged, until);
        }
        match self.span_on_key_line(old) {
            Some((from, to)) if !is_block(value) => {
                let line = old.key_at.line as usize - 1;
                let start: usize = self.lines[..line].iter().map(|line| line.len()).sum();
                let text = self.lines[line];
                let text = format!(
                    "{}{}{}",
                    &text[..from - start],
                    flow(value),
                    &text[to - start..]
                );
                self.edits.push(Edit {
                    from: line,
                    to: line + 1,
                    text,
                });
                Ok(())
            }
            _ => self.rewrite(old, value, until),
        }
    }

    fn is_flow(&self, node: &Node) -> bool {
        self.text[node.at.offset..].starts_with(['{', '['])
    }

    /// The bytes of a scalar that stands whole behind its key.
    fn span_on_key_line(&self, old: &Entry) -> Option<(usize, usize)> {
        let scalar = !matches!(old.value.data, Data::List(_) | Data::Map(_));
        let at = old.value.at;
        let (from, to) = (at.offset, at.offset + at.len);
        let whole = at.len > 0 && !self.text.get(from..to)?.contains('\n');
        (scalar && whole && at.line == old.key_at.line).then_some((from, to))
    }

    /// Writes an entry anew, from its key to its last line.
    fn rewrite(&mut self, old: &Entry, value: &Value, until: usize) -> Result<(), String> {
        let line = old.key_at.line as usize - 1;
        let indent = old.key_at.column as usize - 1;
        let before_key = &self.lines[line][..indent.min(self.lines[line].len())];
        if !before_key.trim().is_empty() && !before_key.trim().chars().all(|c| c == '-') {
            return Err(format!("`{}` stands inside braces", old.key));
        }
        let to = self.last_line(line, until) + 1;
        let mut text = String::new();
        let flowing = matches!(old.value.data, Data::Map(_)) && self.is_flow(&old.value);
        match flowing {
            true => text.push_str(&format!("{before_key}{}: {}\n", old.key, flow(value))),
            false => {
                entry(&mut text, &old.key, value, indent);
                text.replace_range(..indent, before_key);
            }
        }
        self.edits.push(Edit {
            from: line,
            to,
            text,
        });
        Ok(())
    }

    /// The last line before `until` that says something: blank lines and comments at the end of an
    /// entry belong to what follows.
    fn last_line(&self, from: usize, until: usize) -> usize {
        let says = |line: &&str| {
            let line = line.trim();
            !line.is_empty() && !line.starts_with('#') && line != "..."
        };
        let found = self.lines[from..until].iter().rposition(says);
        from + found.unwrap_or(0)
    }

    fn insert(&mut self, line: usize, text: String) {
        self.edits.push(Edit {
            from: line,
            to: line,
            text,
        });
    }

    fn applied(mut self) -> String {
        let mut lines: Vec<String> = self.lines.iter().map(|line| (*line).to_owned()).collect();
        self.edits.sort_by_key(|edit| edit.from);
        for edit in self.edits.iter().rev() {
            lines.splice(edit.from..edit.to, [edit.text.clone()]);
        }
        lines.concat()
    }
}

fn is_block(value: &Value) -> bool {
    match value {
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
        _ => false,
    }
}
