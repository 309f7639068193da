//! The names of the modes, as settings and flags spell them.

use std::fmt;
use std::str::FromStr;

use llm::{AiErrorCode, Provider};

use crate::error::Error;

/// The mode of answering: a model, a program, a person, or a printed document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TransportMode {
    /// Takes the first that the settings allow: a provider, a command, or printing the document.
    #[default]
    Auto,
    /// A provider's model.
    Api,
    /// A program, started for each request.
    Command,
    /// A program that keeps running.
    Stdio,
    /// Prints the document for a reader to answer.
    Stdout,
    /// The person at the terminal, if there is one.
    Off,
}

impl TransportMode {
    pub const ALL: [TransportMode; 6] = [
        TransportMode::Auto,
        TransportMode::Api,
        TransportMode::Command,
        TransportMode::Stdio,
        TransportMode::Stdout,
        TransportMode::Off,
    ];

    pub fn name(self) -> &'static str {
        match self {
            TransportMode::Auto => "auto",
            TransportMode::Api => "api",
            TransportMode::Command => "command",
            TransportMode::Stdio => "stdio",
            TransportMode::Stdout => "stdout",
            TransportMode::Off => "off",
        }
    }
}

impl fmt::Display for TransportMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for TransportMode {
    type Err = Error;

    fn from_str(text: &str) -> Result<TransportMode, Error> {
        let known = TransportMode::ALL.map(|mode| (mode.name(), mode));
        named(text, "an AI mode", &known).map_err(|wrong| wrong.error(AiErrorCode::TransportFailed))
    }
}

/// The way a command gets several questions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CommandMode {
    /// One run for all questions, which answers in JSON.
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
        named(text, "a command mode", &known)
            .map_err(|wrong| wrong.error(AiErrorCode::TransportFailed))
    }
}

/// The provider a setting names.
pub fn provider(text: &str) -> Result<Provider, Error> {
    let known = Provider::ALL.map(|provider| (provider.name(), provider));
    if let Some(provider) = Provider::from_name(text) {
        return Ok(provider);
    }
    named(text, "a provider", &known).map_err(|wrong| wrong.error(AiErrorCode::ProviderUnavailable))
}

/// A word that is not in the list of known ones.
struct UnknownWord {
    what: String,
    advice: String,
}

impl UnknownWord {
    fn error(self, code: AiErrorCode) -> Error {
        Error::new(code, self.what, self.advice)
    }
}

fn named<T: Copy>(text: &str, what: &str, known: &[(&'static str, T)]) -> Result<T, UnknownWord> {
    let given = text.trim().to_ascii_lowercase();
    if let Some((_, found)) = known.iter().find(|(name, _)| *name == given) {
        return Ok(*found);
    }
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    let meant = diagnostics::nearest(&given, names.iter().copied());
    let guess = meant.map_or_else(String::new, |name| format!("Did you mean `{name}`? "));
    Err(UnknownWord {
        what: format!("{text:?} is not {what}"),
        advice: format!("{guess}Use one of {}.", names.join(", ")),
    })
}
