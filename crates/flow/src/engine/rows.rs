//! What is kept of runs, and the port behind which it is kept.
//!
//! A row is found by its key and by nothing else. [`Rows`] is all that deciding ever asks for:
//! keyed lookups, and three small ranges that are read only where a foreach, a join or a whole run
//! ends.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::Execution;
use crate::engine::status::{ItemStatus, RunStatus, TaskStatus};
pub use crate::engine::timer::{ChildEnd, ChildRun, Due, TimerRow};
use crate::id::{Path, RunId, StepId, TaskId, TextHash};

/// A run. The key is `id`. Its input is kept beside it, because few ask for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRow {
    pub id: RunId,
    /// The text it runs, whatever becomes of the workflow's file.
    pub workflow: TextHash,
    /// What the workflow was called when the run began; runs of older versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub status: RunStatus,
    /// Why it is paused, has failed or was cancelled.
    pub reason: Option<String>,
    pub pause: Option<Pause>,
    /// The task that ended a path last: its output is the run's.
    pub result: Option<TaskId>,
    /// The subflow step that started it.
    pub parent: Option<TaskId>,
    /// How many runs are above it.
    pub depth: u32,
    /// Who does what no step says who does.
    pub assignee: Option<String>,
    pub tags: Vec<String>,
    /// How many tasks have not ended.
    pub active: u32,
    /// The number of its last event; the first is 1, and none is left out.
    pub seq: u64,
    /// Since this event everybody has only gone on with what they hold, so that nobody need look at
    /// their own tasks again; nothing where more has happened, or nobody has watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet_since: Option<u64>,
    /// How many tasks are on hold only because their time is over.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub overdue: u32,
    /// Signals that came before anything waited for them, the first one first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signals: Vec<Signal>,
    pub spent: Spent,
    pub created_ms: u64,
    pub ended_ms: Option<u64>,
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

/// Something that was told to a run from outside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Signal {
    pub name: String,
    pub payload: Value,
}

/// Who paused a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pause {
    /// A person: only a person lets it go on.
    Person,
    /// A task that is on hold.
    Task(TaskId),
}

/// What was paid for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    pub tokens: u64,
    /// In millionths of the currency that prices are in.
    pub micros: u64,
}

/// One execution of one step. The key is `id`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskRow {
    pub id: TaskId,
    pub kind: TaskKind,
    /// Whether a worker claims it when it is pending, or a person answers it.
    pub execution: Execution,
    pub status: TaskStatus,
    /// Whose output is `output` to this one; nothing at the begin of a run.
    pub from: Option<TaskId>,
    /// Not claimed before this time.
    pub ready_ms: u64,
    /// Which attempt is under way or was the last; 0 before the first.
    pub attempt: u32,
    /// Goes up with every claim. Whoever comes with an older one comes too late.
    pub fence: u64,
    pub lease: Option<Lease>,
    pub assignee: Option<String>,
    /// Whether it was given to `fallbackAssigneeId` already.
    pub fallen_back: bool,
    /// Whether it was given to `escalateTo` already.
    #[serde(default, skip_serializing_if = "is_false")]
    pub escalated: bool,
    /// How often the reply was CONTINUE.
    pub turns: u32,
    /// What the last CONTINUE said, for the next turn.
    pub note: Option<String>,
    pub output: Option<Value>,
    /// The output is a part of what was asked for.
    pub partial: bool,
    pub failure: Option<Failure>,
    pub hold: Option<Hold>,
    pub tags: Vec<String>,
    /// For a join of branches: the tasks whose paths have come here.
    pub arrivals: Vec<Arrival>,
    /// The joins that fired early on the way here, so that latecomers are told from a new round.
    pub passed: Vec<(StepId, u32)>,
    pub spent: Spent,
    pub created_ms: u64,
    pub ended_ms: Option<u64>,
}

impl TaskRow {
    /// Whether it is on hold for nothing but that its time is over.
    #[must_use]
    pub fn is_overdue(&self) -> bool {
        let hold = self.hold.as_ref();
        self.status == TaskStatus::OnHold && hold.is_some_and(|hold| hold.kind == HoldKind::Timeout)
    }

    /// Whether a worker may claim it, once it is ready.
    #[must_use]
    pub fn is_claimable(&self) -> bool {
        self.status == TaskStatus::Pending && self.execution == Execution::Automated
    }
}

/// What a task is to the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskKind {
    /// Somebody's work, and nothing else.
    Work,
    Foreach,
    Join,
    Subflow,
    /// For a time or for a signal.
    Wait,
}

/// Who works on a task, and until when nobody else may.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    pub worker: String,
    pub until_ms: u64,
}

/// A path that has come to a join of branches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrival {
    pub from: TaskId,
    /// It came by an `onError` edge.
    pub failed: bool,
}

