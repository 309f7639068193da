//! YAML, edited on its lossless syntax tree.

use std::rc::Rc;
use std::str::FromStr;

use serde_json::Value;
use yaml_edit::{
    AsYaml, Mapping as YamlMapping, ScalarStyle, ScalarValue, Sequence, YamlFile, YamlNode,
};

use super::MergeEdit;
use super::changes::{self, EditableMap};
use super::error::Error;
use super::yaml_layout::{ValuePlaceholders, YamlLayout};

pub(super) fn read(text: &str) -> Result<Value, Error> {
    match crate::yaml::parse("", text) {
        Ok(node) => Ok(node.to_json()),
        Err(error) => {
            let Some(found) = error.diagnostics().first() else {
                return Err(Error::new("this is not valid YAML"));
            };
            let wrong = match found.message.contains("multiple YAML documents") {
                true => Error::new("this file holds more than one YAML document")
                    .hint("only files with one document are read"),
                false => Error::new(&found.message).maybe_hint(found.hint.clone()),
            };
            Err(match found.place {
                Some(place) => wrong.at(place.line, place.column),
                None => wrong,
            })
        }
    }
}

pub(super) fn merge(edit: &MergeEdit<'_>) -> Result<String, Error> {
    let layout = YamlLayout::of(edit.text, edit.indent);
    if edit.before.is_null() || is_bare(edit.text) {
        return fill(edit, &layout);
    }
    let gaps = Rc::new(ValuePlaceholders::new(edit.text));
    let written = gaps.fill(&apply(edit, Some(&gaps))?, &layout);
    match read(&written) {
        Ok(found) if found == *edit.after => Ok(written),
        // If a block is not allowed here, the tree's own way of writing the value may fit.
        _ => apply(edit, None),
    }
}

fn apply(edit: &MergeEdit<'_>, gaps: Option<&Rc<ValuePlaceholders>>) -> Result<String, Error> {
    let file = YamlFile::from_str(edit.text).map_err(|error| unreadable(&error.to_string()))?;
    let document = file
        .document()
        .ok_or_else(|| unreadable("there is no document"))?;
    match (document.as_mapping(), edit.maps()) {
        (Some(mapping), Some((before, changes))) => {
            changes::edit(
                &mut YamlBlock {
                    mapping,
                    gaps: gaps.cloned(),
                },
                before,
                changes,
            )?;
        }
        _ => {
            let list = document
                .as_sequence()
                .ok_or_else(|| unreadable("it holds one value"))?;
            push(&list, edit.added(), gaps);
        }
    }
    Ok(file.to_string())
}

/// Writes everything below the comments of a text that holds no values yet.
fn fill(edit: &MergeEdit<'_>, layout: &YamlLayout) -> Result<String, Error> {
    let kept: String = edit
        .text
        .split_inclusive('\n')
        .filter(|line| !matches!(line.trim(), "{}" | "[]" | "null" | "~"))
        .collect();
    let newline = layout.newline;
    let gap = if kept.is_empty() || kept.ends_with('\n') {
        ""
    } else {
        newline
    };
    let mut written = format!(
        "{kept}{gap}{}",
        layout.render(edit.after).replace('\n', newline)
    );
    if !edit.text.is_empty() && !edit.text.ends_with('\n') {
        written.truncate(written.trim_end_matches(['\r', '\n']).len());
    }
    Ok(written)
}

fn is_bare(text: &str) -> bool {
    let blank = |line: &&str| !line.is_empty() && !line.starts_with('#') && *line != "---";
    let mut lines = text.lines().map(str::trim).filter(blank);
    matches!((lines.next(), lines.next()), (Some("{}" | "[]"), None))
}

fn unreadable(reason: &str) -> Error {
    Error::new(format!("this YAML is read, but cannot be edited: {reason}"))
        .hint("change this file by hand")
}

struct YamlBlock {
    mapping: YamlMapping,
    gaps: Option<Rc<ValuePlaceholders>>,
}

