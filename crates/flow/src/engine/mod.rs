//! The engine: one pure function from what is known and what happened to what changes.
//!
//! [`decide`] reads rows through the port [`Rows`], changes nothing, and returns a [`Decision`]:
//! the actions in the order they follow from each other, and the same as rows to write. One
//! transaction commits all of it. A crash leaves the state before or the state after.
//!
//! Every command is about one run. Whatever one run has to say to another (a subflow and its child)
//! goes through a timer row that is due at once, so no transaction ever needs two runs.
//!
//! The cost of a command does not grow with the number of items of a foreach: a completed task
//! touches itself, its item, the counters of its foreach, its run, and what it leads to.

use std::sync::Arc;

use serde_json::Value;

use crate::id::{RunId, TaskId};
use crate::workflow::Workflow;

mod action;
mod call;
mod command;
mod rows;
mod status;
mod timer;

mod apply;
mod batch;
mod ledger;
mod table;
mod view;

mod route;

mod attempt;
mod child;
mod enter;
mod failure;
mod foreach;
mod join;
mod settle;

mod person;
mod rerun;
mod start;
mod steer;
mod wait;

pub use action::{Action, Evaluated, Event, NewTask, Notice, NoticeKind, TaskChange, What};
pub use attempt::TURNS_MAX;
pub use batch::{Batch, Found, Lookup, endings, likely};
pub use call::{CallRow, CallUsage, KEPT_REPLY_BYTES_MAX, ModelCall};
pub use command::{Answer, Command, Outcome, Refusal, RefusalKind, Report, Start};
pub use failure::backoff_ms;
pub use route::HOPS_MAX;
pub use rows::{
    Arrival, ChildEnd, ChildRun, Due, Failure, FailureClass, GroupRow, Hold, HoldKind, ItemRow,
    Lease, Pause, Place, Rows, RunRow, Signal, Spent, TaskKind, TaskRow, TimerRow,
};
pub use status::{Begin, ItemStatus, Move, RunStatus, TaskStatus};
pub use wait::{SIGNAL_BYTES_MAX, SIGNALS_MAX};

use ledger::Ledger;

/// What is to be committed: all of it or nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// What was decided, in order.
    pub actions: Vec<Action>,
    /// The same as rows.
    pub changes: Changes,
}

impl From<Decision> for Changes {
    fn from(decision: Decision) -> Changes {
        decision.changes
    }
}

/// The run that a timer is for, and which of its timers it is.
pub type TimerKey = (RunId, String);

/// Rows as they are after some actions; each is inserted or put in the place of the one it had.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    pub runs: Vec<Arc<RunRow>>,
    /// What new runs were started with.
    pub inputs: Vec<(RunId, Value)>,
    pub tasks: Vec<Arc<TaskRow>>,
    /// Those of them that a worker could claim, and cannot any more.
    pub taken: Vec<TaskId>,
    pub groups: Vec<Arc<GroupRow>>,
    pub items: Vec<Arc<ItemRow>>,
    /// A timer that is gone is `None`.
    pub timers: Vec<(TimerKey, Option<Arc<TimerRow>>)>,
    /// Appended, in order.
    pub events: Vec<Event>,
    /// What was said in attempts that ended.
    pub calls: Vec<CallRow>,
    /// The outbox, in order.
    pub notices: Vec<Notice>,
}

impl Changes {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Changes::default()
    }
}

/// Why there is no decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop<E> {
    /// The command changes nothing, and this is why.
    Refused(Refusal),
    /// A lookup failed, or the row is not there yet: get it and decide again.
    Rows(E),
}

/// Decides what a command changes.
///
/// `workflow` is the text the run is pinned to; for [`Command::Start`] the one to pin. `now_ms` is
/// the store's clock, in milliseconds since 1970.
///
/// # Errors
///
/// A refusal, or whatever a lookup ended in.
pub fn decide<R: Rows>(
    workflow: &Workflow,
    rows: &mut R,
    command: &Command,
    now_ms: u64,
) -> Result<Decision, Stop<R::Error>> {
    let run = command.run().clone();
    let mut ledger = Ledger::new(workflow, rows, run, now_ms);
    ledger.obey(command)?;
    ledger.work_off()?;
    Ok(ledger.finish())
}

/// What the expressions of a text see, where a task stands: for whoever fills in its prompt.
///
/// # Errors
///
/// A refusal, or whatever a lookup ended in.
pub fn view<R: Rows>(
    workflow: &Workflow,
    rows: &mut R,
    task: &TaskId,
    reads: &[expr::Reference],
) -> Result<serde_json::Map<String, Value>, Stop<R::Error>> {
    let mut ledger = Ledger::new(workflow, rows, task.run.clone(), 0);
    let row = ledger.the_task(task)?;
    ledger.state(&view::Viewpoint::of(&row), reads)
}

impl<R: Rows> Ledger<'_, R> {
    fn obey(&mut self, command: &Command) -> Result<(), Stop<R::Error>> {
        match command {
            Command::Start(start) => return self.start(start),
            Command::Fire { key, .. } => return self.fire(key),
            _ => self.belongs()?,
        }
        match command {
            Command::Claim {
                task,
                worker,
                lease_ms,
            } => self.claim(task, worker, *lease_ms),
            Command::Heartbeat {
                task,
                fence,
                lease_ms,
            } => self.heartbeat(task, *fence, *lease_ms),
            Command::Report {
                task,
                fence,
                report,
            } => self.report(task, *fence, report),
            Command::LeaseLost { task, fence } => self.lease_lost(task, *fence),
            Command::Answer { task, by, answer } => self.answer(task, by, answer),
            Command::ChildEnded { task, child, end } => self.child_ended(task, child, end),
            Command::Cancel { reason, .. } => self.cancel(reason),
            Command::Pause { reason, .. } => self.pause_by_person(reason),
            Command::Resume { .. } => self.resume(),
            Command::Rerun { task } => self.rerun(task),
            Command::Retry { task } => self.retry(task),
            Command::Assign { task, assignee } => self.assign(task, assignee.as_deref()),
            Command::Signal { name, payload, .. } => self.signal(name, payload),
            Command::Start(_) | Command::Fire { .. } => Ok(()),
        }
    }
}
