//! Finds the provider of a model name, and other models to ask when the first cannot answer.

use std::sync::Arc;

use crate::error::{AiErrorCode, Error, FaultSide, Result};
use crate::model::{Model, ModelEvent, ModelFuture, ModelObserver, ModelRequest, ModelResponse};
use crate::provider::Provider;

/// A model of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelRoute {
    pub provider: Provider,
    pub model: String,
}

impl ModelRoute {
    /// Reads a model setting. A provider setting decides; without one, `provider/model` does, and
    /// then names that only one provider has (`claude-…`, `gpt-…`, `gemini-…`).
    pub fn parse(model: &str, provider: Option<Provider>) -> Result<ModelRoute> {
        let model = model.trim();
        let named = model
            .split_once('/')
            .and_then(|(name, rest)| Some((Provider::from_name(name)?, rest)));
        let (provider, model) = match (provider, named) {
            // OpenRouter's names have an author before them, and one of the authors is OpenRouter.
            (None | Some(Provider::OpenRouter), Some((Provider::OpenRouter, rest))) => (
                Provider::OpenRouter,
                if rest.contains('/') { rest } else { model },
            ),
            (Some(set), Some((prefix, rest))) if set == prefix => (set, rest),
            (Some(set), _) => (set, model),
            (None, Some((prefix, rest))) => (prefix, rest),
            (None, None) => (
                Provider::of_model(model).ok_or_else(|| unclear(model))?,
                model,
            ),
        };
        if model.is_empty() {
            let what = format!("there is no model for the provider {}", provider.name());
            return Err(Error::new(
                AiErrorCode::ProviderUnavailable,
                what,
                "Set `ai.model`; `drawloom ai models` lists them.",
            ));
        }
        Ok(ModelRoute {
            provider,
            model: model.to_owned(),
        })
    }
}

fn unclear(model: &str) -> Error {
    let names: Vec<_> = Provider::ALL
        .iter()
        .map(|provider| provider.name())
        .collect();
    Error::new(
        AiErrorCode::ProviderUnavailable,
        format!("it is not clear whose model {model:?} is"),
        format!(
            "Set `ai.provider`, or write the model as `provider/model` ({}).",
            names.join(", ")
        ),
    )
}

/// Asks the first model, and the others in turn when a provider fails.
pub struct ModelRouter {
    routes: Vec<(String, Arc<dyn Model>)>,
}

impl ModelRouter {
    /// Makes a router of `first` and the fallbacks: each a model's name and the model that answers
    /// for it.
    pub fn new(
        first: (String, Arc<dyn Model>),
        fallbacks: Vec<(String, Arc<dyn Model>)>,
    ) -> ModelRouter {
        let mut routes = vec![first];
        routes.extend(fallbacks);
        ModelRouter { routes }
    }

    async fn answer(
        &self,
        request: &ModelRequest,
        observer: &mut dyn ModelObserver,
    ) -> Result<ModelResponse> {
        let mut request = request.clone();
        let mut routes = self.routes.iter().peekable();
        while let Some((name, model)) = routes.next() {
            request.model.clone_from(name);
            let error = match model.respond(&request, observer).await {
                Ok(response) => return Ok(response),
                Err(error) => error,
            };
            match routes.peek() {
                // A mistake of ours is a mistake with any other model too.
                Some((next, _)) if error.side == FaultSide::Provider => {
                    observer.notice(ModelEvent::Fallback {
                        from: name,
                        to: next,
                        error: &error,
                    });
                }
                _ => return Err(error),
            }
        }
        Err(Error::new(
            AiErrorCode::ProviderUnavailable,
            "there is no model to ask",
            "Set `ai.model`.",
        ))
    }
}

impl Model for ModelRouter {
    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        observer: &'a mut dyn ModelObserver,
    ) -> ModelFuture<'a> {
        Box::pin(self.answer(request, observer))
    }
}

#[cfg(test)]
mod tests {
    use super::ModelRoute;
    use crate::provider::Provider;

    #[track_caller]
    fn check(model: &str, provider: Option<Provider>, expected: &str) {
        let read = match ModelRoute::parse(model, provider) {
            Ok(route) => format!("{} {}", route.provider.name(), route.model),
            Err(error) => format!("{}: {error}", error.code),
        };
        assert_eq!(read, expected);
    }

    #[test]
    fn a_model_setting_says_whose_model_it_is() {
        check("claude-sonnet-4-5", None, "anthropic claude-sonnet-4-5");
        check(
            "claude-sonnet-4-5",
            Some(Provider::Anthropic),
            "anthropic claude-sonnet-4-5",
        );
        check(
            "anthropic/claude-sonnet-4-5",
            None,
            "anthropic claude-sonnet-4-5",
        );
        check(
            "anthropic/claude-sonnet-4-5",
            Some(Provider::Anthropic),
            "anthropic claude-sonnet-4-5",
        );
        check("gemini/gemini-2.5-pro", None, "google gemini-2.5-pro");
        check("o3-mini", None, "openai o3-mini");
        check(
            "openrouter/anthropic/claude-sonnet-4.5",
            None,
            "openrouter anthropic/claude-sonnet-4.5",
        );
        check(
            "anthropic/claude-sonnet-4.5",
            Some(Provider::OpenRouter),
            "openrouter anthropic/claude-sonnet-4.5",
        );
        check(
            "openrouter/auto",
            Some(Provider::OpenRouter),
            "openrouter openrouter/auto",
        );
        check("openrouter/auto", None, "openrouter openrouter/auto");
        check(
            "qwen/qwen3-8b",
            Some(Provider::Compatible),
            "compatible qwen/qwen3-8b",
        );
        check("ollama/qwen3:8b", None, "ollama qwen3:8b");
        check(
            "qwen3:8b",
            None,
            "AI_PROVIDER_UNAVAILABLE: it is not clear whose model \"qwen3:8b\" is. Set `ai.provider`, or write the \
             model as `provider/model` (anthropic, openai, google, openrouter, ollama, compatible).",
        );
        check(
            "",
            Some(Provider::OpenAi),
            "AI_PROVIDER_UNAVAILABLE: there is no model for the provider openai. Set `ai.model`; `drawloom ai models` \
             lists them.",
        );
    }
}
