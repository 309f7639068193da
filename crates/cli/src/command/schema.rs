//! `drawloom schema`: the JSON Schemas of the files that people and models write.

use clap::{Args, ValueEnum};

use crate::exit::{Exit, Trouble};
use crate::output;

/// Print the JSON Schema of a file drawloom reads
///
/// For editors, which then check and complete such a file, and for models that write one.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom schema task > task.schema.json
  drawloom schema build-plan")]
pub(crate) struct Schema {
    /// Which file: task, plan or build-plan
    #[arg(value_name = "FILE_KIND", value_enum, hide_possible_values = true)]
    of: Of,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Of {
    Task,
    Plan,
    BuildPlan,
}

impl Schema {
    pub(crate) fn run(&self) -> Result<Exit, Trouble> {
        output::json(&match self.of {
            Of::Task => agent::task::schema(),
            Of::Plan => agent::plan::schema(),
            Of::BuildPlan => builder::plan::schema(),
        })?;
        Ok(Exit::Done)
    }
}
