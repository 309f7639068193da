//! `drawloom run`: runs a recipe, a workflow, a task or a plan, whichever a word names.

mod agent;
mod fitting;
mod pick;
mod recipe;
mod recover;
mod workflow;

use app::Project;
use app::run_target::{self, RunTarget, TargetKind};
use clap::Args;

pub(crate) use recipe::{RecipeRunArgs, answers, find, given, no_option, recipe_help, trust};
pub(crate) use recover::say_unfinished;

use crate::arguments;
use crate::command::workflow::StartOptions;
use crate::exit::{CliError, CliExit};
use crate::output::{self, OutputFormat};
use crate::session::CliSession;

/// Run a recipe, a workflow, a task or a plan
///
/// THING is the name of a recipe or a workflow, a recipe's folder or file, the address of a
/// repository with recipes, a workflow's `.mmd` file, or the `.json` file of a task or a plan. The
/// command says on stderr which of them it is. A name that is a recipe's and a workflow's is refused:
/// write the folder or the file then.
///
/// VALUES fill a recipe's positional variables, or the declared inputs of a workflow, in order; each
/// can also be given by name: `--name value`, `--name=value`, `--flag`, `--no-flag`, and for a
/// workflow `name=value`. `drawloom run THING --help` lists them. A value that starts with `--` needs
/// the form with `=`; after `--` everything is a value. Tasks and plans take no values.
///
/// A recipe writes files: if a template asks a question (`@ai`), `ai.mode` or `--ai-mode` decides who
/// answers, and the run continues with the answer. If no mode is set up, nothing is written: the
/// questions go to stdout as one document and the exit code is 2. All files are written together or
/// not at all, and commands run after them.
///
/// A workflow runs from start to end and prints the output of its last step; you are asked for manual
/// tasks on a terminal, and elsewhere the exit code is 2. A task or plan has a model work with tools,
/// and checks the result. Runs of workflows, tasks and plans are stored: `drawloom runs list`.
#[derive(Args, Clone, Debug)]
#[command(
    override_usage = "drawloom run [OPTIONS] THING [VALUES]... [--NAME VALUE]...",
    mut_arg("recipe", |thing| thing
        .value_name("THING")
        .help("What to run: a name, a folder, a file or an address; without one, choose from a list")),
    mut_arg("values", |values| values.help("Values for the recipe or the workflow")),
    mut_arg("resume", |resume| resume
        .help("Continue a killed run: a recipe's remaining commands, a task or a plan from its last turn")),
    after_long_help = "\
Examples:
  drawloom run hello World                         a recipe by name, with a positional value
  drawloom run ./recipes/model.yml --name Invoice  by path, with a named value
  drawloom run model Invoice --ai-mode off         answer its questions yourself
  drawloom run model Invoice --ai-mode stdout      print its questions, exit code 2
  drawloom run model Invoice --answers answers.json   answers from a file
  drawloom run model Invoice --dry-run             show differences and commands, do nothing
  drawloom run model --help                        the recipe's variables
  drawloom run                                     choose from a list
  drawloom run https://example.org/recipes.git model Invoice   straight from a repository
  drawloom run --undo                              undo a run that was killed
  drawloom run review.mmd prNumber=7               a workflow, from start to end
  drawloom run pr-review --input @pr.json --json   by name, with its input from a file
  drawloom run review.mmd --no-wait                leave the work to `drawloom worker`
  drawloom run tasks/greeting.json                 a task
  drawloom run plan.json --resume                  a plan, from where it stopped

Behind the thing's name, `--x` is its variable or input `x` if it declares one; drawloom's own option
of that name then goes before it."
)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) recipe: RecipeRunArgs,
    #[command(flatten)]
    pub(crate) starting: StartOptions,
    /// Start the run and leave the work to `drawloom worker`
    #[arg(long, help_heading = "Workflows", conflicts_with = "wait")]
    pub(crate) no_wait: bool,
    /// Accepted, because `workflow start` has it: a run waits by itself here.
    #[arg(long, hide = true)]
    pub(crate) wait: bool,
}

impl RunArgs {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let project = session.project()?;
        let line = &self.recipe;
        let Some(thing) = &line.recipe else {
            return match line.settles() {
                true => line.settle(session, &project),
                false => self.choose(session, &project),
            };
        };
        let words = line.words_of_name(thing);
        if app::fetched::is_address(thing) {
            return line.run_fetched(session, project, &words);
        }
        let target = match run_target::find(&project, &session.surroundings, &words) {
            Ok(target) => target,
            // An error in the command line itself is reported first.
            Err(error) => match workflow::stored(self, session, (&project, &error))? {
                Some(name) => RunTarget::Workflow(name),
                None => return Err(error.into()),
            },
        };
        match target {
            RunTarget::Recipe(found) => line.run_found(session, project, (&found, &words)),
            RunTarget::Workflow(file) => workflow::run(self, session, (project, &file)),
            RunTarget::Task(file) => agent::run(self, session, (project, TargetKind::Task, &file)),
            RunTarget::Plan(file) => agent::run(self, session, (project, TargetKind::Plan, &file)),
        }
    }

    /// Has the person choose what to run.
    fn choose(&self, session: &CliSession, project: &Project) -> Result<CliExit, CliError> {
        let Some(name) = pick::choose(project, &TargetKind::NAMED, self.recipe.form())? else {
            return Ok(CliExit::Interrupted);
        };
        let mut run = self.clone();
        run.recipe.name_thing(name);
        run.run(session)
    }

    /// Reads the command line again: behind the thing's name, its own values are no options.
    fn reread(&self, names: &[&str]) -> Result<(RunArgs, arguments::GlobalArgs), CliError> {
        let cli = arguments::reread(&self.recipe.words, names)?;
        match cli.command {
            arguments::CliCommand::Run(run) => Ok((*run, cli.global)),
            _ => Err(CliError::usage("the command is not `drawloom run`")),
        }
    }
}

/// Says which kind of thing is run.
fn say_kind(kind: TargetKind, name: &str, form: OutputFormat) {
    if form == OutputFormat::Text {
        output::say(format!("{:<9} {}", kind.as_str(), output::harmless(name)));
    }
}
