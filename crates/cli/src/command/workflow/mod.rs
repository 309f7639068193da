//! `drawloom workflow`: diagrams that run.

mod asking;
mod check;
mod export;
mod import;
mod opening;
mod parse;
mod render;
mod settle;
mod show;
mod start;
mod view;

use std::path::Path;

use app::workflows::Sheet;
use clap::Subcommand;
use mermaid::Document;

use crate::exit::{Exit, Problem, Trouble};
use crate::input;
use crate::output;
use crate::session::Session;

pub(crate) use asking::{answer_value, ask, how_to_answer};
pub(crate) use opening::{Keeping, input_lines, input_value, text_of};
pub(crate) use settle::{Past, is_for_people, settle};
pub(crate) use view::{Detail, Picture, event_json, place, span, told, width};

/// Work with workflows: Mermaid flowcharts that run
#[derive(Debug, Subcommand)]
pub(crate) enum Workflow {
    Parse(parse::Parse),
    Check(check::Check),
    Show(show::Show),
    Render(render::Render),
    Start(start::Start),
    Import(import::Import),
    Export(export::Export),
}

impl Workflow {
    pub(crate) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        match self {
            Self::Parse(parse) => parse.run(session),
            Self::Check(check) => check.run(session),
            Self::Show(show) => show.run(session),
            Self::Render(render) => render.run(session),
            Self::Start(start) => start.run(session),
            Self::Import(import) => import.run(session),
            Self::Export(export) => export.run(session),
        }
    }
}

/// The diagram in a file, or in what is on stdin for `-`.
fn document(session: &Session, file: &Path) -> Result<Document, Trouble> {
    let text = input::file_text(session, file)?;
    mermaid::parse(&text).map_err(|error| refused(&error, file))
}

/// The workflow in a file, of a name, or on stdin; what is wrong with it is in the sheet.
fn sheet(session: &Session, project: &app::Project, file: &Path) -> Result<Sheet, Trouble> {
    let sheet = match file == Path::new("-") {
        true => {
            let text = input::file_text(session, file)?;
            app::workflows::read_text(project, ("stdin", "stdin"), text)
        }
        false => app::workflows::read(project, &session.surroundings, file)?,
    };
    if sheet.workflow.is_none()
        && let Err(error) = mermaid::parse(&sheet.source)
    {
        return Err(refused(&error, Path::new(&sheet.shown)));
    }
    Ok(sheet)
}

/// The same, refused unless it can run; warnings are said.
fn fine_sheet(session: &Session, project: &app::Project, file: &Path) -> Result<Sheet, Trouble> {
    let sheet = sheet(session, project, file)?;
    if !sheet.is_fine() {
        return Err(wrong(&sheet));
    }
    for warning in &sheet.problems {
        output::say(warning.report(&sheet.shown, &sheet.source).trim_end());
    }
    Ok(sheet)
}

/// Every error of a workflow, with its line underlined; warnings come last.
fn wrong(sheet: &Sheet) -> Trouble {
    let (errors, warnings): (Vec<_>, Vec<_>) = sheet
        .problems
        .iter()
        .partition(|problem| problem.severity == flow::Severity::Error);
    let problems = errors.into_iter().map(|problem| {
        let excerpt = problem.excerpt(&sheet.source);
        Problem {
            code: Some(format!(
                "E_WORKFLOW_{}",
                problem.code.name().replace('-', "_").to_uppercase()
            )),
            message: problem.message.clone(),
            file: Some(sheet.shown.clone()),
            line: Some(problem.line),
            column: Some(problem.column),
            caret: excerpt.caret,
            width: excerpt.width,
            excerpt: Some(excerpt.text),
            notes: Vec::new(),
            hint: problem.hint.clone(),
            answer: None,
        }
    });
    let trouble = Trouble {
        problems: problems.collect(),
        ..Trouble::failed("E_WORKFLOW", "")
    };
    let warnings = warnings.into_iter();
    let warnings: Vec<String> = warnings
        .map(|warning| {
            warning
                .report(&sheet.shown, &sheet.source)
                .trim_end()
                .to_owned()
        })
        .collect();
    match warnings.is_empty() {
        true => trouble,
        false => trouble.and_note(warnings.join("\n\n")),
    }
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
        answer: None,
    });
    Trouble {
        problems: problems.collect(),
        ..Trouble::failed("E_DIAGRAM", "")
    }
}
