//! Optional parts of a request that a model refuses, learnt from its refusal.
//!
//! Support for a temperature, a schema or the new name of a limit changes with every release; a
//! table would always be behind. When a 400 names one of these, the client leaves it out, once per
//! model and part.

use std::collections::BTreeSet;

use crate::error::{AiErrorCode, Error};
use crate::model::{ModelRequest, ResponseFormat};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Quirk {
    NoTemperature,
    /// The provider's own structured output is not there for this model or schema.
    NoNativeJson,
    /// The server wants `max_completion_tokens` where we sent `max_tokens`, or the reverse.
    OtherMaxTokens,
    NoStreamUsage,
}

pub(crate) type QuirkSet = BTreeSet<Quirk>;

/// Words of a provider's refusal, and the quirk each one means.
const SIGNS: [(&str, Quirk); 16] = [
    ("temperature", Quirk::NoTemperature),
    ("max_completion_tokens", Quirk::OtherMaxTokens),
    ("max_tokens", Quirk::OtherMaxTokens),
    ("stream_options", Quirk::NoStreamUsage),
    ("response_format", Quirk::NoNativeJson),
    ("json_schema", Quirk::NoNativeJson),
    ("output_config", Quirk::NoNativeJson),
    ("output_format", Quirk::NoNativeJson),
    ("output format", Quirk::NoNativeJson),
    ("structured output", Quirk::NoNativeJson),
    ("responsejsonschema", Quirk::NoNativeJson),
    ("response_json_schema", Quirk::NoNativeJson),
    ("response_schema", Quirk::NoNativeJson),
    ("response mime type", Quirk::NoNativeJson),
    ("json mode", Quirk::NoNativeJson),
    ("grammar", Quirk::NoNativeJson),
];

/// A value out of range names the same things, and is the caller's mistake.
const UNSUPPORTED: [&str; 12] = [
    "unsupported",
    "not support",
    "deprecated",
    "unrecognized",
    "unknown",
    "not permitted",
    "unexpected",
    "instead",
    "only",
    "unavailable",
    "not available",
    "extra",
];

impl Quirk {
    /// Returns the quirk a refusal reveals, if leaving that part out would change the request.
    pub(crate) fn learn(
        error: &Error,
        request: &ModelRequest,
        streamed: bool,
        known: &QuirkSet,
    ) -> Option<Quirk> {
        if error.code != AiErrorCode::GenerationFailed
            || !matches!(error.status, Some(400 | 404 | 422 | 501))
        {
            return None;
        }
        let said = error.provider_message.as_deref()?.to_ascii_lowercase();
        let unsupported = UNSUPPORTED.iter().any(|word| said.contains(word));
        let applies = |quirk: &Quirk| match quirk {
            Quirk::NoTemperature => request.temperature.is_some() && unsupported,
            Quirk::NoNativeJson => request.output != ResponseFormat::Text,
            Quirk::OtherMaxTokens => unsupported,
            Quirk::NoStreamUsage => streamed,
        };
        let named = SIGNS
            .iter()
            .filter(|(sign, _)| said.contains(sign))
            .map(|(_, quirk)| *quirk);
        named.filter(applies).find(|quirk| !known.contains(quirk))
    }

    /// Names the part that is left out, for the observer.
    pub(crate) fn without(self) -> &'static str {
        match self {
            Quirk::NoTemperature => "temperature",
            Quirk::NoNativeJson => "the provider's structured output",
            Quirk::OtherMaxTokens => "this name of the token limit",
            Quirk::NoStreamUsage => "usage in the stream",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Quirk, QuirkSet};
    use crate::model::{ModelRequest, ResponseFormat};
    use crate::provider_error::{ProviderError, judge};

    #[track_caller]
    fn check(status: u16, message: &str, expected: Option<Quirk>) {
        let mut request = ModelRequest::ask("m", "q");
        request.temperature = Some(0.2);
        request.output = ResponseFormat::Json {
            name: "a".into(),
            schema: serde_json::json!({}),
        };
        let complaint = ProviderError {
            message: message.into(),
            ..ProviderError::default()
        };
        let error = judge("openai", "m", Some(status), &complaint);
        assert_eq!(
            Quirk::learn(&error, &request, true, &QuirkSet::new()),
            expected,
            "{message}"
        );
        // Known quirks are not learnt twice: the loop ends.
        let known: QuirkSet = expected.into_iter().collect();
        assert_eq!(
            Quirk::learn(&error, &request, true, &known),
            None,
            "{message}"
        );
    }

    #[test]
    fn refusals_that_name_an_optional_part_are_understood() {
        check(
            400,
            "Unsupported value: 'temperature' does not support 0.2",
            Some(Quirk::NoTemperature),
        );
        check(
            400,
            "`temperature` is deprecated for this model.",
            Some(Quirk::NoTemperature),
        );
        check(
            400,
            "Use 'max_completion_tokens' instead.",
            Some(Quirk::OtherMaxTokens),
        );
        check(
            400,
            "output_config: Extra inputs are not permitted",
            Some(Quirk::NoNativeJson),
        );
        check(
            400,
            "This response_format type is unavailable now",
            Some(Quirk::NoNativeJson),
        );
        check(
            400,
            "Function calling with a response mime type: 'application/json' is unsupported",
            Some(Quirk::NoNativeJson),
        );
        check(
            422,
            "stream_options: unknown field",
            Some(Quirk::NoStreamUsage),
        );
        check(400, "messages: roles must alternate", None);
        check(400, "temperature: must be between 0 and 1", None);
        check(
            400,
            "max_tokens: 99999 > 8192, the maximum for this model",
            None,
        );
        check(500, "temperature too high in rack 4", None);
        check(401, "temperature", None);
    }

    #[test]
    fn what_was_not_sent_cannot_be_left_out() {
        let complaint = ProviderError {
            message: "temperature".into(),
            ..ProviderError::default()
        };
        let error = judge("openai", "m", Some(400), &complaint);
        assert_eq!(
            Quirk::learn(
                &error,
                &ModelRequest::ask("m", "q"),
                false,
                &QuirkSet::new()
            ),
            None
        );
    }
}
