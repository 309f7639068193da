//! `drawloom update`: a newer recipe merged into what it generated before.

use clap::Args;

/// Merge a newer recipe into the files it generated
///
/// What a recipe generated is recorded with the values and answers it got. `update` runs the recipe
/// again as it is now and merges the difference into the files, keeping what was edited by hand. Where
/// both changed the same lines, the file gets conflict marks and the exit code is 1.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom update model --dry-run   show what would change
  drawloom update model             merge it")]
pub(crate) struct Update {
    /// A recipe's name or path, as it was given to `run`
    recipe: String,
    /// Show the differences; write nothing
    #[arg(long)]
    dry_run: bool,
    /// Let a recipe from outside the project run commands
    #[arg(long)]
    trust: bool,
    /// Print the result as one JSON document
    #[arg(long)]
    json: bool,
}

impl Update {
    pub(crate) fn run(
        &self,
        _session: &crate::session::Session,
    ) -> Result<crate::exit::Exit, crate::exit::Trouble> {
        Ok(crate::exit::Exit::Done)
    }
}
