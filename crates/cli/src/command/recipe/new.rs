//! `drawloom recipe new`: the first files of a recipe.

use std::path::PathBuf;

use clap::Args;

use crate::exit::{CliError, CliExit};
use crate::output;
use crate::session::CliSession;

/// Create a recipe, empty or from a file
///
/// Writes `.drawloom/recipes/NAME` with a `recipe.yml` and a template. With `--from FILE` the
/// template is that file: the recipe's variable `name` replaces the file's own name (`UserCard`,
/// `userCard`, `user-card`) in the same spelling.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom recipe new page
  drawloom recipe new component --from src/components/UserCard.tsx
  drawloom run component OrderList")]
pub(crate) struct RecipeNewArgs {
    /// The recipe's name
    name: String,
    /// A file of the project to turn into the template
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
}

impl RecipeNewArgs {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let project = session.project()?;
        let from = self.from.as_ref().map(|file| session.path(file));
        let written = app::recipes::begin(&project, &self.name, from.as_deref())?;
        for path in &written {
            output::say(format!("wrote {path}"));
        }
        output::say(format!(
            "\nNext:\n  drawloom run {0} NAME --dry-run   see what it would write\n  \
             drawloom recipe validate {0}      check it after a change",
            self.name
        ));
        Ok(CliExit::Done)
    }
}
