//! Answers: values by key, and the id of the request they answer.

use crate::error::Error;
use crate::limits::{ANSWERS_BYTES_MAX, ANSWERS_MAX};
use crate::questionnaire::RequestId;
use crate::{strict_json, text};
use indexmap::IndexMap;
use serde_json::{Map, Value};

/// The key under which an answers file carries its request id.
pub const REQUEST_KEY: &str = "$request";

/// Answers as they were given, unchecked, in the order they were given.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answers {
    request: Option<RequestId>,
    values: IndexMap<String, Value>,
}

impl Answers {
    pub fn empty() -> Self {
        Self::default()
    }

    /// Reads the text of an answers file; `origin` names it in errors.
    pub fn read(text: &str, origin: &str) -> Result<Answers, Error> {
        if text.len() > ANSWERS_BYTES_MAX {
            return Err(Error::TooLarge {
                what: format!("The answers file {origin}"),
                size: text.len(),
                limit: "ANSWERS_BYTES_MAX",
                max: ANSWERS_BYTES_MAX,
            });
        }
        let value = strict_json::parse(strict_json::without_bom(text)).map_err(|fault| {
            Error::AnswersUnreadable {
                origin: origin.to_owned(),
                line: fault.line,
                column: fault.column,
                detail: fault.detail,
                hint: fault.hint,
            }
        })?;
        let Value::Object(object) = value else {
            return Err(Error::AnswersMisshapen {
                origin: origin.to_owned(),
                detail: format!("the answers are {}, not a JSON object", described(&value)),
                hint: "Write one JSON object with a question's key before each answer.",
            });
        };
        if object.len() > ANSWERS_MAX {
            return Err(Error::TooLarge {
                what: format!("The number of answers in {origin}"),
                size: object.len(),
                limit: "ANSWERS_MAX",
                max: ANSWERS_MAX,
            });
        }
        Self::from_object(object).map_err(|found| Error::AnswersMisshapen {
            origin: origin.to_owned(),
            detail: format!("`{REQUEST_KEY}` is {}, not text", text::shown(&found)),
            hint: "Copy the request id from the document, in double quotes, or remove the line.",
        })
    }

    /// Returns the value given under a key, `null` included.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.values.get(key)
    }

    /// Sets an answer. The request id is no answer: [`Answers::set_request_id`] sets it, and a
    /// value for [`REQUEST_KEY`] is not kept.
    pub fn insert(&mut self, key: impl Into<String>, value: Value) {
        let key = key.into();
        if key != REQUEST_KEY {
            self.values.insert(key, value);
        }
    }

    /// Takes over another set of answers; where both answer, the other's answer holds.
    pub fn extend(&mut self, other: Answers) {
        self.request = other.request.or(self.request.take());
        self.values.extend(other.values);
    }

    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.values.iter().map(|(key, value)| (key.as_str(), value))
    }

    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// There is no answer; a request id alone answers nothing.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    pub fn request_id(&self) -> Option<&RequestId> {
        self.request.as_ref()
    }

    pub fn set_request_id(&mut self, id: RequestId) {
        self.request = Some(id);
    }

    /// Returns the text of an answers file, which [`Answers::read`] reads back as the same answers.
    pub fn to_json(&self) -> String {
        let request = self.request.iter().map(|id| {
            let id = Value::from(id.as_str());
            (REQUEST_KEY.to_owned(), id)
        });
        let values = self.values.iter().map(|(k, v)| (k.clone(), v.clone()));
        let object: Map<String, Value> = request.chain(values).collect();
        format!("{:#}\n", Value::Object(object))
    }

    /// Splits off the request id; one that is no text is handed back as the error.
    pub(crate) fn from_object(object: Map<String, Value>) -> Result<Answers, Value> {
        let mut answers = Answers::empty();
        for (key, value) in object {
            match (key.as_str(), value) {
                (REQUEST_KEY, Value::String(id)) => answers.request = Some(RequestId::new(id)),
                (REQUEST_KEY, found) => return Err(found),
                (_, value) => answers.insert(key, value),
            }
        }
        Ok(answers)
    }
}

fn described(value: &Value) -> &'static str {
    match value {
        Value::Null => "`null`",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
