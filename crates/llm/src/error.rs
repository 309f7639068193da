//! The one error: a code to branch on, whose side it is on, and sentences that say what to do.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use crate::usage::Usage;

pub type Result<T> = std::result::Result<T, Error>;

/// The codes of AI failures, shared with the crates above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    ApiKeyMissing,
    ProviderUnavailable,
    GenerationFailed,
    RateLimited,
    ContextTooLarge,
    BudgetExceeded,
    TransportFailed,
    AnswerInvalid,
}

impl Code {
    pub const ALL: [Code; 8] = [
        Code::ApiKeyMissing,
        Code::ProviderUnavailable,
        Code::GenerationFailed,
        Code::RateLimited,
        Code::ContextTooLarge,
        Code::BudgetExceeded,
        Code::TransportFailed,
        Code::AnswerInvalid,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Code::ApiKeyMissing => "AI_API_KEY_MISSING",
            Code::ProviderUnavailable => "AI_PROVIDER_UNAVAILABLE",
            Code::GenerationFailed => "AI_GENERATION_FAILED",
            Code::RateLimited => "AI_RATE_LIMITED",
            Code::ContextTooLarge => "AI_CONTEXT_TOO_LARGE",
            Code::BudgetExceeded => "AI_BUDGET_EXCEEDED",
            Code::TransportFailed => "AI_TRANSPORT_FAILED",
            Code::AnswerInvalid => "AI_ANSWER_INVALID",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whether the same request can succeed if it is made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    Worthwhile,
    Pointless,
}

/// Who has to change something. Fallbacks help only where it is the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Provider,
    Ours,
}

/// A call that failed. Boxed: it travels in results that mostly hold answers.
#[derive(Clone, Debug, thiserror::Error)]
pub struct Error(Box<Failure>);

/// Everything known about a failed call.
#[derive(Clone, Debug)]
pub struct Failure {
    pub code: Code,
    /// What happened, as the start of a sentence without its full stop.
    pub what: String,
    /// The provider's own words, cut to [`PROVIDER_MESSAGE_BYTES_MAX`] and without keys.
    pub provider_message: Option<String>,
    pub status: Option<u16>,
    /// What the provider's support will ask for.
    pub request_id: Option<String>,
    /// How long the provider wants to be left alone.
    pub retry_after: Option<Duration>,
    /// What to do next, as a sentence.
    pub advice: String,
    pub again: Again,
    pub side: Side,
    /// What had been used when it failed: cut answers are paid for too.
    pub usage: Usage,
}

/// The longest provider message an error carries.
pub const PROVIDER_MESSAGE_BYTES_MAX: usize = 600;

impl Error {
    /// An error on our side that no repetition mends.
    pub fn new(code: Code, what: impl Into<String>, advice: impl Into<String>) -> Error {
        Error(Box::new(Failure {
            code,
            what: what.into(),
            provider_message: None,
            status: None,
            request_id: None,
            retry_after: None,
            advice: advice.into(),
            again: Again::Pointless,
            side: Side::Ours,
            usage: Usage::default(),
        }))
    }

    /// The provider's failure, which may pass.
    pub(crate) fn passing(code: Code, what: impl Into<String>, advice: impl Into<String>) -> Error {
        let mut error = Error::new(code, what, advice);
        error.again = Again::Worthwhile;
        error.side = Side::Provider;
        error
    }
}

impl Deref for Error {
    type Target = Failure;

    fn deref(&self) -> &Failure {
        &self.0
    }
}

impl DerefMut for Error {
    fn deref_mut(&mut self) -> &mut Failure {
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

/// The text cut on a character boundary, with a mark where it was cut.
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
    use super::{Code, Error, bounded};

    #[test]
    fn an_error_reads_as_sentences() {
        let mut error = Error::new(
            Code::RateLimited,
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
        let codes: Vec<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
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
