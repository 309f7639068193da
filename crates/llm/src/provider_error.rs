//! From a provider's refusal to our error: which code, whose side, worth trying again or not.

use std::time::Duration;

use serde_json::Value;

use crate::error::{
    AiErrorCode, Error, FaultSide, PROVIDER_MESSAGE_BYTES_MAX, RetryAdvice, bounded,
};
use crate::retry_after;

/// A provider's description of its own failure, from any envelope it may come in.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ProviderError {
    pub message: String,
    /// Its words for the kind of failure: `type`, `code`, `status`, `reason`, joined by spaces.
    pub kinds: String,
    /// A status in the body, for failures inside a 200.
    pub status: Option<u16>,
    pub retry_after: Option<Duration>,
    pub request_id: Option<String>,
}

impl ProviderError {
    /// Finds the complaint in a body, if the body is one. Knows the envelopes of all formats:
    /// `{error: {message, type, code}}`, `{error: "…"}`, `[{error: …}]`, `{type: "error", …}`.
    pub(crate) fn find(body: &Value) -> Option<ProviderError> {
        let body = match body {
            Value::Array(all) => all.first()?,
            other => other,
        };
        let error = body.get("error").filter(|error| !error.is_null())?;
        let mut complaint = match error {
            Value::String(message) => ProviderError {
                message: message.clone(),
                ..ProviderError::default()
            },
            Value::Object(_) => ProviderError::of_object(error),
            other => ProviderError {
                message: other.to_string(),
                ..ProviderError::default()
            },
        };
        complaint.request_id = body
            .get("request_id")
            .and_then(Value::as_str)
            .map(str::to_owned);
        Some(complaint)
    }

    /// Reads the body of an error status, which may be anything: even a page of HTML is better than
    /// nothing.
    pub(crate) fn of_text(text: &str) -> ProviderError {
        let Ok(body) = serde_json::from_str::<Value>(text) else {
            return ProviderError {
                message: text.trim().to_owned(),
                ..ProviderError::default()
            };
        };
        ProviderError::find(&body).unwrap_or_else(|| {
            let message = ["message", "detail"]
                .iter()
                .find_map(|field| body.get(field)?.as_str());
            ProviderError {
                message: message.unwrap_or(text).trim().to_owned(),
                ..ProviderError::default()
            }
        })
    }

    fn of_object(error: &Value) -> ProviderError {
        let mut complaint = ProviderError {
            message: error
                .get("message")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            ..ProviderError::default()
        };
        if complaint.message.is_empty() {
            complaint.message = error.to_string();
        }
        let mut kinds = Vec::new();
        for field in ["type", "code", "status"] {
            match error.get(field) {
                Some(Value::String(kind)) => kinds.push(kind.clone()),
                Some(Value::Number(number)) => {
                    complaint.status = number
                        .as_u64()
                        .and_then(|n| u16::try_from(n).ok())
                        .filter(|n| *n >= 400);
                }
                _ => {}
            }
        }
        // Google puts reasons and waits into a list; Anthropic its spending limit into an object.
        let listed = error
            .get("details")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        for detail in listed {
            kinds.extend(
                detail
                    .get("reason")
                    .and_then(Value::as_str)
                    .map(str::to_owned),
            );
            let delay = detail
                .get("retryDelay")
                .and_then(Value::as_str)
                .and_then(retry_after::span);
            complaint.retry_after = complaint.retry_after.or(delay);
        }
        let detail = error
            .get("details")
            .and_then(|details| details.get("error_code"));
        kinds.extend(detail.and_then(Value::as_str).map(str::to_owned));
        // OpenRouter quotes the provider behind it.
        if let Some(raw) = error.pointer("/metadata/raw").and_then(Value::as_str) {
            complaint.message = format!("{}: {raw}", complaint.message);
        }
        complaint.kinds = kinds.join(" ");
        complaint
    }

    fn says_any(&self, words: &[&str]) -> bool {
        let said = format!("{} {}", self.kinds, self.message).to_ascii_lowercase();
        words.iter().any(|word| said.contains(word))
    }
}

/// Each vendor's wording for "that is more than fits".
const CONTEXT_WORDS: [&str; 14] = [
    "prompt is too long",
    "exceed context limit",
    "context_length_exceeded",
    "maximum context length",
    "context length exceeded",
    "context window",
    "exceeds the maximum number of tokens",
    "input token count",
    "exceed_context_size",
    "exceeds the available context size",
    "prompt too long",
    "maximum model length",
    "request_too_large",
    "too many input tokens",
];

const KEY_WORDS: [&str; 6] = [
    "api key not valid",
    "api_key_invalid",
    "invalid_api_key",
    "api key not found",
    "authentication_error",
    "invalid x-api-key",
];

/// No waiting brings money.
const MONEY_WORDS: [&str; 8] = [
    "insufficient_quota",
    "credit balance",
    "insufficient credits",
    "insufficient balance",
    "billing_error",
    "spend_limit",
    "spend limit",
    "usage limits",
];

