//! The providers, as data: their names, formats, addresses and well-known key variables.

use serde::{Deserialize, Serialize};

/// A service that answers requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    Anthropic,
    OpenAi,
    Google,
    OpenRouter,
    Ollama,
    /// Any other server that speaks OpenAI's format; needs a base URL.
    Compatible,
}

/// The API format of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WireFormat {
    Anthropic,
    OpenAi,
    Gemini,
}

impl Provider {
    pub const ALL: [Provider; 6] = [
        Provider::Anthropic,
        Provider::OpenAi,
        Provider::Google,
        Provider::OpenRouter,
        Provider::Ollama,
        Provider::Compatible,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Provider::Anthropic => "anthropic",
            Provider::OpenAi => "openai",
            Provider::Google => "google",
            Provider::OpenRouter => "openrouter",
            Provider::Ollama => "ollama",
            Provider::Compatible => "compatible",
        }
    }

    /// Returns the provider a setting names; `gemini` is a common name for Google's.
    pub fn from_name(name: &str) -> Option<Provider> {
        let name = name.trim().to_ascii_lowercase();
        if name == "gemini" {
            return Some(Provider::Google);
        }
        Provider::ALL
            .into_iter()
            .find(|provider| provider.name() == name)
    }

    pub fn format(self) -> WireFormat {
        match self {
            Provider::Anthropic => WireFormat::Anthropic,
            Provider::Google => WireFormat::Gemini,
            Provider::OpenAi | Provider::OpenRouter | Provider::Ollama | Provider::Compatible => {
                WireFormat::OpenAi
            }
        }
    }

    /// Returns the address to use unless the settings name another.
    pub fn base_url(self) -> Option<&'static str> {
        match self {
            Provider::Anthropic => Some("https://api.anthropic.com/v1"),
            Provider::OpenAi => Some("https://api.openai.com/v1"),
            Provider::Google => Some("https://generativelanguage.googleapis.com/v1beta"),
            Provider::OpenRouter => Some("https://openrouter.ai/api/v1"),
            Provider::Ollama => Some("http://127.0.0.1:11434/v1"),
            Provider::Compatible => None,
        }
    }

    /// Returns the variables its users set anyway, in the order they are looked up.
    pub fn key_variables(self) -> &'static [&'static str] {
        match self {
            Provider::Anthropic => &["ANTHROPIC_API_KEY"],
            Provider::OpenAi => &["OPENAI_API_KEY"],
            Provider::Google => &["GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY"],
            Provider::OpenRouter => &["OPENROUTER_API_KEY"],
            Provider::Ollama | Provider::Compatible => &[],
        }
    }

    pub fn needs_key(self) -> bool {
        !self.key_variables().is_empty()
    }

    /// Returns the provider whose models are named like this, when that is beyond doubt.
    pub fn of_model(model: &str) -> Option<Provider> {
        const PREFIXES: [(&str, Provider); 7] = [
            ("claude", Provider::Anthropic),
            ("gpt-", Provider::OpenAi),
            ("chatgpt-", Provider::OpenAi),
            ("o1", Provider::OpenAi),
            ("o3", Provider::OpenAi),
            ("o4", Provider::OpenAi),
            ("gemini", Provider::Google),
        ];
        let model = model.to_ascii_lowercase();
        // `gpt-oss` is open and served by many.
        if model.starts_with("gpt-oss") {
            return None;
        }
        PREFIXES
            .into_iter()
            .find(|(prefix, _)| model.starts_with(prefix))
            .map(|(_, provider)| provider)
    }
}

#[cfg(test)]
mod tests {
    use super::Provider;

    #[test]
    fn every_provider_is_found_by_its_name() {
        for provider in Provider::ALL {
            assert_eq!(Provider::from_name(provider.name()), Some(provider));
            assert_eq!(serde_json::to_value(provider).unwrap(), provider.name());
        }
        assert_eq!(Provider::from_name(" Gemini "), Some(Provider::Google));
        assert_eq!(Provider::from_name("acme"), None);
    }
}
