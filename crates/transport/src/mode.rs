//! The words for how questions are answered, as settings and flags spell them.

use std::fmt;
use std::str::FromStr;

use llm::{Code, Provider};

use crate::error::Error;

/// Who answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Whatever the settings allow: a provider, else a command, else nobody.
    #[default]
    Auto,
    /// A provider's model.
    Api,
    /// A program, started for each request.
    Command,
    /// A program that stays.
    Stdio,
    /// Whoever reads the printed document.
    Stdout,
    /// The person at the terminal, where there is one.
    Off,
}

impl Mode {
    pub const ALL: [Mode; 6] = [
        Mode::Auto,
        Mode::Api,
        Mode::Command,
        Mode::Stdio,
        Mode::Stdout,
        Mode::Off,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Mode::Auto => "auto",
            Mode::Api => "api",
            Mode::Command => "command",
            Mode::Stdio => "stdio",
            Mode::Stdout => "stdout",
            Mode::Off => "off",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Mode {
    type Err = Error;

    fn from_str(text: &str) -> Result<Mode, Error> {
        let known = Mode::ALL.map(|mode| (mode.name(), mode));
        named(text, "an AI mode", &known).map_err(|wrong| wrong.error(Code::TransportFailed))
    }
}

/// How a command is given several questions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CommandMode {
    /// One run for all of them, which answers in JSON.
    #[default]
    Batched,
    /// One run for each, which answers in plain text.
    PerBlock,
}

impl CommandMode {
    pub const ALL: [CommandMode; 2] = [CommandMode::Batched, CommandMode::PerBlock];

    pub fn name(self) -> &'static str {
        match self {
            CommandMode::Batched => "batched",
            CommandMode::PerBlock => "per-block",
        }
    }
}

impl FromStr for CommandMode {
    type Err = Error;

    fn from_str(text: &str) -> Result<CommandMode, Error> {
        let known = CommandMode::ALL.map(|mode| (mode.name(), mode));
        named(text, "a command mode", &known).map_err(|wrong| wrong.error(Code::TransportFailed))
    }
}

/// The provider a setting names.
pub fn provider(text: &str) -> Result<Provider, Error> {
    let known = Provider::ALL.map(|provider| (provider.name(), provider));
    if let Some(provider) = Provider::from_name(text) {
        return Ok(provider);
    }
    named(text, "a provider", &known).map_err(|wrong| wrong.error(Code::ProviderUnavailable))
}

/// A word that is none of those known.
struct Unknown {
    what: String,
    advice: String,
}

impl Unknown {
    fn error(self, code: Code) -> Error {
        Error::new(code, self.what, self.advice)
    }
}

fn named<T: Copy>(text: &str, what: &str, known: &[(&'static str, T)]) -> Result<T, Unknown> {
    let given = text.trim().to_ascii_lowercase();
    if let Some((_, found)) = known.iter().find(|(name, _)| *name == given) {
        return Ok(*found);
    }
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    let meant = nearest(&given, &names);
    let guess = meant.map_or_else(String::new, |name| format!("Did you mean `{name}`? "));
    Err(Unknown {
        what: format!("{text:?} is not {what}"),
        advice: format!("{guess}Use one of {}.", names.join(", ")),
    })
}

/// Beyond this share of differing letters, a guess would only confuse.
const DISTANCE_SHARE_MAX: f64 = 0.4;

fn nearest<'a>(given: &str, known: &[&'a str]) -> Option<&'a str> {
    let distance = |word: &str| 1.0 - strsim::normalized_damerau_levenshtein(given, word);
    let best = known
        .iter()
        .min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    (distance(best) <= DISTANCE_SHARE_MAX).then_some(*best)
}
