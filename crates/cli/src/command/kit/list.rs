//! `drawloom kit list`: the kits of this project.

use clap::Args;

/// List the kits of this project
///
/// With where each came from, its commit, and its recipes.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom kit list
  drawloom kit list --json")]
pub(crate) struct List {
    /// Print the list as one JSON document
    #[arg(long)]
    json: bool,
}
