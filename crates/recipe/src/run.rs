//! The spine of a run: each stage in its order, none calling another.

use std::ops::ControlFlow;

use serde_json::json;
use workspace::{ChangeSet, Root, WriterLock};

use crate::conflict::{self, Settled};
use crate::document;
use crate::effect::Run;
use crate::error::Error;
use crate::host::{Event, Host};
use crate::load::Recipe;
use crate::perform::{CommandReport, Performer};
use crate::record::Record;
use crate::report;
use crate::request::{Mode, Outcome, Request};
use crate::rounds::{self, Rounds};
use crate::scope::Scope;
use crate::session::{Failed, Session, Walked};
use crate::step::Known;
use crate::unfinished::{Header, RunJournal};

/// Runs a recipe on a project.
///
/// Inputs, then rounds of questions (pass 1), then effects (pass 2), then conflicts, then the files
/// and the commands. Nothing is written before every answer is there and valid, and a failure while
/// performing puts the files back.
pub fn run(
    recipe: &Recipe,
    root: &Root,
    request: &Request,
    host: &mut dyn Host,
) -> Result<Outcome, Error> {
    root.recover()?;
    let session = Session::new(recipe, root, request)?;
    let mut known = session.known();
    let (walked, lock) = match decide(&session, &mut known, host)? {
        Decided::Ready(walked, lock) => (*walked, lock),
        Decided::Ended(outcome) => return Ok(*outcome),
    };
    let (walked, commands) = perform(&session, &known, walked, (&lock, host))?;
    drop(lock);
    Ok(Outcome::Done(report::report(&session, &walked, commands)))
}

enum Decided<'s> {
    /// Everything is decided, and no other process writes until the lock is dropped.
    Ready(Box<Walked>, WriterLock<'s>),
    /// Nothing will be written.
    Ended(Box<Outcome>),
}

/// Decides without keeping anybody out, because a person or a model may take their time. Then takes
/// the writer lock; if what was decided on has changed meanwhile, decides once more under it.
fn decide<'s>(
    session: &Session<'s>,
    known: &mut Known,
    host: &mut dyn Host,
) -> Result<Decided<'s>, Error> {
    let ended = |outcome| Ok(Decided::Ended(Box::new(outcome)));
    let mut lock = None;
    loop {
        let walked = match rounds::decide(session, known, host)? {
            Rounds::Decided(walked) => *walked,
            Rounds::Needed(missing, round, walked) => {
                let provided = session.values(&walked).into_iter().collect();
                let told = (provided, known.asked.clone());
                let needed = document::write(missing, &round, session.request, told)?;
                return ended(Outcome::AnswersNeeded(needed));
            }
        };
        session.check_defined(&walked)?;
        if session.request.mode == Mode::DryRun {
            return ended(Outcome::Shown(report::plan(session, &walked)?));
        }
        let walked = match settle_conflicts(session, known, walked, host)? {
            Conflicts::Settled(walked) => walked,
            Conflicts::Open(walked) => return ended(Outcome::Conflicts(walked.found.conflicts)),
        };
        let held = match lock.take() {
            Some(held) => return Ok(Decided::Ready(walked, held)),
            None => lock_writer(session.root, session.request, host)?,
        };
        let changed = walked.observed.changed(session.root)?;
        if changed.is_empty() {
            return Ok(Decided::Ready(walked, held));
        }
        lock = Some(held);
        // What a person said about a file was about the text they saw.
        known.decisions.retain(|path, _| !changed.contains(path));
        // The rounds begin anew and take the same answers.
        known.answers.clear();
    }
}

