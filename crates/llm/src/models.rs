//! Lists the models a provider offers.

use serde::Deserialize;
use serde_json::Value;

use crate::client::ProviderEndpoint;
use crate::error::{AiErrorCode, Error, FaultSide, Result};
use crate::http::{Limits, ProviderHttp};
use crate::provider::{Provider, WireFormat};

/// A model one may ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedModel {
    pub model: String,
    /// The display name, if the provider gives one.
    pub title: Option<String>,
    /// Tokens it can read, if the provider says so.
    pub context_tokens: Option<u64>,
}

/// Lists are read page by page; no provider needs more pages than this.
const PAGES_MAX: usize = 20;

/// Asks a provider for its models, in the provider's order.
pub async fn list(endpoint: &ProviderEndpoint, limits: Limits) -> Result<Vec<OfferedModel>> {
    let http = endpoint.open(limits)?;
    let mut offers = Vec::new();
    let mut path = first_page(endpoint.provider).to_owned();
    for _ in 0..PAGES_MAX {
        let page = page(&http, endpoint.provider, &path).await?;
        let next = next_page(&page);
        offers.extend(read(endpoint.provider, &page)?);
        match next {
            Some(next) => path = format!("{}{next}", first_page(endpoint.provider)),
            None => break,
        }
    }
    Ok(offers)
}

fn first_page(provider: Provider) -> &'static str {
    match (provider, provider.format()) {
        // Ollama's own list has the installed models; it is next to the compatible API.
        (Provider::Ollama, _) => "../api/tags",
        (_, WireFormat::Anthropic) => "models?limit=1000",
        (_, WireFormat::OpenAi) => "models",
        (_, WireFormat::Gemini) => "models?pageSize=1000",
    }
}

fn next_page(page: &Value) -> Option<String> {
    let text = |name: &str| {
        page.get(name)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
    };
    let safe = |token: &str| {
        token
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-_.=/+".contains(&b))
    };
    if let Some(token) = text("nextPageToken").filter(|token| safe(token)) {
        return Some(format!(
            "&pageToken={}",
            token.replace('+', "%2B").replace('/', "%2F")
        ));
    }
    let more = page
        .get("has_more")
        .and_then(Value::as_bool)
        .unwrap_or(false);
    text("last_id")
        .filter(|id| more && safe(id))
        .map(|id| format!("&after_id={id}"))
}

async fn page(http: &ProviderHttp, provider: Provider, path: &str) -> Result<Value> {
    let mut answer = http.get(path).await?;
    if !answer.is_success() {
        return Err(answer.refusal("the list of models").await);
    }
    let body = answer.whole().await?;
    serde_json::from_slice(&body).map_err(|error| no_list(provider, &error.to_string()))
}

/// Google and Ollama say `models`, the others `data`, and llama.cpp both.
#[derive(Deserialize)]
struct ModelListBody {
    data: Option<Vec<ModelListEntry>>,
    models: Option<Vec<ModelListEntry>>,
}

/// The fields of all formats: `id`, or `name` where it is Google's or Ollama's.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ModelListEntry {
    id: Option<String>,
    name: Option<String>,
    #[serde(alias = "display_name")]
    display_name: Option<String>,
    input_token_limit: Option<u64>,
    #[serde(alias = "context_length")]
    context_length: Option<u64>,
    #[serde(alias = "max_input_tokens")]
    max_input_tokens: Option<u64>,
    supported_generation_methods: Option<Vec<String>>,
}

fn read(provider: Provider, page: &Value) -> Result<Vec<OfferedModel>> {
    let listed =
        ModelListBody::deserialize(page).map_err(|error| no_list(provider, &error.to_string()))?;
    let models = listed
        .data
        .or(listed.models)
        .ok_or_else(|| no_list(provider, "there are no models in it"))?;
    let offers = models.into_iter().filter_map(|model| {
        let answers = model.supported_generation_methods.as_ref();
        if answers.is_some_and(|methods| !methods.iter().any(|method| method == "generateContent"))
        {
            return None;
        }
        let title = model
            .display_name
            .or_else(|| model.id.is_some().then(|| model.name.clone()).flatten());
        let id = model.id.or(model.name)?;
        let id = if provider == Provider::Google {
            id.strip_prefix("models/").unwrap_or(&id).to_owned()
        } else {
            id
        };
        let context_tokens = model
            .input_token_limit
            .or(model.context_length)
            .or(model.max_input_tokens);
        Some(OfferedModel {
            title: title.filter(|title| *title != id),
            model: id,
            context_tokens,
        })
    });
    Ok(offers.collect())
}

fn no_list(provider: Provider, why: &str) -> Error {
    let mut error = Error::new(
        AiErrorCode::TransportFailed,
        format!(
            "{} sent something that is not a list of models ({why})",
            provider.name()
        ),
        "Check `ai.provider` and `ai.base_url`.",
    );
    error.side = FaultSide::Provider;
    error
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{next_page, read};
    use crate::provider::Provider;

    #[track_caller]
    fn check(provider: Provider, page: serde_json::Value, expected: &[&str]) {
        let offers = read(provider, &page).unwrap();
        let shown: Vec<_> = offers
            .iter()
            .map(|offer| {
                let title = offer.title.as_deref().unwrap_or("-");
                format!(
                    "{} {title} {}",
                    offer.model,
                    offer.context_tokens.map_or("-".into(), |n| n.to_string())
                )
            })
            .collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn each_format_of_list_is_read() {
        check(
            Provider::Anthropic,
            json!({"data": [{"type": "model", "id": "claude-x", "display_name": "Claude X"}], "has_more": false}),
            &["claude-x Claude X -"],
        );
        check(
            Provider::OpenAi,
            json!({"object": "list", "data": [{"id": "gpt-5", "object": "model"}]}),
            &["gpt-5 - -"],
        );
        check(
            Provider::OpenRouter,
            json!({"data": [{"id": "a/b", "name": "A: B", "context_length": 9}]}),
            &["a/b A: B 9"],
        );
        check(
            Provider::Google,
            json!({"models": [
                {"name": "models/gemini-x", "displayName": "Gemini X", "inputTokenLimit": 1048576,
                 "supportedGenerationMethods": ["generateContent", "countTokens"]},
                {"name": "models/embed", "supportedGenerationMethods": ["embedContent"]},
            ]}),
            &["gemini-x Gemini X 1048576"],
        );
        check(
            Provider::Ollama,
            json!({"models": [{"name": "qwen3:8b", "size": 5}]}),
            &["qwen3:8b - -"],
        );
        assert!(
            read(Provider::OpenAi, &json!({"hello": 1}))
                .unwrap_err()
                .to_string()
                .contains("not a list")
        );
    }

    #[test]
    fn the_next_page_is_asked_for_as_each_format_wants() {
        assert_eq!(
            next_page(&json!({"nextPageToken": "a+b"})).unwrap(),
            "&pageToken=a%2Bb"
        );
        assert_eq!(
            next_page(&json!({"has_more": true, "last_id": "m-1"})).unwrap(),
            "&after_id=m-1"
        );
        assert_eq!(
            next_page(&json!({"has_more": false, "last_id": "m-1"})),
            None
        );
        assert_eq!(
            next_page(&json!({"has_more": true, "last_id": "x&y=1"})),
            None
        );
    }
}
