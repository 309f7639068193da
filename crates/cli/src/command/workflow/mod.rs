//! `drawloom workflow`: diagrams that run.

mod parse;
mod render;

use std::path::Path;

use clap::Subcommand;
use mermaid::Document;

use crate::exit::{Exit, Problem, Trouble};
use crate::input;
use crate::session::Session;

/// Work with workflows: Mermaid flowcharts that run
#[derive(Debug, Subcommand)]
pub(crate) enum Workflow {
    Parse(parse::Parse),
    Render(render::Render),
}

impl Workflow {
    pub(crate) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        match self {
            Self::Parse(parse) => parse.run(session),
            Self::Render(render) => render.run(session),
        }
    }
}

/// The diagram in a file, or in what is on stdin for `-`.
fn document(session: &Session, file: &Path) -> Result<Document, Trouble> {
    let text = input::file_text(session, file)?;
    mermaid::parse(&text).map_err(|error| refused(&error, file))
}

fn refused(error: &mermaid::Error, file: &Path) -> Trouble {
    let problems = error.problems().iter().map(|problem| Problem {
        code: None,
        message: problem.message.clone(),
        file: Some(file.display().to_string()),
        line: Some(problem.line),
        column: Some(problem.column),
        caret: problem.caret.0,
        width: problem.caret.1,
        excerpt: Some(problem.excerpt.clone()),
        notes: Vec::new(),
        hint: problem.hint.clone(),
    });
    Trouble {
        problems: problems.collect(),
        ..Trouble::failed("E_DIAGRAM", "")
    }
}
