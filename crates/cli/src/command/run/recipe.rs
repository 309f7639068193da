//! `drawloom recipe run`: a recipe in two passes, from the command line to files.

use std::ffi::OsString;
use std::path::PathBuf;

use app::Project;
use app::ai::RecipeAttempt;
use app::recipes::FoundRecipe;
use app::run_target::TargetKind;
use clap::{Args, ValueEnum};
use indexmap::IndexMap;
use prompt::Answers;
use recipe::manifest::{RecipeVariable, VariableType};
use recipe::{
    AskMissing, GivenValues, OnConflict, OwnRecipes, RecipeRunMode, RecipeRunOutcome,
    RecipeRunRequest, RecipeTrust, UndefinedPolicy,
};

use crate::ai_args::{AiArgs, AnsweredRun, QuestionRun};
use crate::arguments::CliCommand;
use crate::command::recipe::info;
use crate::exit::{CliError, CliExit};
use crate::output::OutputFormat;
use crate::progress::ProgressSpinner;
use crate::session::CliSession;
use crate::terminal_person::{CommandEcho, TerminalPerson};
use crate::{arguments, input, interrupt, outcome, output, values};

use super::recover::{self, RecoverChoice};
use super::{fitting, pick, say_kind, say_unfinished};

/// Run a recipe
///
/// The same as `drawloom run RECIPE`, for recipes alone: a workflow of the same name is passed over.
/// `drawloom run --help` explains values, questions and what is written.
#[derive(Args, Clone, Debug)]
#[command(
    override_usage = "drawloom recipe run [OPTIONS] RECIPE [VALUES]... [--NAME VALUE]...",
    after_long_help = "\
Examples:
  drawloom recipe run hello World
  drawloom recipe run ./recipes/model.yml --name Invoice --dry-run"
)]
pub(crate) struct RecipeRunArgs {
    /// A recipe's name (`hello`, `kit/recipe`) or the path of its folder or file; without one, choose
    /// from a list
    pub(crate) recipe: Option<String>,
    /// Values for the recipe's variables
    #[arg(value_name = "VALUES")]
    pub(crate) values: Vec<String>,

    #[command(flatten)]
    pub(crate) asking: ValueArgs,
    #[command(flatten)]
    pub(crate) answering: AiArgs,
    #[command(flatten)]
    pub(crate) writing: WriteArgs,
    #[command(flatten)]
    pub(crate) settling: RecoverArgs,

    /// Print the result as one JSON document
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,

    /// The command line as it was typed, for the command that runs it again.
    #[arg(skip)]
    pub(crate) words: Vec<OsString>,
    #[arg(skip)]
    pub(crate) wants_recipe_help: bool,
    /// The options of drawloom itself behind `run`, by their long names.
    #[arg(skip)]
    pub(crate) own_options: Vec<String>,
}

/// Arguments for values and answers.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Questions")]
pub(crate) struct ValueArgs {
    /// Answers to the questions, as JSON; `-` reads stdin; several files are joined
    #[arg(long, value_name = "FILE")]
    pub(crate) answers: Vec<PathBuf>,
    /// A value by name, for a variable that is named like an option of drawloom
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) set: Vec<String>,
    /// Where to ask for missing values: person (on a terminal), document (with the other questions)
    /// or `nobody`
    #[arg(long, value_name = "WHO", value_enum, hide_possible_values = true)]
    pub(crate) ask: Option<AskMode>,
    /// A template for the document of questions, instead of the built-in one
    #[arg(long, value_name = "FILE")]
    pub(crate) prompt_template: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AskMode {
    Person,
    Document,
    Nobody,
}

/// Arguments that limit the changes to the project.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Writing")]
pub(crate) struct WriteArgs {
    /// Show differences and commands; write nothing, run nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Overwrite files that exist and differ
    #[arg(long, conflicts_with = "skip_existing")]
    pub(crate) force: bool,
    /// Leave existing files unchanged
    #[arg(long)]
    pub(crate) skip_existing: bool,
    /// Fail on undefined names in templates
    #[arg(long)]
    pub(crate) strict: bool,
}

/// Arguments for a run that was killed while its commands ran.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Interrupted run")]
pub(crate) struct RecoverArgs {
    /// Run the remaining commands of a killed run
    #[arg(long, conflicts_with = "undo")]
    pub(crate) resume: bool,
    /// Restore the files that a killed run changed
    #[arg(long)]
    pub(crate) undo: bool,
}

