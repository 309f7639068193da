//! `drawloom workflow`: diagrams that run.

mod ask_person;
mod check;
mod database_args;
mod export;
mod import;
mod inputs;
mod parse;
mod render;
mod run_to_end;
mod show;
mod start;
mod versions;
mod view;

use std::path::Path;

use app::workflows::LoadedWorkflow;
use clap::Subcommand;
use mermaid::DiagramDocument;

use crate::exit::{CliError, CliExit, CliProblem};
use crate::input;
use crate::output;
use crate::session::CliSession;
use crate::use_cases::TerminalUseCases;

pub(crate) use ask_person::{answer_value, ask, how_to_answer};
pub(crate) use database_args::{
    DatabaseArgs, input_lines, input_of, input_value, text_of, value_words,
};
pub(crate) use inputs::DeclaredInputs;
pub(crate) use run_to_end::{SeenEvents, is_for_people, settle};
pub(crate) use show::inputs_table;
pub(crate) use start::{StartOptions, StartWait, WorkflowStart};
pub(crate) use view::{EventDetail, RunPicture, event_json, place, span, told, width};

/// Work with workflows: Mermaid flowcharts that run
#[derive(Debug, Subcommand)]
pub(crate) enum WorkflowCommand {
    Parse(parse::WorkflowParseArgs),
    Check(check::WorkflowCheckArgs),
    Show(show::WorkflowShowArgs),
    Render(render::WorkflowRenderArgs),
    Start(start::WorkflowStartArgs),
    Import(import::WorkflowImportArgs),
    Export(export::WorkflowExportArgs),
    List(versions::ListWorkflows),
    Versions(versions::ListVersions),
    #[command(name = "diff")]
    Compare(versions::CompareVersions),
    Restore(versions::RestoreVersion),
    Push(versions::PushWorkflows),
    Pull(versions::PullWorkflows),
}

impl WorkflowCommand {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        match self {
            Self::Parse(parse) => parse.run(session),
            Self::Check(check) => check.run(session),
            Self::Show(show) => show.run(session),
            Self::Render(render) => render.run(session),
            Self::Start(start) => start.run(session),
            Self::Import(import) => import.run(session),
            Self::Export(export) => export.run(session),
            Self::List(list) => list.run(session),
            Self::Versions(versions) => versions.run(session),
            Self::Compare(compare) => compare.run(session),
            Self::Restore(restore) => restore.run(session),
            Self::Push(push) => push.run(session),
            Self::Pull(pull) => pull.run(session),
        }
    }
}

/// Reads the diagram in a file, or on stdin for `-`.
fn document(session: &CliSession, file: &Path) -> Result<DiagramDocument, CliError> {
    let text = input::file_text(session, file)?;
    mermaid::parse(&text).map_err(|error| refused(&error, file))
}

/// Reads the workflow in a file, of a name, or on stdin; its problems are in the sheet.
fn sheet(
    session: &CliSession,
    project: &app::Project,
    file: &Path,
) -> Result<LoadedWorkflow, CliError> {
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

/// Reads a workflow and refuses it unless it can run; prints its warnings.
pub(crate) fn fine_sheet(
    session: &CliSession,
    project: &app::Project,
    file: &Path,
) -> Result<LoadedWorkflow, CliError> {
    accepted(sheet(session, project, file)?)
}

/// Reads a workflow of a file or a name, from the database where the project has none of the name.
pub(crate) fn document_of(
    session: &CliSession,
    use_cases: &TerminalUseCases,
    file: &Path,
) -> Result<LoadedWorkflow, CliError> {
    match fine_sheet(session, use_cases.project(), file) {
        Err(error) if error.code == "E_NOT_FOUND" => {
            let name = file.display().to_string();
            match use_cases.wait(use_cases.sheet(&name)) {
                Ok(sheet) => accepted(sheet),
                Err(_) => Err(error),
            }
        }
        read => read,
    }
}

/// Refuses a workflow that cannot run; prints the warnings of any other.
fn accepted(sheet: LoadedWorkflow) -> Result<LoadedWorkflow, CliError> {
    if !sheet.is_fine() {
        return Err(wrong(&sheet));
    }
    for warning in &sheet.problems {
        output::say(warning.report(&sheet.shown, &sheet.source).trim_end());
    }
    Ok(sheet)
}

/// Makes the error of a workflow's problems, each with its line underlined; warnings come last.
fn wrong(sheet: &LoadedWorkflow) -> CliError {
    let (errors, warnings): (Vec<_>, Vec<_>) = sheet
        .problems
        .iter()
        .partition(|problem| problem.severity == flow::ProblemSeverity::Error);
    let problems = errors.into_iter().map(|problem| {
        let excerpt = problem.excerpt(&sheet.source);
        CliProblem {
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
    let trouble = CliError {
        problems: problems.collect(),
        ..CliError::failed("E_WORKFLOW", "")
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

fn refused(error: &mermaid::Error, file: &Path) -> CliError {
    let problems = error.problems().iter().map(|problem| CliProblem {
        code: None,
        message: problem.message.clone(),
        file: Some(file.display().to_string()),
        line: Some(problem.line),
        column: Some(problem.column),
        caret: problem.excerpt.caret,
        width: problem.excerpt.width,
        excerpt: Some(problem.excerpt.text.clone()),
        notes: Vec::new(),
        hint: problem.hint.clone(),
        answer: None,
    });
    CliError {
        problems: problems.collect(),
        ..CliError::failed("E_DIAGRAM", "")
    }
}
