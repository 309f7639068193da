//! The changes of a decision, as data.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::config::ExecutionMode;
use crate::engine::call::CallRow;
use crate::engine::rows::{
    AttemptFailure, BudgetScope, FailureClass, ItemRow, JoinArrival, Lease, PauseCause, RunRow,
    RunSignal, SlotRequest, SpentAmount, TaskHold, TaskRow, TimerRow, WorkflowTaskKind,
};
use crate::engine::status::{InitialStatus, ItemStatus, RunStatus, StatusMove};
use crate::id::{RunId, StepId, TaskId, TextHash};

/// One change of a row. A decision is a list of them; all are committed or none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "action")]
pub enum EngineAction {
    CreateRun {
        row: Box<RunRow>,
        input: Value,
    },
    /// The run's status, and why.
    SetRun {
        run: RunId,
        status: RunStatus,
        reason: Option<String>,
        pause: Option<PauseCause>,
    },
    /// The signals that no step has waited for yet.
    SetSignals {
        run: RunId,
        signals: Vec<RunSignal>,
    },
    /// The run continues with another text.
    SetWorkflow {
        run: RunId,
        workflow: TextHash,
    },
    /// The concurrency slot that the run needs, and whether it waits for it.
    SetSlot {
        run: RunId,
        slot: Box<SlotRequest>,
        is_queued: bool,
    },
    /// The task that ended a path last.
    SetRunResult {
        run: RunId,
        result: TaskId,
    },
    /// One execution of a step; its id is a unique key.
    CreateTask(Box<NewTask>),
    MoveTask {
        task: TaskId,
        by: StatusMove,
    },
    /// Fields of a task other than its status.
    SetTask {
        task: TaskId,
        change: Box<TaskChange>,
    },
    /// A path has reached a join of branches.
    Arrive {
        join: TaskId,
        arrival: JoinArrival,
    },
    /// A foreach gets its items; none has started.
    OpenGroup {
        group: TaskId,
        items: Vec<Value>,
    },
    /// The next item begins. It counts as running.
    StartItem {
        group: TaskId,
        index: u32,
    },
    /// An item resumes out of order, because a part of it is run again. It counts as running.
    ResumeItem {
        group: TaskId,
        index: u32,
    },
    /// The task whose output is the item's result, if the item succeeds.
    SetItemResult {
        group: TaskId,
        index: u32,
        result: TaskId,
    },
    /// A step of the item failed: the item counts as failed when it ends.
    SetItemFailure {
        group: TaskId,
        index: u32,
        failure: AttemptFailure,
    },
    /// The item has no active task any more. Happens once to every item.
    EndItem {
        group: TaskId,
        index: u32,
        status: ItemStatus,
    },
    /// An item that has ended resumes, because a part of it is run again.
    ReopenItem {
        group: TaskId,
        index: u32,
    },
    CloseGroup {
        group: TaskId,
    },
    /// A foreach that had ended waits again: its unfinished items begin anew.
    ReopenGroup {
        group: TaskId,
    },
    /// A foreach takes over the items of one that has ended; items that had ended keep their
    /// results.
    ContinueGroup {
        group: TaskId,
        of: TaskId,
        items: Vec<ItemRow>,
    },
    Arm(TimerRow),
    Disarm {
        run: RunId,
        key: String,
    },
    /// Appends an event with the next number of its run.
    Append(RunEvent),
    /// Stores the model call of an attempt.
    KeepCall(Box<CallRow>),
    /// Adds a notice to the outbox; its readers get it once this is committed.
    Notify(Notice),
}

/// A task to create.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewTask {
    pub id: TaskId,
    pub kind: WorkflowTaskKind,
    pub execution: ExecutionMode,
    pub begin: InitialStatus,
    pub from: Option<TaskId>,
    pub assignee: Option<String>,
    pub hold: Option<TaskHold>,
    pub tags: Vec<String>,
    pub passed: Vec<(StepId, u32)>,
    pub at_ms: u64,
    pub priority: i32,
    pub lane: Option<String>,
}

/// The fields to set on a task; `None` leaves a field as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskChange {
    pub ready_ms: Option<u64>,
    pub attempt: Option<u32>,
    pub fence: Option<u64>,
    pub lease: Option<Option<Lease>>,
    pub assignee: Option<Option<String>>,
    pub fallen_back: Option<bool>,
    pub escalated: Option<bool>,
    pub turns: Option<u32>,
    pub note: Option<Option<String>>,
    pub output: Option<Option<Value>>,
    pub partial: Option<bool>,
    pub failure: Option<Option<AttemptFailure>>,
    pub hold: Option<Option<TaskHold>>,
    /// Tags to add.
    pub tags: Vec<String>,
    pub passed: Option<Vec<(StepId, u32)>>,
    /// Spending to add.
    pub spent: SpentAmount,
    pub slot: Option<Option<Box<SlotRequest>>>,
    pub with: Option<Option<Box<Map<String, Value>>>>,
}

impl NewTask {
    pub(crate) fn row(&self) -> TaskRow {
        TaskRow {
            id: self.id.clone(),
            kind: self.kind,
            execution: self.execution,
            status: self.begin.status(),
            from: self.from.clone(),
            ready_ms: self.at_ms,
            attempt: 0,
            fence: 0,
            lease: None,
            assignee: self.assignee.clone(),
            fallen_back: false,
            escalated: false,
            turns: 0,
            note: None,
            output: None,
            partial: false,
            failure: None,
            hold: self.hold.clone(),
            tags: self.tags.clone(),
            arrivals: Vec::new(),
            passed: self.passed.clone(),
            spent: SpentAmount::default(),
            created_ms: self.at_ms,
            ended_ms: None,
            priority: self.priority,
            slot: None,
            with: None,
            lane: self.lane.clone(),
        }
    }
}

