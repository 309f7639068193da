//! `drawloom man`: the manual page of a command.

use clap::Args;

use crate::arguments;
use crate::exit::{Exit, Trouble};
use crate::output;

/// Print a manual page
///
/// The page goes to stdout in the form that `man` reads.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom man | man -l -           read the page of drawloom
  drawloom man kit add | man -l -   read the page of one command
  drawloom man > ~/.local/share/man/man1/drawloom.1")]
pub(crate) struct Man {
    /// The command, such as `run` or `kit add`
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
}

impl Man {
    pub(crate) fn run(&self) -> Result<Exit, Trouble> {
        let mut tree = arguments::tree();
        tree.build();
        let mut command = &tree;
        for word in &self.command {
            command = command.find_subcommand(word).ok_or_else(|| {
                Trouble::usage(format!("there is no command `{}`", self.command.join(" ")))
                    .hint("see `drawloom --help`")
            })?;
        }
        let mut page = Vec::new();
        let rendered = clap_mangen::Man::new(command.clone()).render(&mut page);
        rendered.map_err(|cause| Trouble::failed("E_FILE", cause.to_string()))?;
        output::data(&page)?;
        Ok(Exit::Done)
    }
}