impl RecoverArgs {
    fn wish(&self) -> Option<RecoverChoice> {
        match (self.resume, self.undo) {
            (true, _) => Some(RecoverChoice::Resume),
            (_, true) => Some(RecoverChoice::Undo),
            _ => None,
        }
    }
}

impl RecipeRunArgs {
    /// Runs `drawloom recipe run`.
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let project = session.project()?;
        let Some(recipe) = &self.recipe else {
            if self.settles() {
                return self.settle(session, &project);
            }
            let kinds = [TargetKind::Recipe];
            let Some(name) = pick::choose(&project, &kinds, self.form())? else {
                return Ok(CliExit::Interrupted);
            };
            let mut run = self.clone();
            run.name_thing(name);
            return run.run(session);
        };
        let words = self.words_of_name(recipe);
        if app::fetched::is_address(recipe) {
            return self.run_fetched(session, project, &words);
        }
        let found = find(session, &project, (&words, &self.words))?;
        self.run_found(session, project, (&found, &words))
    }

    pub(super) fn form(&self) -> OutputFormat {
        OutputFormat::from(self.json)
    }

    /// True if an interrupted run is to be settled.
    pub(super) fn settles(&self) -> bool {
        self.settling.wish().is_some()
    }

    /// Settles the interrupted run that the options are about.
    pub(super) fn settle(
        &self,
        session: &CliSession,
        project: &Project,
    ) -> Result<CliExit, CliError> {
        match self.settling.wish() {
            Some(wish) => recover::settle(self, session, (project, wish)),
            None => Ok(CliExit::Done),
        }
    }

    /// Adds the name of what is run to the command line.
    pub(super) fn name_thing(&mut self, name: String) {
        self.words.push(name.clone().into());
        self.recipe = Some(name);
    }

    /// Runs a recipe of a repository.
    pub(super) fn run_fetched(
        &self,
        session: &CliSession,
        project: Project,
        words: &[String],
    ) -> Result<CliExit, CliError> {
        let fetched = fetch(&project, words)?;
        self.run_found(session, project, (&fetched.found, words))
    }

    /// Runs a recipe that the first words name, with the rest of the command line read for it.
    pub(super) fn run_found(
        &self,
        session: &CliSession,
        mut project: Project,
        (found, words): (&FoundRecipe, &[String]),
    ) -> Result<CliExit, CliError> {
        if self.wants_recipe_help {
            return recipe_help(&found.recipe, &words[..found.words].join(" "), "run");
        }
        let variables = found.recipe.variables();
        let names: Vec<&str> = variables.keys().map(String::as_str).collect();
        let mut cli = arguments::reread(&self.words, &names)?;
        session.use_color(&cli.global);
        if cli.global.trust {
            project.trust.trust_once();
        }
        let is_any = matches!(cli.command, CliCommand::Run(_));
        let Some(run) = arguments::recipe_line(&mut cli.command) else {
            return Ok(CliExit::Usage);
        };
        let name = words[..found.words].join(" ");
        fitting::check(TargetKind::Recipe, &name, &run.own_options)?;
        if run.settles() {
            return run.settle(session, &project);
        }
        say_unfinished(&project, run.form())?;
        if is_any {
            say_kind(TargetKind::Recipe, &name, run.form());
        }
        let values = run.values[found.words - 1..].to_vec();
        run.run_recipe(session, &project, (&found.recipe, &values))
    }

    /// Runs a recipe that is found, with values for it as they were typed.
    fn run_recipe(
        &self,
        session: &CliSession,
        project: &Project,
        (recipe, values): (&recipe::Recipe, &[String]),
    ) -> Result<CliExit, CliError> {
        let mut request = self.request(session, project, recipe, values)?;
        let form = OutputFormat::from(self.json);
        let mut person = TerminalPerson::new(CommandEcho::from(form));
        let job = QuestionRun {
            session,
            project,
            wish: self.answering.wish(),
            form,
        };
        let mut is_untrusted = false;
        let ended = job.answer(&mut request, &mut |request| {
            let outcome =
                recipe::run(recipe, &project.root, request, &mut person).inspect_err(|error| {
                    is_untrusted = error.kind() == recipe::RecipeErrorKind::UntrustedOwn
                })?;
            Ok(match outcome {
                RecipeRunOutcome::AnswersNeeded(needed) => RecipeAttempt::Needed(Box::new(needed)),
                RecipeRunOutcome::Done(_) => RecipeAttempt::Done(outcome),
                RecipeRunOutcome::Shown(_) | RecipeRunOutcome::Conflicts(_) => {
                    RecipeAttempt::Unwritten(outcome)
                }
            })
        });
        if is_untrusted {
            // Actions found in a template are shown like those in the manifest.
            app::trust::untrusted_recipe(project, recipe)?;
        }
        match job.close(ended, (&self.words, &request.asked))? {
            AnsweredRun::To(outcome, go_on) => {
                let shape = (form, &session.here(project));
                outcome::show(outcome, &request, shape, go_on.as_ref())
            }
            AnsweredRun::Deferred(needed) => outcome::answers_needed(&needed, &request, form),
            AnsweredRun::Left(exit) => Ok(exit),
        }
    }

    /// Returns the recipe's name and the words after it that may still belong to it (`kit cookbook
    /// recipe`).
    pub(super) fn words_of_name(&self, recipe: &str) -> Vec<String> {
        let values = self.values.iter().take_while(|word| !word.starts_with('-'));
        let name = recipe.to_owned();
        std::iter::once(name).chain(values.cloned()).collect()
    }

    pub(super) fn request(
        &self,
        session: &CliSession,
        project: &Project,
        recipe: &recipe::Recipe,
        values: &[String],
    ) -> Result<RecipeRunRequest, CliError> {
        let given = given(recipe, values, &self.asking.set)?;
        let rerun = session.rerun(&self.words);
        Ok(RecipeRunRequest {
            writer: session.writer(project, &self.words),
            values: given,
            answers: answers(session, &self.asking.answers)?,
            conflicts: self.writing.on_conflict(project.settings.run.on_conflict),
            trust: trust(project),
            own_recipes: match self.writing.dry_run {
                true => OwnRecipes::Trusted,
                false => app::trust::own_recipes(project, recipe)?,
            },
            mode: if self.writing.dry_run {
                RecipeRunMode::DryRun
            } else {
                RecipeRunMode::Perform
            },
            ask_missing: self.ask_missing()?,
            rerun_command: rerun.command,
            rerun_end: rerun.end,
            answers_path: rerun.answers_path,
            prompt_template: self.prompt_template(session)?,
            strict: if self.writing.strict {
                UndefinedPolicy::Strict
            } else {
                UndefinedPolicy::Lenient
            },
            policy: project.settings.agent.policy.clone(),
            limits: project.settings.limits,
            now_ms: Some(session.surroundings.now_ms),
            cancel: Some(interrupt::cancel()),
            ..RecipeRunRequest::default()
        })
    }

    fn ask_missing(&self) -> Result<AskMissing, CliError> {
        match self.asking.ask {
            Some(AskMode::Person) if !output::has_person() => {
                Err(CliError::usage("`--ask person` needs a terminal")
                    .hint("give the values as options, or use `--ask document`"))
            }
            Some(AskMode::Person) => Ok(AskMissing::Person),
            Some(AskMode::Document) => Ok(AskMissing::Document),
            Some(AskMode::Nobody) => Ok(AskMissing::Fail),
            None if output::has_person() && !self.json => Ok(AskMissing::Person),
            None => Ok(AskMissing::Fail),
        }
    }

    fn prompt_template(&self, session: &CliSession) -> Result<Option<String>, CliError> {
        let path = self.asking.prompt_template.as_ref();
        path.map(|path| input::file_text(session, path)).transpose()
    }
}

