//! Prices of tokens: the public price list, with the user's own prices before it.

use std::collections::BTreeMap;
use std::time::SystemTime;

use genai_prices::{PriceRequest, UsageKey};
use serde::{Deserialize, Serialize};

use crate::provider::Provider;
use crate::usage::{CallCost, Usage};

/// US dollars per million tokens. Buckets without a price of their own cost what input does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenRates {
    pub input: f64,
    pub output: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
}

impl TokenRates {
    fn cost(&self, usage: &Usage) -> CallCost {
        let charge = |tokens: u64, rate: f64| tokens as f64 * rate / 1_000_000.0;
        let dollars = charge(usage.input, self.input)
            + charge(usage.output, self.output)
            + charge(usage.cache_read, self.cache_read.unwrap_or(self.input))
            + charge(usage.cache_write, self.cache_write.unwrap_or(self.input));
        micro_usd(dollars).map_or(CallCost::Unknown, CallCost::Known)
    }
}

/// The price list of a day.
#[derive(Clone, Debug)]
pub struct PriceList {
    at: SystemTime,
    overrides: BTreeMap<String, TokenRates>,
}

/// The model whose tokens are priced.
#[derive(Clone, Copy, Debug)]
pub struct PricedModel<'a> {
    pub provider: Provider,
    /// Another address than the provider's own, whose prices are not the provider's.
    pub base_url: Option<&'a str>,
    pub model: &'a str,
}

impl PriceList {
    /// Makes the list; `overrides` go by `provider/model` or `model`.
    pub fn new(at: SystemTime, overrides: BTreeMap<String, TokenRates>) -> PriceList {
        PriceList { at, overrides }
    }

    /// Returns the cost of the usage, or `Unknown` if no price is known.
    pub fn cost(&self, priced: PricedModel<'_>, usage: &Usage) -> CallCost {
        let full_name = format!("{}/{}", priced.provider.name(), priced.model);
        if let Some(rates) = self
            .overrides
            .get(&full_name)
            .or_else(|| self.overrides.get(priced.model))
        {
            return rates.cost(usage);
        }
        if is_own_machine(priced) {
            return CallCost::NOTHING;
        }
        self.listed(priced, usage).unwrap_or(CallCost::Unknown)
    }

    fn listed(&self, priced: PricedModel<'_>, usage: &Usage) -> Option<CallCost> {
        let counted = genai_prices::Usage::from([
            // The list counts cached tokens as part of the sent ones, and the total has both.
            (
                UsageKey::INPUT_TOKENS,
                usage.total().saturating_sub(usage.output) as f64,
            ),
            (UsageKey::CACHE_READ_TOKENS, usage.cache_read as f64),
            (UsageKey::CACHE_WRITE_TOKENS, usage.cache_write as f64),
            (UsageKey::OUTPUT_TOKENS, usage.output as f64),
        ]);
        let request = PriceRequest::new(priced.model, &counted).with_timestamp(self.at);
        let request = match (priced.base_url, list_name(priced.provider)) {
            (Some(base_url), _) => request.with_provider_api_url(base_url),
            (None, Some(name)) => request.with_provider_id(name),
            (None, None) => return None,
        };
        let price = genai_prices::calculate(&request).ok()?;
        micro_usd(price.total_price).map(CallCost::Known)
    }
}

fn list_name(provider: Provider) -> Option<&'static str> {
    match provider {
        Provider::Anthropic | Provider::OpenAi | Provider::Google | Provider::OpenRouter => {
            Some(provider.name())
        }
        Provider::Ollama | Provider::Compatible => None,
    }
}

/// Ollama runs models here, save those it names as being in its cloud.
fn is_own_machine(priced: PricedModel<'_>) -> bool {
    priced.provider == Provider::Ollama && !priced.model.ends_with("cloud")
}

/// Dollars in millionths, rounded up so that budgets are not outrun by rounding.
pub(crate) fn micro_usd(dollars: f64) -> Option<u64> {
    const NOISE: f64 = 1e-6;
    let micro = (dollars * 1_000_000.0 - NOISE).ceil().max(0.0);
    (dollars.is_finite() && dollars >= 0.0 && micro < u64::MAX as f64).then_some(micro as u64)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::{Duration, UNIX_EPOCH};

    use super::{PriceList, PricedModel, TokenRates, micro_usd};
    use crate::provider::Provider;
    use crate::usage::{CallCost, Usage};

    fn prices() -> PriceList {
        let rates = TokenRates {
            input: 2.0,
            output: 10.0,
            cache_read: Some(0.5),
            cache_write: None,
        };
        let overrides = BTreeMap::from([
            ("mine".to_owned(), rates),
            (
                "openai/gpt-5".to_owned(),
                TokenRates {
                    input: 1.0,
                    output: 1.0,
                    cache_read: None,
                    cache_write: None,
                },
            ),
        ]);
        PriceList::new(UNIX_EPOCH + Duration::from_secs(1_794_000_000), overrides)
    }

    #[track_caller]
    fn check(provider: Provider, base_url: Option<&str>, model: &str, expected: CallCost) {
        let usage = Usage {
            input: 1_000,
            output: 100,
            cache_read: 10_000,
            cache_write: 2_000,
            reasoning: 50,
        };
        assert_eq!(
            prices().cost(
                PricedModel {
                    provider,
                    base_url,
                    model
                },
                &usage
            ),
            expected,
            "{model}"
        );
    }

    #[test]
    fn every_bucket_has_its_price() {
        // 1 000 × 3 + 10 000 × 0.30 + 2 000 × 3.75 + 100 × 15, per million.
        check(
            Provider::Anthropic,
            None,
            "claude-sonnet-4-5-20250929",
            CallCost::Known(15_000),
        );
        check(
            Provider::OpenRouter,
            None,
            "anthropic/claude-sonnet-4.5",
            CallCost::Known(15_000),
        );
        // 1 000 × 2 + 10 000 × 0.5 + 2 000 × 2 + 100 × 10.
        check(
            Provider::Compatible,
            Some("http://10.0.0.1/v1"),
            "mine",
            CallCost::Known(12_000),
        );
        check(Provider::OpenAi, None, "gpt-5", CallCost::Known(13_100));
    }

    #[test]
    fn an_unlisted_price_is_unknown_and_not_free() {
        check(
            Provider::Anthropic,
            None,
            "no-such-model",
            CallCost::Unknown,
        );
        check(
            Provider::Compatible,
            Some("http://10.0.0.1/v1"),
            "claude-sonnet-4-5",
            CallCost::Unknown,
        );
        check(
            Provider::OpenAi,
            Some("https://gateway.example/v1"),
            "gpt-4o",
            CallCost::Unknown,
        );
        check(Provider::Ollama, None, "qwen3:8b", CallCost::Known(0));
        check(
            Provider::Ollama,
            None,
            "gpt-oss:120b-cloud",
            CallCost::Unknown,
        );
    }

    #[test]
    fn fractions_of_a_millionth_are_rounded_up() {
        assert_eq!(micro_usd(0.000_000_05), Some(1));
        assert_eq!(micro_usd(0.000_003), Some(3));
        assert_eq!(micro_usd(0.0), Some(0));
        assert_eq!(micro_usd(f64::NAN), None);
    }
}
