//! YAML as a tree that remembers where everything stands.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::{Location, Spanned};

use crate::error::{Diagnostic, Error, Kind, Place};

/// Largest YAML file that is read: a manifest, frontmatter, or a file to patch.
pub(crate) const YAML_BYTES_MAX: usize = 4 << 20;

/// A value and its place.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) data: Data,
    pub(crate) at: At,
}

#[derive(Clone, Debug)]
pub(crate) enum Data {
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_at: At,
    pub(crate) value: Node,
}

/// Where a node stands: for a scalar all of it, for a collection its beginning.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct At {
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) offset: usize,
    pub(crate) len: usize,
}

impl At {
    /// The place to point at; a block that spans lines is underlined at its first column only.
    pub(crate) fn place(self, text: &str) -> Place {
        let shown = text.get(self.offset..self.offset + self.len).unwrap_or("");
        let first = shown.lines().next().unwrap_or("");
        Place {
            line: self.line,
            column: self.column,
            width: u32::try_from(first.chars().count()).unwrap_or(1).max(1),
        }
    }
}

impl Node {
    pub(crate) fn to_json(&self) -> Value {
        match &self.data {
            Data::Null => Value::Null,
            Data::Bool(value) => Value::Bool(*value),
            Data::Number(value) => Value::Number(value.clone()),
            Data::String(text) => Value::String(text.clone()),
            Data::List(items) => items.iter().map(Node::to_json).collect(),
            Data::Map(entries) => {
                let pairs = entries.iter().map(|e| (e.key.clone(), e.value.to_json()));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
        }
    }

    /// What kind of value this is, worded to follow "found".
    pub(crate) fn kind(&self) -> &'static str {
        match &self.data {
            Data::Null => "nothing",
            Data::Bool(_) => "a boolean",
            Data::Number(_) => "a number",
            Data::String(_) => "a string",
            Data::List(_) => "a list",
            Data::Map(_) => "a map",
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self.data, Data::Null)
    }

    /// A scalar as it was written, so that `version: 1.10` stays `1.10`.
    pub(crate) fn written(&self, text: &str) -> Option<String> {
        match &self.data {
            Data::String(value) => Some(value.clone()),
            Data::Bool(_) | Data::Number(_) => {
                let raw = text.get(self.at.offset..self.at.offset + self.at.len)?;
                Some(raw.trim().to_owned())
            }
            _ => None,
        }
    }
}

/// Reads one YAML document.
pub(crate) fn parse(file: &str, text: &str) -> Result<Node, Error> {
    if text.len() > YAML_BYTES_MAX {
        let message = format!(
            "the file has {} bytes, more than YAML_BYTES_MAX = {YAML_BYTES_MAX}",
            text.len()
        );
        let diagnostic = Diagnostic::new(message).in_file(file, None);
        return Err(Error::of(Kind::Limit, vec![diagnostic]));
    }
    let options = serde_saphyr::options! { strict_booleans: true };
    let parsed = serde_saphyr::from_str_with_options::<Spanned<Tree>>(text, options);
    match parsed {
        Ok(tree) => Ok(convert(tree)),
        Err(error) => Err(broken(file, text, &error)),
    }
}

fn broken(file: &str, text: &str, error: &serde_saphyr::Error) -> Error {
    let place = error.location().map(|location| Place {
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
    Error::of(Kind::Manifest, vec![diagnostic.maybe_hint(hint)])
}

/// The mistakes people make when templates meet YAML.
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

/// What serde builds; `convert` turns it into [`Node`]s, which carry no lifetime of serde's types.
enum Tree {
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    List(Vec<Spanned<Tree>>),
    Map(Vec<(Spanned<String>, Spanned<Tree>)>),
}

fn convert(tree: Spanned<Tree>) -> Node {
    let data = match tree.value {
        Tree::Null => Data::Null,
        Tree::Bool(value) => Data::Bool(value),
        Tree::Number(value) => Data::Number(value),
        Tree::String(text) => Data::String(text),
        Tree::List(items) => Data::List(items.into_iter().map(convert).collect()),
        Tree::Map(entries) => Data::Map(
            entries
                .into_iter()
                .map(|(key, value)| Entry {
                    key_at: at(key.referenced),
                    key: key.value,
                    value: convert(value),
                })
                .collect(),
        ),
    };
    Node {
        data,
        at: at(tree.referenced),
    }
}

fn at(location: Location) -> At {
    let span = location.span();
    let number = |value: Option<u64>| usize::try_from(value.unwrap_or(0)).unwrap_or(0);
    At {
        line: u32::try_from(location.line()).unwrap_or(1),
        column: u32::try_from(location.column()).unwrap_or(1),
        offset: number(span.byte_offset()),
        len: number(span.byte_len()),
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
        Ok(Number::from_f64(value).map_or(Tree::Null, Tree::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Tree, E> {
        Ok(Tree::String(value))
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_none<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Tree, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Tree::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Tree, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = access.next_key()? {
            entries.push((key, access.next_value()?));
        }
        Ok(Tree::Map(entries))
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
        let Data::Map(entries) = &node.data else {
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
