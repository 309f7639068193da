//! The `[ai]` settings as this crate uses them; whoever reads the file fills them in.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use llm::budget::{Budget, Meter, Spent};
use llm::price::{Prices, Rates};
use llm::retry::RetryLimits;
use llm::{Provider, Request, Secret};

use crate::mode::{CommandMode, Mode};

/// How long one answer may take when nobody says otherwise.
pub const TIMEOUT_DEFAULT: Duration = Duration::from_secs(300);
/// How much of a program's output is read when nobody says otherwise.
pub const OUTPUT_BYTES_MAX_DEFAULT: usize = 8 * 1024 * 1024;

/// Everything `[ai]` can say.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    pub mode: Mode,
    pub provider: Option<Provider>,
    pub model: Option<String>,
    /// Models for certain purposes, before [`Setup::model`].
    pub models: Models,
    /// Models asked in turn when a provider fails.
    pub fallbacks: Vec<String>,
    pub base_url: Option<String>,
    /// `$NAME`, or the key itself.
    pub api_key: Option<Secret>,
    /// The longest answer a model may give.
    pub max_tokens: u32,
    pub temperature: Option<f64>,
    pub retry: RetryLimits,
    /// A command line, with `{prompt}` where the prompt goes if it is an argument.
    pub command: Option<String>,
    pub command_mode: CommandMode,
    pub stdio_command: Option<String>,
    /// For one call of a model, one run of a command, or one silence of a subprocess.
    pub timeout: Duration,
    /// Of what a program says.
    pub output_bytes_max: usize,
    pub budget: Budget,
    /// Prices by `provider/model` or `model`, before the public list.
    pub prices: BTreeMap<String, Rates>,
}

impl Default for Setup {
    fn default() -> Self {
        Setup {
            mode: Mode::Auto,
            provider: None,
            model: None,
            models: Models::default(),
            fallbacks: Vec::new(),
            base_url: None,
            api_key: None,
            max_tokens: Request::MAX_TOKENS_DEFAULT,
            temperature: None,
            retry: RetryLimits::default(),
            command: None,
            command_mode: CommandMode::Batched,
            stdio_command: None,
            timeout: TIMEOUT_DEFAULT,
            output_bytes_max: OUTPUT_BYTES_MAX_DEFAULT,
            budget: Budget::default(),
            prices: BTreeMap::new(),
        }
    }
}

/// `[ai.models]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Models {
    pub plan: Option<String>,
    pub generate: Option<String>,
    pub answer: Option<String>,
}

/// What a model is wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// To plan a build.
    Plan,
    /// To write code with tools.
    Generate,
    /// To answer the questions of templates and recipes.
    Answer,
}

impl Purpose {
    /// The key of its own model.
    pub fn key(self) -> &'static str {
        match self {
            Purpose::Plan => "ai.models.plan",
            Purpose::Generate => "ai.models.generate",
            Purpose::Answer => "ai.models.answer",
        }
    }
}

impl Setup {
    /// The model for a purpose; an empty setting is none.
    pub fn model_for(&self, purpose: Purpose) -> Option<&str> {
        let own = match purpose {
            Purpose::Plan => &self.models.plan,
            Purpose::Generate => &self.models.generate,
            Purpose::Answer => &self.models.answer,
        };
        filled(own.as_deref()).or_else(|| filled(self.model.as_deref()))
    }

    /// The meter of a run, which every transport and model of that run shares. `now` decides which
    /// prices hold, `day` is what the day has spent before.
    pub fn meter(&self, now: SystemTime, day: Spent) -> Meter {
        Meter::new(self.budget, Prices::new(now, self.prices.clone()), day)
    }
}

/// The setting, unless it is empty or blank.
pub(crate) fn filled(setting: Option<&str>) -> Option<&str> {
    setting.map(str::trim).filter(|text| !text.is_empty())
}
