//! `drawloom kit remove`: a kit taken out of the project.

use clap::Args;
use serde_json::json;

use crate::exit::{CliError, CliExit};
use crate::output;
use crate::session::CliSession;

/// Remove a kit
///
/// Deletes its folder and its line in the lock file; files that its recipes generated stay.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom kit remove our-kit")]
pub(crate) struct KitRemoveArgs {
    /// The kit's name
    kit: String,
    /// Print the result as one JSON document
    #[arg(long)]
    json: bool,
}

impl KitRemoveArgs {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let project = session.project()?;
        app::kits::remove(&project, &self.kit)?;
        match self.json {
            true => output::json(&json!({ "removed": self.kit }))?,
            false => output::say(format!("removed {}", self.kit)),
        }
        Ok(CliExit::Done)
    }
}
