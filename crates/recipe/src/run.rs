//! The spine of a run: each stage in its order, none calling another.

use std::ops::ControlFlow;

use serde_json::json;
use workspace::{ChangeSet, Root, WriterLock};

use crate::conflict::{self, ConflictResolution};
use crate::document;
use crate::effect::CommandTree;
use crate::error::Error;
use crate::generation_record::GenerationRecord;
use crate::host::{RecipeEvent, RecipeHost};
use crate::load::Recipe;
use crate::perform::{CommandReport, EffectPerformer};
use crate::report;
use crate::request::{RecipeRunMode, RecipeRunOutcome, RecipeRunRequest};
use crate::rounds::{self, RoundsOutcome};
use crate::run_journal::{RunJournal, RunJournalHeader};
use crate::scope::VariableScope;
use crate::session::{FailedPass, PassResult, RecipeSession};
use crate::step::KnownInputs;

/// Runs a recipe on a project.
///
/// Inputs, then rounds of questions (pass 1), then effects (pass 2), then conflicts, then the files
/// and the commands. Nothing is written before every answer is there and valid, and a failure while
/// performing puts the files back.
pub fn run(
    recipe: &Recipe,
    root: &Root,
    request: &RecipeRunRequest,
    host: &mut dyn RecipeHost,
) -> Result<RecipeRunOutcome, Error> {
    root.recover()?;
    let session = RecipeSession::new(recipe, root, request)?;
    let mut known = session.known();
    let (walked, lock) = match decide(&session, &mut known, host)? {
        RunDecision::Ready(walked, lock) => (*walked, lock),
        RunDecision::Ended(outcome) => return Ok(*outcome),
    };
    let (walked, commands) = perform(&session, &known, walked, (&lock, host))?;
    drop(lock);
    Ok(RecipeRunOutcome::Done(report::report(
        &session, &walked, commands,
    )))
}

enum RunDecision<'s> {
    /// Everything is decided, and no other process writes until the lock is dropped.
    Ready(Box<PassResult>, WriterLock<'s>),
    /// Nothing will be written.
    Ended(Box<RecipeRunOutcome>),
}

/// Decides without the writer lock, because a person or a model may take a long time to answer.
/// Then takes the lock; if files that the decision is based on have changed meanwhile, decides once
/// more under it.
fn decide<'s>(
    session: &RecipeSession<'s>,
    known: &mut KnownInputs,
    host: &mut dyn RecipeHost,
) -> Result<RunDecision<'s>, Error> {
    let ended = |outcome| Ok(RunDecision::Ended(Box::new(outcome)));
    let mut lock = None;
    loop {
        let walked = match rounds::decide(session, known, host)? {
            RoundsOutcome::Decided(walked) => *walked,
            RoundsOutcome::Needed(missing, round, walked) => {
                let provided = session.values(&walked).into_iter().collect();
                let told = (provided, known.asked.clone());
                let needed = document::write(missing, &round, session.request, told)?;
                return ended(RecipeRunOutcome::AnswersNeeded(needed));
            }
        };
        session.check_defined(&walked)?;
        if session.request.mode == RecipeRunMode::DryRun {
            return ended(RecipeRunOutcome::Shown(report::plan(session, &walked)?));
        }
        let walked = match settle_conflicts(session, known, walked, host)? {
            ConflictState::Settled(walked) => walked,
            ConflictState::Open(walked) => {
                return ended(RecipeRunOutcome::Conflicts(walked.found.conflicts));
            }
        };
        let held = match lock.take() {
            Some(held) => return Ok(RunDecision::Ready(walked, held)),
            None => lock_writer(session.root, session.request, host)?,
        };
        let changed = walked.observed.changed(session.root)?;
        if changed.is_empty() {
            return Ok(RunDecision::Ready(walked, held));
        }
        lock = Some(held);
        // A person decided about the text they saw, so a decision about a changed file is dropped.
        known.decisions.retain(|path, _| !changed.contains(path));
        // The rounds begin anew and take the same answers.
        known.answers.clear();
    }
}

