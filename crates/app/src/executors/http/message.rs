//! What a call sends beside its URL: headers and a body, with secrets from the diagram's own text.

use expr::Piece;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

use super::super::{Job, fill};
use crate::workflows::token;

/// Says which task calls; the same in every attempt.
const TASK_HEADER: &str = "idempotency-key";
/// The token with which the answer is accepted.
const TOKEN_HEADER: &str = "drawloom-callback-token";

/// Headers and body, ready to be sent.
pub(super) struct Message {
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Value>,
    secrets: Vec<String>,
}

/// Fills texts, and remembers the secrets that got into them.
struct Writer<'j> {
    job: &'j Job,
    secrets: Vec<String>,
}

impl Message {
    /// What a step sends. Fails before anything is sent when a variable is not set.
    pub(super) fn of(job: &Job) -> Result<Message, String> {
        let mut writer = Writer {
            job,
            secrets: Vec::new(),
        };
        let mut headers = HeaderMap::new();
        put(&mut headers, TASK_HEADER, &job.task.id.to_string())?;
        if job.step.config.await_callback == Some(true) {
            let token = token::sign(&job.hands.project, &job.task.id);
            put(
                &mut headers,
                TOKEN_HEADER,
                &token.map_err(|error| error.to_string())?,
            )?;
        }
        let given = job.setting("headers").and_then(Value::as_object);
        for (name, value) in given.into_iter().flatten() {
            let text = writer.header(name, value)?;
            put(&mut headers, name, &text)?;
        }
        let body = job
            .setting("body")
            .map(|body| writer.body(body))
            .transpose()?;
        Ok(Message {
            headers,
            body,
            secrets: writer.secrets,
        })
    }

    /// A text of the other side without the secrets that were sent to it.
    pub(super) fn without_secrets(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in self.secrets.iter().filter(|secret| !secret.is_empty()) {
            text = text.replace(secret, "[secret removed]");
        }
        text
    }
}

impl Writer<'_> {
    fn header(&mut self, name: &str, value: &Value) -> Result<String, String> {
        let Value::String(text) = value else {
            return Ok(value.to_string());
        };
        if let Some(variable) = text.strip_prefix('$').filter(|name| is_name(name)) {
            return self.secret(variable, &format!("the header `{name}`"));
        }
        self.text(text, &format!("the header `{name}`"))
    }

    fn body(&mut self, value: &Value) -> Result<Value, String> {
        Ok(match value {
            Value::String(text) if has_secret(text) => Value::String(self.text(text, "`body`")?),
            Value::Array(items) => {
                let items = items.iter().map(|item| self.body(item));
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            Value::Object(fields) => {
                let fields = fields.iter();
                let fields = fields.map(|(key, value)| Ok((key.clone(), self.body(value)?)));
                Value::Object(fields.collect::<Result<_, String>>()?)
            }
            other => fill::json(other, &self.job.state)?,
        })
    }

    /// A text with its values and its secrets. Neither is looked at again.
    fn text(&mut self, text: &str, place: &str) -> Result<String, String> {
        let mut filled = String::new();
        for piece in expr::pieces(text).map_err(|cause| format!("{place}: {cause}."))? {
            match piece {
                Piece::Text(text) => filled.push_str(text),
                Piece::Expression { source, .. } => match secret_name(source) {
                    Some(name) => filled.push_str(&self.secret(name, place)?),
                    None => {
                        let value = fill::known(source, &self.job.state);
                        let value = value.map_err(|problem| format!("In {place}: {problem}"))?;
                        filled.push_str(&fill::printed(&value));
                    }
                },
            }
        }
        Ok(filled)
    }

    fn secret(&mut self, name: &str, place: &str) -> Result<String, String> {
        let value = self.job.hands.surroundings.variable(name);
        let value = value.ok_or_else(|| {
            format!("The variable `{name}`, which {place} needs, is not set. Nothing was sent.")
        })?;
        self.secrets.push(value.clone());
        Ok(value)
    }
}

/// Which header names cannot be sent.
pub(super) fn header_problems(headers: &Map<String, Value>) -> Vec<String> {
    let wrong = headers
        .keys()
        .filter(|name| HeaderName::try_from(name.as_str()).is_err());
    wrong
        .map(|name| format!("`{name}` in `headers` cannot be the name of a header."))
        .collect()
}

fn put(headers: &mut HeaderMap, name: &str, value: &str) -> Result<(), String> {
    let key = HeaderName::try_from(name)
        .map_err(|_| format!("`{name}` cannot be the name of a header."))?;
    let mut value = HeaderValue::try_from(value).map_err(|_| {
        format!("The header `{name}` cannot have this value: it has a line break or a control character.")
    })?;
    value.set_sensitive(true);
    headers.insert(key, value);
    Ok(())
}

fn has_secret(text: &str) -> bool {
    let pieces = expr::pieces(text).unwrap_or_default();
    pieces.iter().any(
        |piece| matches!(piece, Piece::Expression { source, .. } if secret_name(source).is_some()),
    )
}

/// The name in `secrets.NAME`.
fn secret_name(source: &str) -> Option<&str> {
    let name = source.trim().strip_prefix("secrets.")?;
    is_name(name).then_some(name)
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
