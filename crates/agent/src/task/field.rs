//! JSON with places: objects read key by key, every problem noted where it is.

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use workspace::RelPath;

use super::TaskFileProblem;

/// A file being read, and what was found wrong with it so far.
pub(crate) struct TaskFileReader<'t> {
    file: &'t str,
    text: &'t str,
    pub(crate) problems: Vec<TaskFileProblem>,
}

impl<'t> TaskFileReader<'t> {
    pub(crate) fn new(file: &'t str, text: &'t str) -> TaskFileReader<'t> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let problems = Vec::new();
        TaskFileReader {
            file,
            text,
            problems,
        }
    }

    /// Parses the document; `None` if it is not JSON, which is noted.
    pub(crate) fn parse(&mut self) -> Option<Value<'t>> {
        let strict = ParseOptions {
            allow_comments: false,
            allow_loose_object_property_names: false,
            allow_trailing_commas: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        match parse_to_ast(self.text, &CollectOptions::default(), &strict) {
            Ok(parsed) if parsed.value.is_some() => parsed.value,
            Ok(_) => {
                self.note(
                    0,
                    "",
                    "the file is empty",
                    Some("it has to hold a JSON object"),
                );
                None
            }
            Err(error) => {
                let why = error.kind().to_string();
                let message = format!("this is not JSON: {}", lower_first(&why));
                self.note(error.range().start, "", message, None);
                None
            }
        }
    }

    /// Notes a problem at a byte of the text.
    pub(crate) fn note(
        &mut self,
        at: usize,
        place: &str,
        message: impl Into<String>,
        hint: Option<&str>,
    ) {
        let problem = self
            .spot(at, place)
            .saying(message, hint.map(str::to_owned));
        self.problems.push(problem);
    }

    /// Makes a problem at a byte of the text, without a message yet.
    pub(crate) fn spot(&self, at: usize, place: &str) -> TaskFileProblem {
        let before = &self.text[..self.text.floor_char_boundary(at)];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        TaskFileProblem {
            file: self.file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            place: place.to_owned(),
            message: String::new(),
            hint: None,
        }
    }

    /// Returns the text of a value, as it was written.
    pub(crate) fn slice(&self, value: &impl Ranged) -> &'t str {
        let range = value.range();
        self.text.get(range.start..range.end).unwrap_or_default()
    }
}

/// An object of the document whose keys are taken one by one.
pub(crate) struct ObjectFields<'v, 't> {
    object: &'v Object<'t>,
    place: String,
}

impl<'v, 't> ObjectFields<'v, 't> {
    /// Opens the object at a place; keys that it should not have are noted.
    pub(crate) fn of(
        source: &mut TaskFileReader<'t>,
        value: &'v Value<'t>,
        place: &str,
        known: &[&str],
    ) -> Option<ObjectFields<'v, 't>> {
        let Value::Object(object) = value else {
            let message = format!("this is {}, and an object was expected", word(value));
            source.note(value.range().start, place, message, None);
            return None;
        };
        let fields = ObjectFields {
            object,
            place: place.to_owned(),
        };
        fields.check_keys(source, known);
        Some(fields)
    }

    /// Returns the offset at which the object begins.
    pub(crate) fn start(&self) -> usize {
        self.object.range.start
    }

    /// Returns the object's place in the document.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// Returns the place of a key in it.
    pub(crate) fn place_of(&self, key: &str) -> String {
        match self.place.as_str() {
            "" => key.to_owned(),
            place => format!("{place}.{key}"),
        }
    }

    /// Returns the value of a key; `null` counts as absent.
    pub(crate) fn value(&self, key: &str) -> Option<&'v Value<'t>> {
        let property = self.object.get(key)?;
        (!matches!(property.value, Value::NullKeyword(_))).then_some(&property.value)
    }

    /// Returns the offset of a key's value, or of the object if it has no such key.
    pub(crate) fn start_of(&self, key: &str) -> usize {
        self.value(key)
            .map_or(self.start(), |value| value.range().start)
    }

    /// Reads a text, if there is one.
    pub(crate) fn text(&self, source: &mut TaskFileReader<'t>, key: &str) -> Option<String> {
        let value = self.value(key)?;
        text(source, value, &self.place_of(key))
    }

    /// Reads a required text.
    pub(crate) fn required(
        &self,
        source: &mut TaskFileReader<'t>,
        key: &str,
        hint: &str,
    ) -> Option<String> {
        if self.value(key).is_none() {
            let message = format!("`{key}` is missing");
            source.note(self.start(), &self.place, message, Some(hint));
            return None;
        }
        self.text(source, key)
    }

    /// Returns the items of a list; a single value is a list of one.
    pub(crate) fn items(&self, key: &str) -> Vec<(String, &'v Value<'t>)> {
        match self.value(key) {
            None => Vec::new(),
            Some(Value::Array(array)) => {
                let place = self.place_of(key);
                let items = array.elements.iter().enumerate();
                items
                    .map(|(index, item)| (format!("{place}[{index}]"), item))
                    .collect()
            }
            Some(value) => vec![(self.place_of(key), value)],
        }
    }

