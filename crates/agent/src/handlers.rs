//! Runs a task: one handler for each kind, all of them the same few stages.
//!
//! ```text
//! code_generation   gather context → prompt → loop → validate ⇄ feed back → result
//! validation                                         validate             → result
//! ai_interaction    gather context → prompt → loop → write the answer     → result
//! planning          gather context → prompt → loop → read the plan ⇄ correct → write → result
//! no_op                                                                      result
//! ```
//!
//! [`run`] picks the handler. Everything it may touch is in a [`HandlerContext`]: files only through the
//! policed workspace, commands only through the toolset's `execute_command`. An interrupted
//! conversation is continued; checks whose outcome was not recorded are made again.

mod ai_interaction;
mod artifact;
mod code_generation;
mod context;
mod criteria;
mod event;
mod handler_context;
mod planning;
mod prompt;
mod result;
mod task_run;
mod tree;
mod validation;

use crate::journal::TurnJournal;
use crate::task::{Task, TaskKind};

pub use context::{ContextNote, EarlierResult, NoteKind};
pub use event::{TaskEvent, TaskObserver};
pub use handler_context::{ChosenModel, HandlerContext, ModelChooser, TaskLimits};
pub use result::{
    AiResult, ArtifactState, CheckedFile, CommandRun, CriterionReading, FailureKind,
    OutputArtifact, OverallStatus, ReadAs, TaskFailure, TaskReport, TaskResult, UncheckedCriterion,
    ValidationDetails,
};

use task_run::TaskRun;

/// A task to be carried out, with what is known from before.
#[derive(Clone, Copy)]
pub struct TaskInput<'a> {
    /// The task.
    pub task: &'a Task,
    /// Results of the tasks it depends on, for the model to read.
    pub earlier: &'a [EarlierResult],
}

impl<'a> TaskInput<'a> {
    /// Makes the input of a task without dependencies.
    pub fn new(task: &'a Task) -> TaskInput<'a> {
        TaskInput { task, earlier: &[] }
    }
}

/// Carries out a task. The journal keeps its conversation; work recorded there is not repeated.
pub async fn run(
    bench: &HandlerContext<'_>,
    order: TaskInput<'_>,
    journal: &mut dyn TurnJournal,
    observer: &mut dyn TaskObserver,
) -> Result<TaskResult, TaskFailure> {
    let mut desk = TaskRun::new(bench, order, journal, observer);
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
