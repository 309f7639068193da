//! The question whether a project may act, asked on a terminal when a command first needs it.

use app::ProcessEnvironment;
use app::trust::{self, TrustMode, UntrustedActs};
use dialoguer::Select;
use dialoguer::theme::ColorfulTheme;

use crate::exit::CliError;
use crate::output::{self, OutputFormat, harmless};

/// The answer to the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrustAnswer {
    /// The decision is stored, and the command can be run again.
    Trusted,
    Refused,
    /// There is no terminal to ask on, or nothing to ask about.
    NotAsked,
}

/// Asks whether to trust what a command needs, if it was refused for lack of trust.
pub(crate) fn ask(trouble: &CliError, form: OutputFormat) -> Result<TrustAnswer, CliError> {
    match &trouble.untrusted {
        Some(untrusted) if form == OutputFormat::Text && output::has_person() => decide(untrusted),
        _ => Ok(TrustAnswer::NotAsked),
    }
}

/// Shows what it is about, asks, and keeps a yes.
pub(crate) fn decide(untrusted: &UntrustedActs) -> Result<TrustAnswer, CliError> {
    output::say(harmless(&untrusted.to_string()));
    let choices = [
        "No, do nothing",
        "Yes, as it is now: ask again when any of it changes",
        "Yes, always: this folder is my own work",
    ];
    let chosen = Select::with_theme(&ColorfulTheme::default())
        .with_prompt("Trust it?")
        .items(choices)
        .default(0)
        .interact_opt();
    let lasting = match chosen {
        Ok(Some(1)) => TrustMode::AsItIs,
        Ok(Some(2)) => TrustMode::Always,
        _ => return Ok(TrustAnswer::Refused),
    };
    let surroundings = ProcessEnvironment::read(Some(&untrusted.folder))?;
    let acts = untrusted.acts.iter().map(|(act, _)| act.clone()).collect();
    trust::add(&untrusted.folder, &surroundings, acts, lasting)?;
    Ok(TrustAnswer::Trusted)
}