/// Waits until no other process writes; tells the host which process it waits for.
pub(crate) fn lock_writer<'r>(
    root: &'r Root,
    request: &RecipeRunRequest,
    host: &mut dyn RecipeHost,
) -> Result<WriterLock<'r>, Error> {
    let mut has_waited = false;
    let lock = root.lock_writer(&request.writer, &mut |holder| {
        has_waited = true;
        host.event(RecipeEvent::WaitingForWriter {
            command: holder.map(|info| info.command.as_str()),
            pid: holder.map(|info| info.pid),
        });
        match request
            .cancel
            .as_ref()
            .is_some_and(exec::CommandCancel::is_cancelled)
        {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    if has_waited {
        host.event(RecipeEvent::WriterLocked);
    }
    Ok(lock?)
}

enum ConflictState {
    Settled(Box<PassResult>),
    Open(Box<PassResult>),
}

/// Decides about files that exist and differ. Such a decision may change other decisions, so the
/// walk may repeat.
fn settle_conflicts(
    session: &RecipeSession<'_>,
    known: &mut KnownInputs,
    mut walked: PassResult,
    host: &mut dyn RecipeHost,
) -> Result<ConflictState, Error> {
    while !walked.found.conflicts.is_empty() {
        let conflicts = &walked.found.conflicts;
        let policy = session.request.conflicts;
        match conflict::settle(conflicts, policy, &mut known.decisions, host)? {
            ConflictResolution::Open => return Ok(ConflictState::Open(Box::new(walked))),
            ConflictResolution::All => walked = session.walk(known)?,
        }
    }
    Ok(ConflictState::Settled(Box::new(walked)))
}

/// Applies the files and runs the commands; on failure the files are put back.
fn perform(
    session: &RecipeSession<'_>,
    known: &KnownInputs,
    planned: PassResult,
    (lock, host): (&WriterLock<'_>, &mut dyn RecipeHost),
) -> Result<(PassResult, Vec<CommandReport>), Error> {
    let journal = RunJournal::new(session.root, header(session, known, (&planned, lock)));
    let performer = EffectPerformer::new(session.root, host, session.request, journal);
    let scope = planned.scope.clone();
    // If a later step needs the result of a command, deciding must wait for performing.
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
            let FailedPass { error, performer } = *failed;
            Err(match performer {
                Some(performer) => rolled_back(session, &scope, error, *performer),
                None => told(session, &scope, error),
            })
        }
    }
}

fn header(
    session: &RecipeSession<'_>,
    known: &KnownInputs,
    (planned, lock): (&PassResult, &WriterLock<'_>),
) -> RunJournalHeader {
    let recipe = &session.unit.recipe;
    RunJournalHeader {
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

/// Returns the reports of a run that succeeded; otherwise restores its files.
pub(crate) fn roll_back_failed(
    session: &RecipeSession<'_>,
    scope: &VariableScope,
    ended: Result<(), Error>,
    performer: EffectPerformer<'_>,
) -> Result<Vec<CommandReport>, Error> {
    match ended {
        Ok(()) => performer.into_reports(),
        Err(error) => Err(rolled_back(session, scope, error, performer)),
    }
}

fn rolled_back(
    session: &RecipeSession<'_>,
    scope: &VariableScope,
    error: Error,
    mut performer: EffectPerformer<'_>,
) -> Error {
    let sentence = performer.roll_back();
    told(session, scope, error.and_then(&sentence))
}

/// Adds the recipe's own message about failures to the error.
fn told(session: &RecipeSession<'_>, scope: &VariableScope, error: Error) -> Error {
    let first = error.diagnostics().first();
    let message = first.map(|diagnostic| diagnostic.message.clone());
    let result = json!({ "success": false, "errors": [message] });
    let on_error = session.unit.recipe.manifest.on_error.as_ref();
    match session.say(on_error, scope, &result) {
        Some(text) => error.and_says(text),
        None => error,
    }
}

/// Performs the remaining effects, and writes the record of the generated files.
fn finish(
    session: &RecipeSession<'_>,
    known: &KnownInputs,
    walked: &PassResult,
    performer: &mut EffectPerformer<'_>,
) -> Result<(), Error> {
    // A question that only appears once a command has run can no longer be asked.
    rounds::check_late(walked)?;
    let mut changes: ChangeSet = walked.changes.clone();
    GenerationRecord::add_to(&mut changes, session, known, walked)?;
    let runs: &[CommandTree] = &walked.runs;
    performer.perform(&changes, runs)
}
