//! One template file: its attributes and its body, from EJS to Jig.

use std::rc::Rc;

use serde_json::Value;
use template::{MapLoader, TemplateEngine, TemplateLayout};

use super::ejs_tree::EjsNode;
use super::hygen_frontmatter::{self, HygenAttribute, without_colours};
use super::script::ParsedTemplate;
use super::script_analysis::NameUse;
use super::{ejs, file_name, jig, jig_printer, script, write};

/// A converted template.
pub(super) struct ConvertedTemplate {
    /// Path below `_templates`.
    pub(super) path: String,
    pub(super) text: String,
    pub(super) uses: Vec<(NameUse, u32)>,
    pub(super) warnings: Vec<(u32, String)>,
    /// The file whose text it takes, with the line that says so.
    pub(super) from: Option<(u32, String)>,
    pub(super) does_something: bool,
}

/// Attributes that mean the same here.
const KNOWN: [&str; 16] = [
    "to",
    "inject",
    "before",
    "after",
    "at_line",
    "prepend",
    "append",
    "skip_if",
    "unless_exists",
    "force",
    "eof_last",
    "sh",
    "sh_ignore_exit",
    "message",
    "echo",
    "from",
];

const POSITIONS: [&str; 5] = ["at_line", "prepend", "append", "before", "after"];

/// Returns the path in the recipe of a file that `from` names.
pub(super) fn copied(from: &str) -> String {
    format!("files/{}", from.replace('/', "-"))
}

pub(super) fn convert(path: &str, text: &str) -> ConvertedTemplate {
    let unix = text.replace("\r\n", "\n");
    let matter = hygen_frontmatter::cut(&unix);
    let mut making = TemplateDraft {
        uses: Vec::new(),
        warnings: Vec::new(),
    };
    if unix.len() != text.len() {
        making.warn(1, "its line ends are CRLF; new files are written with LF");
    }
    if let Some((line, problem)) = &matter.problem {
        making.warn(
            *line,
            format!("the frontmatter was read line by line: {problem}"),
        );
    }
    let does_something = matter.attributes.iter().any(|attribute| {
        matches!(attribute.key.as_str(), "to" | "sh" | "message" | "echo")
            && !attribute.value.is_null()
    });
    let mut lines: Vec<String> = matter
        .comments
        .iter()
        .map(|line| (*line).to_owned())
        .collect();
    let from = from(&matter.attributes);
    for attribute in making.kept(&matter.attributes) {
        lines.push(making.attribute(attribute));
    }
    if !matter
        .attributes
        .iter()
        .any(|attribute| attribute.key == "to")
    {
        // Without it the file would go to the path of its template.
        lines.insert(0, "to:".to_owned());
    }
    let body = making.text(matter.body, matter.body_line);
    let text = format!("---\n{}\n---\n{body}", lines.join("\n"));
    making.compiles(path, &body, matter.body_line);
    let mut warnings = making.warnings;
    warnings.sort_by_key(|(line, _)| *line);
    ConvertedTemplate {
        path: path.to_owned(),
        text,
        uses: making.uses,
        warnings,
        from,
        does_something,
    }
}

/// Returns the file whose text a template takes instead of its own.
pub(super) fn taken(text: &str) -> Option<String> {
    let unix = text.replace("\r\n", "\n");
    from(&hygen_frontmatter::cut(&unix).attributes).map(|(_, path)| path)
}

fn from(attributes: &[HygenAttribute]) -> Option<(u32, String)> {
    let found = attributes
        .iter()
        .find(|attribute| attribute.key == "from")?;
    let path = found.value.as_str().filter(|path| !path.contains("<%"))?;
    Some((found.line, path.trim_start_matches("./").to_owned()))
}

struct TemplateDraft {
    uses: Vec<(NameUse, u32)>,
    warnings: Vec<(u32, String)>,
}

