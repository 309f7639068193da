//! The rows of runs, and the port through which the engine reads them.
//!
//! A row is found by its key and by nothing else. [`RowSource`] has every query that deciding needs:
//! keyed lookups, and three small ranges that are read only where a foreach, a join or a whole run
//! ends.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::config::ExecutionMode;
pub use crate::engine::slot::{SlotKey, SlotRequest, SlotRow};
use crate::engine::status::{ItemStatus, RunStatus, TaskStatus};
pub use crate::engine::timer::{ChildEnd, ChildRun, TimerPurpose, TimerRow};
use crate::id::{ItemPath, RunId, StepId, TaskId, TextHash};

/// A run. The key is `id`. Its input is stored separately, because few commands read it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRow {
    pub id: RunId,
    /// The text it is pinned to, even if the workflow's file changes.
    pub workflow: TextHash,
    /// The name of the workflow when the run began; runs of older versions lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub status: RunStatus,
    /// The reason why it is paused, has failed or was cancelled.
    pub reason: Option<String>,
    pub pause: Option<PauseCause>,
    /// The task that ended a path last: its output is the run's.
    pub result: Option<TaskId>,
    /// The subflow step that started it.
    pub parent: Option<TaskId>,
    /// The number of runs above it.
    pub depth: u32,
    /// The assignee of steps that name none themselves.
    pub assignee: Option<String>,
    pub tags: Vec<String>,
    /// The number of tasks that have not ended.
    pub active: u32,
    /// The number of its last event; the first is 1, without gaps.
    pub seq: u64,
    /// The event after which every process has only continued tasks of its own, so that each can
    /// keep its cached rows of them. `None` if more has happened, or no cache has recorded it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet_since: Option<u64>,
    /// The number of tasks on hold only because their time is over.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub overdue: u32,
    /// Signals that arrived before a step waited for them, the first one first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signals: Vec<RunSignal>,
    pub spent: SpentAmount,
    pub created_ms: u64,
    pub ended_ms: Option<u64>,
    /// Tasks of runs with a higher priority are claimed first.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub priority: i32,
    /// The concurrency slot it needs, if its workflow has a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<Box<SlotRequest>>,
    /// Says that it waits for that slot and has not begun.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_queued: bool,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands in a reference"
)]
fn is_usual(priority: &i32) -> bool {
    *priority == 0
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands in a reference"
)]
fn is_false(flag: &bool) -> bool {
    !*flag
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// A signal that was sent to a run from outside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSignal {
    pub name: String,
    pub payload: Value,
}

/// The cause of a pause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseCause {
    /// A person paused it, and only a person can resume it.
    Person,
    /// A task that is on hold.
    Task(TaskId),
}

/// Spent tokens and money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpentAmount {
    pub tokens: u64,
    /// In millionths of the currency that prices are in.
    pub micros: u64,
}

/// One execution of one step. The key is `id`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskRow {
    pub id: TaskId,
    pub kind: WorkflowTaskKind,
    /// Says whether a worker claims it when it is pending, or a person answers it.
    pub execution: ExecutionMode,
    pub status: TaskStatus,
    /// The task whose output is `output` to this one; `None` at the beginning of a run.
    pub from: Option<TaskId>,
    /// No worker claims it before this time.
    pub ready_ms: u64,
    /// The attempt in progress, or the last one; 0 before the first.
    pub attempt: u32,
    /// Increases with every claim. A command with an older fence is refused.
    pub fence: u64,
    pub lease: Option<Lease>,
    pub assignee: Option<String>,
    /// Says that it was already given to `fallbackAssigneeId`.
    pub fallen_back: bool,
    /// Says that it was already given to `escalateTo`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub escalated: bool,
    /// The number of CONTINUE replies.
    pub turns: u32,
    /// The text of the last CONTINUE, for the next turn.
    pub note: Option<String>,
    pub output: Option<Value>,
    /// Says that the output is only a part of what was asked for.
    pub partial: bool,
    pub failure: Option<AttemptFailure>,
    pub hold: Option<TaskHold>,
    pub tags: Vec<String>,
    /// For a join of branches: the tasks whose paths have arrived.
    pub arrivals: Vec<JoinArrival>,
    /// The joins that fired early on the way here. They distinguish a late path from a new round.
    pub passed: Vec<(StepId, u32)>,
    pub spent: SpentAmount,
    pub created_ms: u64,
    pub ended_ms: Option<u64>,
    /// The priority of its run.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub priority: i32,
    /// The concurrency slot it needs while a worker has it, if its step has a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<Box<SlotRequest>>,
    /// Overrides of its step's settings for this task, until the next retry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with: Option<Box<Map<String, Value>>>,
    /// The lane in which it waits for a worker: its handler, and the model that its step names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
}

