//! `drawloom kit remove`: a kit taken out of the project.

use clap::Args;

/// Remove a kit
///
/// Its folder and its line in the lock file go; files that its recipes generated stay.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom kit remove our-kit")]
pub(crate) struct Remove {
    /// The kit's name
    kit: String,
    /// Print the result as one JSON document
    #[arg(long)]
    json: bool,
}
