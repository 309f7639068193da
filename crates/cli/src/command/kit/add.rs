//! `drawloom kit add`: a kit from a folder or a git repository.

use clap::Args;

/// Add a kit from a folder or a git repository
///
/// A kit from git is pinned: its commit and a hash of its content go into `.drawloom/kits.lock`.
/// Recipes of a kit run no commands unless you say `--trust`.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom kit add ../our-kit
  drawloom kit add https://example.org/team/kit.git --rev v1.2
  drawloom kit add https://example.org/team/kit.git --force   fetch it anew")]
pub(crate) struct Add {
    /// A folder, or the URL of a git repository
    source: String,
    /// A branch, tag or commit of the repository
    #[arg(long, value_name = "REV")]
    rev: Option<String>,
    /// The name to give the kit, instead of its own
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    /// Replace a kit of the same name
    #[arg(long)]
    force: bool,
    /// Print the result as one JSON document
    #[arg(long)]
    json: bool,
}
