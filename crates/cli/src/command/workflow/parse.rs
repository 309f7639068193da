//! `drawloom workflow parse`: what a diagram says, as data.

use std::path::PathBuf;

use clap::Args;

use super::document;
use crate::exit::{Exit, Trouble};
use crate::output::{self, Form};
use crate::session::Session;

/// Read a Mermaid flowchart and print what it says
///
/// Nodes, edges and subgraphs are listed in the order in which Mermaid has them, with its names for
/// shapes and links. A file that Mermaid refuses is refused, with line, column and hint.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom workflow parse review.mmd
  drawloom workflow parse review.mmd --json | jq '.edges[] | .label'
  pbpaste | drawloom workflow parse -")]
pub(crate) struct Parse {
    /// The diagram's file, or `-` for stdin
    file: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Parse {
    pub(super) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let document = document(session, &self.file)?;
        let diagram = document.diagram();
        match Form::from(self.json) {
            Form::Json => output::json(&diagram.to_json())?,
            Form::Text => output::data(diagram.to_string().as_bytes())?,
        }
        Ok(Exit::Done)
    }
}
