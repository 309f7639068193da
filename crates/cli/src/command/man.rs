//! `drawloom man`: the manual page of a command.

use clap::Args;

use crate::arguments;
use crate::exit::{CliError, CliExit};
use crate::output;

/// Print a manual page
///
/// The page goes to stdout in the format that `man` reads.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom man | man -l -           read the page of drawloom
  drawloom man kit add | man -l -   read the page of one command
  drawloom man > ~/.local/share/man/man1/drawloom.1")]
pub(crate) struct ManArgs {
    /// The command, such as `run` or `kit add`
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
}

impl ManArgs {
    pub(crate) fn run(&self) -> Result<CliExit, CliError> {
        let mut tree = arguments::tree();
        tree.build();
        let mut command = &tree;
        for word in &self.command {
            command = command.find_subcommand(word).ok_or_else(|| {
                CliError::usage(format!("there is no command `{}`", self.command.join(" ")))
                    .hint("see `drawloom --help`")
            })?;
        }
        let mut page = Vec::new();
        let rendered = clap_mangen::Man::new(command.clone()).render(&mut page);
        rendered.map_err(|cause| CliError::failed("E_FILE", cause.to_string()))?;
        output::data(&page)?;
        Ok(CliExit::Done)
    }
}
