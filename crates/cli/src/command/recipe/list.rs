//! `drawloom recipe list`: every recipe that `run` finds by name.

use clap::Args;

/// List the recipes of this project and its kits
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom recipe list
  drawloom recipe list --json")]
pub(crate) struct List {
    /// Print the list as one JSON document
    #[arg(long)]
    json: bool,
}
