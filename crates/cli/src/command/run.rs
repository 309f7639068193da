//! `drawloom run`: a recipe in two passes, from the command line to files.

mod pick;
mod settle;

pub(crate) use settle::say_unfinished;

use std::ffi::OsString;
use std::path::PathBuf;

use app::Project;
use app::ai::Attempt;
use clap::{Args, ValueEnum};
use indexmap::IndexMap;
use prompt::Answers;
use recipe::manifest::{Type, Variable};
use recipe::{
    AskMissing, Given, Mode, OnConflict, Outcome, OwnRecipes, Request, Strictness, Trust,
};

use crate::answering::{Answering, Closed, Job};
use crate::arguments::Command;
use crate::command::recipe::info;
use crate::exit::{Exit, Trouble};
use crate::output::Form;
use crate::person::{Echo, Person};
use crate::progress::Progress;
use crate::session::Session;
use crate::{arguments, input, interrupt, outcome, output, values};

use settle::Wish;

/// Run a recipe
///
/// VALUES fill the recipe's positional variables in order; every variable can also be given by name:
/// `--name value`, `--name=value`, `--flag`, `--no-flag`. `drawloom run RECIPE --help` lists them.
/// A value that starts with `--` needs the form with `=`; after `--` everything is a value.
///
/// If a template asks (`@ai`), the question goes to whoever `ai.mode` or `--ai-mode` says, and the run
/// goes on with the answer. Where nobody is set up to answer, nothing is written: the questions go to
/// stdout as one document and the exit code is 2. All files are written together or not at all, and
/// commands run after them.
#[derive(Args, Clone, Debug)]
#[command(
    override_usage = "drawloom run [OPTIONS] RECIPE [VALUES]... [--NAME VALUE]...",
    after_long_help = "\
Examples:
  drawloom run hello World                         by name, with a positional value
  drawloom run ./recipes/model.yml --name Invoice  by path, with a named value
  drawloom run model Invoice --ai-mode off         answer its questions yourself
  drawloom run model Invoice --ai-mode stdout      print its questions, exit code 2
  drawloom run model Invoice --answers answers.json   answers from a file
  drawloom run model Invoice --dry-run             the differences and commands, nothing done
  drawloom run model --help                        the recipe's variables
  drawloom run                                     choose a recipe from a list
  drawloom run https://example.org/recipes.git model Invoice   straight from a repository
  drawloom run --undo                              settle a run that was killed

Behind the recipe's name, `--x` is the recipe's variable `x` if it declares one; drawloom's own option
of that name then goes before the recipe's name."
)]
pub(crate) struct Run {
    /// A recipe's name (`hello`, `kit/recipe`) or the path of its folder or file; without one, choose
    /// from a list
    pub(crate) recipe: Option<String>,
    /// Values for the recipe's variables
    #[arg(value_name = "VALUES")]
    pub(crate) values: Vec<String>,

    #[command(flatten)]
    pub(crate) asking: Asking,
    #[command(flatten)]
    pub(crate) answering: Answering,
    #[command(flatten)]
    pub(crate) writing: Writing,
    #[command(flatten)]
    pub(crate) settling: Settling,

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
#[derive(Args, Clone, Debug)]
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
#[derive(Args, Clone, Debug)]
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
    /// Fail on names that templates use and nobody defined
    #[arg(long)]
    pub(crate) strict: bool,
}

/// What to do about a run that was killed while its commands ran.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "A run that was cut off")]
pub(crate) struct Settling {
    /// Run the commands that were left when a run was killed
    #[arg(long, conflicts_with = "undo")]
    pub(crate) resume: bool,
    /// Put the files of a run that was killed back as they were
    #[arg(long)]
    pub(crate) undo: bool,
}

impl Settling {
    fn wish(&self) -> Option<Wish> {
        match (self.resume, self.undo) {
            (true, _) => Some(Wish::Resume),
            (_, true) => Some(Wish::Undo),
            _ => None,
        }
    }
}