impl WriteArgs {
    /// Returns the conflict rule: a flag sets it for this run, the settings for all.
    fn on_conflict(&self, usual: OnConflict) -> OnConflict {
        match (self.force, self.skip_existing) {
            (true, _) => OnConflict::Force,
            (_, true) => OnConflict::Skip,
            _ => usual,
        }
    }
}

/// Fetches the recipe of a repository, which stays on disk as long as the result lives.
fn fetch(project: &Project, words: &[String]) -> Result<app::fetched::FetchedRecipe, CliError> {
    interrupt::command_started();
    let progress = ProgressSpinner::start(format!("fetching {}", words[0]));
    let fetched = app::fetched::fetch(project, words, &interrupt::cancel());
    drop(progress);
    interrupt::command_finished();
    Ok(fetched?)
}

/// Finds the recipe that the words name. If no recipe matches, an error in the command line itself is
/// reported first.
pub(crate) fn find(
    session: &CliSession,
    project: &Project,
    (name, words): (&[String], &[OsString]),
) -> Result<FoundRecipe, CliError> {
    let found = app::recipes::find(project, &session.surroundings.cwd, name);
    if found.is_err() {
        arguments::reread(words, &[])?;
    }
    Ok(found?)
}

/// Reads the words for a recipe as values by position and by name.
pub(crate) fn given(
    recipe: &recipe::Recipe,
    words: &[String],
    set: &[String],
) -> Result<GivenValues, CliError> {
    let declared = recipe.variables();
    let variables = VariableNames(&declared);
    let mut given = values::read(words, |name| variables.is_flag(name))?;
    values::read_set(set, &mut given)?;
    variables.check_options(&given)?;
    Ok(given)
}

