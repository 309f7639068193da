//! What a decision changes, as data.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::Execution;
use crate::engine::call::CallRow;
use crate::engine::rows::{
    Arrival, Failure, FailureClass, Hold, ItemRow, Lease, Pause, RunRow, Signal, Spent, TaskKind,
    TaskRow, TimerRow,
};
use crate::engine::status::{Begin, ItemStatus, Move, RunStatus};
use crate::id::{RunId, StepId, TaskId};

/// One change. A decision is a list of them, and all of them are committed or none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "action")]
pub enum Action {
    CreateRun {
        row: Box<RunRow>,
        input: Value,
    },
    /// The run's status, and why.
    SetRun {
        run: RunId,
        status: RunStatus,
        reason: Option<String>,
        pause: Option<Pause>,
    },
    /// The signals that nothing has waited for yet.
    SetSignals {
        run: RunId,
        signals: Vec<Signal>,
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
        by: Move,
    },
    /// What is known of a task besides its status.
    SetTask {
        task: TaskId,
        change: Box<TaskChange>,
    },
    /// A path has come to a join of branches.
    Arrive {
        join: TaskId,
        arrival: Arrival,
    },
    /// A foreach has these items; none is started.
    OpenGroup {
        group: TaskId,
        items: Vec<Value>,
    },
    /// The next item begins. It counts as running.
    StartItem {
        group: TaskId,
        index: u32,
    },
    /// An item goes on out of its turn, because a part of it is run again. It counts as running.
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
    /// A step of the item failed: the item will have failed when it ends.
    SetItemFailure {
        group: TaskId,
        index: u32,
        failure: Failure,
    },
    /// Nothing of the item is active any more. Happens once to every item.
    EndItem {
        group: TaskId,
        index: u32,
        status: ItemStatus,
    },
    /// An item that has ended goes on, because a part of it is run again.
    ReopenItem {
        group: TaskId,
        index: u32,
    },
    CloseGroup {
        group: TaskId,
    },
    /// A foreach that was over waits again: those of its items that are not ended begin anew.
    ReopenGroup {
        group: TaskId,
    },
    /// A foreach goes on with the items of one that was over; those that had ended are as they were.
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
    /// Gets the next number of its run.
    Append(Event),
    /// What was said in an attempt is kept.
    KeepCall(Box<CallRow>),
    /// Somebody outside is to be told, once this is committed.
    Notify(Notice),
}

/// A task to create.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewTask {
    pub id: TaskId,
    pub kind: TaskKind,
    pub execution: Execution,
    pub begin: Begin,
    pub from: Option<TaskId>,
    pub assignee: Option<String>,
    pub hold: Option<Hold>,
    pub tags: Vec<String>,
    pub passed: Vec<(StepId, u32)>,
    pub at_ms: u64,
}

/// What is to be set on a task; what is `None` stays as it is.
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
    pub failure: Option<Option<Failure>>,
    pub hold: Option<Option<Hold>>,
    /// Added to those it has.
    pub tags: Vec<String>,
    pub passed: Option<Vec<(StepId, u32)>>,
    /// Added to what it has spent.
    pub spent: Spent,
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
            spent: Spent::default(),
            created_ms: self.at_ms,
            ended_ms: None,
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
        for tag in &self.tags {
            if !row.tags.contains(tag) {
                row.tags.push(tag.clone());
            }
        }
        row.spent.tokens = row.spent.tokens.saturating_add(self.spent.tokens);
        row.spent.micros = row.spent.micros.saturating_add(self.spent.micros);
    }
}

/// Something that happened to a run, as it is kept for ever.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    pub run: RunId,
    /// From 1 in every run, without gaps.
    pub seq: u64,
    pub at_ms: u64,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what")]
pub enum What {
    RunStarted {
        workflow: String,
        parent: Option<TaskId>,
    },
    RunPaused {
        reason: String,
    },
    RunResumed,
    /// Completed, failed or cancelled.
    RunEnded {
        status: RunStatus,
        reason: Option<String>,
    },
    /// A run that had ended goes on: a part of it is run again.
    RunReopened {
        task: TaskId,
    },
    TaskCreated {
        task: TaskId,
        kind: TaskKind,
        begin: Begin,
        from: Option<TaskId>,
    },
    /// A task moved, and in which attempt.
    TaskMoved {
        task: TaskId,
        by: Move,
        attempt: u32,
        /// The failure, the reason it is on hold, who answered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
        /// What sort of failure ended the attempt, where one did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        class: Option<FailureClass>,
        /// What the attempt that ended was paid for, where it was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spent: Option<Spent>,
    },
    Assigned {
        task: TaskId,
        assignee: Option<String>,
    },
    /// A decision was taken: which edge, and what every condition up to it came to.
    Decided {
        decision: StepId,
        after: Option<TaskId>,
        to: StepId,
        evaluated: Vec<Evaluated>,
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
    /// A foreach goes on with the items of another, which is over: all but one as they had ended.
    GroupContinued {
        group: TaskId,
        of: TaskId,
        index: u32,
    },
    Arrived {
        join: TaskId,
        from: TaskId,
    },
    /// A path came to a join that had fired: kept, and nothing else.
    CameLate {
        join: TaskId,
        from: TaskId,
    },
    /// A signal came from outside.
    Signalled {
        name: String,
        /// The wait that it ended; nothing where none waited.
        task: Option<TaskId>,
    },
    /// Something a person should know and nobody has to act on.
    Warned {
        task: Option<TaskId>,
        message: String,
    },
}

/// A condition, what it read and what it came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluated {
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
    /// Who is asked, where somebody is.
    pub assignee: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeKind {
    /// A person has a task to do.
    TaskForYou,
    /// A person has a task to do and has not done it yet.
    Reminder,
    /// A task is given to somebody else, because nobody did it in time.
    Escalated,
    /// A task is on hold and waits for a person.
    OnHold,
    RunPaused,
    RunCompleted,
    RunFailed,
    RunCancelled,
}