/// Waits until no other process writes; the host is told for whom.
pub(crate) fn lock_writer<'r>(
    root: &'r Root,
    request: &Request,
    host: &mut dyn Host,
) -> Result<WriterLock<'r>, Error> {
    let mut has_waited = false;
    let lock = root.lock_writer(&request.writer, &mut |holder| {
        has_waited = true;
        host.event(Event::WaitingForWriter {
            command: holder.map(|info| info.command.as_str()),
            pid: holder.map(|info| info.pid),
        });
        match request
            .cancel
            .as_ref()
            .is_some_and(exec::Cancel::is_cancelled)
        {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    if has_waited {
        host.event(Event::WriterLocked);
    }
    Ok(lock?)
}

enum Conflicts {
    Settled(Box<Walked>),
    Open(Box<Walked>),
}

/// Decides about files that exist and differ; what is decided may change what else is.
fn settle_conflicts(
    session: &Session<'_>,
    known: &mut Known,
    mut walked: Walked,
    host: &mut dyn Host,
) -> Result<Conflicts, Error> {
    while !walked.found.conflicts.is_empty() {
        let conflicts = &walked.found.conflicts;
        let policy = session.request.conflicts;
        match conflict::settle(conflicts, policy, &mut known.decisions, host)? {
            Settled::Open => return Ok(Conflicts::Open(Box::new(walked))),
            Settled::All => walked = session.walk(known)?,
        }
    }
    Ok(Conflicts::Settled(Box::new(walked)))
}

/// Applies the files and runs the commands; on failure the files are put back.
fn perform(
    session: &Session<'_>,
    known: &Known,
    planned: Walked,
    (lock, host): (&WriterLock<'_>, &mut dyn Host),
) -> Result<(Walked, Vec<CommandReport>), Error> {
    let journal = RunJournal::new(session.root, header(session, known, (&planned, lock)));
    let performer = Performer::new(session.root, host, session.request, journal);
    let scope = planned.scope.clone();
    // A command whose result a later step needs makes deciding wait for doing.
    let walked = match planned.found.barriers {
        0 => Ok((planned, Box::new(performer))),
        _ => session.walk_performing(known, performer),
    };
    match walked {
        Ok((walked, mut performer)) => {
            let ended = finish(session, known, &walked, &mut performer);
            let reports = roll_back_failed(session, &scope, ended, *performer)?;
            Ok((walked, reports))
        }
        Err(failed) => {
            let Failed { error, performer } = *failed;
            Err(match performer {
                Some(performer) => rolled_back(session, &scope, error, *performer),
                None => told(session, &scope, error),
            })
        }
    }
}

fn header(
    session: &Session<'_>,
    known: &Known,
    (planned, lock): (&Walked, &WriterLock<'_>),
) -> Header {
    let recipe = &session.unit.recipe;
    Header {
        version: 1,
        recipe: recipe.manifest.name.clone(),
        id: recipe.id.clone(),
        command: session.request.writer.command.clone(),
        token: lock.token().to_owned(),
        values: session.values(planned),
        answers: known.answers.clone().into_iter().collect(),
        has_barriers: planned.found.barriers > 0,
    }
}

/// The reports of a run that ended well; otherwise its files are put back.
pub(crate) fn roll_back_failed(
    session: &Session<'_>,
    scope: &Scope,
    ended: Result<(), Error>,
    performer: Performer<'_>,
) -> Result<Vec<CommandReport>, Error> {
    match ended {
        Ok(()) => performer.into_reports(),
        Err(error) => Err(rolled_back(session, scope, error, performer)),
    }
}

fn rolled_back(
    session: &Session<'_>,
    scope: &Scope,
    error: Error,
    mut performer: Performer<'_>,
) -> Error {
    let sentence = performer.roll_back();
    told(session, scope, error.and_then(&sentence))
}

/// The error with what the recipe itself says about failures.
fn told(session: &Session<'_>, scope: &Scope, error: Error) -> Error {
    let first = error.diagnostics().first();
    let message = first.map(|diagnostic| diagnostic.message.clone());
    let result = json!({ "success": false, "errors": [message] });
    let on_error = session.unit.recipe.manifest.on_error.as_ref();
    match session.say(on_error, scope, &result) {
        Some(text) => error.and_says(text),
        None => error,
    }
}

/// Performs what is still to be done, with the record of what was generated.
fn finish(
    session: &Session<'_>,
    known: &Known,
    walked: &Walked,
    performer: &mut Performer<'_>,
) -> Result<(), Error> {
    // A question that only appears once a command has run can no longer be asked.
    rounds::check_late(walked)?;
    let mut changes: ChangeSet = walked.changes.clone();
    Record::add_to(&mut changes, session, known, walked)?;
    let runs: &[Run] = &walked.runs;
    performer.perform(&changes, runs)
}
