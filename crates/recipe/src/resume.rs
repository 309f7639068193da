//! Finishing a run that was cut off: the recipe is decided again, and the commands that are left run.

use workspace::Root;

use crate::conflict::OnConflict;
use crate::effect::{CommandTree, StepCommand};
use crate::error::{Error, RecipeErrorKind};
use crate::host::RecipeHost;
use crate::load::Recipe;
use crate::perform::{EffectPerformer, GuardedAction, check_trust};
use crate::report;
use crate::request::{RecipeRunOutcome, RecipeRunRequest};
use crate::rounds::{self, RoundsOutcome};
use crate::run;
use crate::run_journal::{RunJournal, UnfinishedRun};
use crate::session::{RecipeSession, commands};

/// Runs the commands of a cut-off run that had not ended. Its files are there already.
///
/// The commands come from the recipe as it is now, never from the journal: a journal is a file of
/// the project, and a command that a checkout brings along must not run as if it came from a
/// recipe.
pub fn resume(
    recipe: &Recipe,
    root: &Root,
    (request, unfinished): (&RecipeRunRequest, &UnfinishedRun),
    host: &mut dyn RecipeHost,
) -> Result<RecipeRunOutcome, Error> {
    if !unfinished.can_resume() {
        let message = format!(
            "`{}` cannot go on in the middle: later steps depend on what its commands print",
            unfinished.command()
        );
        return Err(Error::new(RecipeErrorKind::Unsupported, message)
            .hint("put its files back with `drawloom run --undo`, then run it again"));
    }
    let lock = run::lock_writer(root, request, host)?;
    let request = RecipeRunRequest {
        conflicts: OnConflict::Force,
        answers: None,
        ..request.clone()
    };
    let session = RecipeSession::with_values(recipe, root, &request, unfinished.values().clone())?
        .hiding(unfinished.before())
        .remembering(unfinished.remembered());
    let mut known = session.known();
    known.values.extend(unfinished.values().clone());
    let walked = match rounds::decide(&session, &mut known, host)? {
        RoundsOutcome::Decided(walked) => *walked,
        RoundsOutcome::Needed(..) => return Err(changed(unfinished)),
    };
    let now: Vec<String> = commands(&walked.found)
        .into_iter()
        .map(|command: &StepCommand| command.what.line())
        .collect();
    let then = unfinished.commands().iter().map(|one| one.command.clone());
    if now != then.collect::<Vec<_>>() {
        return Err(changed(unfinished));
    }
    let left: Vec<CommandTree> = walked
        .runs
        .iter()
        .filter_map(|run| without_done(run, unfinished))
        .collect();
    let commands = left.iter().flat_map(CommandTree::commands);
    check_trust(commands.filter_map(GuardedAction::command), request.trust)?;
    let journal = RunJournal::taken_over(root, unfinished);
    let mut performer = EffectPerformer::new(session.root, host, &request, journal);
    performer.take_over(unfinished, lock.token());
    let ran = performer.resume(&left);
    let ended = run::roll_back_failed(&session, &walked.scope, ran, performer);
    let reports = ended?;
    drop(lock);
    Ok(RecipeRunOutcome::Done(report::report(
        &session, &walked, reports,
    )))
}

fn changed(unfinished: &UnfinishedRun) -> Error {
    let message = format!(
        "the recipe `{}` has changed since `{}` was cut off, so the commands that are left are not \
         known",
        unfinished.recipe(),
        unfinished.command()
    );
    Error::new(RecipeErrorKind::Unsupported, message)
        .hint("put its files back with `drawloom run --undo`, then run it again")
}

/// Returns the part of a run that had not ended, in the same shape.
fn without_done(run: &CommandTree, unfinished: &UnfinishedRun) -> Option<CommandTree> {
    let rest = |runs: &[CommandTree]| -> Vec<CommandTree> {
        runs.iter()
            .filter_map(|run| without_done(run, unfinished))
            .collect()
    };
    match run {
        CommandTree::One(command) => (!unfinished.is_done(command.id)).then(|| run.clone()),
        CommandTree::Sequence { sequence } => {
            let sequence = rest(sequence);
            (!sequence.is_empty()).then_some(CommandTree::Sequence { sequence })
        }
        CommandTree::Parallel { parallel, limit } => {
            let (parallel, limit) = (rest(parallel), *limit);
            (!parallel.is_empty()).then_some(CommandTree::Parallel { parallel, limit })
        }
    }
}
