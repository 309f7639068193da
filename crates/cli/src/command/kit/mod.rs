//! `drawloom kit`: recipes shared between projects.

pub(crate) mod add;
pub(crate) mod info;
pub(crate) mod list;
pub(crate) mod remove;

use clap::Subcommand;

/// Add, list and remove kits of recipes
///
/// A kit is a folder with a `kit.yml` and recipes. Kits live in `.drawloom/kits`; where each came from
/// and at which commit is kept in `.drawloom/kits.lock`. Commit both.
#[derive(Debug, Subcommand)]
pub(crate) enum Kit {
    Add(add::Add),
    List(list::List),
    Info(info::Info),
    Remove(remove::Remove),
}

impl Kit {
    pub(crate) fn run(
        &self,
        _session: &crate::session::Session,
    ) -> Result<crate::exit::Exit, crate::exit::Trouble> {
        Ok(crate::exit::Exit::Done)
    }
}
