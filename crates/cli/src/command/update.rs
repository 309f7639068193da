//! `drawloom update`: a newer recipe merged into what it generated before.

use std::ffi::OsString;
use std::path::PathBuf;

use app::Project;
use app::ai::Attempt;
use clap::Args;
use clap::builder::styling::AnsiColor;
use recipe::{ChangedQuestions, Mode, Request, UpdateOutcome, UpdateReport, UpdateStatus};

use crate::answering::{Answering, Closed, GoOn, Job};
use crate::arguments::Command;
use crate::command::run;
use crate::exit::{Exit, Problem, Trouble};
use crate::outcome::Here;
use crate::output::Form;
use crate::person::{Echo, Person};
use crate::session::Session;
use crate::{arguments, diff, interrupt, outcome, output};

/// Merge a newer recipe into the files it generated
///
/// What a recipe generated is recorded with the values and answers it got. `update` runs the recipe
/// again as it is now and merges the difference into the files, keeping what was edited by hand. Where
/// both changed the same lines, the file gets conflict marks and the exit code is 1.
#[derive(Args, Debug)]
#[command(
    override_usage = "drawloom update [OPTIONS] RECIPE [--NAME VALUE]...",
    after_long_help = "\
Examples:
  drawloom update model --dry-run     show what would change
  drawloom update model               merge it
  drawloom update model --owner me    with a value for a variable that is new
  drawloom update model --ask-again   ask anew where a question has changed"
)]
pub(crate) struct Update {
    /// A recipe's name or path, as it was given to `run`
    recipe: String,
    /// Values for variables that the newer recipe declares: `--NAME VALUE`
    #[arg(value_name = "VALUES", hide = true)]
    pub(crate) values: Vec<String>,
    /// A value by name, for a variable that is named like an option of drawloom
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Answers to questions that the newer recipe asks, as JSON; `-` reads stdin
    #[arg(long, value_name = "FILE")]
    answers: Vec<PathBuf>,
    /// Ask again where a question has changed, instead of keeping the old answer
    #[arg(long)]
    ask_again: bool,
    #[command(flatten)]
    answering: Answering,
    /// Show the differences; write nothing
    #[arg(long)]
    dry_run: bool,
    /// Print the result as one JSON document
    #[arg(long)]
    json: bool,

    /// The command line as it was typed, for the command that runs it again.
    #[arg(skip)]
    pub(crate) words: Vec<OsString>,
    #[arg(skip)]
    pub(crate) wants_recipe_help: bool,
}

impl Update {
    pub(crate) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let mut project = session.project()?;
        run::say_unfinished(&project, Form::from(self.json))?;
        let words = [self.recipe.clone()];
        let found = run::find(session, &project, (&words, &self.words))?;
        if self.wants_recipe_help {
            return run::recipe_help(&found.recipe, &self.recipe, "update");
        }
        let variables = found.recipe.variables();
        let names: Vec<&str> = variables.keys().map(String::as_str).collect();
        let cli = arguments::reread(&self.words, &names)?;
        session.use_color(&cli.global);
        if cli.global.trust {
            project.trust.trust_once();
        }
        match cli.command {
            Command::Update(update) => update.update(session, &project, &found.recipe),
            _ => Ok(Exit::Usage),
        }
    }

    fn update(
        &self,
        session: &Session,
        project: &Project,
        recipe: &recipe::Recipe,
    ) -> Result<Exit, Trouble> {
        let rerun = session.rerun(&self.words);
        let mut request = Request {
            values: run::given(recipe, &self.values, &self.set)?,
            changed_questions: match self.ask_again {
                true => ChangedQuestions::AskAgain,
                false => ChangedQuestions::KeepAnswer,
            },
            writer: session.writer(project, &self.words),
            answers: run::answers(session, &self.answers)?,
            trust: run::trust(project),
            mode: if self.dry_run {
                Mode::DryRun
            } else {
                Mode::Perform
            },
            rerun_command: rerun.command,
            rerun_end: rerun.end,
            answers_path: rerun.answers_path,
            policy: project.settings.agent.policy.clone(),
            limits: project.settings.limits,
            now_ms: Some(session.surroundings.now_ms),
            cancel: Some(interrupt::cancel()),
            ..Request::default()
        };
        let form = Form::from(self.json);
        let mut person = Person::new(Echo::from(form));
        let job = Job {
            session,
            project,
            wish: self.answering.wish(),
            form,
        };
        let ended = job.answer(&mut request, &mut |request| {
            let updated = recipe::update(recipe, &project.root, request, &mut person)?;
            Ok(match updated {
                UpdateOutcome::AnswersNeeded(needed) => Attempt::Needed(Box::new(needed)),
                UpdateOutcome::Done(_) => Attempt::Done(updated),
                UpdateOutcome::Shown(_) => Attempt::Unwritten(updated),
            })
        });
        match job.close(ended, (&self.words, &request.asked))? {
            Closed::To(UpdateOutcome::Done(report), _) => {
                done(&report, form, &session.here(project))
            }
            Closed::To(UpdateOutcome::Shown(report), go_on) => {
                shown(&report, (form, &session.here(project)), go_on.as_ref())
            }
            Closed::To(UpdateOutcome::AnswersNeeded(needed), _) => {
                outcome::answers_needed(&needed, &request, form)
            }
            Closed::Deferred(needed) => outcome::answers_needed(&needed, &request, form),
            Closed::Left(exit) => Ok(exit),
        }
    }
}

