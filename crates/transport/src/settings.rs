//! The `[ai]` settings as this crate uses them; the caller reads them from the file.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use llm::budget::{Meter, SpendBudget, SpentTotal};
use llm::price::{PriceList, TokenRates};
use llm::retry::RetryLimits;
use llm::{ModelRequest, Provider, Secret};

use crate::mode::{CommandMode, TransportMode};

/// Time limit for one answer, if the settings name no other.
pub const TIMEOUT_DEFAULT: Duration = Duration::from_secs(300);
/// Bytes of a program's output that are read, if the settings name no other limit.
pub(crate) const OUTPUT_BYTES_MAX_DEFAULT: usize = 8 * 1024 * 1024;

/// The settings of `[ai]`.
#[derive(Clone, Debug, PartialEq)]
pub struct AiSettings {
    pub mode: TransportMode,
    pub provider: Option<Provider>,
    pub model: Option<String>,
    /// Models for certain purposes, before [`AiSettings::model`].
    pub models: PurposeModels,
    /// Models asked in turn when a provider fails.
    pub fallbacks: Vec<String>,
    pub base_url: Option<String>,
    /// `$NAME`, or the key itself.
    pub api_key: Option<Secret>,
    /// The longest answer a model may give.
    pub max_tokens: u32,
    pub temperature: Option<f64>,
    pub retry: RetryLimits,
    /// A command line, with `{prompt}` in place of the prompt if it is an argument.
    pub command: Option<String>,
    pub command_mode: CommandMode,
    pub stdio_command: Option<String>,
    /// For one call of a model, one run of a command, or one silence of a subprocess.
    pub timeout: Duration,
    /// The limit on a program's output.
    pub output_bytes_max: usize,
    pub budget: SpendBudget,
    /// Prices by `provider/model` or `model`, before the public list.
    pub prices: BTreeMap<String, TokenRates>,
}

impl Default for AiSettings {
    fn default() -> Self {
        AiSettings {
            mode: TransportMode::Auto,
            provider: None,
            model: None,
            models: PurposeModels::default(),
            fallbacks: Vec::new(),
            base_url: None,
            api_key: None,
            max_tokens: ModelRequest::MAX_TOKENS_DEFAULT,
            temperature: None,
            retry: RetryLimits::default(),
            command: None,
            command_mode: CommandMode::Batched,
            stdio_command: None,
            timeout: TIMEOUT_DEFAULT,
            output_bytes_max: OUTPUT_BYTES_MAX_DEFAULT,
            budget: SpendBudget::default(),
            prices: BTreeMap::new(),
        }
    }
}

/// `[ai.models]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PurposeModels {
    pub plan: Option<String>,
    pub generate: Option<String>,
    pub answer: Option<String>,
}

/// The purpose a model is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ModelPurpose {
    /// To plan a build.
    Plan,
    /// To write code with tools.
    Generate,
    /// To answer the questions of templates and recipes.
    Answer,
}

impl ModelPurpose {
    /// The settings key of this purpose's model.
    pub fn key(self) -> &'static str {
        match self {
            ModelPurpose::Plan => "ai.models.plan",
            ModelPurpose::Generate => "ai.models.generate",
            ModelPurpose::Answer => "ai.models.answer",
        }
    }
}

impl AiSettings {
    /// Returns the model for a purpose; an empty setting counts as absent.
    pub(crate) fn model_for(&self, purpose: ModelPurpose) -> Option<&str> {
        let own = match purpose {
            ModelPurpose::Plan => &self.models.plan,
            ModelPurpose::Generate => &self.models.generate,
            ModelPurpose::Answer => &self.models.answer,
        };
        filled(own.as_deref()).or_else(|| filled(self.model.as_deref()))
    }

    /// Creates the meter of a run, which every transport and model of that run shares. `now`
    /// selects the prices, `day` is the day's spending so far.
    pub fn meter(&self, now: SystemTime, day: SpentTotal) -> Meter {
        Meter::new(self.budget, PriceList::new(now, self.prices.clone()), day)
    }
}

/// Returns the setting, or `None` if it is empty or blank.
pub(crate) fn filled(setting: Option<&str>) -> Option<&str> {
    setting.map(str::trim).filter(|text| !text.is_empty())
}
