//! `drawloom template`: one template rendered by itself.

use std::path::PathBuf;

use app::templates::{self, RenderRequest};
use clap::{Args, Subcommand};

use crate::exit::{CliError, CliExit, CliProblem};
use crate::input;
use crate::output;
use crate::session::CliSession;

/// Work with single templates
#[derive(Debug, Subcommand)]
pub(crate) enum TemplateCommand {
    Render(TemplateRenderArgs),
}

/// Render a template and print the result
///
/// The result goes to stdout exactly, with nothing added. An error goes to stderr with its code, file,
/// line, column (from 0, as Edge counts) and the line itself. `@ai` blocks stay empty.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom template render card.jig --data '{\"name\": \"Ada\"}'
  drawloom template render card.jig --data @card.json --templates partials
  jq .user all.json | drawloom template render card.jig --data -")]
pub(crate) struct TemplateRenderArgs {
    /// The template; `.jig` has Jig's layout rules, anything else Edge's
    file: PathBuf,
    /// The template's data: JSON, `@FILE`, or `-` for stdin
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    data: Option<String>,
    /// The folder of partials and components (default: the template's own)
    #[arg(long, value_name = "DIR")]
    templates: Option<PathBuf>,
    /// Fail on undefined names, and list each with its place
    #[arg(long)]
    strict: bool,
}

impl TemplateCommand {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        match self {
            Self::Render(render) => render.run(session),
        }
    }
}

impl TemplateRenderArgs {
    fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let project = session.project()?;
        let data = match &self.data {
            Some(given) => input::data(session, given)?,
            None => serde_json::Map::new(),
        };
        let job = RenderRequest {
            file: &self.file,
            templates: self.templates.as_deref(),
            data,
            limits: project.settings.limits,
            strict: self.strict,
        };
        let rendered = templates::render(&job, &session.surroundings)?;
        if self.strict && !rendered.undefined.is_empty() {
            return Err(undefined(&rendered.undefined));
        }
        output::data(rendered.text.as_bytes())?;
        let questions = rendered.questionnaire.len();
        if questions > 0 {
            output::say(format!(
                "note: {questions} `@ai` {} left empty; `drawloom run` asks them",
                if questions == 1 {
                    "block was"
                } else {
                    "blocks were"
                }
            ));
        }
        Ok(CliExit::Done)
    }
}

fn undefined(names: &[template::UndefinedVariable]) -> CliError {
    let problems = names.iter().map(|undefined| CliProblem {
        message: format!("`{}` is not defined", undefined.name),
        file: Some(undefined.file.clone()),
        line: Some(undefined.line as usize),
        column: Some(undefined.column as usize),
        ..CliProblem::default()
    });
    let problems = problems.collect();
    CliError {
        problems,
        ..CliError::failed("E_UNDEFINED", "")
    }
}
