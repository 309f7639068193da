//! `drawloom demo`: the two passes shown from beginning to end, offline.

use clap::Args;

/// Watch the two passes, offline, in a temporary folder
///
/// Runs a recipe with two questions, shows the document it prints, answers from a file that was written
/// beforehand, and shows the files that come out. Needs no network and no key.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom demo")]
pub(crate) struct Demo {}

impl Demo {
    pub(crate) fn run(
        &self,
        _session: &crate::session::Session,
    ) -> Result<crate::exit::Exit, crate::exit::Trouble> {
        Ok(crate::exit::Exit::Done)
    }
}
