//! `drawloom recipe`: what recipes there are, what they want, whether they are sound.

pub(crate) mod info;
pub(crate) mod list;
pub(crate) mod validate;

use clap::Subcommand;

use super::run::Run;

/// List, explain, check and run recipes
#[derive(Debug, Subcommand)]
pub(crate) enum Recipe {
    List(list::List),
    Info(info::Info),
    Validate(validate::Validate),
    Run(Box<Run>),
}

impl Recipe {
    pub(crate) fn run(
        &self,
        _session: &crate::session::Session,
    ) -> Result<crate::exit::Exit, crate::exit::Trouble> {
        Ok(crate::exit::Exit::Done)
    }
}
