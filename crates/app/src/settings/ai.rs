//! The keys of `[ai]`: who answers questions, how long and for how much.

use std::time::Duration;

use llm::Secret;
use llm::price::TokenRates;

use super::keys::{SettingKey, SettingValueKind, size};

/// The section whose sections are models.
pub(super) const PRICES: &str = "ai.prices";
/// The name of the key that may hold a secret.
pub(super) const KEY_NAME: &str = "api_key";

/// A temperature beyond this is refused by every provider.
const TEMPERATURE_MAX: f64 = 2.0;

const MODES: &[&str] = &["auto", "api", "command", "stdio", "stdout", "off"];
const PROVIDERS: &[&str] = &[
    "anthropic",
    "openai",
    "google",
    "gemini",
    "openrouter",
    "ollama",
    "compatible",
];

pub(super) const KEYS: &[SettingKey] = &[
    SettingKey {
        section: "ai",
        name: "mode",
        kind: SettingValueKind::Choice(MODES, |settings, choice| {
            settings.ai.mode = choice.parse().unwrap_or_default();
        }),
        about: &[
            "Who answers the questions of templates (docs/ai.md): \"api\" (a provider's model), \"command\",",
            "\"stdio\" (a program that stays), \"stdout\" (you, from the printed document), \"off\" (you, on",
            "a terminal), or \"auto\": a provider with a key, else `command`, else \"stdout\". `--ai-mode`",
            "overrides it.",
        ],
        default: r#""auto""#,
    },
    SettingKey {
        section: "ai",
        name: "provider",
        kind: SettingValueKind::Choice(PROVIDERS, |settings, choice| {
            settings.ai.provider = llm::Provider::from_name(choice);
        }),
        about: &[
            "\"anthropic\", \"openai\", \"google\", \"openrouter\", \"ollama\", or \"compatible\" with a `base_url`.",
        ],
        default: r#""anthropic"  # for example"#,
    },
    SettingKey {
        section: "ai",
        name: "model",
        kind: SettingValueKind::Text(|settings, text| settings.ai.model = Some(text)),
        about: &["`drawloom ai models` lists what there is."],
        default: r#""claude-sonnet-4-5"  # for example"#,
    },
    SettingKey {
        section: "ai",
        name: KEY_NAME,
        kind: SettingValueKind::Text(|settings, text| {
            settings.ai.api_key = Some(Secret::new(text))
        }),
        about: &[
            "\"$NAME\" reads the key from a variable. Without it: ANTHROPIC_API_KEY, OPENAI_API_KEY,",
            "GOOGLE_GENERATIVE_AI_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY.",
        ],
        default: r#""$ANTHROPIC_API_KEY"  # for example"#,
    },
    SettingKey {
        section: "ai",
        name: "base_url",
        kind: SettingValueKind::Text(|settings, text| settings.ai.base_url = Some(text)),
        about: &["Another address than the provider's own."],
        default: r#""http://127.0.0.1:8080/v1"  # for example"#,
    },
    SettingKey {
        section: "ai",
        name: "fallbacks",
        kind: SettingValueKind::Texts(|settings, texts| settings.ai.fallbacks = texts),
        about: &["Models asked in turn when a provider fails."],
        default: "[]",
    },
    SettingKey {
        section: "ai",
        name: "max_tokens",
        kind: SettingValueKind::Count(|settings, count| settings.ai.max_tokens = small(count)),
        about: &["The longest answer of a model, in tokens."],
        default: "8192",
    },
    SettingKey {
        section: "ai",
        name: "temperature",
        kind: SettingValueKind::Number(TEMPERATURE_MAX, |settings, number| {
            settings.ai.temperature = Some(number);
        }),
        about: &["Left out, the model's own is used."],
        default: "0.2  # for example",
    },
    SettingKey {
        section: "ai",
        name: "command",
        kind: SettingValueKind::Text(|settings, text| settings.ai.command = Some(text)),
        about: &[
            "A command line without a shell; the prompt takes the place of {prompt}, or goes to standard",
            "input without it.",
        ],
        default: r#""claude -p {prompt}"  # for example"#,
    },
    SettingKey {
        section: "ai",
        name: "command_mode",
        kind: SettingValueKind::Choice(&["batched", "per-block"], |settings, choice| {
            settings.ai.command_mode = choice.parse().unwrap_or_default();
        }),
        about: &[
            "\"batched\" (one run that answers all in JSON) or \"per-block\" (one run for each question, in",
            "plain text).",
        ],
        default: r#""batched""#,
    },
    SettingKey {
        section: "ai",
        name: "stdio_command",
        kind: SettingValueKind::Text(|settings, text| settings.ai.stdio_command = Some(text)),
        about: &["A program that stays and speaks JSON lines."],
        default: r#""python3 answer.py"  # for example"#,
    },
    SettingKey {
        section: "ai",
        name: "timeout_ms",
        kind: SettingValueKind::Count(|settings, count| {
            settings.ai.timeout = Duration::from_millis(count)
        }),
        about: &[
            "Time for one call of a model, one run of a command, one silence of a stdio program.",
        ],
        default: "300000",
    },
    SettingKey {
        section: "ai",
        name: "output_bytes_max",
        kind: SettingValueKind::Count(|settings, count| settings.ai.output_bytes_max = size(count)),
        about: &["Size of a command's output, and of one line of a stdio program."],
        default: "8388608",
    },
    SettingKey {
        section: "ai.models",
        name: "plan",
        kind: SettingValueKind::Text(|settings, text| settings.ai.models.plan = Some(text)),
        about: &[
            "Models for a purpose, before `model`: planning a build, writing code, answering questions.",
        ],
        default: r#""claude-opus-4-5"  # for example"#,
    },
    SettingKey {
        section: "ai.models",
        name: "generate",
        kind: SettingValueKind::Text(|settings, text| settings.ai.models.generate = Some(text)),
        about: &[],
        default: r#""claude-sonnet-4-5"  # for example"#,
    },
    SettingKey {
        section: "ai.models",
        name: "answer",
        kind: SettingValueKind::Text(|settings, text| settings.ai.models.answer = Some(text)),
        about: &[],
        default: r#""claude-haiku-4-5"  # for example"#,
    },
    SettingKey {
        section: "ai.retry",
        name: "attempts_max",
        kind: SettingValueKind::Count(|settings, count| {
            settings.ai.retry.attempts_max = small(count)
        }),
        about: &["Attempts altogether; calls that cannot succeed are not tried again."],
        default: "4",
    },
    SettingKey {
        section: "ai.retry",
        name: "first_wait_ms",
        kind: SettingValueKind::Count(|settings, count| settings.ai.retry.first_wait_ms = count),
        about: &["Before the second attempt; later waits grow."],
        default: "500",
    },
    SettingKey {
        section: "ai.retry",
        name: "wait_ms_max",
        kind: SettingValueKind::Count(|settings, count| settings.ai.retry.wait_ms_max = count),
        about: &["The longest single wait, also when the provider asks for more."],
        default: "60000",
    },
    SettingKey {
        section: "ai.retry",
        name: "total_ms_max",
        kind: SettingValueKind::Count(|settings, count| settings.ai.retry.total_ms_max = count),
        about: &["No wait ends later than this after the first attempt."],
        default: "180000",
    },
    SettingKey {
        section: "ai.budget",
        name: "run_tokens_max",
        kind: SettingValueKind::Count(|settings, count| {
            settings.ai.budget.run.tokens_max = Some(count)
        }),
        about: &[
            "Checked before each call of a model; the work so far is kept. Days are those of UTC.",
        ],
        default: "200000  # for example",
    },
    SettingKey {
        section: "ai.budget",
        name: "run_usd_max",
        kind: SettingValueKind::Number(f64::MAX, |settings, dollars| {
            settings.ai.budget.run.micro_usd_max = Some(micro(dollars));
        }),
        about: &[],
        default: "1.0  # for example",
    },
    SettingKey {
        section: "ai.budget",
        name: "day_tokens_max",
        kind: SettingValueKind::Count(|settings, count| {
            settings.ai.budget.day.tokens_max = Some(count)
        }),
        about: &[],
        default: "2000000  # for example",
    },
    SettingKey {
        section: "ai.budget",
        name: "day_usd_max",
        kind: SettingValueKind::Number(f64::MAX, |settings, dollars| {
            settings.ai.budget.day.micro_usd_max = Some(micro(dollars));
        }),
        about: &[],
        default: "10.0  # for example",
    },
];

