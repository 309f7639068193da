//! `drawloom recipe info`: what a recipe wants and what it does.

use clap::Args;

/// Show a recipe's variables, steps and examples
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom recipe info hello
  drawloom recipe info ./recipes/model.yml --json")]
pub(crate) struct Info {
    /// A recipe's name or path
    recipe: String,
    /// Print it as one JSON document
    #[arg(long)]
    json: bool,
}
