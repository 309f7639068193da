//! `drawloom builds edit`: another plan in the place of the one that waits.

use std::path::PathBuf;

use app::builds::{self, Done};
use app::{Code, Project};
use clap::Args;
use dialoguer::theme::ColorfulTheme;
use dialoguer::{Confirm, Editor};

use crate::building::{Which, decided, document};
use crate::exit::{Exit, Trouble};
use crate::output::{self, Form};
use crate::session::Session;
use crate::{input, interrupt, report, sheet};

/// Edit a plan that waits for a decision
///
/// Opens it in your editor ($VISUAL or $EDITOR), or takes it from a file. A plan that could not be
/// carried out is refused with everything that is wrong with it, and the old one waits on.
/// `drawloom schema build-plan` prints the schema.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom builds edit last
  drawloom builds show last --plan > plan.json && drawloom builds edit last --plan plan.json")]
pub(crate) struct Edit {
    #[command(flatten)]
    which: Which,
    /// The edited plan; `-` is stdin
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// Print the build as one JSON document
    #[arg(long, help_heading = "Output")]
    json: bool,
}

impl Edit {
    pub(crate) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let project = session.project()?;
        let form = Form::from(self.json);
        let id = self.which.find(&project)?;
        let done = match &self.plan {
            Some(file) => {
                let text = input::file_text(session, file)?;
                decided(session, &project, form, |order| {
                    builds::edit(order, &id, &text)
                })?
            }
            None if form == Form::Text && output::has_person() => {
                let job = builds::show(&project, &id)?.job;
                let warnings = Vec::new();
                let mut done = Done { job, warnings };
                in_editor(session, &project, &mut done)?;
                done
            }
            None => {
                let message = "there is no terminal for an editor; give the edited plan with \
                               `--plan FILE`";
                return Err(Trouble::usage(message).hint(format!(
                    "`drawloom builds show {id} --plan > plan.json` prints the one that waits"
                )));
            }
        };
        match form {
            Form::Json => output::json(&document(&done.job))?,
            Form::Text => {
                output::styled(&sheet::whole(&done.job))?;
                output::say(format!("to build it:  drawloom builds approve {id}"));
            }
        }
        Ok(Exit::Done)
    }
}

/// Lets the person at the terminal edit the plan until it can be carried out or they give up.
pub(crate) fn in_editor(
    session: &Session,
    project: &Project,
    done: &mut Done,
) -> Result<(), Trouble> {
    interrupt::watch();
    let id = done.job.id.clone();
    let mut text = match &done.job.plan {
        Some(plan) => plan.to_json(),
        None => {
            let message = format!("the build {id} is `{}` and has no plan", done.job.status());
            return Err(Trouble::failed("E_CONFLICT", message));
        }
    };
    loop {
        let mut editor = Editor::new();
        editor.extension(".json");
        if let Some(chosen) = session.surroundings.editor() {
            editor.executable(chosen);
        }
        let saved = editor.edit(&text).map_err(|cause| {
            Trouble::failed("E_COMMAND", format!("the editor cannot be opened: {cause}"))
                .hint("set EDITOR, or give the edited plan with `--plan FILE`")
        })?;
        let Some(saved) = saved.filter(|saved| *saved != text) else {
            output::say("the plan is as it was");
            return Ok(());
        };
        text = saved;
        let edited = decided(session, project, Form::Text, |order| {
            builds::edit(order, &id, &text)
        });
        match edited {
            Ok(edited) => {
                *done = edited;
                return Ok(());
            }
            Err(trouble) if trouble.code == Code::BuildPlan.as_str() => {
                output::say(report::render(&trouble));
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
