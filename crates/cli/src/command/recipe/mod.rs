//! `drawloom recipe`: what recipes there are, what they want, whether they are sound.

pub(crate) mod info;
pub(crate) mod list;
pub(crate) mod new;
pub(crate) mod validate;

use clap::Subcommand;

use super::run::Run;
use crate::exit::{Exit, Trouble};
use crate::session::Session;

/// List, explain, check and run recipes
#[derive(Debug, Subcommand)]
pub(crate) enum Recipe {
    List(list::List),
    Info(info::Info),
    Validate(validate::Validate),
    New(new::New),
    Run(Box<Run>),
}

impl Recipe {
    pub(crate) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        match self {
            Self::List(list) => list.run(session),
            Self::Info(info) => info.run(session),
            Self::Validate(validate) => validate.run(session),
            Self::New(new) => new.run(session),
            Self::Run(run) => run.run(session),
        }
    }
}
