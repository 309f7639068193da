//! `drawloom kit info`: one kit and its recipes.

use clap::Args;

/// Show a kit, where it came from, and its recipes
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom kit info our-kit")]
pub(crate) struct Info {
    /// The kit's name
    kit: String,
    /// Print it as one JSON document
    #[arg(long)]
    json: bool,
}
