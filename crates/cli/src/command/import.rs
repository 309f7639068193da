//! `drawloom import`: generators of other tools turned into a kit.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Turn another tool's generators into a kit
#[derive(Debug, Subcommand)]
pub(crate) enum Import {
    Hygen(Hygen),
}

/// Turn hygen's `_templates` into a kit
///
/// Each generator and action becomes a recipe, EJS becomes Jig. What cannot be turned over is listed,
/// with file and line, and left for you.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom import hygen
  drawloom import hygen old/_templates --as ours")]
pub(crate) struct Hygen {
    /// The folder with the generators
    #[arg(default_value = "_templates")]
    dir: PathBuf,
    /// The name of the kit
    #[arg(long = "as", value_name = "KIT", default_value = "hygen")]
    kit: String,
    /// Replace a kit of the same name
    #[arg(long)]
    force: bool,
    /// Print the result as one JSON document
    #[arg(long)]
    json: bool,
}

impl Import {
    pub(crate) fn run(
        &self,
        _session: &crate::session::Session,
    ) -> Result<crate::exit::Exit, crate::exit::Trouble> {
        Ok(crate::exit::Exit::Done)
    }
}
