//! YAML, edited on its lossless syntax tree.

use std::str::FromStr;

use serde_json::Value;
use yaml_edit::{
    AsYaml, Mapping as YamlMapping, ScalarStyle, ScalarValue, Sequence, YamlFile, YamlNode,
};

use super::changes::{self, Mapping};
use super::error::Error;
use super::Edit;

pub(super) fn read(text: &str) -> Result<Value, Error> {
    match crate::yaml::parse("", text) {
        Ok(node) => Ok(node.to_json()),
        Err(error) => {
            let Some(found) = error.diagnostics().first() else {
                return Err(Error::new("this is not valid YAML"));
            };
            let wrong = Error::new(&found.message).maybe_hint(found.hint.clone());
            Err(match found.place {
                Some(place) => wrong.at(place.line, place.column),
                None => wrong,
            })
        }
    }
}

pub(super) fn merge(edit: &Edit<'_>) -> Result<String, Error> {
    if edit.before.is_null() || is_bare(edit.text) {
        return fill(edit);
    }
    let file = YamlFile::from_str(edit.text).map_err(|error| unreadable(&error.to_string()))?;
    let document = file.document().ok_or_else(|| unreadable("there is no document"))?;
    match (document.as_mapping(), edit.maps()) {
        (Some(mapping), Some((before, changes))) => {
            changes::edit(&mut Block { mapping }, before, changes)?;
        }
        _ => {
            let list = document.as_sequence().ok_or_else(|| unreadable("it holds one value"))?;
            for item in edit.added() {
                list.push(node(item).as_ref());
            }
        }
    }
    Ok(file.to_string())
}

/// Writes everything below the comments of a text that holds no values yet.
fn fill(edit: &Edit<'_>) -> Result<String, Error> {
    let options = serde_saphyr::ser_options! {
        indent_step: edit.indent,
        compact_list_indent: false,
    };
    let written = serde_saphyr::to_string_with_options(edit.after, options)
        .map_err(|error| Error::new(format!("the values cannot be written: {error}")))?;
    let kept: String = edit
        .text
        .split_inclusive('\n')
        .filter(|line| !matches!(line.trim(), "{}" | "[]" | "null" | "~"))
        .collect();
    let newline = if kept.contains("\r\n") { "\r\n" } else { "\n" };
    let gap = if kept.is_empty() || kept.ends_with('\n') { "" } else { newline };
    let written = format!("{}\n", written.trim_end_matches('\n')).replace('\n', newline);
    Ok(format!("{kept}{gap}{written}"))
}

fn is_bare(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#') && *line != "---");
    matches!((lines.next(), lines.next()), (Some("{}" | "[]"), None))
}

fn unreadable(reason: &str) -> Error {
    Error::new(format!("this YAML is read, but cannot be edited: {reason}"))
        .hint("change this file by hand")
}

struct Block {
    mapping: YamlMapping,
}

impl Mapping for Block {
    fn set(&mut self, key: &str, value: &Value) -> Result<(), Error> {
        let style = self.mapping.get(key).and_then(|old| quotes(&old));
        match (value, style) {
            (Value::String(text), Some(style)) if !text.contains('\n') => {
                self.mapping.set(string(key), ScalarValue::with_style(text, style));
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
            for item in items {
                list.push(node(item).as_ref());
            }
        }
        Ok(())
    }

    fn child(&mut self, key: &str) -> Option<Box<dyn Mapping + '_>> {
        let mapping = self.mapping.get_mapping(key)?;
        Some(Box::new(Block { mapping }))
    }
}

/// The quotes around an old value, which a new string in its place keeps.
fn quotes(old: &YamlNode) -> Option<ScalarStyle> {
    let style = ScalarValue::from_scalar(old.as_scalar()?).style();
    matches!(style, ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted).then_some(style)
}

/// A value as yaml-edit takes it; built key by key because its own maps are sorted.
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

/// A string with quotes around it where our reader, or an older one, would take it for a number.
fn string(text: &str) -> ScalarValue {
    let numeric = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.'));
    match read(text) {
        Ok(Value::Number(_)) if numeric => ScalarValue::single_quoted(text),
        _ => ScalarValue::string(text),
    }
}