    /// Reads a list of texts; a single text is a list of one.
    pub(crate) fn texts(&self, source: &mut TaskFileReader<'t>, key: &str) -> Vec<String> {
        let items = self.items(key).into_iter();
        items
            .filter_map(|(place, item)| text(source, item, &place))
            .collect()
    }

    /// Reads a list of paths inside the project.
    pub(crate) fn paths(&self, source: &mut TaskFileReader<'t>, key: &str) -> Vec<RelPath> {
        let items = self.items(key).into_iter();
        items
            .filter_map(|(place, item)| path(source, item, &place))
            .collect()
    }

    /// Reads a path inside the project.
    pub(crate) fn path(&self, source: &mut TaskFileReader<'t>, key: &str) -> Option<RelPath> {
        path(source, self.value(key)?, &self.place_of(key))
    }

    /// Reads a whole number from 1 on.
    pub(crate) fn count(&self, source: &mut TaskFileReader<'t>, key: &str) -> Option<u64> {
        let value = self.value(key)?;
        let number = value.as_number_lit().and_then(|lit| lit.value.parse().ok());
        if let Some(number) = number.filter(|number| *number >= 1) {
            return Some(number);
        }
        let message = format!(
            "this is {}, and a whole number from 1 on was expected",
            word(value)
        );
        source.note(value.range().start, &self.place_of(key), message, None);
        None
    }

    /// Reads a number between two others.
    pub(crate) fn number(
        &self,
        source: &mut TaskFileReader<'t>,
        key: &str,
        (min, max): (f64, f64),
    ) -> Option<f64> {
        let value = self.value(key)?;
        let number = value.as_number_lit().and_then(|lit| lit.value.parse().ok());
        if let Some(number) = number.filter(|number: &f64| (min..=max).contains(number)) {
            return Some(number);
        }
        let message = format!(
            "this is {}, and a number from {min} to {max} was expected",
            word(value)
        );
        source.note(value.range().start, &self.place_of(key), message, None);
        None
    }

    fn check_keys(&self, source: &mut TaskFileReader<'t>, known: &[&str]) {
        for (index, property) in self.object.properties.iter().enumerate() {
            let (name, at) = (property.name.as_str(), property.range.start);
            let earlier = &self.object.properties[..index];
            if earlier.iter().any(|other| other.name.as_str() == name) {
                let message = format!("`{name}` is here twice");
                source.note(at, &self.place, message, Some("remove one of them"));
            } else if !known.contains(&name) {
                let hint = match synonym(name).filter(|key| known.contains(key)) {
                    Some(key) => format!("it is called `{key}` here"),
                    None => nearest(name, known.iter().copied()),
                };
                let message = format!("there is no key `{name}`");
                source.note(at, &self.place, message, Some(&hint));
            }
        }
    }
}

/// Reads a text that is not blank.
pub(crate) fn text<'t>(
    source: &mut TaskFileReader<'t>,
    value: &Value<'t>,
    place: &str,
) -> Option<String> {
    match value {
        Value::StringLit(lit) if !lit.value.trim().is_empty() => Some(lit.value.to_string()),
        Value::StringLit(lit) => {
            source.note(
                lit.range.start,
                place,
                "this text is empty",
                Some("say something, or leave it out"),
            );
            None
        }
        _ => {
            let message = format!("this is {}, and a text was expected", word(value));
            source.note(value.range().start, place, message, None);
            None
        }
    }
}

fn path<'t>(source: &mut TaskFileReader<'t>, value: &Value<'t>, place: &str) -> Option<RelPath> {
    let written = text(source, value, place)?;
    match RelPath::parse(&written) {
        Ok(path) => Some(path),
        Err(error) => {
            source.note(value.range().start, place, error.to_string(), None);
            None
        }
    }
}

/// "did you mean …", or all there are.
pub(crate) fn nearest<'k>(name: &str, known: impl Iterator<Item = &'k str> + Clone) -> String {
    match diagnostics::nearest(name, known.clone()) {
        Some(key) => format!("did you mean `{key}`?"),
        None => format!("there are: {}", known.collect::<Vec<_>>().join(", ")),
    }
}

/// Maps names that other tools use to our keys.
fn synonym(name: &str) -> Option<&'static str> {
    Some(match name {
        "id" => "subtask_id",
        "natural_language_goal" | "title" => "goal",
        "plan" | "steps" | "subtasks" => "tasks",
        "dependencies" | "needs" | "after" => "depends_on",
        "agent_type" | "kind" => "type",
        "inputs" => "input_artifacts",
        "outputs" | "expected_output_files" => "output_artifacts",
        "validation" | "criteria" => "validation_criteria",
        "command" | "cmd" => "run",
        "path" => "file_exists",
        "file" => "file_path",
        "model" => "model_preference",
        "text" => "describe",
        _ => return None,
    })
}

pub(crate) fn word(value: &Value<'_>) -> &'static str {
    match value {
        Value::StringLit(_) => "a text",
        Value::NumberLit(_) => "a number",
        Value::BooleanLit(_) => "true or false",
        Value::Object(_) => "an object",
        Value::Array(_) => "a list",
        Value::NullKeyword(_) => "null",
    }
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_lowercase().chain(chars).collect(),
        None => String::new(),
    }
}
