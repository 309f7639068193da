//! Reads where an answer is written, as the manifest of a recipe says it.

use indexmap::IndexMap;
use serde_json::Value;

use super::AiStepFields;
use crate::fields::{FileProblems, ManifestValue};
use crate::frontmatter::Frontmatter;

/// The directives of a template's frontmatter that a step may give, in both spellings.
const DIRECTIVES: [(&str, &[&str]); 12] = [
    ("to", &["to", "injectInto"]),
    ("force", &["force", "overwrite"]),
    ("unless_exists", &["unlessExists", "unless_exists"]),
    ("skip_if", &["skipIf", "skip_if"]),
    ("inject", &["inject"]),
    ("before", &["before"]),
    ("after", &["after"]),
    ("at_line", &["atLine", "at_line"]),
    ("prepend", &["prepend"]),
    ("append", &["append"]),
    ("eof_last", &["eofLast", "eof_last"]),
    ("executable", &["executable"]),
];

/// Reads the target of the text into the attributes that a template's frontmatter would have.
pub(super) fn read(said: &AiStepFields<'_, '_>, problems: &mut FileProblems<'_>) -> Frontmatter {
    let mut attributes: IndexMap<String, ManifestValue> = IndexMap::new();
    for (name, spellings) in DIRECTIVES {
        let given: Vec<&&str> = spellings.iter().filter(|key| said.has(key)).collect();
        if let [first, second, ..] = given[..] {
            let message = format!("`{first}` and `{second}` say the same");
            problems.note(said.by(second).key_at(second), message);
        }
        let Some(key) = given.first() else { continue };
        let fields = said.by(key);
        let Some(node) = fields.node(key) else {
            continue;
        };
        let place = node.at.place(problems.text);
        let Some(written) = node.written(problems.text) else {
            problems.note(
                node.at,
                format!("`{key}` must be one value, found {}", node.kind()),
            );
            continue;
        };
        let value = Value::String(written);
        attributes.insert(name.to_owned(), ManifestValue { value, place });
    }
    let yes = |place| ManifestValue {
        value: Value::Bool(true),
        place,
    };
    if said.has("injectInto") {
        let place = said
            .by("injectInto")
            .key_at("injectInto")
            .place(problems.text);
        attributes.entry("inject".to_owned()).or_insert(yes(place));
    }
    let ends = [("start", "prepend"), ("end", "append")];
    if let Some(end) = said.by("at").word("at", &ends, problems) {
        let place = said.by("at").key_at("at").place(problems.text);
        attributes.insert(end.to_owned(), yes(place));
    }
    if !attributes.contains_key("to") {
        for (name, datum) in &attributes {
            let message = format!("`{name}` has no meaning without `to`");
            problems.note_at(datum.place, message, None);
        }
    }
    Frontmatter { attributes }
}
