//! What happens to a task: one handler for each kind, all of them the same few stages.
//!
//! ```text
//! code_generation   gather context → prompt → loop → validate ⇄ feed back → result
//! validation                                         validate             → result
//! ai_interaction    gather context → prompt → loop → write the answer     → result
//! planning          gather context → prompt → loop → read the plan ⇄ correct → write → result
//! no_op                                                                      result
//! ```
//!
//! [`run`] picks the handler. Everything it may touch is in a [`Bench`]: files only through the
//! policed workspace, commands only through the toolset's `execute_command`. A conversation that
//! was interrupted is gone on with; checks whose outcome was not recorded are made again.

mod ai_interaction;
mod artifact;
mod bench;
mod code_generation;
mod context;
mod criteria;
mod desk;
mod event;
mod planning;
mod prompt;
mod result;
mod tree;
mod validation;

use crate::journal::Journal;
use crate::task::{Task, TaskKind};

pub use bench::{Bench, Chosen, Models, TaskLimits};
pub use context::{ContextNote, Earlier, NoteKind};
pub use event::{TaskEvent, TaskObserver};
pub use result::{
    AiResult, Artifact, ArtifactState, CheckedFile, CommandRun, FailureKind, OverallStatus, ReadAs,
    Reading, Report, TaskFailure, TaskResult, Unjudged, ValidationDetails,
};

use desk::Desk;

/// A task to be carried out, with what is known from before.
#[derive(Clone, Copy)]
pub struct Order<'a> {
    /// The task.
    pub task: &'a Task,
    /// What the tasks it depends on came to, for the model to read.
    pub earlier: &'a [Earlier],
}

impl<'a> Order<'a> {
    /// A task that stands alone.
    pub fn new(task: &'a Task) -> Order<'a> {
        Order { task, earlier: &[] }
    }
}

/// Carries out a task. The journal keeps its conversation; what is in it already is not done again.
pub async fn run(
    bench: &Bench<'_>,
    order: Order<'_>,
    journal: &mut dyn Journal,
    observer: &mut dyn TaskObserver,
) -> Result<TaskResult, TaskFailure> {
    let mut desk = Desk::new(bench, order, journal, observer);
    desk.begin();
    let ended = match order.task.kind {
        TaskKind::CodeGeneration => code_generation::handle(&mut desk).await,
        TaskKind::Validation => validation::handle(&mut desk).await,
        TaskKind::AiInteraction => ai_interaction::handle(&mut desk).await,
        TaskKind::Planning => planning::handle(&mut desk).await,
        TaskKind::NoOp => Ok(desk.result("Nothing to do.")),
    };
    desk.end(&ended);
    ended
}