fn done(report: &UpdateReport, form: Form, here: &Here) -> Result<Exit, Trouble> {
    match form {
        Form::Json => output::json(&outcome::tagged("done", report))?,
        Form::Text => say(report, here),
    }
    if report.conflicts == 0 {
        return Ok(Exit::Done);
    }
    let conflicted = report
        .files
        .iter()
        .filter(|file| file.status == UpdateStatus::Conflicted);
    let problems = conflicted.map(|file| Problem {
        message: format!(
            "{} was changed here and in the recipe, in the same lines",
            file.path
        ),
        file: Some(file.path.as_str().to_owned()),
        ..Problem::default()
    });
    let problems = problems.collect();
    Err(Trouble {
        problems,
        ..Trouble::failed("E_CONFLICT", "")
    }
    .hint("the files have conflict marks (<<<<<<<): edit them, as after a merge"))
}

fn shown(
    report: &UpdateReport,
    (form, here): (Form, &Here),
    go_on: Option<&GoOn>,
) -> Result<Exit, Trouble> {
    if form == Form::Json {
        let result = outcome::tagged("dry-run", report);
        output::json(&outcome::with_go_on(result, go_on))?;
        return Ok(Exit::Done);
    }
    let differences: String = report
        .files
        .iter()
        .map(|file| diff::colored(&file.diff))
        .collect();
    output::styled(&differences)?;
    say(report, here);
    output::say("dry run: nothing was written");
    outcome::say_go_on(go_on, form);
    Ok(Exit::Done)
}

fn say(report: &UpdateReport, here: &Here) {
    for file in &report.files {
        let (word, color) = match file.status {
            UpdateStatus::Created => ("created", AnsiColor::Green),
            UpdateStatus::Updated => ("updated", AnsiColor::Yellow),
            UpdateStatus::Merged => ("merged", AnsiColor::Yellow),
            UpdateStatus::Conflicted => ("conflict", AnsiColor::Red),
            UpdateStatus::Unchanged => ("unchanged", AnsiColor::BrightBlack),
            UpdateStatus::Moved => ("moved", AnsiColor::Yellow),
            UpdateStatus::DeletedByUser => ("deleted", AnsiColor::BrightBlack),
            UpdateStatus::Exists => ("exists", AnsiColor::Red),
            UpdateStatus::NoLongerGenerated => ("left", AnsiColor::BrightBlack),
        };
        let why = match file.status {
            UpdateStatus::DeletedByUser => "  (you deleted it; it stays deleted)",
            UpdateStatus::Exists => "  (not generated before; left as it is)",
            UpdateStatus::NoLongerGenerated => "  (the recipe no longer makes it)",
            _ => "",
        };
        output::say(outcome::word(
            word,
            color.on_default(),
            &format!("{}{why}", here.shown(file.path.as_str())),
        ));
    }
    for key in &report.answers_kept {
        output::say(format!(
            "kept the old answer to `{key}`, whose question has changed (--ask-again asks anew)"
        ));
    }
    for command in &report.commands_not_run {
        output::say(format!("not run: {command}"));
    }
}
