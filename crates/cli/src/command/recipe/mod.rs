//! `drawloom recipe`: what recipes there are, what they want, whether they are sound.

pub(crate) mod info;
pub(crate) mod list;
pub(crate) mod new;
pub(crate) mod validate;

use clap::Subcommand;

use super::run::RecipeRunArgs;
use crate::exit::{CliError, CliExit};
use crate::session::CliSession;

/// List, explain, check and run recipes
#[derive(Debug, Subcommand)]
pub(crate) enum RecipeCommand {
    List(list::RecipeListArgs),
    Info(info::RecipeInfoArgs),
    Validate(validate::RecipeValidateArgs),
    New(new::RecipeNewArgs),
    Run(Box<RecipeRunArgs>),
}

impl RecipeCommand {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        match self {
            Self::List(list) => list.run(session),
            Self::Info(info) => info.run(session),
            Self::Validate(validate) => validate.run(session),
            Self::New(new) => new.run(session),
            Self::Run(run) => run.run(session),
        }
    }
}