impl TaskRow {
    /// Tells whether it is on hold only because its time is over.
    #[must_use]
    pub fn is_overdue(&self) -> bool {
        let hold = self.hold.as_ref();
        self.status == TaskStatus::OnHold && hold.is_some_and(|hold| hold.kind == HoldKind::Timeout)
    }

    /// Tells whether a worker may claim it, once it is ready.
    #[must_use]
    pub fn is_claimable(&self) -> bool {
        self.status == TaskStatus::Pending && self.execution == ExecutionMode::Automated
    }
}

/// The role of a task in the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkflowTaskKind {
    /// Work of a person or a worker.
    Work,
    Foreach,
    Join,
    Subflow,
    /// Waits for a time or for a signal.
    Wait,
}

/// The worker that holds a task, and the time until which no other may claim it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    pub worker: String,
    pub until_ms: u64,
}

/// A path that has reached a join of branches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinArrival {
    pub from: TaskId,
    /// Says that the path arrived by an `onError` edge.
    pub failed: bool,
}

/// The reason why an attempt failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptFailure {
    pub class: FailureClass,
    /// A sentence.
    pub message: String,
}

/// The spending that a budget limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetScope {
    /// All attempts of one task. Another try allows as much again.
    Task,
    /// All tasks of one run.
    Run,
    /// All runs of one day.
    Day,
}

/// The class of a failure, which decides whether another attempt can help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    Timeout,
    /// 429.
    RateLimited,
    /// 5xx, or no connection.
    Unavailable,
    LeaseLost,
    UnparsableReply,
    /// The work was done and the result is FAILED.
    Failed,
    /// A command exited with an error.
    Exit,
    /// 4xx, but for 429.
    Http4xx,
    /// The step cannot work as it is written: no such agent, a handler that wants more.
    Invalid,
    Auth,
    /// A limit such as `maxItems` or `maxDepth`.
    Limit,
    /// A child run, an item or a branch failed.
    Child,
    Cancelled,
}

impl FailureClass {
    /// Tells whether another attempt may succeed.
    #[must_use]
    pub(crate) fn is_retryable(self) -> bool {
        matches!(
            self,
            FailureClass::Timeout
                | FailureClass::RateLimited
                | FailureClass::Unavailable
                | FailureClass::LeaseLost
                | FailureClass::UnparsableReply
        )
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            FailureClass::Timeout => "timeout",
            FailureClass::RateLimited => "rate_limited",
            FailureClass::Unavailable => "unavailable",
            FailureClass::LeaseLost => "lease_lost",
            FailureClass::UnparsableReply => "unparsable_reply",
            FailureClass::Failed => "failed",
            FailureClass::Exit => "exit",
            FailureClass::Http4xx => "http4xx",
            FailureClass::Invalid => "invalid",
            FailureClass::Auth => "auth",
            FailureClass::Limit => "limit",
            FailureClass::Child => "child",
            FailureClass::Cancelled => "cancelled",
        }
    }
}

/// The reason why a task is on hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskHold {
    pub kind: HoldKind,
    /// A sentence.
    pub reason: String,
}

/// The kind of a hold, for code that branches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HoldKind {
    /// Every attempt failed.
    Failed,
    /// The reply was BLOCKED, ESCALATE or HOLD, or asked for too many turns.
    Asked,
    /// The reply's confidence is under the step's threshold.
    Review,
    /// The output exists, but no next step could be found.
    Routing,
    /// `maxVisits`.
    LoopExhausted,
    /// Tokens or money.
    Budget,
    /// A person or a join took longer than its `timeout`.
    Timeout,
    /// The child run of a subflow is paused; resuming this run resumes it.
    Child,
}

impl HoldKind {
    /// Tells whether resuming the run is enough to retry the task.
    #[must_use]
    pub(crate) fn ends_with_pause(self) -> bool {
        self.pauses() || self == HoldKind::Timeout
    }

    /// Tells whether the whole run pauses while a task is on hold for this reason. A task that only
    /// took too long lets the rest continue, and pauses the run when nothing else is left.
    #[must_use]
    pub(crate) fn pauses(self) -> bool {
        matches!(
            self,
            HoldKind::Failed
                | HoldKind::Budget
                | HoldKind::LoopExhausted
                | HoldKind::Routing
                | HoldKind::Child
        )
    }
}

/// The counts of one foreach's items. The key is `id`, the foreach's own task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupRow {
    pub id: TaskId,
    pub total: u32,
    /// The first item that is not started.
    pub next: u32,
    pub running: u32,
    pub succeeded: u32,
    pub failed: u32,
    /// Later results are recorded and change nothing.
    pub closed: bool,
    /// Says that no item was ever reopened, so that a waiting item has not begun. `false` in groups
    /// of older versions, where it is unknown.
    #[serde(default)]
    pub pristine: bool,
    /// The foreach that this one continues: earlier results of its items count here, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<TaskId>,
}

