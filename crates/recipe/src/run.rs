//! The spine of a run: each stage in its order, none calling another.

use serde_json::json;
use workspace::{ChangeSet, Root};

use crate::conflict::{self, Settled};
use crate::document;
use crate::effect::Run;
use crate::error::Error;
use crate::host::Host;
use crate::load::Recipe;
use crate::perform::{CommandReport, Performer};
use crate::record::Record;
use crate::report;
use crate::request::{Mode, Outcome, Request};
use crate::rounds::{self, Rounds};
use crate::session::{Failed, Session, Walked};
use crate::step::Known;

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
    let walked = match rounds::decide(&session, &mut known, host)? {
        Rounds::Decided(walked) => *walked,
        Rounds::Needed(missing, round, walked) => {
            let provided = session.values(&walked).into_iter().collect();
            let needed = document::write(missing, &round, request, provided)?;
            return Ok(Outcome::AnswersNeeded(needed));
        }
    };
    session.check_defined(&walked)?;
    if request.mode == Mode::DryRun {
        return Ok(Outcome::Shown(report::plan(&session, &walked)?));
    }
    let walked = match settle_conflicts(&session, &mut known, walked, host)? {
        Conflicts::Settled(walked) => *walked,
        Conflicts::Open(walked) => return Ok(Outcome::Conflicts(walked.found.conflicts)),
    };
    let (walked, commands) = perform(&session, &known, walked, host)?;
    Ok(Outcome::Done(report::report(&session, &walked, commands)))
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
    host: &mut dyn Host,
) -> Result<(Walked, Vec<CommandReport>), Error> {
    let request = session.request;
    let performer = Performer::new(session.root, host, request.trust, request.cancel.clone());
    let scope = planned.scope.clone();
    // A command whose result a later step needs makes deciding wait for doing.
    let walked = match planned.found.barriers {
        0 => Ok((planned, Box::new(performer))),
        _ => session.walk_performing(known, performer),
    };
    let ended = match walked {
        Ok((walked, mut performer)) => match finish(session, known, &walked, &mut performer) {
            Ok(()) => Ok((walked, performer.into_reports())),
            Err(error) => Err(Failed {
                error,
                performer: Some(performer),
            }),
        },
        Err(failed) => Err(*failed),
    };
    ended.map_err(|Failed { error, performer }| {
        let sentence = performer.map(|mut performer| performer.roll_back());
        let error = match sentence {
            Some(sentence) => error.and_then(&sentence),
            None => error,
        };
        let message = error
            .diagnostics()
            .first()
            .map(|diagnostic| diagnostic.message.clone());
        let result = json!({ "success": false, "errors": [message] });
        let on_error = session.unit.recipe.manifest.on_error.as_ref();
        match session.say(on_error, &scope, &result) {
            Some(text) => error.and_says(text),
            None => error,
        }
    })
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