/// Why an attempt failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub class: FailureClass,
    /// A sentence.
    pub message: String,
}

/// What sort of failure it is; it decides whether trying again can help.
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
    /// `maxItems`, `maxDepth` and their kin.
    Limit,
    /// A child run, an item or a branch failed.
    Child,
    Cancelled,
}

impl FailureClass {
    /// Whether the same attempt may end otherwise.
    #[must_use]
    pub fn is_retryable(self) -> bool {
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

/// Why a task is on hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    pub kind: HoldKind,
    /// A sentence.
    pub reason: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HoldKind {
    /// Every attempt failed.
    Failed,
    /// The reply was BLOCKED, ESCALATE or HOLD, or asked for too many turns.
    Asked,
    /// The reply was less sure than the step wants.
    Review,
    /// The output is there, but no way on from it could be found.
    Routing,
    /// `maxVisits`.
    LoopExhausted,
    /// Tokens or money.
    Budget,
    /// A person or a join took longer than its `timeout`.
    Timeout,
    /// The child run of a subflow is paused, and goes on when this run is resumed.
    Child,
}

impl HoldKind {
    /// Whether resuming the run is enough to try again.
    #[must_use]
    pub fn ends_with_pause(self) -> bool {
        self.pauses() || self == HoldKind::Timeout
    }

    /// Whether nothing of a run should go on while a task is on hold for this. What only took too
    /// long lets the rest go on, and pauses the run when nothing else is left.
    #[must_use]
    pub fn pauses(self) -> bool {
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

/// The items of one foreach, counted. The key is `id`, the foreach's own task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupRow {
    pub id: TaskId,
    pub total: u32,
    /// The first item that is not started.
    pub next: u32,
    pub running: u32,
    pub succeeded: u32,
    pub failed: u32,
    /// Results that come from now on are kept and change nothing.
    pub closed: bool,
    /// No item was ever reopened: one that waits has not begun. Groups that were kept before this was
    /// known may have been.
    #[serde(default)]
    pub pristine: bool,
    /// The foreach whose items these are, gone on with: what its items gave before is theirs, too.
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
    /// How many tasks right under the item have not ended.
    pub active: u32,
    /// The task whose output is the item's result.
    pub result: Option<TaskId>,
    pub failure: Option<Failure>,
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

/// Where keyed rows come from: a transaction of a store, or memory.
///
/// `Error` is whatever a lookup may end in. A store that cannot wait inside of a lookup returns the
/// key it lacks as the error, fetches it, and decides again: deciding changes nothing.
pub trait Rows {
    type Error;

    fn run(&mut self, run: &RunId) -> Result<Option<Arc<RunRow>>, Self::Error>;

    /// What a run was started with. Asked for only where an expression reads it.
    fn input(&mut self, run: &RunId) -> Result<Option<Value>, Self::Error>;

    fn task(&mut self, task: &TaskId) -> Result<Option<Arc<TaskRow>>, Self::Error>;

    /// How often a step was visited under a path: the highest `visit` there is, or 0.
    fn visits(&mut self, place: &Place) -> Result<u32, Self::Error>;

    /// The last visit of a step under a path that is completed.
    fn completed(&mut self, place: &Place) -> Result<Option<Arc<TaskRow>>, Self::Error>;

    fn group(&mut self, group: &TaskId) -> Result<Option<Arc<GroupRow>>, Self::Error>;

    fn item(&mut self, group: &TaskId, index: u32) -> Result<Option<Arc<ItemRow>>, Self::Error>;

    /// Every item of a foreach, in order. Asked for once, when the foreach ends.
    fn items(&mut self, group: &TaskId) -> Result<Vec<Arc<ItemRow>>, Self::Error>;

    /// The outputs of some tasks, in their order. Asked for with [`Rows::items`].
    fn outputs(&mut self, tasks: &[TaskId]) -> Result<Vec<Option<Value>>, Self::Error>;

    /// Every task that has not ended and stands right under a path (not inside of its items).
    /// Asked for where branches are joined.
    fn active(&mut self, run: &RunId, path: &Path) -> Result<Vec<Arc<TaskRow>>, Self::Error>;

    /// Every task that has not ended under a path and inside of its items. Asked for where
    /// something is cancelled, rerun or resumed.
    fn active_within(&mut self, run: &RunId, path: &Path)
    -> Result<Vec<Arc<TaskRow>>, Self::Error>;

    fn timer(&mut self, run: &RunId, key: &str) -> Result<Option<Arc<TimerRow>>, Self::Error>;
}

/// A step under a path: what visits are counted for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    pub run: RunId,
    pub path: Path,
    pub step: StepId,
}

impl TaskId {
    #[must_use]
    pub fn place(&self) -> Place {
        Place {
            run: self.run.clone(),
            path: self.path.clone(),
            step: self.step.clone(),
        }
    }
}
