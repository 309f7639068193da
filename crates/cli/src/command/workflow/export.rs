//! `drawloom workflow export`: a workflow for others, as one JSON document.

use std::path::PathBuf;

use clap::Args;

use super::{DatabaseArgs, fine_sheet};
use crate::exit::{CliError, CliExit};
use crate::output;
use crate::session::CliSession;

/// Export a workflow as one JSON document with its steps and agents
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom workflow export pr-review > pipeline.json
  drawloom workflow export review.mmd -o pipeline.json")]
pub(crate) struct WorkflowExportArgs {
    /// The workflow's file, its name, or `-` for stdin
    file: PathBuf,
    /// The file to write; stdout by default
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    keeping: DatabaseArgs,
}

impl WorkflowExportArgs {
    pub(super) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let project = self.keeping.project(session)?;
        let sheet = fine_sheet(session, &project, &self.file)?;
        let Some(workflow) = &sheet.workflow else {
            return Err(super::wrong(&sheet));
        };
        let exported = app::workflows::export(&project, &session.surroundings, (&sheet, workflow));
        match &self.output {
            Some(file) => {
                let text = format!("{exported:#}\n");
                workspace::fs::write_atomic(&session.path(file), text.as_bytes())?;
            }
            None => output::json(&exported)?,
        }
        Ok(CliExit::Done)
    }
}
