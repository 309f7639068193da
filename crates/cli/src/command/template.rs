//! `drawloom template`: one template rendered by itself.

use std::path::PathBuf;

use app::templates::{self, Job};
use clap::{Args, Subcommand};

use crate::exit::{Exit, Problem, Trouble};
use crate::input;
use crate::output;
use crate::session::Session;

/// Work with single templates
#[derive(Debug, Subcommand)]
pub(crate) enum Template {
    Render(Render),
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
pub(crate) struct Render {
    /// The template; `.jig` has Jig's layout rules, anything else Edge's
    file: PathBuf,
    /// The template's data: JSON, `@FILE`, or `-` for stdin
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    data: Option<String>,
    /// The folder of partials and components (default: the template's own)
    #[arg(long, value_name = "DIR")]
    templates: Option<PathBuf>,
    /// Fail on names that nobody defined, listing each with its place
    #[arg(long)]
    strict: bool,
}

impl Template {
    pub(crate) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        match self {
            Self::Render(render) => render.run(session),
        }
    }
}

impl Render {
    fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let project = session.project()?;
        let data = match &self.data {
            Some(given) => input::data(session, given)?,
            None => serde_json::Map::new(),
        };
        let job = Job {
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
        Ok(Exit::Done)
    }
}

fn undefined(names: &[template::Undefined]) -> Trouble {
    let problems = names.iter().map(|undefined| Problem {
        message: format!("`{}` is not defined", undefined.name),
        file: Some(undefined.file.clone()),
        line: Some(undefined.line as usize),
        column: Some(undefined.column as usize),
        ..Problem::default()
    });
    let problems = problems.collect();
    Trouble {
        problems,
        ..Trouble::failed("E_UNDEFINED", "")
    }
}
