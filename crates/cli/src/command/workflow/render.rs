//! `drawloom workflow render`: the picture of a diagram, or of a run.

use std::collections::HashMap;
use std::path::PathBuf;

use clap::Args;

use super::{DatabaseArgs, RunPicture, document};
use crate::exit::{CliError, CliExit};
use crate::output;
use crate::session::CliSession;

/// Draw a diagram as SVG
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom workflow render review.mmd -o review.svg
  drawloom workflow render review.mmd | display
  drawloom workflow render --run last -o run.svg     (coloured by how far each step is)")]
pub(crate) struct WorkflowRenderArgs {
    /// The diagram's file, or `-` for stdin
    #[arg(required_unless_present = "run", conflicts_with = "run")]
    file: Option<PathBuf>,
    /// Draw the diagram of this run, coloured by the status of each step
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// The file to write; stdout by default
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    keeping: DatabaseArgs,
}

impl WorkflowRenderArgs {
    pub(super) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let picture = match (&self.run, &self.file) {
            (Some(run), _) => {
                let use_cases = self.keeping.look(session)?;
                let run = use_cases.wait(use_cases.find(run))?;
                let workflow = use_cases.wait(use_cases.workflow(&run))?;
                let events = use_cases.wait(use_cases.events(&run.id))?;
                let reached = RunPicture::of(&run.id, &workflow, &events).statuses();
                workflow.document().to_svg("drawloom", &reached)
            }
            (None, Some(file)) => document(session, file)?.to_svg("drawloom", &HashMap::new()),
            (None, None) => return Err(CliError::usage("give a file, or `--run ID`")),
        };
        let picture = picture.map_err(|error| CliError::failed("E_DIAGRAM", error.to_string()))?;
        match &self.output {
            Some(file) => workspace::fs::write_atomic(&session.path(file), picture.as_bytes())?,
            None => output::data(picture.as_bytes())?,
        }
        Ok(CliExit::Done)
    }
}