/// Returns the trust of recipes from outside the project: for this once, or by the user's own
/// settings.
pub(crate) fn trust(project: &Project) -> RecipeTrust {
    match project.trust.is_once() || project.settings.run.trust {
        true => RecipeTrust::Given,
        false => RecipeTrust::Asked,
    }
}

/// Reads the answers of all files, later ones over earlier ones; `None` when no file is named.
pub(crate) fn answers(
    session: &CliSession,
    files: &[PathBuf],
) -> Result<Option<Answers>, CliError> {
    let mut joined: Option<Answers> = None;
    for file in files {
        let text = input::file_text(session, file)?;
        let origin = if file.as_os_str() == "-" {
            "stdin".to_owned()
        } else {
            file.display().to_string()
        };
        let answers =
            Answers::read(&text, &origin).map_err(|error| CliError::answers(error, &text))?;
        joined.get_or_insert_default().extend(answers);
    }
    Ok(joined)
}

pub(crate) fn recipe_help(
    recipe: &recipe::Recipe,
    name: &str,
    command: &str,
) -> Result<CliExit, CliError> {
    let mut text = info::as_text(recipe, name);
    text.push_str(&format!(
        "\nOptions of drawloom itself, such as --dry-run: drawloom {command} --help\n"
    ));
    output::styled(&text)?;
    Ok(CliExit::Done)
}

/// Makes the error of a mistyped option.
pub(crate) fn no_option(name: &str, meant: &str) -> CliError {
    CliError::usage(format!("there is no option `--{name}`"))
        .hint(format!("did you mean `--{meant}`?"))
}

/// A recipe's variables by every way to write their names.
struct VariableNames<'a>(&'a IndexMap<String, RecipeVariable>);

impl VariableNames<'_> {
    fn find(&self, name: &str) -> Option<&RecipeVariable> {
        let name = name.split_once('.').map_or(name, |(object, _)| object);
        let wanted = arguments::folded(name);
        let found = self.0.get(name);
        found.or_else(|| {
            self.0
                .iter()
                .find(|(name, _)| arguments::folded(name) == wanted)
                .map(|(_, v)| v)
        })
    }

    fn is_flag(&self, name: &str) -> bool {
        let is_boolean = |variable: &RecipeVariable| variable.kind == VariableType::Boolean;
        let negated = || name.strip_prefix("no-").and_then(|rest| self.find(rest));
        self.find(name).or_else(negated).is_some_and(is_boolean)
    }

    /// Reports a mistyped option of drawloom itself as such, rather than as an unknown variable.
    fn check_options(&self, given: &GivenValues) -> Result<(), CliError> {
        let known = |name: &str| self.find(name).is_some() || self.is_flag(name);
        let near = |name: &str| app::nearest(name, self.0.keys().map(String::as_str)).is_some();
        let mut names = given.named.iter().map(|(name, _)| name.as_str());
        let Some(name) = names.find(|name| !known(name) && !near(name)) else {
            return Ok(());
        };
        let options = arguments::options_of_run();
        match app::nearest(name, options.iter().map(String::as_str)) {
            Some(meant) => Err(no_option(name, meant)),
            None => Ok(()),
        }
    }
}
