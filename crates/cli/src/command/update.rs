//! `drawloom update`: a newer recipe merged into what it generated before.

use std::ffi::OsString;
use std::path::PathBuf;

use app::Project;
use app::ai::RecipeAttempt;
use clap::Args;
use clap::builder::styling::AnsiColor;
use recipe::{
    ChangedQuestions, RecipeRunMode, RecipeRunRequest, UpdateOutcome, UpdateReport, UpdateStatus,
};

use crate::ai_args::{AiArgs, AnsweredRun, QuestionRun, ResumeHint};
use crate::arguments::CliCommand;
use crate::command::run;
use crate::exit::{CliError, CliExit, CliProblem};
use crate::outcome::CurrentFolder;
use crate::output::OutputFormat;
use crate::session::CliSession;
use crate::terminal_person::{CommandEcho, TerminalPerson};
use crate::{arguments, diff, interrupt, outcome, output};

/// Merge a newer recipe into the files it generated
///
/// Each run of a recipe is recorded with its files, values and answers. `update` runs the current
/// recipe again and merges the difference into the files, keeping your edits. Where both changed
/// the same lines, the file gets conflict marks and the exit code is 1.
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
pub(crate) struct UpdateArgs {
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
    /// Ask changed questions again, instead of keeping the old answers
    #[arg(long)]
    ask_again: bool,
    #[command(flatten)]
    answering: AiArgs,
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

impl UpdateArgs {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let mut project = session.project()?;
        run::say_unfinished(&project, OutputFormat::from(self.json))?;
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
            CliCommand::Update(update) => update.update(session, &project, &found.recipe),
            _ => Ok(CliExit::Usage),
        }
    }

    fn update(
        &self,
        session: &CliSession,
        project: &Project,
        recipe: &recipe::Recipe,
    ) -> Result<CliExit, CliError> {
        let rerun = session.rerun(&self.words);
        let mut request = RecipeRunRequest {
            values: run::given(recipe, &self.values, &self.set)?,
            changed_questions: match self.ask_again {
                true => ChangedQuestions::AskAgain,
                false => ChangedQuestions::KeepAnswer,
            },
            writer: session.writer(project, &self.words),
            answers: run::answers(session, &self.answers)?,
            trust: run::trust(project),
            mode: if self.dry_run {
                RecipeRunMode::DryRun
            } else {
                RecipeRunMode::Perform
            },
            rerun_command: rerun.command,
            rerun_end: rerun.end,
            answers_path: rerun.answers_path,
            policy: project.settings.agent.policy.clone(),
            limits: project.settings.limits,
            now_ms: Some(session.surroundings.now_ms),
            cancel: Some(interrupt::cancel()),
            ..RecipeRunRequest::default()
        };
        let form = OutputFormat::from(self.json);
        let mut person = TerminalPerson::new(CommandEcho::from(form));
        let job = QuestionRun {
            session,
            project,
            wish: self.answering.wish(),
            form,
        };
        let ended = job.answer(&mut request, &mut |request| {
            let updated = recipe::update(recipe, &project.root, request, &mut person)?;
            Ok(match updated {
                UpdateOutcome::AnswersNeeded(needed) => RecipeAttempt::Needed(Box::new(needed)),
                UpdateOutcome::Done(_) => RecipeAttempt::Done(updated),
                UpdateOutcome::Shown(_) => RecipeAttempt::Unwritten(updated),
            })
        });
        match job.close(ended, (&self.words, &request.asked))? {
            AnsweredRun::To(UpdateOutcome::Done(report), _) => {
                done(&report, form, &session.here(project))
            }
            AnsweredRun::To(UpdateOutcome::Shown(report), go_on) => {
                shown(&report, (form, &session.here(project)), go_on.as_ref())
            }
            AnsweredRun::To(UpdateOutcome::AnswersNeeded(needed), _) => {
                outcome::answers_needed(&needed, &request, form)
            }
            AnsweredRun::Deferred(needed) => outcome::answers_needed(&needed, &request, form),
            AnsweredRun::Left(exit) => Ok(exit),
        }
    }
}

fn done(
    report: &UpdateReport,
    form: OutputFormat,
    here: &CurrentFolder,
) -> Result<CliExit, CliError> {
    match form {
        OutputFormat::Json => output::json(&outcome::tagged("done", report))?,
        OutputFormat::Text => say(report, here),
    }
    if report.conflicts == 0 {
        return Ok(CliExit::Done);
    }
    let conflicted = report
        .files
        .iter()
        .filter(|file| file.status == UpdateStatus::Conflicted);
    let problems = conflicted.map(|file| CliProblem {
        message: format!(
            "{} was changed here and in the recipe, in the same lines",
            file.path
        ),
        file: Some(file.path.as_str().to_owned()),
        ..CliProblem::default()
    });
    let problems = problems.collect();
    Err(CliError {
        problems,
        ..CliError::failed("E_CONFLICT", "")
    }
    .hint("the files have conflict marks (<<<<<<<): edit them, as after a merge"))
}

fn shown(
    report: &UpdateReport,
    (form, here): (OutputFormat, &CurrentFolder),
    go_on: Option<&ResumeHint>,
) -> Result<CliExit, CliError> {
    if form == OutputFormat::Json {
        let result = outcome::tagged("dry-run", report);
        output::json(&outcome::with_go_on(result, go_on))?;
        return Ok(CliExit::Done);
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
    Ok(CliExit::Done)
}

fn say(report: &UpdateReport, here: &CurrentFolder) {
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