const FILTER_WORDS: [&str; 4] = [
    "content_policy_violation",
    "content_filter",
    "content management policy",
    "flagged by moderation",
];

const OVERLOAD_WORDS: [&str; 4] = ["overloaded", "unavailable", "server_error", "api_error"];

const RATE_WORDS: [&str; 3] = ["rate_limit", "rate limit", "resource_exhausted"];

/// Makes the error for a complaint; `who` is the provider's name, `model` the one asked for.
pub(crate) fn judge(
    who: &str,
    model: &str,
    status: Option<u16>,
    complaint: &ProviderError,
) -> Error {
    let mut error = sort(who, model, complaint.status.or(status), complaint);
    error.status = status;
    error.retry_after = complaint.retry_after;
    error.request_id.clone_from(&complaint.request_id);
    if !complaint.message.trim().is_empty() {
        error.provider_message = Some(one_line(&complaint.message));
    }
    error
}

fn sort(who: &str, model: &str, status: Option<u16>, complaint: &ProviderError) -> Error {
    let status_or_zero = status.unwrap_or(0);
    if complaint.says_any(&MONEY_WORDS) || status_or_zero == 402 {
        return no_money(who, status_or_zero);
    }
    if complaint.says_any(&KEY_WORDS) {
        return refused_key(who);
    }
    if status_or_zero == 413 || (status_or_zero != 429 && complaint.says_any(&CONTEXT_WORDS)) {
        return Error::new(
            AiErrorCode::ContextTooLarge,
            format!("the request is larger than {model} can read"),
            "Send less: fewer or smaller context files, a smaller context budget, or a model with a larger window.",
        );
    }
    if complaint.says_any(&FILTER_WORDS) {
        return refused(
            who,
            "The provider's filter refused the text; change the prompt or its context.",
        );
    }
    match status_or_zero {
        401 => refused_key(who),
        403 => Error::new(
            AiErrorCode::ApiKeyMissing,
            format!("{who} does not allow this key to use {model}"),
            "Check what the key may do in the provider's console, or use another key or model.",
        ),
        404 => not_found(who, model),
        429 => rate_limited(who),
        408 | 409 | 425 => unavailable(who),
        400..=499 => refused(
            who,
            "The request cannot succeed as it is; change what the message names.",
        ),
        500..=599 => unavailable(who),
        300..=399 => Error::new(
            AiErrorCode::ProviderUnavailable,
            format!("{who} redirects to another address"),
            "Redirects are not followed, because the key would travel along; set the base URL to the final address.",
        ),
        _ if complaint.says_any(&RATE_WORDS) => rate_limited(who),
        _ if complaint.says_any(&OVERLOAD_WORDS) => unavailable(who),
        _ => {
            let mut error = refused(who, "Run it again; if it stays, ask another model.");
            error.side = FaultSide::Provider;
            error
        }
    }
}

fn refused_key(who: &str) -> Error {
    Error::new(
        AiErrorCode::ApiKeyMissing,
        format!("{who} refused the API key"),
        format!(
            "Check the key ({}) and that it belongs to {who}.",
            key_hint(who)
        ),
    )
}

fn key_hint(who: &str) -> String {
    let variables = crate::provider::Provider::from_name(who)
        .map_or(&[][..], |provider| provider.key_variables());
    if variables.is_empty() {
        "`ai.api_key`".to_owned()
    } else {
        format!("`ai.api_key` or {}", variables.join(", "))
    }
}

fn no_money(who: &str, status: u16) -> Error {
    let code = if status == 429 {
        AiErrorCode::RateLimited
    } else {
        AiErrorCode::ProviderUnavailable
    };
    let mut error = Error::new(
        code,
        format!("{who} has no credit or quota left for this key"),
        "Add credit or raise the spending limit in the provider's console; waiting does not help.",
    );
    error.side = FaultSide::Provider;
    error
}

fn not_found(who: &str, model: &str) -> Error {
    let mut error = Error::new(
        AiErrorCode::ProviderUnavailable,
        format!("{who} does not know the model {model}, or its address is wrong"),
        "Check `ai.model` (`drawloom ai models` lists what there is) and `ai.base_url`.",
    );
    error.side = FaultSide::Provider;
    error
}

fn rate_limited(who: &str) -> Error {
    Error::passing(
        AiErrorCode::RateLimited,
        format!("{who} limits the rate of requests"),
        "Run it again later, or ask less at once.",
    )
}

fn unavailable(who: &str) -> Error {
    Error::passing(
        AiErrorCode::ProviderUnavailable,
        format!("{who} cannot answer now"),
        "Run it again later, or set a fallback model.",
    )
}

fn refused(who: &str, advice: &str) -> Error {
    let mut error = Error::new(
        AiErrorCode::GenerationFailed,
        format!("{who} refused the request"),
        advice,
    );
    error.again = RetryAdvice::Pointless;
    error
}

/// Messages may be pages: one line, bounded.
pub(crate) fn one_line(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    bounded(&words.join(" "), PROVIDER_MESSAGE_BYTES_MAX)
}

#[cfg(test)]
mod tests;