/// The section after which prices are shown.
pub(super) const LAST_SECTION: &str = "ai.budget";

/// Example of `[ai.prices]` in the settings file; commented out, because a model needs its prices.
pub(super) const PRICES_EXAMPLE: &str = "
# Prices of models that the built-in list does not know, in US dollars per million tokens.
# [ai.prices.\"my-model\"]
# input = 1.0  # for example
# output = 5.0  # for example
# cache_read = 0.1  # for example
# cache_write = 1.25  # for example
";

/// The keys of a model's prices.
pub(super) const RATES: [&str; 4] = ["input", "output", "cache_read", "cache_write"];

/// The prices read so far.
#[derive(Default)]
pub(super) struct GivenRates([Option<f64>; 4]);

impl GivenRates {
    pub(super) fn named(&mut self, name: &str) -> Option<&mut Option<f64>> {
        let at = RATES.iter().position(|known| *known == name)?;
        self.0.get_mut(at)
    }

    pub(super) fn rates(self) -> Option<TokenRates> {
        let [input, output, cache_read, cache_write] = self.0;
        Some(TokenRates {
            input: input?,
            output: output?,
            cache_read,
            cache_write,
        })
    }
}

/// Converts a count; one that does not fit is as good as no limit.
pub(super) fn small(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Converts dollars to millionths; an amount too large to count is no limit.
pub(super) fn micro(dollars: f64) -> u64 {
    (dollars * 1_000_000.0).round() as u64
}
