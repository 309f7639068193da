//! `drawloom schema`: the JSON Schemas of the files that people and models write.

use clap::{Args, ValueEnum};

use crate::exit::{CliError, CliExit};
use crate::output;

/// Print the JSON Schema of a file drawloom reads
///
/// For editors, which then check and complete such a file, and for models that write one.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom schema task > task.schema.json
  drawloom schema build-plan")]
pub(crate) struct SchemaArgs {
    /// The file to describe: task, plan or build-plan
    #[arg(value_name = "FILE_KIND", value_enum, hide_possible_values = true)]
    of: SchemaKind,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SchemaKind {
    Task,
    Plan,
    BuildPlan,
}

impl SchemaArgs {
    pub(crate) fn run(&self) -> Result<CliExit, CliError> {
        output::json(&match self.of {
            SchemaKind::Task => agent::task::schema(),
            SchemaKind::Plan => agent::plan::schema(),
            SchemaKind::BuildPlan => builder::plan::schema(),
        })?;
        Ok(CliExit::Done)
    }
}
