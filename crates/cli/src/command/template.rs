//! `drawloom template`: one template rendered by itself.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Work with single templates
#[derive(Debug, Subcommand)]
pub(crate) enum Template {
    Render(Render),
}

/// Render a template and print the result
///
/// The result goes to stdout exactly, with nothing added. An error goes to stderr with its code, file,
/// line, column and the line itself.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom template render card.jig --data '{\"name\": \"Ada\"}'
  drawloom template render card.jig --data @card.json --templates partials
  jq .user all.json | drawloom template render card.jig --data -")]
pub(crate) struct Render {
    /// The template; `.jig` has Jig's layout rules, anything else Edge's
    file: PathBuf,
    /// The template's data: JSON, `@FILE`, or `-` for stdin
    #[arg(long, value_name = "JSON")]
    data: Option<String>,
    /// The folder of partials and components (default: the template's own)
    #[arg(long, value_name = "DIR")]
    templates: Option<PathBuf>,
    /// Fail on names that nobody defined, listing each with its place
    #[arg(long)]
    strict: bool,
}

impl Template {
    pub(crate) fn run(
        &self,
        _session: &crate::session::Session,
    ) -> Result<crate::exit::Exit, crate::exit::Trouble> {
        Ok(crate::exit::Exit::Done)
    }
}
