//! `drawloom run WORKFLOW`: its inputs from the command line, and a run from start to end.

use std::path::{Path, PathBuf};

use app::run_target::TargetKind;
use app::workflows::LoadedWorkflow;
use app::{AppErrorCode, Error, Project};

use super::{RunArgs, fitting, say_kind};
use crate::command::workflow::{
    DeclaredInputs, StartWait, WorkflowStart, document_of, inputs_table,
};
use crate::exit::{CliError, CliExit};
use crate::output::{self, OutputFormat};
use crate::session::CliSession;

/// Runs the workflow of a file, or of a name.
pub(super) fn run(
    line: &RunArgs,
    session: &CliSession,
    (mut project, file): (Project, &Path),
) -> Result<CliExit, CliError> {
    let shown = file.display().to_string();
    let sheet = read(&project, session, file)?;
    if let Some(sheet) = sheet.as_ref().filter(|_| line.recipe.wants_recipe_help) {
        return help(sheet, &shown);
    }
    let declared = DeclaredInputs::of(sheet.as_ref());
    let (run, global) = line.reread(&declared.names())?;
    let session = &session.with_globals(&global);
    if global.trust {
        project.trust.trust_once();
    }
    fitting::check(TargetKind::Workflow, &shown, &run.recipe.own_options)?;
    let form = OutputFormat::from(run.recipe.json);
    let wish = run.recipe.answering.wish();
    let use_cases = run.starting.keeping.open_project(session, project, wish)?;
    let sheet = document_of(session, &use_cases, file)?;
    if line.recipe.wants_recipe_help {
        return help(&sheet, &shown);
    }
    say_kind(TargetKind::Workflow, &shown, form);
    let declared = DeclaredInputs::of(Some(&sheet));
    let values = declared.values(&run.recipe.values, &run.recipe.asking.set)?;
    let start = WorkflowStart {
        sheet: &sheet,
        options: &run.starting,
        values,
        wait: match run.no_wait || run.starting.inputs.is_some() {
            true => StartWait::No,
            false => StartWait::Yes,
        },
        form,
    };
    start.begin(session, &use_cases)
}

/// Reads a workflow of the project; those of the database alone are read once it is open.
fn read(
    project: &Project,
    session: &CliSession,
    file: &Path,
) -> Result<Option<LoadedWorkflow>, CliError> {
    match app::workflows::read(project, &session.surroundings, file) {
        Ok(sheet) => Ok(Some(sheet)),
        Err(Error::Own(fault)) if fault.code == AppErrorCode::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Looks for a workflow of this name in the database, where nothing else has the name. A database is
/// made for no name: it must be there, or be named.
pub(super) fn stored(
    line: &RunArgs,
    session: &CliSession,
    (project, error): (&Project, &Error),
) -> Result<Option<PathBuf>, CliError> {
    let (run, _) = line.reread(&[])?;
    let is_missing = matches!(error, Error::Own(fault) if fault.code == AppErrorCode::NotFound);
    let name = run.recipe.recipe.as_deref().filter(|_| is_missing);
    let Some(name) = name else {
        return Ok(None);
    };
    let keeping = &run.starting.keeping;
    if !keeping.is_there(session, project) {
        return Ok(None);
    }
    let use_cases = keeping.look(session)?;
    let versions = use_cases.wait(use_cases.workflow_versions(name, None));
    Ok(match versions {
        Ok(versions) if !versions.is_empty() => Some(name.into()),
        _ => None,
    })
}

fn help(sheet: &LoadedWorkflow, shown: &str) -> Result<CliExit, CliError> {
    let taken = sheet
        .workflow
        .as_ref()
        .map(inputs_table)
        .unwrap_or_default();
    let taken = match taken.as_str() {
        "" => "It declares no inputs.\n",
        taken => taken,
    };
    let shown = output::harmless(shown);
    output::styled(&format!(
        "{shown} is a workflow: {}\n\nUsage: drawloom run {shown} [NAME=VALUE]...\n\n{}\n\
         Its steps: drawloom workflow show {shown}\n\
         Options of drawloom itself, such as --no-wait: drawloom run --help\n",
        output::harmless(sheet.title()),
        output::harmless(taken),
    ))?;
    Ok(CliExit::Done)
}
