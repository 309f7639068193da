//! `drawloom ai`: one question to whoever is configured, and what the providers offer.

pub(crate) mod ask;
pub(crate) mod models;

use clap::Subcommand;

use crate::exit::{Exit, Trouble};
use crate::session::Session;

/// Ask one question, list models
#[derive(Debug, Subcommand)]
pub(crate) enum Ai {
    Ask(ask::Ask),
    Models(models::Models),
}

impl Ai {
    pub(crate) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        match self {
            Self::Ask(ask) => ask.run(session),
            Self::Models(models) => models.run(session),
        }
    }
}
