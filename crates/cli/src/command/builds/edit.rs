//! `drawloom builds edit`: another plan in the place of the one that waits.

use std::path::PathBuf;

use app::builds::{self, BuildOutcome};
use app::{AppErrorCode, Project};
use clap::Args;
use dialoguer::theme::ColorfulTheme;
use dialoguer::{Confirm, Editor};

use crate::build_run::{BuildIdArgs, decided, document};
use crate::command::workflow::DatabaseArgs;
use crate::exit::{CliError, CliExit};
use crate::output::{self, OutputFormat};
use crate::session::CliSession;
use crate::{build_report, error_report, input, interrupt};

/// Edit a plan that waits for a decision
///
/// Opens it in your editor ($VISUAL or $EDITOR), or takes it from a file. An invalid plan is
/// refused with all its problems, and the old one keeps waiting. `drawloom schema build-plan`
/// prints the schema.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom builds edit last
  drawloom builds show last --plan > plan.json && drawloom builds edit last --plan plan.json")]
pub(crate) struct BuildsEditArgs {
    #[command(flatten)]
    keeping: DatabaseArgs,
    #[command(flatten)]
    which: BuildIdArgs,
    /// The edited plan; `-` is stdin
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// Print the build as one JSON document
    #[arg(long, help_heading = "Output")]
    json: bool,
}

impl BuildsEditArgs {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let session = &self.keeping.session(session);
        let project = session.project()?;
        let form = OutputFormat::from(self.json);
        let id = self.which.find(session, &project)?;
        let done = match &self.plan {
            Some(file) => {
                let text = input::file_text(session, file)?;
                decided(session, &project, form, async |order| {
                    builds::edit(order, &id, &text).await
                })?
            }
            None if form == OutputFormat::Text && output::has_person() => {
                let job = session
                    .wait(builds::show(&project, &session.surroundings, &id))?
                    .job;
                let warnings = Vec::new();
                let mut done = BuildOutcome { job, warnings };
                in_editor(session, &project, &mut done)?;
                done
            }
            None => {
                let message = "there is no terminal for an editor; give the edited plan with \
                               `--plan FILE`";
                return Err(CliError::usage(message).hint(format!(
                    "`drawloom builds show {id} --plan > plan.json` prints the one that waits"
                )));
            }
        };
        match form {
            OutputFormat::Json => output::json(&document(&done.job))?,
            OutputFormat::Text => {
                output::styled(&build_report::whole(&done.job))?;
                output::say(format!("to build it:  drawloom builds approve {id}"));
            }
        }
        Ok(CliExit::Done)
    }
}

/// Lets the person at the terminal edit the plan until it can be carried out or they give up.
pub(crate) fn in_editor(
    session: &CliSession,
    project: &Project,
    done: &mut BuildOutcome,
) -> Result<(), CliError> {
    interrupt::watch();
    let id = done.job.id.clone();
    let mut text = match &done.job.plan {
        Some(plan) => plan.to_json(),
        None => {
            let message = format!("the build {id} is `{}` and has no plan", done.job.status());
            return Err(CliError::failed("E_CONFLICT", message));
        }
    };
    loop {
        let mut editor = Editor::new();
        editor.extension(".json");
        if let Some(chosen) = session.surroundings.editor() {
            editor.executable(chosen);
        }
        let saved = editor.edit(&text).map_err(|cause| {
            CliError::failed("E_COMMAND", format!("the editor cannot be opened: {cause}"))
                .hint("set EDITOR, or give the edited plan with `--plan FILE`")
        })?;
        let Some(saved) = saved.filter(|saved| *saved != text) else {
            output::say("the plan is unchanged");
            return Ok(());
        };
        text = saved;
        let edited = decided(session, project, OutputFormat::Text, async |order| {
            builds::edit(order, &id, &text).await
        });
        match edited {
            Ok(edited) => {
                *done = edited;
                return Ok(());
            }
            Err(trouble) if trouble.code == AppErrorCode::BuildPlan.as_str() => {
                output::say(error_report::render(&trouble));
                if !again() {
                    return Ok(());
                }
            }
            Err(trouble) => return Err(trouble),
        }
    }
}

fn again() -> bool {
    let theme = ColorfulTheme::default();
    let asked = Confirm::with_theme(&theme)
        .with_prompt("Edit it again?")
        .default(true)
        // The Enter that people type after `y` belongs to this question and not to the next one.
        .wait_for_newline(true)
        .interact();
    asked.unwrap_or(false)
}
