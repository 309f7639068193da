//! `drawloom recipe validate`: everything that is wrong with recipes, without running them.

use clap::Args;

/// Check recipes without running them
///
/// Reads the manifest and every template it names, and reports everything that is wrong with file and
/// line. Without a name, all recipes of the project and its kits are checked.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom recipe validate
  drawloom recipe validate hello --json")]
pub(crate) struct Validate {
    /// Recipes' names or paths
    recipes: Vec<String>,
    /// Print the result as one JSON document
    #[arg(long)]
    json: bool,
}