impl Run {
    pub(crate) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let mut project = session.project()?;
        let Some(recipe) = &self.recipe else {
            return match self.settling.wish() {
                Some(wish) => settle::settle(self, session, (&project, wish)),
                None => pick::pick(self, session, &project),
            };
        };
        let words = self.words_of_name(recipe);
        let fetched;
        let found = match app::fetched::is_address(recipe) {
            true => {
                fetched = fetch(&project, &words)?;
                &fetched.found
            }
            false => &find(session, &project, (&words, &self.words))?,
        };
        if self.wants_recipe_help {
            return recipe_help(&found.recipe, &words[..found.words].join(" "), "run");
        }
        let variables = found.recipe.variables();
        let names: Vec<&str> = variables.keys().map(String::as_str).collect();
        let cli = arguments::reread(&self.words, &names)?;
        session.use_color(&cli.global);
        if cli.global.trust {
            project.trust.trust_once();
        }
        let (Command::Run(run) | Command::Recipe(super::recipe::Recipe::Run(run))) = cli.command
        else {
            return Ok(Exit::Usage);
        };
        if let Some(wish) = run.settling.wish() {
            return settle::settle(&run, session, (&project, wish));
        }
        say_unfinished(&project, Form::from(run.json))?;
        let values = run.values[found.words - 1..].to_vec();
        run.run_recipe(session, &project, (&found.recipe, &values))
    }

    /// Runs a recipe that is found, with values for it as they were typed.
    pub(super) fn run_recipe(
        &self,
        session: &Session,
        project: &Project,
        (recipe, values): (&recipe::Recipe, &[String]),
    ) -> Result<Exit, Trouble> {
        let mut request = self.request(session, project, recipe, values)?;
        let form = Form::from(self.json);
        let mut person = Person::new(Echo::from(form));
        let job = Job {
            session,
            project,
            wish: self.answering.wish(),
            form,
        };
        let mut is_untrusted = false;
        let ended = job.answer(&mut request, &mut |request| {
            let outcome = recipe::run(recipe, &project.root, request, &mut person)
                .inspect_err(|error| is_untrusted = error.kind() == recipe::Kind::UntrustedOwn)?;
            Ok(match outcome {
                Outcome::AnswersNeeded(needed) => Attempt::Needed(Box::new(needed)),
                Outcome::Done(_) => Attempt::Done(outcome),
                Outcome::Shown(_) | Outcome::Conflicts(_) => Attempt::Unwritten(outcome),
            })
        });
        if is_untrusted {
            // What turned up in a template is shown like what stands in the manifest.
            app::trust::untrusted_recipe(project, recipe)?;
        }
        match job.close(ended, (&self.words, &request.asked))? {
            Closed::To(outcome, go_on) => {
                let shape = (form, &session.here(project));
                outcome::show(outcome, &request, shape, go_on.as_ref())
            }
            Closed::Deferred(needed) => outcome::answers_needed(&needed, &request, form),
            Closed::Left(exit) => Ok(exit),
        }
    }

    /// The recipe's name and the words after it that may still belong to it (`kit cookbook recipe`).
    fn words_of_name(&self, recipe: &str) -> Vec<String> {
        let values = self.values.iter().take_while(|word| !word.starts_with('-'));
        let name = recipe.to_owned();
        std::iter::once(name).chain(values.cloned()).collect()
    }

    fn request(
        &self,
        session: &Session,
        project: &Project,
        recipe: &recipe::Recipe,
        values: &[String],
    ) -> Result<Request, Trouble> {
        let given = given(recipe, values, &self.asking.set)?;
        let rerun = session.rerun(&self.words);
        Ok(Request {
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
                Mode::DryRun
            } else {
                Mode::Perform
            },
            ask_missing: self.ask_missing()?,
            rerun_command: rerun.command,
            rerun_end: rerun.end,
            answers_path: rerun.answers_path,
            prompt_template: self.prompt_template(session)?,
            strict: if self.writing.strict {
                Strictness::Strict
            } else {
                Strictness::Lenient
            },
            policy: project.settings.agent.policy.clone(),
            limits: project.settings.limits,
            now_ms: Some(session.surroundings.now_ms),
            cancel: Some(interrupt::cancel()),
            ..Request::default()
        })
    }

    fn ask_missing(&self) -> Result<AskMissing, Trouble> {
        match self.asking.ask {
            Some(Ask::Person) if !output::has_person() => {
                Err(Trouble::usage("`--ask person` needs a terminal")
                    .hint("give the values as options, or use `--ask document`"))
            }
            Some(Ask::Person) => Ok(AskMissing::Person),
            Some(Ask::Document) => Ok(AskMissing::Document),
            Some(Ask::Nobody) => Ok(AskMissing::Fail),
            None if output::has_person() && !self.json => Ok(AskMissing::Person),
            None => Ok(AskMissing::Fail),
        }
    }

    fn prompt_template(&self, session: &Session) -> Result<Option<String>, Trouble> {
        let path = self.asking.prompt_template.as_ref();
        path.map(|path| input::file_text(session, path)).transpose()
    }
}

