//! Data files of a project: read as values, and merged into without losing comments or order.

mod env;
mod json;
mod toml;
mod write_yaml;
mod yaml_merge;

use serde_json::{Map, Value};

use crate::error::{Diagnostic, Error, Kind};
use crate::manifest::Format;

/// The format a file's name gives away.
pub(crate) fn format_of(path: &str) -> Option<Format> {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name
        .rsplit_once('.')
        .map(|(stem, extension)| (stem, extension.to_lowercase()))
    {
        Some((_, extension)) if matches!(extension.as_str(), "json" | "jsonc" | "json5") => {
            Some(Format::Json)
        }
        Some((_, extension)) if matches!(extension.as_str(), "yml" | "yaml") => Some(Format::Yaml),
        Some((_, extension)) if extension == "toml" => Some(Format::Toml),
        _ if name == ".env" || name.starts_with(".env.") || name.ends_with(".env") => {
            Some(Format::Env)
        }
        _ => None,
    }
}

/// The value of a data file.
pub(crate) fn read(format: Format, file: &str, text: &str) -> Result<Value, Error> {
    match format {
        Format::Json => json::read(text).map_err(|message| broken(file, message)),
        Format::Yaml => crate::yaml::parse(file, text).map(|node| node.to_json()),
        Format::Toml => toml::read(text).map_err(|message| broken(file, message)),
        Format::Env => Ok(env::read(text)),
    }
}

/// The text of a data file with values merged in; `None` for a file that is not there yet.
///
/// Objects are merged key by key, everything else is replaced. What is equal already is not
/// touched, and the result is read again to prove that it says what it should.
pub(crate) fn merge(
    format: Format,
    file: &str,
    text: Option<&str>,
    values: &Map<String, Value>,
) -> Result<String, Error> {
    let old = text.filter(|text| !text.trim().is_empty());
    let before = match old {
        Some(text) => read(format, file, text)?,
        None => Value::Object(Map::new()),
    };
    let before = if before.is_null() {
        Value::Object(Map::new())
    } else {
        before
    };
    if !before.is_object() {
        return Err(broken(
            file,
            "only a file that holds an object can be merged into".to_owned(),
        ));
    }
    let mut wanted = before.clone();
    deep_merge(&mut wanted, values);
    if wanted == before && old.is_some() {
        return Ok(old.unwrap_or_default().to_owned());
    }
    let text = text.unwrap_or_default();
    let merged = match format {
        Format::Json => json::merge(text, values),
        Format::Yaml => yaml_merge::merge(file, text, values),
        Format::Toml => toml::merge(text, values),
        Format::Env => Err("`.env` files can be read, not merged into".to_owned()),
    };
    let merged = merged.map_err(|message| broken(file, message))?;
    match read(format, file, &merged) {
        Ok(found) if same(&found, &wanted) => Ok(merged),
        _ => {
            let message = "the values cannot be merged without rewriting the file's layout";
            Err(broken(file, message.to_owned()).hint("write the part as a block, one key a line"))
        }
    }
}

/// Objects into objects; everything else replaces.
pub(crate) fn deep_merge(target: &mut Value, values: &Map<String, Value>) {
    let Value::Object(map) = target else {
        *target = Value::Object(values.clone());
        return;
    };
    for (key, value) in values {
        match (map.get_mut(key), value) {
            (Some(inner @ Value::Object(_)), Value::Object(values)) => deep_merge(inner, values),
            (Some(inner), value) => *inner = value.clone(),
            (None, value) => {
                map.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Equal, where `1` and `1.0` are.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(l, r)| same(l, r))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(key, l)| right.get(key).is_some_and(|r| same(l, r)))
        }
        (left, right) => left == right,
    }
}

