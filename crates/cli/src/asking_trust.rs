//! The question whether a project may act, asked on a terminal when a command first needs it.

use app::Surroundings;
use app::trust::{self, Lasting, Untrusted};
use dialoguer::Select;
use dialoguer::theme::ColorfulTheme;

use crate::exit::Trouble;
use crate::output::{self, Form, harmless};

/// What came of the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The decision is kept, and the command can be run again.
    Trusted,
    Refused,
    /// There is nobody to ask, or nothing to ask about.
    NotAsked,
}

/// Asks about what a command was refused, if it was refused for want of trust.
pub(crate) fn ask(trouble: &Trouble, form: Form) -> Result<Answer, Trouble> {
    match &trouble.untrusted {
        Some(untrusted) if form == Form::Text && output::has_person() => decide(untrusted),
        _ => Ok(Answer::NotAsked),
    }
}

/// Shows what it is about, asks, and keeps a yes.
pub(crate) fn decide(untrusted: &Untrusted) -> Result<Answer, Trouble> {
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
        Ok(Some(1)) => Lasting::AsItIs,
        Ok(Some(2)) => Lasting::Always,
        _ => return Ok(Answer::Refused),
    };
    let surroundings = Surroundings::read(Some(&untrusted.folder))?;
    let acts = untrusted.acts.iter().map(|(act, _)| act.clone()).collect();
    trust::add(&untrusted.folder, &surroundings, acts, lasting)?;
    Ok(Answer::Trusted)
}
