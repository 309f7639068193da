//! The message of a call: headers and a body, with secrets from the diagram's own text.

use expr::InterpolationPiece;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

use super::super::{StepAttempt, interpolate};
use crate::workflows::token;

/// Says which task calls; the same in every attempt.
const TASK_HEADER: &str = "idempotency-key";
/// The token with which the answer is accepted.
const TOKEN_HEADER: &str = "drawloom-callback-token";

/// The address that takes the answer, where a server listens.
const URL_HEADER: &str = "drawloom-callback-url";

/// Headers and body, ready to be sent.
pub(super) struct HttpMessage {
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Value>,
    secrets: Vec<String>,
}

/// Fills texts, and remembers the secrets that got into them.
struct MessageWriter<'j> {
    job: &'j StepAttempt,
    secrets: Vec<String>,
}

impl HttpMessage {
    /// Builds the message of a step. Fails before anything is sent if a variable is not set.
    pub(super) async fn of(job: &StepAttempt) -> Result<HttpMessage, String> {
        let mut writer = MessageWriter {
            job,
            secrets: Vec::new(),
        };
        let mut headers = HeaderMap::new();
        put(&mut headers, TASK_HEADER, &job.task.id.to_string())?;
        if job.step.config.await_callback == Some(true) {
            let hands = &job.hands;
            let token = token::sign(&hands.project, &*hands.keys, &job.task.id).await;
            let token = token.map_err(|error| error.to_string())?;
            put(&mut headers, TOKEN_HEADER, &token)?;
            if let Some(origin) = job.hands.callback_origin.get() {
                let key = token::callback_key(&job.task.id, &token);
                put(
                    &mut headers,
                    URL_HEADER,
                    &format!("{origin}/callbacks/{key}"),
                )?;
            }
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
        Ok(HttpMessage {
            headers,
            body,
            secrets: writer.secrets,
        })
    }

    /// Removes the secrets that were sent from a text of the other side.
    pub(super) fn without_secrets(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in self.secrets.iter().filter(|secret| !secret.is_empty()) {
            text = text.replace(secret, "[secret removed]");
        }
        text
    }
}

impl MessageWriter<'_> {
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
            other => interpolate::json(other, &self.job.state)?,
        })
    }

    /// Interpolates the values and secrets of a text. Neither is expanded again.
    fn text(&mut self, text: &str, place: &str) -> Result<String, String> {
        let mut filled = String::new();
        for piece in expr::pieces(text).map_err(|cause| format!("{place}: {cause}."))? {
            match piece {
                InterpolationPiece::Text(text) => filled.push_str(text),
                InterpolationPiece::Expression { source, .. } => match secret_name(source) {
                    Some(name) => filled.push_str(&self.secret(name, place)?),
                    None => {
                        let value = interpolate::known(source, &self.job.state);
                        let value = value.map_err(|problem| format!("In {place}: {problem}"))?;
                        filled.push_str(&interpolate::printed(&value));
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

/// Returns the header names that cannot be sent.
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
        |piece| matches!(piece, InterpolationPiece::Expression { source, .. } if secret_name(source).is_some()),
    )
}

/// Returns the name in `secrets.NAME`.
fn secret_name(source: &str) -> Option<&str> {
    let name = source.trim().strip_prefix("secrets.")?;
    is_name(name).then_some(name)
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