fn broken(file: &str, message: String) -> Error {
    Error::of(
        Kind::Manifest,
        vec![Diagnostic::new(message).in_file(file, None)],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(format: Format, text: &str, values: Value, expected: &str) {
        let Value::Object(values) = values else {
            panic!("an object")
        };
        let merged = merge(format, "file", Some(text), &values).unwrap();
        assert_eq!(merged, expected);
        let again = merge(format, "file", Some(&merged), &values).unwrap();
        assert_eq!(again, merged, "merging twice is merging once");
    }

    #[test]
    fn json_keeps_comments_order_and_style() {
        check(
            Format::Json,
            "{\n  // tools\n  \"scripts\": {\n    \"build\": \"x\", // old\n    \"test\": \"y\"\n  },\n  \"private\": true\n}\n",
            json!({"scripts": {"build": "z", "lint": "l"}, "private": true}),
            "{\n  // tools\n  \"scripts\": {\n    \"build\": \"z\", // old\n    \"test\": \"y\",\n    \"lint\": \"l\"\n  },\n  \"private\": true\n}\n",
        );
        check(
            Format::Json,
            "{\r\n\t\"a\": 1\r\n}\r\n",
            json!({"b": [1, {"c": null}]}),
            "{\r\n\t\"a\": 1,\r\n\t\"b\": [\r\n\t\t1,\r\n\t\t{\r\n\t\t\t\"c\": null\r\n\t\t}\r\n\t]\r\n}\r\n",
        );
    }

    #[test]
    fn toml_keeps_comments_and_order() {
        check(
            Format::Toml,
            "# top\n[package] # pkg\nname = \"a\" # the name\n\n[dependencies]\nserde = \"1\"\n",
            json!({"package": {"name": "b", "edition": "2024"}, "dependencies": {"rand": {"version": "1"}}, "features": {"x": []}}),
            "# top\n[package] # pkg\nname = \"b\" # the name\nedition = \"2024\"\n\n[dependencies]\nserde = \"1\"\nrand = { version = \"1\" }\n\n[features]\nx = []\n",
        );
    }

    #[test]
    fn yaml_keeps_comments_order_and_style() {
        check(
            Format::Yaml,
            "# top\nname: a # the name\non:\n  push: # when\n    branches: [main]\njobs:\n  build:\n    steps:\n      - run: x\n# end\n",
            json!({"name": "b", "on": {"push": {"tags": ["v*"]}, "pull_request": null}, "env": {"CI": true}}),
            "# top\nname: b # the name\non:\n  push: # when\n    branches: [main]\n    tags:\n      - \"v*\"\n  pull_request: null\njobs:\n  build:\n    steps:\n      - run: x\nenv:\n  CI: true\n# end\n",
        );
        check(
            Format::Yaml,
            "a: |\n  one\n  two\nb:\n- x\n- y\nc: {d: 1}\ne:\n",
            json!({"a": "three", "b": ["z"], "c": {"f": 2}, "e": {"g": "yes"}}),
            "a: three\nb:\n  - z\nc: {\"d\":1,\"f\":2}\ne:\n  g: \"yes\"\n",
        );
        check(
            Format::Yaml,
            "a: 1\r\nb:\r\n  c: 2\r\n",
            json!({"b": {"d": "x: y"}}),
            "a: 1\r\nb:\r\n  c: 2\r\n  d: \"x: y\"\r\n",
        );
        check(
            Format::Yaml,
            "# only a comment\n",
            json!({"a": 1}),
            "# only a comment\na: 1\n",
        );
        check(
            Format::Yaml,
            "a: 'it''s'",
            json!({"b": 2}),
            "a: 'it''s'\nb: 2\n",
        );
    }

    #[test]
    fn a_new_file_is_written_plainly() {
        let values = json!({"a": {"b": [1, "x"]}, "c": "d"});
        let Value::Object(values) = values else {
            panic!("an object")
        };
        for (format, expected) in [
            (
                Format::Json,
                "{\n  \"a\": {\n    \"b\": [\n      1,\n      \"x\"\n    ]\n  },\n  \"c\": \"d\"\n}\n",
            ),
            (Format::Yaml, "a:\n  b:\n    - 1\n    - x\nc: d\n"),
            (Format::Toml, "c = \"d\"\n\n[a]\nb = [1, \"x\"]\n"),
        ] {
            assert_eq!(merge(format, "f", None, &values).unwrap(), expected);
        }
    }

    #[test]
    fn what_cannot_be_merged_is_refused() {
        let values = Map::from_iter([("a".to_owned(), Value::Null)]);
        for (format, text, expected) in [
            (Format::Json, "[1]", "holds an object"),
            (Format::Json, "{ \"a\": ", "f:"),
            (Format::Toml, "a = 1\n", "no null"),
            (Format::Yaml, "a: [1\n", "not valid YAML"),
            (Format::Env, "A=1\n", "not merged"),
        ] {
            let error = merge(format, "f", Some(text), &values).unwrap_err();
            assert!(error.to_string().contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn formats_are_known_by_name() {
        for (path, expected) in [
            ("a/tsconfig.json", Some(Format::Json)),
            ("x.YAML", Some(Format::Yaml)),
            ("Cargo.toml", Some(Format::Toml)),
            (".env.local", Some(Format::Env)),
            ("Makefile", None),
        ] {
            assert_eq!(format_of(path), expected, "{path}");
        }
    }
}
