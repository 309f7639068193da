//! The one error: a code to branch on, whose side it is on, and sentences that say what to do.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use crate::usage::Usage;

pub type Result<T> = std::result::Result<T, Error>;

/// The codes of AI failures, shared with the crates above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AiErrorCode {
    ApiKeyMissing,
    ProviderUnavailable,
    GenerationFailed,
    RateLimited,
    ContextTooLarge,
    BudgetExceeded,
    TransportFailed,
    AnswerInvalid,
}

impl AiErrorCode {
    pub const ALL: [AiErrorCode; 8] = [
        AiErrorCode::ApiKeyMissing,
        AiErrorCode::ProviderUnavailable,
        AiErrorCode::GenerationFailed,
        AiErrorCode::RateLimited,
        AiErrorCode::ContextTooLarge,
        AiErrorCode::BudgetExceeded,
        AiErrorCode::TransportFailed,
        AiErrorCode::AnswerInvalid,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            AiErrorCode::ApiKeyMissing => "AI_API_KEY_MISSING",
            AiErrorCode::ProviderUnavailable => "AI_PROVIDER_UNAVAILABLE",
            AiErrorCode::GenerationFailed => "AI_GENERATION_FAILED",
            AiErrorCode::RateLimited => "AI_RATE_LIMITED",
            AiErrorCode::ContextTooLarge => "AI_CONTEXT_TOO_LARGE",
            AiErrorCode::BudgetExceeded => "AI_BUDGET_EXCEEDED",
            AiErrorCode::TransportFailed => "AI_TRANSPORT_FAILED",
            AiErrorCode::AnswerInvalid => "AI_ANSWER_INVALID",
        }
    }
}

impl fmt::Display for AiErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Says if the same request can succeed when it is made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryAdvice {
    Worthwhile,
    Pointless,
}

/// The side that has to change something. Fallbacks help only if it is the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultSide {
    Provider,
    Ours,
}

/// A call that failed. Boxed: it travels in results that mostly hold answers.
#[derive(Clone, Debug, thiserror::Error)]
pub struct Error(Box<CallFailure>);

/// Everything known about a failed call.
#[derive(Clone, Debug)]
pub struct CallFailure {
    pub code: AiErrorCode,
    /// The failure, as the start of a sentence without its full stop.
    pub what: String,
    /// The provider's own words, cut to [`PROVIDER_MESSAGE_BYTES_MAX`] and without keys.
    pub provider_message: Option<String>,
    pub status: Option<u16>,
    /// The request's id, which the provider's support will ask for.
    pub request_id: Option<String>,
    /// Time the provider asks the client to wait.
    pub retry_after: Option<Duration>,
    /// Advice, as a sentence.
    pub advice: String,
    pub again: RetryAdvice,
    pub side: FaultSide,
    /// Usage up to the failure: cut answers are paid for too.
    pub usage: Usage,
}

/// The longest provider message an error carries.
pub const PROVIDER_MESSAGE_BYTES_MAX: usize = 600;

impl Error {
    /// Makes an error on our side that no retry can help.
    pub fn new(code: AiErrorCode, what: impl Into<String>, advice: impl Into<String>) -> Error {
        Error(Box::new(CallFailure {
            code,
            what: what.into(),
            provider_message: None,
            status: None,
            request_id: None,
            retry_after: None,
            advice: advice.into(),
            again: RetryAdvice::Pointless,
            side: FaultSide::Ours,
            usage: Usage::default(),
        }))
    }

    /// Makes an error of the provider that may pass.
    pub(crate) fn passing(
        code: AiErrorCode,
        what: impl Into<String>,
        advice: impl Into<String>,
    ) -> Error {
        let mut error = Error::new(code, what, advice);
        error.again = RetryAdvice::Worthwhile;
        error.side = FaultSide::Provider;
        error
    }
}

impl Deref for Error {
    type Target = CallFailure;

    fn deref(&self) -> &CallFailure {
        &self.0
    }
}

impl DerefMut for Error {
    fn deref_mut(&mut self) -> &mut CallFailure {
        &mut self.0
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if let Some(message) = &self.provider_message {
            write!(f, ": {}", message.trim_end_matches('.'))?;
        }
        match (self.status, &self.request_id) {
            (Some(status), Some(id)) => write!(f, " (HTTP {status}, request {id})")?,
            (Some(status), None) => write!(f, " (HTTP {status})")?,
            (None, Some(id)) => write!(f, " (request {id})")?,
            (None, None) => {}
        }
        write!(f, ". {}", self.advice)
    }
}

/// Cuts the text on a character boundary, with a mark where it was cut.
pub(crate) fn bounded(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let end = (0..=bytes_max)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0);
    format!("{}…", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::{AiErrorCode, Error, bounded};

    #[test]
    fn an_error_reads_as_sentences() {
        let mut error = Error::new(
            AiErrorCode::RateLimited,
            "anthropic limits the rate",
            "Wait 3 s and run it again.",
        );
        assert_eq!(
            error.to_string(),
            "anthropic limits the rate. Wait 3 s and run it again."
        );
        error.provider_message = Some("Too many.".into());
        error.status = Some(429);
        error.request_id = Some("req_1".into());
        assert_eq!(
            error.to_string(),
            "anthropic limits the rate: Too many (HTTP 429, request req_1). Wait 3 s and run it again."
        );
    }

    #[test]
    fn codes_are_the_ones_the_manual_lists() {
        let codes: Vec<_> = AiErrorCode::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(
            codes.join(" "),
            "AI_API_KEY_MISSING AI_PROVIDER_UNAVAILABLE AI_GENERATION_FAILED AI_RATE_LIMITED \
             AI_CONTEXT_TOO_LARGE AI_BUDGET_EXCEEDED AI_TRANSPORT_FAILED AI_ANSWER_INVALID"
        );
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(bounded("aäb", 2), "a…");
        assert_eq!(bounded("aäb", 4), "aäb");
    }
}