/// One item of one foreach. The key is `group` and `index`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ItemRow {
    pub group: TaskId,
    pub index: u32,
    pub value: Value,
    pub status: ItemStatus,
    /// The number of tasks directly under the item that have not ended.
    pub active: u32,
    /// The task whose output is the item's result.
    pub result: Option<TaskId>,
    pub failure: Option<AttemptFailure>,
}

impl GroupRow {
    pub(crate) fn open(id: &TaskId, total: u32) -> GroupRow {
        GroupRow {
            id: id.clone(),
            total,
            next: 0,
            running: 0,
            succeeded: 0,
            failed: 0,
            closed: false,
            pristine: true,
            of: None,
        }
    }

    pub(crate) fn continued(id: &TaskId, of: &TaskId, items: &[ItemRow]) -> GroupRow {
        let ended = |status: ItemStatus| {
            let ended = items.iter().filter(|item| item.status == status).count();
            u32::try_from(ended).unwrap_or(u32::MAX)
        };
        GroupRow {
            succeeded: ended(ItemStatus::Succeeded),
            failed: ended(ItemStatus::Failed),
            of: Some(of.clone()),
            ..GroupRow::open(id, u32::try_from(items.len()).unwrap_or(u32::MAX))
        }
    }
}

impl ItemRow {
    pub(crate) fn waiting(group: &TaskId, index: u32, value: Value) -> ItemRow {
        ItemRow {
            group: group.clone(),
            index,
            value,
            status: ItemStatus::Waiting,
            active: 0,
            result: None,
            failure: None,
        }
    }
}

/// The source of rows for a decision: a transaction of a store, or memory.
///
/// `Error` is the error of a lookup. A store that cannot wait inside a lookup returns the missing
/// key as the error, reads the row, and decides again: deciding changes nothing.
pub trait RowSource {
    type Error;

    fn run(&mut self, run: &RunId) -> Result<Option<Arc<RunRow>>, Self::Error>;

    /// Returns the input of a run. Read only where an expression needs it.
    fn input(&mut self, run: &RunId) -> Result<Option<Value>, Self::Error>;

    fn task(&mut self, task: &TaskId) -> Result<Option<Arc<TaskRow>>, Self::Error>;

    /// Returns how often a step was visited under a path: the highest `visit`, or 0.
    fn visits(&mut self, place: &StepAddress) -> Result<u32, Self::Error>;

    /// Returns the last completed visit of a step under a path.
    fn completed(&mut self, place: &StepAddress) -> Result<Option<Arc<TaskRow>>, Self::Error>;

    fn group(&mut self, group: &TaskId) -> Result<Option<Arc<GroupRow>>, Self::Error>;

    fn item(&mut self, group: &TaskId, index: u32) -> Result<Option<Arc<ItemRow>>, Self::Error>;

    /// Returns every item of a foreach, in order. Read once, when the foreach ends.
    fn items(&mut self, group: &TaskId) -> Result<Vec<Arc<ItemRow>>, Self::Error>;

    /// Returns the outputs of some tasks, in their order. Read with [`RowSource::items`].
    fn outputs(&mut self, tasks: &[TaskId]) -> Result<Vec<Option<Value>>, Self::Error>;

    /// Returns the tasks directly under a path (not inside its items) that have not ended. Read
    /// where branches are joined.
    fn active(&mut self, run: &RunId, path: &ItemPath) -> Result<Vec<Arc<TaskRow>>, Self::Error>;

    /// Returns the tasks under a path and inside its items that have not ended. Read where
    /// something is cancelled, rerun or resumed.
    fn active_within(
        &mut self,
        run: &RunId,
        path: &ItemPath,
    ) -> Result<Vec<Arc<TaskRow>>, Self::Error>;

    fn timer(&mut self, run: &RunId, key: &str) -> Result<Option<Arc<TimerRow>>, Self::Error>;

    /// Returns the holders of a concurrency key and those that wait for it. No other transaction
    /// changes them before this one ends.
    fn slots(&mut self, key: &str) -> Result<Vec<Arc<SlotRow>>, Self::Error>;
}

/// A step under a path, without the number of the visit.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StepAddress {
    pub run: RunId,
    pub path: ItemPath,
    pub step: StepId,
}

impl TaskId {
    #[must_use]
    pub fn place(&self) -> StepAddress {
        StepAddress {
            run: self.run.clone(),
            path: self.path.clone(),
            step: self.step.clone(),
        }
    }
}
