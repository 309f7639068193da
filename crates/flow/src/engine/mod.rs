//! The engine: one pure function from the rows of a run and a command to the changes that follow.
//!
//! [`decide`] reads rows through the port [`RowSource`], changes nothing, and returns a [`EngineDecision`]:
//! the actions in the order they follow from each other, and the same as rows to write. One
//! transaction commits all of it. A crash leaves the state before or the state after.
//!
//! Every command is about one run. A message from one run to another (a subflow and its child) goes
//! through a timer row that is due at once, so that no transaction ever needs two runs.
//!
//! The cost of a command does not grow with the number of items of a foreach: a completed task
//! touches itself, its item, the counters of its foreach, its run, and the tasks that follow.

use std::sync::Arc;

use serde_json::Value;

use crate::id::{RunId, TaskId};
use crate::workflow::Workflow;

mod action;
mod call;
mod command;
mod rate;
mod rows;
mod slot;
mod status;
mod timer;

mod apply;
mod batch;
mod decision_context;
mod eval_scope;
mod table;

mod route;

mod attempt;
mod child;
mod enter;
mod failure;
mod foreach;
mod join;
mod relocate;
mod settle;

mod person;
mod rerun;
mod start;
mod steer;
mod wait;

pub use action::{
    EngineAction, EvaluatedCondition, EventKind, NewTask, Notice, NoticeKind, RunEvent, TaskChange,
};
pub use batch::{LookupResult, RowCache, RowLookup, endings, likely};
pub use call::{CallRow, CallUsage, ModelCall};
pub use command::{
    AttemptOutcome, AttemptReport, CommandRefusal, EngineCommand, RefusalKind, RunStart, TaskAnswer,
};
pub use failure::backoff_ms;
pub use rows::{
    AttemptFailure, BudgetScope, ChildEnd, ChildRun, FailureClass, GroupRow, HoldKind, ItemRow,
    JoinArrival, Lease, PauseCause, RowSource, RunRow, RunSignal, SlotKey, SlotRequest, SlotRow,
    SpentAmount, StepAddress, TaskHold, TaskRow, TimerPurpose, TimerRow, WorkflowTaskKind,
};
pub use status::{InitialStatus, ItemStatus, RunStatus, StatusMove, TaskStatus};

use decision_context::DecisionContext;

/// The changes to commit: all of them or none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EngineDecision {
    /// The actions, in order.
    pub actions: Vec<EngineAction>,
    /// The same as rows.
    pub changes: RowChanges,
}

impl From<EngineDecision> for RowChanges {
    fn from(decision: EngineDecision) -> RowChanges {
        decision.changes
    }
}

/// The run of a timer, and the timer's name in it.
pub type TimerKey = (RunId, String);

/// Rows after some actions; each is inserted, or replaces the row with its key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowChanges {
    pub runs: Vec<Arc<RunRow>>,
    /// The inputs of new runs.
    pub inputs: Vec<(RunId, Value)>,
    pub tasks: Vec<Arc<TaskRow>>,
    /// Tasks among them that were claimable before and are not any more.
    pub taken: Vec<TaskId>,
    pub groups: Vec<Arc<GroupRow>>,
    pub items: Vec<Arc<ItemRow>>,
    /// Timers; `None` deletes one.
    pub timers: Vec<(TimerKey, Option<Arc<TimerRow>>)>,
    /// Concurrency slots; `None` deletes one.
    pub slots: Vec<(SlotKey, Option<Arc<SlotRow>>)>,
    /// Appended, in order.
    pub events: Vec<RunEvent>,
    /// The model calls of attempts that ended.
    pub calls: Vec<CallRow>,
    /// The outbox, in order.
    pub notices: Vec<Notice>,
}

impl RowChanges {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == RowChanges::default()
    }
}

/// The reason why there is no decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecisionStop<E> {
    /// The command is refused, and changes nothing.
    Refused(CommandRefusal),
    /// A lookup failed, or the row is missing: read it and decide again.
    Rows(E),
}

/// Decides what a command changes.
///
/// `workflow` is the text the run is pinned to; for [`EngineCommand::Start`] and [`EngineCommand::Move`] the
/// one to pin. `now_ms` is the store's clock, in milliseconds since 1970.
///
/// # Errors
///
/// A refusal, or the error of a lookup.
pub fn decide<R: RowSource>(
    workflow: &Workflow,
    rows: &mut R,
    command: &EngineCommand,
    now_ms: u64,
) -> Result<EngineDecision, DecisionStop<R::Error>> {
    let run = command.run().clone();
    let mut ledger = DecisionContext::new(workflow, rows, run, now_ms);
    ledger.obey(command)?;
    ledger.work_off()?;
    Ok(ledger.finish())
}

/// Returns the values that expressions read at a task, for the code that fills in its prompt.
///
/// # Errors
///
/// A refusal, or the error of a lookup.
pub fn view<R: RowSource>(
    workflow: &Workflow,
    rows: &mut R,
    task: &TaskId,
    reads: &[expr::NameReference],
) -> Result<serde_json::Map<String, Value>, DecisionStop<R::Error>> {
    let mut ledger = DecisionContext::new(workflow, rows, task.run.clone(), 0);
    let row = ledger.the_task(task)?;
    ledger.state(&eval_scope::EvalScope::of(&row), reads)
}

impl<R: RowSource> DecisionContext<'_, R> {
    fn obey(&mut self, command: &EngineCommand) -> Result<(), DecisionStop<R::Error>> {
        match command {
            EngineCommand::Start(start) => return self.start(start),
            EngineCommand::Fire { key, .. } => return self.fire(key),
            EngineCommand::Move { seq, .. } => return self.relocate(*seq),
            _ => self.belongs()?,
        }
        match command {
            EngineCommand::Claim {
                task,
                worker,
                lease_ms,
                rates,
            } => self.claim(task, (worker, *lease_ms), rates),
            EngineCommand::Heartbeat {
                task,
                fence,
                lease_ms,
            } => self.heartbeat(task, *fence, *lease_ms),
            EngineCommand::Report {
                task,
                fence,
                report,
            } => self.report(task, *fence, report),
            EngineCommand::LeaseLost { task, fence } => self.lease_lost(task, *fence),
            EngineCommand::Answer { task, by, answer } => self.answer(task, by, answer),
            EngineCommand::ChildEnded { task, child, end } => self.child_ended(task, child, end),
            EngineCommand::Cancel { reason, .. } => self.cancel(reason),
            EngineCommand::Pause { reason, .. } => self.pause_by_person(reason),
            EngineCommand::Resume { .. } => self.resume(),
            EngineCommand::Rerun { task } => self.rerun(task),
            EngineCommand::Retry { task, with } => self.retry(task, with.as_ref()),
            EngineCommand::Assign { task, assignee } => self.assign(task, assignee.as_deref()),
            EngineCommand::Signal { name, payload, .. } => self.signal(name, payload),
            EngineCommand::Start(_) | EngineCommand::Fire { .. } | EngineCommand::Move { .. } => {
                Ok(())
            }
        }
    }
}
