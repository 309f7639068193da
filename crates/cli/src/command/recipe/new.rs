//! `drawloom recipe new`: the first files of a recipe.

use std::path::PathBuf;

use clap::Args;

use crate::exit::{Exit, Trouble};
use crate::output;
use crate::session::Session;

/// Begin a recipe, or make one of a file
///
/// Writes `.drawloom/recipes/NAME` with a `recipe.yml` and a template. With `--from FILE` the template is
/// that file: wherever it says the name it is called by (`UserCard`, `userCard`, `user-card`), the
/// template has the recipe's variable `name` in the same spelling.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom recipe new page
  drawloom recipe new component --from src/components/UserCard.tsx
  drawloom run component OrderList")]
pub(crate) struct New {
    /// What the recipe is called
    name: String,
    /// A file of the project to make the template of
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
}

impl New {
    pub(crate) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let project = session.project()?;
        let from = self.from.as_ref().map(|file| session.path(file));
        let written = app::recipes::begin(&project, &self.name, from.as_deref())?;
        for path in &written {
            output::say(format!("wrote {path}"));
        }
        output::say(format!(
            "\nNext:\n  drawloom run {0} NAME --dry-run     see what it would write\n  \
             drawloom recipe validate {0}    check it after a change",
            self.name
        ));
        Ok(Exit::Done)
    }
}
