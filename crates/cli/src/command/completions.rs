//! `drawloom completions`: the completion script of a shell.

use clap::Args;
use clap_complete::Shell;

use crate::arguments;
use crate::exit::{CliError, CliExit};
use crate::output;

/// Print the completion script of a shell
///
/// The script goes to stdout; put it where your shell looks for completions.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom completions bash > ~/.local/share/bash-completion/completions/drawloom
  drawloom completions zsh > ~/.zfunc/_drawloom
  drawloom completions fish > ~/.config/fish/completions/drawloom.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

impl CompletionsArgs {
    pub(crate) fn run(&self) -> Result<CliExit, CliError> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut arguments::tree(), "drawloom", &mut script);
        output::data(&script)?;
        Ok(CliExit::Done)
    }
}