impl EditableMap for YamlBlock {
    fn set(&mut self, key: &str, value: &Value) -> Result<(), Error> {
        if let Some(gaps) = self.gaps.as_ref().filter(|_| !self.mapping.is_flow_style())
            && let Some(name) = gaps.take(value)
        {
            self.mapping.set(string(key), ScalarValue::plain(name));
            return Ok(());
        }
        let style = self.mapping.get(key).and_then(|old| quotes(&old));
        match (value, style) {
            (Value::String(text), Some(style)) if !text.contains('\n') => {
                self.mapping
                    .set(string(key), ScalarValue::with_style(text, style));
            }
            _ => self.mapping.set(string(key), node(value).as_ref()),
        }
        Ok(())
    }

    fn remove(&mut self, key: &str) {
        self.mapping.remove(key);
    }

    fn append(&mut self, key: &str, items: &[Value]) -> Result<(), Error> {
        if let Some(list) = self.mapping.get_sequence(key) {
            push(&list, items, self.gaps.as_ref());
        }
        Ok(())
    }

    fn child(&mut self, key: &str) -> Option<Box<dyn EditableMap + '_>> {
        let mapping = self.mapping.get_mapping(key)?;
        Some(Box::new(YamlBlock {
            mapping,
            gaps: self.gaps.clone(),
        }))
    }
}

fn push(list: &Sequence, items: &[Value], gaps: Option<&Rc<ValuePlaceholders>>) {
    let gaps = gaps.filter(|_| !list.is_flow_style());
    // New items look like their neighbours.
    let style = list.values().last().and_then(|last| quotes(&last));
    for item in items {
        match (gaps.and_then(|gaps| gaps.take(item)), item, style) {
            (Some(name), ..) => list.push(ScalarValue::plain(name)),
            (None, Value::String(text), Some(style)) if !text.contains('\n') => {
                list.push(ScalarValue::with_style(text, style));
            }
            _ => list.push(node(item).as_ref()),
        }
    }
}

/// Returns the quotes around an old value, which a new string in its place keeps.
fn quotes(old: &YamlNode) -> Option<ScalarStyle> {
    let style = ScalarValue::from_scalar(old.as_scalar()?).style();
    matches!(style, ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted).then_some(style)
}

/// Converts a value for yaml-edit, key by key because its own maps are sorted.
fn node(value: &Value) -> Box<dyn AsYaml> {
    match value {
        Value::Null => Box::new(ScalarValue::null()),
        Value::Bool(value) => Box::new(*value),
        Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(whole), _, _) => Box::new(whole),
            (_, Some(whole), _) => Box::new(whole),
            (_, _, real) => Box::new(real.unwrap_or(f64::NAN)),
        },
        Value::String(text) => Box::new(string(text)),
        Value::Array(items) => {
            let list = Sequence::new();
            for item in items {
                list.push(node(item).as_ref());
            }
            Box::new(list)
        }
        Value::Object(map) => {
            let mapping = YamlMapping::new();
            for (key, value) in map {
                mapping.set(string(key), node(value).as_ref());
            }
            Box::new(mapping)
        }
    }
}

/// Makes a string, quoted if our reader, or one of YAML 1.1, would take it for something else.
fn string(text: &str) -> ScalarValue {
    let numeric = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.'));
    match read(text) {
        Ok(Value::Number(_)) if numeric => ScalarValue::single_quoted(text),
        _ if is_ambiguous(text) => ScalarValue::single_quoted(text),
        _ => ScalarValue::string(text),
    }
}

/// Returns true if YAML 1.1 reads this as a date, a number to the base of 60, or a special value:
/// `2020-01-01`, `22:22`, `=`. PyYAML, Ruby and Go's yaml.v2 do.
pub(super) fn is_ambiguous(text: &str) -> bool {
    matches!(text, "=" | "<<") || is_sexagesimal(text) || is_date(text)
}

fn is_sexagesimal(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let mut parts = digits.split(':');
    let is_number = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_digit())
            && part
                .chars()
                .all(|c| c.is_ascii_digit() || matches!(c, '_' | '.'))
    };
    parts.next().is_some_and(is_number) && digits.contains(':') && parts.all(is_number)
}

fn is_date(text: &str) -> bool {
    let day = text.split(['T', 't', ' ']).next().unwrap_or_default();
    let parts: Vec<&str> = day.split('-').collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    matches!(lengths[..], [4, 1..=2, 1..=2])
        && parts
            .iter()
            .all(|part| part.chars().all(|c| c.is_ascii_digit()))
}
