//! `drawloom run --resume` and `--undo`: finishes or undoes a run that was killed while commands
//! ran.

use app::Project;
use app::recipes;
use recipe::{OnConflict, RecipeRunRequest, UnfinishedRun};
use serde_json::json;

use super::recipe::RecipeRunArgs;
use crate::exit::{CliError, CliExit};
use crate::output::{self, OutputFormat};
use crate::session::CliSession;
use crate::terminal_person::{CommandEcho, TerminalPerson};
use crate::{interrupt, outcome, retry_command};

/// The two ways to finish it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecoverChoice {
    Resume,
    Undo,
}

/// Reports runs that earlier processes left half done; a run that is still at work does not count.
pub(crate) fn say_unfinished(project: &Project, form: OutputFormat) -> Result<(), CliError> {
    for run in recipe::unfinished(&project.root)? {
        if form == OutputFormat::Text {
            output::say(format!("note: {}", recipes::cut_off_sentence(&run)));
            output::say(format!("note: {}", recipes::settle_advice(&run)));
        }
    }
    Ok(())
}

pub(super) fn settle(
    run: &RecipeRunArgs,
    session: &CliSession,
    (project, wish): (&Project, RecoverChoice),
) -> Result<CliExit, CliError> {
    let unfinished = find(run, project)?;
    match wish {
        RecoverChoice::Resume => resume(run, session, (project, &unfinished)),
        RecoverChoice::Undo => undo(run, session, (project, &unfinished)),
    }
}

/// Finds the run to settle: the last one, or the last one of the recipe that is named.
fn find(run: &RecipeRunArgs, project: &Project) -> Result<UnfinishedRun, CliError> {
    let mut found = recipe::unfinished(&project.root)?;
    if let Some(name) = &run.recipe {
        found.retain(|one| one.recipe() == name || one.id().ends_with(name.as_str()));
    }
    // The last one first: an earlier one may be what it built upon.
    let last = found.pop();
    last.ok_or_else(|| CliError::failed("E_NOT_FOUND", "there is no interrupted run here"))
}

fn resume(
    run: &RecipeRunArgs,
    session: &CliSession,
    (project, unfinished): (&Project, &UnfinishedRun),
) -> Result<CliExit, CliError> {
    let recipe = recipes::of_unfinished(project, unfinished)?;
    let request = run.request(session, project, &recipe, &[])?;
    let form = OutputFormat::from(run.json);
    let mut person = TerminalPerson::new(CommandEcho::from(form));
    let root = &project.root;
    let done = recipe::resume(&recipe, root, (&request, unfinished), &mut person)?;
    outcome::show(done, &request, (form, &session.here(project)), None)
}

fn undo(
    run: &RecipeRunArgs,
    session: &CliSession,
    (project, unfinished): (&Project, &UnfinishedRun),
) -> Result<CliExit, CliError> {
    let mut person = TerminalPerson::new(CommandEcho::from(OutputFormat::from(run.json)));
    let request = RecipeRunRequest {
        conflicts: match run.writing.force {
            true => OnConflict::Force,
            false => OnConflict::Fail,
        },
        writer: session.writer(project, &run.words),
        cancel: Some(interrupt::cancel()),
        ..RecipeRunRequest::default()
    };
    let report = recipe::undo(&project.root, unfinished, &request, &mut person)?;
    let kept = app::ai::keep_answers(project, unfinished.answers())?;
    if run.json {
        let kept = kept.map(|kept| kept.path.to_string());
        let mut result = outcome::tagged("undone", &report);
        result["answers"] = json!(kept);
        output::json(&result)?;
        return Ok(CliExit::Done);
    }
    for path in &report.put_back {
        output::say(format!("put back  {path}"));
    }
    for path in &report.left {
        output::say(format!(
            "left      {path}  (changed since then; --force puts it back too)"
        ));
    }
    for command in &report.ran {
        output::say(format!(
            "note: what `{command}` did otherwise cannot be undone"
        ));
    }
    if let Some(kept) = kept {
        output::say(format!("the answers are kept in {}", kept.path));
    }
    output::say(format!(
        "undone: {}",
        retry_command::one_line(unfinished.command())
    ));
    Ok(CliExit::Done)
}
