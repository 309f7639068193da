//! YAML as a tree that remembers the position of every node.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::{Location, Spanned};

use crate::error::{Diagnostic, Error, FileSpan, RecipeErrorKind};

/// Largest YAML file that is read: a manifest, frontmatter, or a file to patch.
pub(crate) const YAML_BYTES_MAX: usize = 4 << 20;

/// A value and its place.
#[derive(Clone, Debug)]
pub(crate) struct ManifestNode {
    pub(crate) data: ManifestData,
    pub(crate) at: NodeSpan,
}

#[derive(Clone, Debug)]
pub(crate) enum ManifestData {
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    List(Vec<ManifestNode>),
    Map(Vec<ManifestEntry>),
}

#[derive(Clone, Debug)]
pub(crate) struct ManifestEntry {
    pub(crate) key: String,
    pub(crate) key_at: NodeSpan,
    pub(crate) value: ManifestNode,
}

/// Position of a node: for a scalar all of it, for a collection its beginning.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NodeSpan {
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) offset: usize,
    pub(crate) len: usize,
}

impl NodeSpan {
    /// Returns the place to point at; a block that spans lines is underlined at its first column
    /// only.
    pub(crate) fn place(self, text: &str) -> FileSpan {
        let shown = text.get(self.offset..self.offset + self.len).unwrap_or("");
        let first = shown.lines().next().unwrap_or("");
        FileSpan {
            line: self.line,
            column: self.column,
            width: u32::try_from(first.chars().count()).unwrap_or(1).max(1),
        }
    }
}

impl ManifestNode {
    pub(crate) fn to_json(&self) -> Value {
        match &self.data {
            ManifestData::Null => Value::Null,
            ManifestData::Bool(value) => Value::Bool(*value),
            ManifestData::Number(value) => Value::Number(value.clone()),
            ManifestData::String(text) => Value::String(text.clone()),
            ManifestData::List(items) => items.iter().map(ManifestNode::to_json).collect(),
            ManifestData::Map(entries) => {
                let pairs = entries.iter().map(|e| (e.key.clone(), e.value.to_json()));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
        }
    }

    /// Returns the kind of the value, worded to follow "found".
    pub(crate) fn kind(&self) -> &'static str {
        match &self.data {
            ManifestData::Null => "nothing",
            ManifestData::Bool(_) => "a boolean",
            ManifestData::Number(_) => "a number",
            ManifestData::String(_) => "a string",
            ManifestData::List(_) => "a list",
            ManifestData::Map(_) => "a map",
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self.data, ManifestData::Null)
    }

    /// Returns a scalar as it was written, so that `version: 1.10` stays `1.10`.
    pub(crate) fn written(&self, text: &str) -> Option<String> {
        match &self.data {
            ManifestData::String(value) => Some(value.clone()),
            ManifestData::Bool(_) | ManifestData::Number(_) => {
                let raw = text.get(self.at.offset..self.at.offset + self.at.len)?;
                Some(raw.trim().to_owned())
            }
            _ => None,
        }
    }
}

/// An entry of a YAML mapping.
#[derive(Clone, Debug)]
pub struct YamlEntry {
    pub key: String,
    pub value: Value,
    /// The line of its key.
    pub line: u32,
}

/// Reads the entries of a YAML document; none if it is no mapping.
pub fn read_entries(text: &str) -> Result<Vec<YamlEntry>, Error> {
    let ManifestData::Map(entries) = parse("", text)?.data else {
        return Ok(Vec::new());
    };
    let entries = entries.into_iter().map(|entry| YamlEntry {
        value: entry.value.to_json(),
        line: entry.key_at.line,
        key: entry.key,
    });
    Ok(entries.collect())
}

/// Reads one YAML document.
pub(crate) fn parse(file: &str, text: &str) -> Result<ManifestNode, Error> {
    if text.len() > YAML_BYTES_MAX {
        let message = format!(
            "the file has {} bytes, more than YAML_BYTES_MAX = {YAML_BYTES_MAX}",
            text.len()
        );
        let diagnostic = Diagnostic::new(message).in_file(file, None);
        return Err(Error::of(RecipeErrorKind::Limit, vec![diagnostic]));
    }
    let options = serde_saphyr::options! { strict_booleans: true };
    let parsed = serde_saphyr::from_str_with_options::<Spanned<YamlTree>>(text, options);
    match parsed {
        Ok(tree) => Ok(convert(tree)),
        Err(error) => Err(broken(file, text, &error)),
    }
}

fn broken(file: &str, text: &str, error: &serde_saphyr::Error) -> Error {
    let place = error.location().map(|location| FileSpan {
        line: u32::try_from(location.line()).unwrap_or(1),
        column: u32::try_from(location.column()).unwrap_or(1),
        width: 1,
    });
    let detail = error.without_snippet().render();
    let detail = detail
        .split(" at line ")
        .next()
        .unwrap_or(&detail)
        .to_owned();
    let detail = detail
        .split(", set DuplicateKeyPolicy")
        .next()
        .unwrap_or(&detail);
    let diagnostic = Diagnostic::new(format!("this is not valid YAML: {detail}"));
    let diagnostic = match place {
        Some(place) => diagnostic.at(file, text, place),
        None => diagnostic.in_file(file, None),
    };
    let hint = diagnostic
        .excerpt
        .as_deref()
        .and_then(|line| hint(line, detail));
    Error::of(RecipeErrorKind::Manifest, vec![diagnostic.maybe_hint(hint)])
}

