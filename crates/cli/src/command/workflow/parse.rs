//! `drawloom workflow parse`: what a diagram says, as data.

use std::path::PathBuf;

use clap::Args;

use super::document;
use crate::exit::{CliError, CliExit};
use crate::output::{self, OutputFormat};
use crate::session::CliSession;

/// Parse a Mermaid flowchart and print its nodes and edges
///
/// Lists nodes, edges and subgraphs in Mermaid's order, with its names for shapes and links. A file
/// that Mermaid refuses is refused, with line, column and hint.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom workflow parse review.mmd
  drawloom workflow parse review.mmd --json | jq '.edges[] | .label'
  pbpaste | drawloom workflow parse -")]
pub(crate) struct WorkflowParseArgs {
    /// The diagram's file, or `-` for stdin
    file: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl WorkflowParseArgs {
    pub(super) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let document = document(session, &self.file)?;
        let diagram = document.diagram();
        match OutputFormat::from(self.json) {
            OutputFormat::Json => output::json(&diagram.to_json())?,
            OutputFormat::Text => output::data(diagram.to_string().as_bytes())?,
        }
        Ok(CliExit::Done)
    }
}
