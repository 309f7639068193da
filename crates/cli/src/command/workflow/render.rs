//! `drawloom workflow render`: the picture of a diagram, or of a run.

use std::collections::HashMap;
use std::path::PathBuf;

use clap::Args;

use super::{Keeping, Picture, document};
use crate::exit::{Exit, Trouble};
use crate::output;
use crate::session::Session;

/// Draw a diagram as SVG
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom workflow render review.mmd -o review.svg
  drawloom workflow render review.mmd | display
  drawloom workflow render --run last -o run.svg     (coloured by how far each step is)")]
pub(crate) struct Render {
    /// The diagram's file, or `-` for stdin
    #[arg(required_unless_present = "run", conflicts_with = "run")]
    file: Option<PathBuf>,
    /// Draw the diagram of this run, coloured by how far each step is
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// Where the picture goes; stdout unless said
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    keeping: Keeping,
}

impl Render {
    pub(super) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let picture = match (&self.run, &self.file) {
            (Some(run), _) => {
                let loom = self.keeping.look(session)?;
                let run = loom.find(run)?;
                let workflow = loom.workflow(&run)?;
                let events = loom.events(&run.id)?;
                let reached = Picture::of(&run.id, &workflow, &events).statuses();
                workflow.document().to_svg("drawloom", &reached)
            }
            (None, Some(file)) => document(session, file)?.to_svg("drawloom", &HashMap::new()),
            (None, None) => return Err(Trouble::usage("give a file, or `--run ID`")),
        };
        let picture = picture.map_err(|error| Trouble::failed("E_DIAGRAM", error.to_string()))?;
        match &self.output {
            Some(file) => workspace::fs::write_atomic(&session.path(file), picture.as_bytes())?,
            None => output::data(picture.as_bytes())?,
        }
        Ok(Exit::Done)
    }
}