impl Writing {
    /// A flag says it for this run, the settings for all.
    fn on_conflict(&self, usual: OnConflict) -> OnConflict {
        match (self.force, self.skip_existing) {
            (true, _) => OnConflict::Force,
            (_, true) => OnConflict::Skip,
            _ => usual,
        }
    }
}

/// The recipe of a repository, which stays on disk as long as the result lives.
fn fetch(project: &Project, words: &[String]) -> Result<app::fetched::Fetched, Trouble> {
    interrupt::command_started();
    let progress = Progress::start(format!("fetching {}", words[0]));
    let fetched = app::fetched::fetch(project, words, &interrupt::cancel());
    drop(progress);
    interrupt::command_finished();
    Ok(fetched?)
}

/// The recipe that words name. Where there is none, a command line that is wrong in itself is said
/// first.
pub(crate) fn find(
    session: &Session,
    project: &Project,
    (name, words): (&[String], &[OsString]),
) -> Result<app::recipes::Found, Trouble> {
    let found = app::recipes::find(project, &session.surroundings.cwd, name);
    if found.is_err() {
        arguments::reread(words, &[])?;
    }
    Ok(found?)
}

/// The words for a recipe, as values by position and by name.
pub(crate) fn given(
    recipe: &recipe::Recipe,
    words: &[String],
    set: &[String],
) -> Result<Given, Trouble> {
    let declared = recipe.variables();
    let variables = Names(&declared);
    let mut given = values::read(words, |name| variables.is_flag(name))?;
    values::read_set(set, &mut given)?;
    variables.check_options(&given)?;
    Ok(given)
}

/// Whether recipes from outside may run commands: for this once, or by the user's own settings.
pub(crate) fn trust(project: &Project) -> Trust {
    match project.trust.is_once() || project.settings.run.trust {
        true => Trust::Given,
        false => Trust::Asked,
    }
}

/// The answers of all files, later ones over earlier ones; `None` when no file is named.
pub(crate) fn answers(session: &Session, files: &[PathBuf]) -> Result<Option<Answers>, Trouble> {
    let mut joined: Option<Answers> = None;
    for file in files {
        let text = input::file_text(session, file)?;
        let origin = if file.as_os_str() == "-" {
            "stdin".to_owned()
        } else {
            file.display().to_string()
        };
        let answers =
            Answers::read(&text, &origin).map_err(|error| Trouble::answers(error, &text))?;
        joined.get_or_insert_default().extend(answers);
    }
    Ok(joined)
}

pub(crate) fn recipe_help(
    recipe: &recipe::Recipe,
    name: &str,
    command: &str,
) -> Result<Exit, Trouble> {
    let mut text = info::as_text(recipe, name);
    text.push_str(&format!(
        "\nOptions of drawloom itself, such as --dry-run: drawloom {command} --help\n"
    ));
    output::styled(&text)?;
    Ok(Exit::Done)
}

/// A recipe's variables by every way to write their names.
struct Names<'a>(&'a IndexMap<String, Variable>);

impl Names<'_> {
    fn find(&self, name: &str) -> Option<&Variable> {
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
        let is_boolean = |variable: &Variable| variable.kind == Type::Boolean;
        let negated = || name.strip_prefix("no-").and_then(|rest| self.find(rest));
        self.find(name).or_else(negated).is_some_and(is_boolean)
    }

    /// A mistyped option of drawloom itself is better named as such than as an unknown variable.
    fn check_options(&self, given: &Given) -> Result<(), Trouble> {
        let known = |name: &str| self.find(name).is_some() || self.is_flag(name);
        let near = |name: &str| app::nearest(name, self.0.keys().map(String::as_str)).is_some();
        let mut names = given.named.iter().map(|(name, _)| name.as_str());
        let Some(name) = names.find(|name| !known(name) && !near(name)) else {
            return Ok(());
        };
        let options = arguments::options_of_run();
        match app::nearest(name, options.iter().map(String::as_str)) {
            Some(meant) => Err(Trouble::usage(format!("there is no option `--{name}`"))
                .hint(format!("did you mean `--{meant}`?"))),
            None => Ok(()),
        }
    }
}
