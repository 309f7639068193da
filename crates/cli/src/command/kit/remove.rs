//! `drawloom kit remove`: a kit taken out of the project.

use clap::Args;
use serde_json::json;

use crate::exit::{Exit, Trouble};
use crate::output;
use crate::session::Session;

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

impl Remove {
    pub(crate) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let project = session.project()?;
        app::kits::remove(&project, &self.kit)?;
        match self.json {
            true => output::json(&json!({ "removed": self.kit }))?,
            false => output::say(format!("removed {}", self.kit)),
        }
        Ok(Exit::Done)
    }
}
