//! Forms made from JSON schemas, and the values that come back from them.

use maud::{Markup, html};
use serde_json::{Map, Value};

use crate::problem::{ApiProblem, ProblemCode};

/// The fields of a form as a browser sends them, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct FormData(pub(super) Vec<(String, String)>);

impl FormData {
    /// Reads `name=value&…` as browsers write it.
    pub(super) fn read(text: &str) -> FormData {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name), decoded(value))
        });
        FormData(pairs.collect())
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// A text that says something.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.get(name)
            .map(str::trim)
            .filter(|text| !text.is_empty())
    }

    /// A field that has to be filled in.
    pub(super) fn required(&self, name: &str) -> Result<&str, ApiProblem> {
        self.text(name).ok_or_else(|| {
            ApiProblem::new(ProblemCode::Invalid, format!("the field `{name}` is empty"))
                .hint("go back and fill it in")
        })
    }
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let ahead: Vec<u8> = rest.clone().take(2).collect();
                let digits = std::str::from_utf8(&ahead).unwrap_or_default();
                match u8::from_str_radix(digits, 16) {
                    Ok(read) if ahead.len() == 2 => {
                        bytes.push(read);
                        rest.nth(1);
                    }
                    _ => bytes.push(b'%'),
                }
            }
            other => bytes.push(other),
        }
    }
    String::from_utf8_lossy(&bytes).replace("\r\n", "\n")
}

/// One field of a form.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FormField {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) description: Option<String>,
    pub(super) kind: FieldKind,
    pub(super) is_required: bool,
    /// The value that is there before the person types.
    pub(super) default: Option<Value>,
    /// Tells whether the default is a model's proposal, whose changes are shown.
    pub(super) is_proposed: bool,
}

/// The sort of value a field takes.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum FieldKind {
    Text,
    Number {
        is_whole: bool,
    },
    Flag,
    Choice(Vec<Value>),
    Secret,
    /// A text, or JSON where it begins like some.
    Any,
}

impl FormField {
    /// The field of a property of a schema.
    pub(super) fn of(name: &str, schema: &Value, is_required: bool) -> FormField {
        let kind = match (&schema["enum"], schema["type"].as_str()) {
            (Value::Array(values), _) => FieldKind::Choice(values.clone()),
            (_, Some("string")) => FieldKind::Text,
            (_, Some("number")) => FieldKind::Number { is_whole: false },
            (_, Some("integer")) => FieldKind::Number { is_whole: true },
            (_, Some("boolean")) => FieldKind::Flag,
            _ => FieldKind::Any,
        };
        let text = |key: &str| schema[key].as_str().map(str::to_owned);
        FormField {
            name: name.to_owned(),
            title: text("title").unwrap_or_else(|| name.to_owned()),
            description: text("description"),
            kind,
            is_required,
            default: schema.get("default").cloned(),
            is_proposed: false,
        }
    }

    /// Returns the fields of an object's schema, or `None` if it lists no properties.
    pub(super) fn all_of(schema: &Value) -> Option<Vec<FormField>> {
        let properties = schema["properties"].as_object()?;
        let required = schema["required"].as_array();
        let is_required =
            |name: &str| required.is_some_and(|list| list.iter().any(|one| one == name));
        let fields = properties
            .iter()
            .map(|(name, property)| FormField::of(name, property, is_required(name)));
        Some(fields.collect())
    }

    fn key(&self) -> String {
        format!("f.{}", self.name)
    }

    /// The field, with what was typed before.
    pub(super) fn markup(&self, typed: &FormData) -> Markup {
        let key = self.key();
        let id = format!("field-{}", self.name);
        let default = self.default.as_ref().map(shown).unwrap_or_default();
        let value = typed.get(&key).unwrap_or(&default);
        html! {
            div class="field" {
                @if self.kind == FieldKind::Flag {
                    label class="flag" for=(id) {
                        input type="checkbox" id=(id) name=(key) value="true" checked[value == "true"];
                        " " (self.title)
                    }
                } @else {
                    label for=(id) {
                        (self.title)
                        @if !self.is_required { span class="muted" { " (optional)" } }
                    }
                    (self.control(&id, value))
                }
                @if let Some(description) = &self.description { div class="hint" { (description) } }
            }
        }
    }