/// Explains the mistakes people make when templates meet YAML.
fn hint(line: &str, detail: &str) -> Option<String> {
    let value = line
        .split_once(": ")
        .map_or(line, |(_, value)| value)
        .trim_start();
    if value.starts_with("{{") {
        return Some("put quotes around a value that begins with `{{`".to_owned());
    }
    if value.starts_with(['@', '`', '%']) {
        return Some(format!(
            "put quotes around a value that begins with `{}`",
            value.chars().next().unwrap_or('@')
        ));
    }
    if value.contains(": ") && detail.contains("mapping values") {
        return Some(
            "put quotes around a value that contains `: `, or check the indentation".to_owned(),
        );
    }
    if detail.contains("mapping values") && !line.contains('\t') {
        return Some("check the indentation of this line and of the one above".to_owned());
    }
    if line.contains('\t') {
        return Some("indent with spaces; YAML does not allow tabs".to_owned());
    }
    if detail.starts_with("duplicate mapping key") {
        return Some("keep one of the two".to_owned());
    }
    None
}

/// The tree that serde builds; `convert` turns it into [`ManifestNode`]s, which carry no lifetime of
/// serde's types.
enum YamlTree {
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    List(Vec<Spanned<YamlTree>>),
    Map(Vec<(Spanned<String>, Spanned<YamlTree>)>),
}

fn convert(tree: Spanned<YamlTree>) -> ManifestNode {
    let data = match tree.value {
        YamlTree::Null => ManifestData::Null,
        YamlTree::Bool(value) => ManifestData::Bool(value),
        YamlTree::Number(value) => ManifestData::Number(value),
        YamlTree::String(text) => ManifestData::String(text),
        YamlTree::List(items) => ManifestData::List(items.into_iter().map(convert).collect()),
        YamlTree::Map(entries) => ManifestData::Map(
            entries
                .into_iter()
                .map(|(key, value)| ManifestEntry {
                    key_at: at(key.referenced),
                    key: key.value,
                    value: convert(value),
                })
                .collect(),
        ),
    };
    ManifestNode {
        data,
        at: at(tree.referenced),
    }
}

fn at(location: Location) -> NodeSpan {
    let span = location.span();
    let number = |value: Option<u64>| usize::try_from(value.unwrap_or(0)).unwrap_or(0);
    NodeSpan {
        line: u32::try_from(location.line()).unwrap_or(1),
        column: u32::try_from(location.column()).unwrap_or(1),
        offset: number(span.byte_offset()),
        len: number(span.byte_len()),
    }
}

impl<'de> Deserialize<'de> for YamlTree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = YamlTree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<YamlTree, E> {
        Ok(YamlTree::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<YamlTree, E> {
        Ok(YamlTree::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<YamlTree, E> {
        Ok(YamlTree::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<YamlTree, E> {
        Ok(Number::from_f64(value).map_or(YamlTree::Null, YamlTree::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<YamlTree, E> {
        Ok(YamlTree::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<YamlTree, E> {
        Ok(YamlTree::String(value))
    }

    fn visit_unit<E>(self) -> Result<YamlTree, E> {
        Ok(YamlTree::Null)
    }

    fn visit_none<E>(self) -> Result<YamlTree, E> {
        Ok(YamlTree::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<YamlTree, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(YamlTree::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<YamlTree, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = access.next_key()? {
            entries.push((key, access.next_value()?));
        }
        Ok(YamlTree::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn words_that_look_like_booleans_are_strings() {
        let node = parse("x.yml", "axes: [x, y, yes, no, on]\nflag: true\n").unwrap();
        assert_eq!(
            node.to_json(),
            json!({"axes": ["x", "y", "yes", "no", "on"], "flag": true})
        );
    }

    #[test]
    fn a_scalar_is_available_as_it_was_written() {
        let text = "version: 1.10\n";
        let node = parse("x.yml", text).unwrap();
        let ManifestData::Map(entries) = &node.data else {
            panic!("a map")
        };
        assert_eq!(entries[0].value.written(text).as_deref(), Some("1.10"));
        assert_eq!(entries[0].value.at.column, 10);
    }

    #[test]
    fn broken_yaml_points_at_the_place_and_knows_the_usual_mistakes() {
        for (text, line, hint) in [
            ("a: 1\nto: {{ name }}/x\n", 2, "quotes"),
            ("a: @foo\n", 1, "quotes"),
            ("a: 1\na: 2\n", 2, "keep one"),
            ("a: b: c\n", 1, "quotes"),
            ("a:\n\tb: 1\n", 2, "spaces"),
        ] {
            let error = parse("x.yml", text).unwrap_err();
            let found = &error.diagnostics()[0];
            assert_eq!(found.place.unwrap().line, line, "{text:?}: {error}");
            assert!(
                found.hint.as_deref().unwrap_or("").contains(hint),
                "{text:?}: {error}"
            );
        }
    }
}
