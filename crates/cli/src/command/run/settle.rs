//! `drawloom run --resume` and `--undo`: what becomes of a run that was killed while commands ran.

use app::Project;
use app::recipes;
use recipe::{OnConflict, Request, Unfinished};
use serde_json::json;

use super::Run;
use crate::exit::{Exit, Trouble};
use crate::output::{self, Form};
use crate::person::{Echo, Person};
use crate::session::Session;
use crate::{interrupt, outcome, rerun};

/// Which way to settle it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    Resume,
    Undo,
}

/// Says what earlier runs left half done; a run that is still at work is none of them.
pub(crate) fn say_unfinished(project: &Project, form: Form) -> Result<(), Trouble> {
    for run in recipe::unfinished(&project.root)? {
        if form == Form::Text {
            output::say(format!("note: {}", recipes::cut_off_sentence(&run)));
            output::say(format!("note: {}", recipes::settle_advice(&run)));
        }
    }
    Ok(())
}

pub(super) fn settle(
    run: &Run,
    session: &Session,
    (project, wish): (&Project, Wish),
) -> Result<Exit, Trouble> {
    let unfinished = find(run, project)?;
    match wish {
        Wish::Resume => resume(run, session, (project, &unfinished)),
        Wish::Undo => undo(run, session, (project, &unfinished)),
    }
}

/// The run that is meant: the last one, or the last one of the recipe that is named.
fn find(run: &Run, project: &Project) -> Result<Unfinished, Trouble> {
    let mut found = recipe::unfinished(&project.root)?;
    if let Some(name) = &run.recipe {
        found.retain(|one| one.recipe() == name || one.id().ends_with(name.as_str()));
    }
    // The last one first: an earlier one may be what it built upon.
    let last = found.pop();
    last.ok_or_else(|| Trouble::failed("E_NOT_FOUND", "no run was cut off here"))
}

fn resume(
    run: &Run,
    session: &Session,
    (project, unfinished): (&Project, &Unfinished),
) -> Result<Exit, Trouble> {
    let recipe = recipes::of_unfinished(project, unfinished)?;
    let request = run.request(session, project, &recipe, &[])?;
    let form = Form::from(run.json);
    let mut person = Person::new(Echo::from(form));
    let root = &project.root;
    let done = recipe::resume(&recipe, root, (&request, unfinished), &mut person)?;
    outcome::show(done, &request, (form, &session.here(project)), None)
}

fn undo(
    run: &Run,
    session: &Session,
    (project, unfinished): (&Project, &Unfinished),
) -> Result<Exit, Trouble> {
    let mut person = Person::new(Echo::from(Form::from(run.json)));
    let request = Request {
        conflicts: match run.writing.force {
            true => OnConflict::Force,
            false => OnConflict::Fail,
        },
        writer: session.writer(project, &run.words),
        cancel: Some(interrupt::cancel()),
        ..Request::default()
    };
    let report = recipe::undo(&project.root, unfinished, &request, &mut person)?;
    let kept = app::ai::keep_answers(project, unfinished.answers())?;
    if run.json {
        let kept = kept.map(|kept| kept.path.to_string());
        let mut result = outcome::tagged("undone", &report);
        result["answers"] = json!(kept);
        output::json(&result)?;
        return Ok(Exit::Done);
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
    output::say(format!("undone: {}", rerun::one_line(unfinished.command())));
    Ok(Exit::Done)
}