impl TaskChange {
    pub(crate) fn put_on(&self, row: &mut TaskRow) {
        fn set<T: Clone>(to: &mut T, from: Option<&T>) {
            if let Some(value) = from {
                to.clone_from(value);
            }
        }
        set(&mut row.ready_ms, self.ready_ms.as_ref());
        set(&mut row.attempt, self.attempt.as_ref());
        set(&mut row.fence, self.fence.as_ref());
        set(&mut row.lease, self.lease.as_ref());
        set(&mut row.assignee, self.assignee.as_ref());
        set(&mut row.fallen_back, self.fallen_back.as_ref());
        set(&mut row.escalated, self.escalated.as_ref());
        set(&mut row.turns, self.turns.as_ref());
        set(&mut row.note, self.note.as_ref());
        set(&mut row.output, self.output.as_ref());
        set(&mut row.partial, self.partial.as_ref());
        set(&mut row.failure, self.failure.as_ref());
        set(&mut row.hold, self.hold.as_ref());
        set(&mut row.passed, self.passed.as_ref());
        set(&mut row.slot, self.slot.as_ref());
        set(&mut row.with, self.with.as_ref());
        for tag in &self.tags {
            if !row.tags.contains(tag) {
                row.tags.push(tag.clone());
            }
        }
        row.spent.tokens = row.spent.tokens.saturating_add(self.spent.tokens);
        row.spent.micros = row.spent.micros.saturating_add(self.spent.micros);
    }
}

/// An event of a run, stored as long as the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunEvent {
    pub run: RunId,
    /// The number, from 1 in every run, without gaps.
    pub seq: u64,
    pub at_ms: u64,
    pub what: EventKind,
}

/// The content of an event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what")]
pub enum EventKind {
    RunStarted {
        workflow: String,
        parent: Option<TaskId>,
    },
    RunPaused {
        reason: String,
    },
    RunResumed,
    /// The run waits, because as many runs with this key as allowed are in progress.
    RunQueued {
        key: String,
    },
    /// The run has got a slot, and begins.
    RunAdmitted,
    /// The run continues with another text.
    RunMoved {
        from: String,
        to: String,
    },
    /// Completed, failed or cancelled.
    RunEnded {
        status: RunStatus,
        reason: Option<String>,
    },
    /// A run that had ended resumes: a part of it is run again.
    RunReopened {
        task: TaskId,
    },
    TaskCreated {
        task: TaskId,
        kind: WorkflowTaskKind,
        begin: InitialStatus,
        from: Option<TaskId>,
    },
    /// A task changed its status, in this attempt.
    TaskMoved {
        task: TaskId,
        by: StatusMove,
        attempt: u32,
        /// The failure, the reason for the hold, or the person who answered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
        /// The class of the failure that ended the attempt, if one did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        class: Option<FailureClass>,
        /// The spending of the attempt that ended, if there was any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spent: Option<SpentAmount>,
        /// The budget that stopped the attempt, if one did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        budget: Option<BudgetScope>,
    },
    Assigned {
        task: TaskId,
        assignee: Option<String>,
    },
    /// A decision took an edge; the results of every condition up to it.
    Decided {
        decision: StepId,
        after: Option<TaskId>,
        to: StepId,
        evaluated: Vec<EvaluatedCondition>,
    },
    GroupOpened {
        group: TaskId,
        total: u32,
    },
    ItemStarted {
        group: TaskId,
        index: u32,
    },
    ItemEnded {
        group: TaskId,
        index: u32,
        status: ItemStatus,
    },
    ItemReopened {
        group: TaskId,
        index: u32,
    },
    GroupClosed {
        group: TaskId,
    },
    GroupReopened {
        group: TaskId,
    },
    /// A foreach takes over the items of another, which has ended: all but one keep their results.
    GroupContinued {
        group: TaskId,
        of: TaskId,
        index: u32,
    },
    Arrived {
        join: TaskId,
        from: TaskId,
    },
    /// A path reached a join that had fired already: recorded, without effect.
    CameLate {
        join: TaskId,
        from: TaskId,
    },
    /// A signal came from outside.
    Signalled {
        name: String,
        /// The wait that it ended; `None` if no step waited for it.
        task: Option<TaskId>,
    },
    /// A warning: a person should know it, but need not act.
    Warned {
        task: Option<TaskId>,
        message: String,
    },
}

/// A condition, the values it read and its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EvaluatedCondition {
    pub condition: String,
    pub result: bool,
    /// The paths it reads, with their values, shortened.
    pub values: Vec<(String, Value)>,
}

/// An entry of the outbox.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Notice {
    pub run: RunId,
    pub task: Option<TaskId>,
    pub kind: NoticeKind,
    /// A sentence.
    pub message: String,
    /// The person or agent asked, if the notice asks one.
    pub assignee: Option<String>,
}

/// The occasion of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeKind {
    /// A person got a task.
    TaskForYou,
    /// A person has not done a task yet.
    Reminder,
    /// A task was reassigned, because its assignee did not do it in time.
    Escalated,
    /// A task is on hold and waits for a person.
    OnHold,
    RunPaused,
    RunCompleted,
    RunFailed,
    RunCancelled,
}