impl TemplateDraft {
    /// Returns the attributes that have a meaning in recipes.
    fn kept<'m>(&mut self, attributes: &'m [HygenAttribute]) -> Vec<&'m HygenAttribute> {
        let is_position = |attribute: &&HygenAttribute| POSITIONS.contains(&attribute.key.as_str());
        let injects = attributes
            .iter()
            .find(|attribute| attribute.key == "inject");
        let place = attributes
            .iter()
            .find(is_position)
            .filter(|_| injects.is_some());
        if let (Some(inject), None) = (injects, place) {
            let message = "hygen injects nothing without `before`, `after`, `at_line`, `prepend` or `append`; add one";
            self.warn(inject.line, message);
        }
        let mut kept = Vec::new();
        for attribute in attributes {
            let key = attribute.key.as_str();
            match key {
                "setup" => self.warn(
                    attribute.line,
                    "`setup` was left out: use `drawloom kit add` or a `shell` step",
                ),
                "spinner" => self.warn(
                    attribute.line,
                    "`spinner` was left out: progress is shown anyway",
                ),
                _ if !KNOWN.contains(&key) => {
                    let message = format!(
                        "`{key}` is no attribute here and was left out: use `@let` in the body"
                    );
                    self.warn(attribute.line, message);
                }
                _ if POSITIONS.contains(&key) && place.is_none_or(|place| place.key != key) => {
                    let message = format!("`{key}` was left out: hygen does not look at it here");
                    self.warn(attribute.line, message);
                }
                _ => kept.push(attribute),
            }
        }
        kept
    }

    /// Writes `key: value`, with EJS in the value converted to Jig.
    fn attribute(&mut self, attribute: &HygenAttribute) -> String {
        let key = attribute.key.as_str();
        let Value::String(text) = &attribute.value else {
            return match &attribute.value {
                Value::Null => format!("{key}:"),
                value => format!("{key}: {value}"),
            };
        };
        if key == "from" && !text.contains("<%") {
            return format!(
                "{key}: {}",
                write::scalar(&copied(text.trim_start_matches("./")), 0)
            );
        }
        if key == "from" {
            self.warn(
                attribute.line,
                "this `from` depends on a value: put the files beside recipe.yml",
            );
        }
        let text = match key {
            "message" | "echo" => without_colours(text),
            _ => text.clone(),
        };
        let read = self.read(&text, attribute.line);
        let value = jig_printer::single_line(&read.nodes)
            .unwrap_or_else(|| jig::bare(&self.woven(&read.nodes)));
        format!("{key}: {}", write::scalar(&value, 0))
    }

    fn text(&mut self, text: &str, line: u32) -> String {
        let read = self.read(text, line);
        self.woven(&read.nodes)
    }

    fn woven(&mut self, nodes: &[EjsNode]) -> String {
        let (text, inexact) = jig_printer::weave(nodes);
        self.warnings
            .extend(inexact.into_iter().map(|found| (found.line, found.message)));
        text
    }

    fn read(&mut self, text: &str, line: u32) -> ParsedTemplate {
        let mut read = match ejs::cut(text, line) {
            Ok(pieces) => script::read(&pieces),
            Err(unclosed) => {
                let message = "a tag is not closed here; the text was kept as a comment";
                self.warn(unclosed.line, message);
                ParsedTemplate {
                    nodes: vec![EjsNode::Lost(text.to_owned())],
                    ..ParsedTemplate::default()
                }
            }
        };
        self.uses.append(&mut read.uses);
        self.warnings.append(&mut read.warnings);
        read
    }

    /// Warns if the result is not a valid template, which would be a bug of this module.
    fn compiles(&mut self, path: &str, body: &str, line: u32) {
        let engine = TemplateEngine::new(Rc::new(MapLoader::default()));
        if let Err(error) = engine.compile(file_name(path), body, TemplateLayout::Jig) {
            self.warn(
                line,
                format!("the converted template is wrong, correct it by hand: {error}"),
            );
        }
    }

    fn warn(&mut self, line: u32, message: impl Into<String>) {
        self.warnings.push((line, message.into()));
    }
}
