//! Reads and patches JSON, YAML and TOML texts, keeping comments and order.
//!
//! [`merge`] puts a map of changes into a text and leaves everything else as it was written:
//! comments, the order of keys, indentation, quotes, line ends. Maps are merged key by key, lists
//! and single values are replaced, `null` sets null. Two markers say what plain data cannot:
//!
//! - `{"$delete": true}` in place of a value removes its key;
//! - `{"$append": [..]}` adds the items that are not in the list yet.
//!
//! Merging the same changes twice changes nothing the second time, and no text is returned that
//! does not read as exactly the merged values. This module does no I/O and knows no file names.

mod changes;
mod env;
mod error;
mod json;
mod toml;
mod yaml;
mod yaml_layout;

use serde_json::{Map, Value};

pub use crate::manifest::DataFormat;
pub use error::Error;

/// Widest indentation a new file may ask for.
pub const INDENT_MAX: usize = 16;

impl DataFormat {
    /// Guesses the format of a file from its name.
    pub fn of_path(path: &str) -> Option<DataFormat> {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        if name == ".env" || name.starts_with(".env.") {
            return Some(DataFormat::Env);
        }
        let (_, extension) = name.rsplit_once('.')?;
        match extension.to_ascii_lowercase().as_str() {
            "json" | "jsonc" | "json5" | "webmanifest" => Some(DataFormat::Json),
            "yaml" | "yml" => Some(DataFormat::Yaml),
            "toml" => Some(DataFormat::Toml),
            "env" => Some(DataFormat::Env),
            _ => None,
        }
    }
}

/// Reads the values of a text. An empty text is null.
pub fn read(format: DataFormat, text: &str) -> Result<Value, Error> {
    match format {
        DataFormat::Json => json::read(text),
        DataFormat::Yaml => yaml::read(text),
        DataFormat::Toml => toml::read(text),
        DataFormat::Env => env::read(text),
    }
}

/// Merges changes into a text; `indent` is for a text that shows no indentation of its own.
pub fn merge(
    format: DataFormat,
    text: &str,
    changes: &Value,
    indent: usize,
) -> Result<String, Error> {
    if indent == 0 || indent > INDENT_MAX {
        let message =
            format!("an indentation of {indent} is not between 1 and INDENT_MAX = {INDENT_MAX}");
        return Err(Error::new(message));
    }
    let before = read(format, text)?;
    let after = merged(&before, changes)?;
    if after == before {
        return Ok(text.to_owned());
    }
    let edit = MergeEdit {
        text,
        before: &before,
        after: &after,
        changes,
        indent,
    };
    let written = match format {
        DataFormat::Json => json::merge(&edit)?,
        DataFormat::Yaml => yaml::merge(&edit)?,
        DataFormat::Toml => toml::merge(&edit)?,
        DataFormat::Env => {
            return Err(
                Error::new("a .env file is read, never changed").hint("write it with a template")
            );
        }
    };
    match read(format, &written) {
        Ok(found) if found == after => Ok(written),
        _ => Err(changes::unsafe_edit(&edit)),
    }
}

/// Applies the changes to values: what [`merge`] does to a text.
pub fn merged(before: &Value, changes: &Value) -> Result<Value, Error> {
    changes::merged(before, changes)
}

type JsonObject = Map<String, Value>;

/// One merge, as the editors of the formats see it.
struct MergeEdit<'e> {
    text: &'e str,
    before: &'e Value,
    after: &'e Value,
    changes: &'e Value,
    indent: usize,
}

impl MergeEdit<'_> {
    /// Returns the maps to walk side by side, when the text holds a map and gets one.
    fn maps(&self) -> Option<(&JsonObject, &JsonObject)> {
        Some((self.before.as_object()?, self.changes.as_object()?))
    }

    /// Returns the items to add, when the text is a list and gets more of them.
    fn added(&self) -> &[Value] {
        match (self.before, self.after) {
            (Value::Array(before), Value::Array(after)) => after.get(before.len()..).unwrap_or(&[]),
            _ => &[],
        }
    }
}