    fn control(&self, id: &str, value: &str) -> Markup {
        let key = self.key();
        html! {
            @match &self.kind {
                FieldKind::Choice(values) => select id=(id) name=(key) required[self.is_required] {
                    @if !self.is_required { option value="" { "—" } }
                    @for one in values {
                        @let word = shown(one);
                        option value=(word) selected[word == value] { (word) }
                    }
                },
                FieldKind::Number { is_whole } => input class="num" id=(id) name=(key) type="number"
                    step=(if *is_whole { "1" } else { "any" }) value=(value) required[self.is_required];,
                FieldKind::Secret => input id=(id) name=(key) type="password" autocomplete="off" required[self.is_required];,
                _ => textarea id=(id) name=(key) rows="1" class="grows" dir="auto" required[self.is_required] data-proposed=[self.proposed()] { "\n" (value) },
            }
        }
    }

    /// The proposal of a model for the field.
    fn proposed(&self) -> Option<String> {
        let proposed = self.default.as_ref().filter(|_| self.is_proposed);
        proposed.map(shown)
    }

    /// Returns the value that a form gives this field, or `None` if it was left empty.
    pub(super) fn read(&self, form: &FormData) -> Result<Option<Value>, ApiProblem> {
        let given = form.get(&self.key());
        if self.kind == FieldKind::Flag {
            return Ok(Some(Value::Bool(given.is_some())));
        }
        let Some(text) = given.filter(|text| !text.trim().is_empty()) else {
            return match self.is_required {
                true => Err(self.wrong("it is empty")),
                false => Ok(None),
            };
        };
        let value = match &self.kind {
            FieldKind::Text | FieldKind::Secret => Value::String(text.to_owned()),
            FieldKind::Any => any_value(text).map_err(|why| self.wrong(&why))?,
            FieldKind::Number { is_whole } => {
                let read: Option<Value> = match is_whole {
                    true => text.trim().parse::<i64>().ok().map(Value::from),
                    false => text.trim().parse::<f64>().ok().map(Value::from),
                };
                read.ok_or_else(|| self.wrong("it is no number"))?
            }
            FieldKind::Choice(values) => {
                let found = values.iter().find(|one| shown(one) == text);
                found
                    .cloned()
                    .ok_or_else(|| self.wrong("it is not among the choices"))?
            }
            FieldKind::Flag => Value::Bool(true),
        };
        Ok(Some(value))
    }

    fn wrong(&self, why: &str) -> ApiProblem {
        ApiProblem::new(
            ProblemCode::Invalid,
            format!("`{}` cannot be used: {why}", self.title),
        )
    }
}

/// Reads all fields of a form as an object.
pub(super) fn read_all(
    fields: &[FormField],
    form: &FormData,
) -> Result<Map<String, Value>, ApiProblem> {
    let mut read = Map::new();
    for field in fields {
        if let Some(value) = field.read(form)? {
            read.insert(field.name.clone(), value);
        }
    }
    Ok(read)
}

/// A value as a person types it.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A text, or JSON where it begins like some.
pub(super) fn any_value(text: &str) -> Result<Value, String> {
    let trimmed = text.trim();
    match serde_json::from_str(trimmed) {
        Ok(value) => Ok(value),
        Err(cause) if trimmed.starts_with(['{', '[', '"']) => {
            Err(format!("it begins like JSON and cannot be read: {cause}"))
        }
        Err(_) => Ok(Value::String(text.trim_end().to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn forms_are_decoded_as_browsers_write_them() {
        let form = FormData::read("a=1+2&b=%C3%BC%0D%0Ax&c&d=%zz%");
        let all: Vec<(&str, &str)> = form
            .0
            .iter()
            .map(|(a, b)| (a.as_str(), b.as_str()))
            .collect();
        assert_eq!(all, [("a", "1 2"), ("b", "ü\nx"), ("c", ""), ("d", "%zz%")]);
    }

    #[test]
    fn values_have_the_type_that_the_schema_wants() {
        let schema = json!({
            "properties": {
                "score": {"type": "integer"}, "share": {"type": "number"}, "ok": {"type": "boolean"},
                "word": {"enum": ["yes", "no"]}, "list": {"type": "array"}, "note": {"type": "string"},
            },
            "required": ["score"],
        });
        let fields = FormField::all_of(&schema).unwrap();
        let check = |form: &str, expected: Option<Value>| {
            let read = read_all(&fields, &FormData::read(form))
                .ok()
                .map(Value::Object);
            assert_eq!(read, expected, "{form}");
        };
        check(
            "f.score=7&f.share=0.5&f.ok=true&f.word=no&f.list=%5B1%5D&f.note=12",
            Some(
                json!({"score": 7, "share": 0.5, "ok": true, "word": "no", "list": [1], "note": "12"}),
            ),
        );
        check("f.score=7", Some(json!({"score": 7, "ok": false})));
        check("f.ok=true", None);
        check("f.score=7.5", None);
        check("f.score=7&f.word=perhaps", None);
        check("f.score=7&f.list=%5B1", None);
    }
}
