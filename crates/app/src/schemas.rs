//! The published JSON Schemas: of the files that people and models write, and of what `--json` prints.

use std::sync::LazyLock;

use serde_json::{Map, Value};

/// Schemas of results, by the words of their commands with `-` between, and of the error that every command prints.
const RESULTS: &str = include_str!("schemas/results.json");

static PARSED: LazyLock<Map<String, Value>> =
    LazyLock::new(|| serde_json::from_str(RESULTS).unwrap_or_default());

/// The kind of document that a schema describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaSubject {
    /// A file that is read.
    File,
    /// A document that a command prints with `--json`.
    Result,
    /// The document that a command prints instead when it fails.
    Failure,
}

impl SchemaSubject {
    pub fn as_str(self) -> &'static str {
        match self {
            SchemaSubject::File => "file",
            SchemaSubject::Result => "result",
            SchemaSubject::Failure => "error",
        }
    }
}

/// A published schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedSchema {
    pub name: String,
    pub subject: SchemaSubject,
    /// A sentence about it.
    pub about: String,
}

/// The name of the schema of errors.
pub const ERROR: &str = "error";

const FILES: [(&str, &str); 3] = [
    ("task", "A task file"),
    ("plan", "A plan file"),
    ("build-plan", "The plan of a build"),
];

/// Lists all of them: files, the error, then results by name.
pub fn all() -> Vec<PublishedSchema> {
    let files = FILES.iter().map(|(name, about)| PublishedSchema {
        name: (*name).to_owned(),
        subject: SchemaSubject::File,
        about: (*about).to_owned(),
    });
    let results = PARSED.iter().map(|(name, schema)| PublishedSchema {
        name: name.clone(),
        subject: match name.as_str() {
            ERROR => SchemaSubject::Failure,
            _ => SchemaSubject::Result,
        },
        about: schema["title"].as_str().unwrap_or_default().to_owned(),
    });
    files.chain(results).collect()
}

/// Returns the schema of a name.
pub fn find(name: &str) -> Option<Value> {
    match name {
        "task" => Some(agent::task::schema()),
        "plan" => Some(agent::plan::schema()),
        "build-plan" => Some(builder::plan::schema()),
        _ => PARSED.get(name).cloned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_published_schema_is_one() {
        let parsed: serde_json::Result<Map<String, Value>> = serde_json::from_str(RESULTS);
        assert!(parsed.is_ok(), "{parsed:?}");
        for published in all() {
            let schema = find(&published.name).unwrap();
            let read = jsonschema::validator_for(&schema);
            assert!(read.is_ok(), "{}: {:?}", published.name, read.err());
            assert!(!published.about.is_empty(), "{}", published.name);
        }
    }
}
