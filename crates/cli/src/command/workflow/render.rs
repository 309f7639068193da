//! `drawloom workflow render`: the picture of a diagram.

use std::collections::HashMap;
use std::path::PathBuf;

use clap::Args;

use super::document;
use crate::exit::{Exit, Trouble};
use crate::output;
use crate::session::Session;

/// Draw a diagram as SVG
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom workflow render review.mmd -o review.svg
  drawloom workflow render review.mmd | display")]
pub(crate) struct Render {
    /// The diagram's file, or `-` for stdin
    file: PathBuf,
    /// Where the picture goes; stdout unless said
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Render {
    pub(super) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let document = document(session, &self.file)?;
        let picture = document
            .to_svg("drawloom", &HashMap::new())
            .map_err(|error| Trouble::failed("E_DIAGRAM", error.to_string()))?;
        match &self.output {
            Some(file) => workspace::fs::write_atomic(&session.path(file), picture.as_bytes())?,
            None => output::data(picture.as_bytes())?,
        }
        Ok(Exit::Done)
    }
}
