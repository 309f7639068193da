//! `drawloom ai`: asks one question in the configured mode, and lists the providers' models.

pub(crate) mod ask;
pub(crate) mod models;

use clap::Subcommand;

use crate::exit::{CliError, CliExit};
use crate::session::CliSession;

/// Ask one question, list models
#[derive(Debug, Subcommand)]
pub(crate) enum AiCommand {
    Ask(ask::AiAskArgs),
    Models(models::AiModelsArgs),
}

impl AiCommand {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        match self {
            Self::Ask(ask) => ask.run(session),
            Self::Models(models) => models.run(session),
        }
    }
}
