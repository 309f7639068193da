//! `drawloom run`: a recipe in two passes, from the command line to files.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Run a recipe
///
/// VALUES fill the recipe's positional variables in order; every variable can also be given by name:
/// `--name value`, `--name=value`, `--flag`, `--no-flag`. `drawloom run RECIPE --help` lists them.
/// A value that starts with `--` needs the form with `=`; after `--` everything is a value.
///
/// If a template asks (`@ai`) and `--answers` does not answer, nothing is written: the questions go to
/// stdout as one document and the exit code is 2. All files are written together or not at all, and
/// commands run after them.
#[derive(Args, Debug)]
#[command(
    override_usage = "drawloom run [OPTIONS] RECIPE [VALUES]... [--NAME VALUE]...",
    after_long_help = "\
Examples:
  drawloom run hello World                         by name, with a positional value
  drawloom run ./recipes/model.yml --name Invoice  by path, with a named value
  drawloom run model Invoice > questions.md        first pass: the questions, exit code 2
  drawloom run model Invoice --answers answers.json   second pass: the files
  drawloom run model Invoice --dry-run             the differences and commands, nothing done
  drawloom run model --help                        the recipe's variables"
)]
pub(crate) struct Run {
    /// A recipe's name (`hello`, `kit/recipe`) or the path of its folder or file
    pub(crate) recipe: String,
    /// Values for the recipe's variables
    #[arg(value_name = "VALUES")]
    pub(crate) values: Vec<String>,

    #[command(flatten)]
    pub(crate) asking: Asking,
    #[command(flatten)]
    pub(crate) writing: Writing,

    /// Print the result as one JSON document
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,

    /// The command line as it was typed, for the command that runs it again.
    #[arg(skip)]
    pub(crate) words: Vec<OsString>,
    #[arg(skip)]
    pub(crate) wants_recipe_help: bool,
}

/// Where values and answers come from.
#[derive(Args, Debug)]
#[command(next_help_heading = "Questions")]
pub(crate) struct Asking {
    /// Answers to the questions, as JSON; `-` reads stdin; several files are joined
    #[arg(long, value_name = "FILE")]
    pub(crate) answers: Vec<PathBuf>,
    /// A value by name, for a variable that is named like an option of drawloom
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) set: Vec<String>,
    /// Who is asked for missing values: person (on a terminal), document (with the other questions) or nobody
    #[arg(long, value_name = "WHO", value_enum, hide_possible_values = true)]
    pub(crate) ask: Option<Ask>,
    /// Who answers `@ai` questions; `stdout` prints them
    #[arg(
        long,
        value_name = "MODE",
        default_value = "stdout",
        hide_default_value = true
    )]
    pub(crate) ai_mode: String,
    /// A template for the document of questions, instead of the built-in one
    #[arg(long, value_name = "FILE")]
    pub(crate) prompt_template: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Ask {
    Person,
    Document,
    Nobody,
}

/// What may happen to the project.
#[derive(Args, Debug)]
#[command(next_help_heading = "Writing")]
pub(crate) struct Writing {
    /// Show differences and commands; write nothing, run nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Overwrite files that exist and differ
    #[arg(long, conflicts_with = "skip_existing")]
    pub(crate) force: bool,
    /// Leave files that exist as they are
    #[arg(long)]
    pub(crate) skip_existing: bool,
    /// Let a recipe from outside the project run commands
    #[arg(long)]
    pub(crate) trust: bool,
    /// Fail on names that templates use and nobody defined
    #[arg(long)]
    pub(crate) strict: bool,
}

impl Run {
    pub(crate) fn run(
        &self,
        _session: &crate::session::Session,
    ) -> Result<crate::exit::Exit, crate::exit::Trouble> {
        Ok(crate::exit::Exit::Done)
    }
}
