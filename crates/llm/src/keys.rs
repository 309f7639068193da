//! Finds a provider's key: a `$NAME` reference or a well-known variable, looked up by the caller.

use crate::error::{AiErrorCode, Error, Result};
use crate::provider::Provider;
use crate::secret::Secret;

/// A key and the place it was found, which may be shown.
#[derive(Clone, Debug)]
pub struct ProviderKey {
    pub secret: Secret,
    pub source: KeySource,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    Variable(String),
    /// Written out in the settings: it works, and the caller warns about it.
    Literal,
}

/// Looks a variable up; this crate reads no environment.
pub type VariableLookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Finds the key for a provider.
///
/// `reference` is the setting: `$NAME`, or a literal. Without one, the provider's well-known
/// variables are tried, but only for the provider's own address or this machine: a base URL in a
/// checked-out project must not be able to collect the keys of the person who runs it.
pub fn find(
    provider: Provider,
    base_url: Option<&str>,
    reference: Option<&str>,
    lookup: VariableLookup<'_>,
) -> Result<Option<ProviderKey>> {
    let filled = |name: &str| {
        lookup(name)
            .map(Secret::new)
            .filter(|secret| !secret.is_empty())
    };
    if let Some(reference) = reference
        .map(str::trim)
        .filter(|reference| !reference.is_empty())
    {
        let Some(name) = variable(reference) else {
            return Ok(Some(ProviderKey {
                secret: Secret::new(reference),
                source: KeySource::Literal,
            }));
        };
        return match filled(name) {
            Some(secret) => Ok(Some(ProviderKey {
                secret,
                source: KeySource::Variable(name.to_owned()),
            })),
            None => Err(Error::new(
                AiErrorCode::ApiKeyMissing,
                format!("`ai.api_key` refers to {name}, which is not set"),
                format!("Set {name} to the key for {}.", provider.name()),
            )),
        };
    }
    let found = provider
        .key_variables()
        .iter()
        .filter(|_| is_own_address(provider, base_url))
        .find_map(|name| {
            let secret = filled(name)?;
            Some(ProviderKey {
                secret,
                source: KeySource::Variable((*name).to_owned()),
            })
        });
    Ok(found)
}

/// Makes the error for a provider that needs a key and has none.
pub fn missing(provider: Provider, base_url: Option<&str>) -> Error {
    let variables = provider.key_variables().join(" or ");
    let advice = if is_own_address(provider, base_url) {
        format!("Set {variables}, or `ai.api_key = \"$NAME\"` to read it from another variable.")
    } else {
        "Set `ai.api_key = \"$NAME\"`: well-known variables are not sent to other addresses unasked.".to_owned()
    };
    Error::new(
        AiErrorCode::ApiKeyMissing,
        format!("there is no API key for {}", provider.name()),
        advice,
    )
}

/// Returns the name in `$NAME` or `${NAME}`.
fn variable(reference: &str) -> Option<&str> {
    let name = reference.strip_prefix('$')?;
    let name = name
        .strip_prefix('{')
        .and_then(|name| name.strip_suffix('}'))
        .unwrap_or(name);
    let is_name = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then_some(name)
}

fn is_own_address(provider: Provider, base_url: Option<&str>) -> bool {
    let Some(base_url) = base_url else {
        return true;
    };
    let Ok(url) = reqwest::Url::parse(base_url) else {
        return false;
    };
    let own = provider
        .base_url()
        .and_then(|own| reqwest::Url::parse(own).ok());
    let same_host =
        own.is_some_and(|own| own.host_str() == url.host_str() && url.scheme() == own.scheme());
    same_host || crate::http::is_loopback(&url)
}

#[cfg(test)]
mod tests {
    use super::{KeySource, find, missing};
    use crate::provider::Provider;

    fn environment(name: &str) -> Option<String> {
        match name {
            "OPENAI_API_KEY" => Some("sk-open".into()),
            "MINE" => Some(" sk-mine\n".into()),
            "GOOGLE_GENERATIVE_AI_API_KEY" => Some("  ".into()),
            "GEMINI_API_KEY" => Some("g-1".into()),
            _ => None,
        }
    }

    #[track_caller]
    fn check(provider: Provider, base_url: Option<&str>, reference: Option<&str>, expected: &str) {
        let found = match find(provider, base_url, reference, &environment) {
            Ok(Some(key)) => match key.source {
                KeySource::Variable(name) => format!("{name}={}", key.secret.expose()),
                KeySource::Literal => format!("literal {}", key.secret.expose()),
            },
            Ok(None) => "none".into(),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn keys_come_by_reference_or_from_well_known_variables() {
        check(Provider::OpenAi, None, None, "OPENAI_API_KEY=sk-open");
        check(Provider::OpenAi, None, Some("$MINE"), "MINE=sk-mine");
        check(Provider::OpenAi, None, Some("${MINE}"), "MINE=sk-mine");
        check(
            Provider::OpenAi,
            None,
            Some("sk-written-down"),
            "literal sk-written-down",
        );
        check(Provider::Google, None, None, "GEMINI_API_KEY=g-1");
        check(Provider::Anthropic, None, None, "none");
        check(Provider::Ollama, None, None, "none");
        check(
            Provider::Anthropic,
            None,
            Some("$NOPE"),
            "`ai.api_key` refers to NOPE, which is not set. Set NOPE to the key for anthropic.",
        );
    }

    #[test]
    fn a_base_url_cannot_collect_well_known_keys() {
        check(
            Provider::OpenAi,
            Some("https://evil.example/v1"),
            None,
            "none",
        );
        check(
            Provider::OpenAi,
            Some("http://api.openai.com/v1"),
            None,
            "none",
        );
        check(
            Provider::OpenAi,
            Some("https://api.openai.com.evil.example/v1"),
            None,
            "none",
        );
        check(
            Provider::OpenAi,
            Some("https://api.openai.com/v1/"),
            None,
            "OPENAI_API_KEY=sk-open",
        );
        check(
            Provider::OpenAi,
            Some("http://127.0.0.1:8080"),
            None,
            "OPENAI_API_KEY=sk-open",
        );
        check(
            Provider::OpenAi,
            Some("https://evil.example/v1"),
            Some("$OPENAI_API_KEY"),
            "OPENAI_API_KEY=sk-open",
        );
    }

    #[test]
    fn a_missing_key_says_what_to_set() {
        assert_eq!(
            missing(Provider::Google, None).to_string(),
            "there is no API key for google. Set GOOGLE_GENERATIVE_AI_API_KEY or GEMINI_API_KEY, or \
             `ai.api_key = \"$NAME\"` to read it from another variable."
        );
        assert!(
            missing(Provider::OpenAi, Some("https://x.example"))
                .advice
                .contains("unasked")
        );
    }
}
