//! Finishing a run that was cut off: the recipe is decided again, and the commands that are left run.

use workspace::Root;

use crate::conflict::OnConflict;
use crate::effect::{Command, Run};
use crate::error::{Error, Kind};
use crate::host::Host;
use crate::load::Recipe;
use crate::perform::{Guarded, Performer, check_trust};
use crate::report;
use crate::request::{Outcome, Request};
use crate::rounds::{self, Rounds};
use crate::run;
use crate::session::{Session, commands};
use crate::unfinished::{RunJournal, Unfinished};

/// Runs the commands of a cut-off run that had not ended. Its files are there already.
///
/// The commands come from the recipe as it is now, never from the journal: a journal is a file of the
/// project, and what a checkout brings along must not be run as if a recipe had said it.
pub fn resume(
    recipe: &Recipe,
    root: &Root,
    (request, unfinished): (&Request, &Unfinished),
    host: &mut dyn Host,
) -> Result<Outcome, Error> {
    if !unfinished.can_resume() {
        let message = format!(
            "`{}` cannot go on in the middle: later steps depend on what its commands print",
            unfinished.command()
        );
        return Err(Error::new(Kind::Unsupported, message)
            .hint("put its files back with `drawloom run --undo`, then run it again"));
    }
    let lock = run::lock_writer(root, request, host)?;
    let request = Request {
        conflicts: OnConflict::Force,
        answers: None,
        ..request.clone()
    };
    let session = Session::with_values(recipe, root, &request, unfinished.values().clone())?
        .hiding(unfinished.before())
        .remembering(unfinished.remembered());
    let mut known = session.known();
    known.values.extend(unfinished.values().clone());
    let walked = match rounds::decide(&session, &mut known, host)? {
        Rounds::Decided(walked) => *walked,
        Rounds::Needed(..) => return Err(changed(unfinished)),
    };
    let now: Vec<String> = commands(&walked.found)
        .into_iter()
        .map(|command: &Command| command.what.line())
        .collect();
    let then = unfinished.commands().iter().map(|one| one.command.clone());
    if now != then.collect::<Vec<_>>() {
        return Err(changed(unfinished));
    }
    let left: Vec<Run> = walked
        .runs
        .iter()
        .filter_map(|run| without_done(run, unfinished))
        .collect();
    let commands = left.iter().flat_map(Run::commands);
    check_trust(commands.filter_map(Guarded::command), request.trust)?;
    let journal = RunJournal::taken_over(root, unfinished);
    let mut performer = Performer::new(session.root, host, &request, journal);
    performer.take_over(unfinished, lock.token());
    let ran = performer.resume(&left);
    let ended = run::roll_back_failed(&session, &walked.scope, ran, performer);
    let reports = ended?;
    drop(lock);
    Ok(Outcome::Done(report::report(&session, &walked, reports)))
}

fn changed(unfinished: &Unfinished) -> Error {
    let message = format!(
        "the recipe `{}` has changed since `{}` was cut off, so the commands that are left are not \
         known",
        unfinished.recipe(),
        unfinished.command()
    );
    Error::new(Kind::Unsupported, message)
        .hint("put its files back with `drawloom run --undo`, then run it again")
}

/// The part of a run that had not ended, in the same shape.
fn without_done(run: &Run, unfinished: &Unfinished) -> Option<Run> {
    let rest = |runs: &[Run]| -> Vec<Run> {
        runs.iter()
            .filter_map(|run| without_done(run, unfinished))
            .collect()
    };
    match run {
        Run::One(command) => (!unfinished.is_done(command.id)).then(|| run.clone()),
        Run::Sequence { sequence } => {
            let sequence = rest(sequence);
            (!sequence.is_empty()).then_some(Run::Sequence { sequence })
        }
        Run::Parallel { parallel, limit } => {
            let (parallel, limit) = (rest(parallel), *limit);
            (!parallel.is_empty()).then_some(Run::Parallel { parallel, limit })
        }
    }
}
