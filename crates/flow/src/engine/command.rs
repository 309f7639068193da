//! Commands to a run, and the reasons for refusing one.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::engine::call::ModelCall;
use crate::engine::rows::{AttemptFailure, BudgetScope, ChildEnd, SpentAmount};
use crate::id::{RunId, TaskId, TextHash};
use crate::limits::RateLimit;

/// A fact or a request about one run, such as a worker's report or a person's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "command")]
pub enum EngineCommand {
    Start(RunStart),
    /// A worker takes a pending automated task, until its lease ends.
    Claim {
        task: TaskId,
        worker: String,
        lease_ms: u64,
        /// How many tasks may begin within a time.
        #[serde(default)]
        rates: Vec<RateLimit>,
    },
    /// A worker renews its lease. Refused when the worker has lost the task: it should stop.
    Heartbeat {
        task: TaskId,
        fence: u64,
        lease_ms: u64,
    },
    /// A worker reports how the attempt ended.
    Report {
        task: TaskId,
        fence: u64,
        report: AttemptReport,
    },
    /// The lease ended without a heartbeat. Refused when one has arrived meanwhile.
    LeaseLost {
        task: TaskId,
        fence: u64,
    },
    /// A person does a manual task, or decides about one on hold.
    Answer {
        task: TaskId,
        by: String,
        answer: TaskAnswer,
    },
    /// A timer of the run is due. Firing removes it.
    Fire {
        run: RunId,
        key: String,
    },
    /// A child run has ended, or could not be started.
    ChildEnded {
        task: TaskId,
        child: RunId,
        end: ChildEnd,
    },
    Cancel {
        run: RunId,
        reason: String,
    },
    Pause {
        run: RunId,
        reason: String,
    },
    /// Resumes the run, and retries the tasks that are on hold because their attempts failed.
    Resume {
        run: RunId,
    },
    /// Runs a task's step once more, and everything after it; earlier results stay as history.
    Rerun {
        task: TaskId,
    },
    /// Retries a task on hold with all its attempts, and with overrides of its step's settings, if
    /// given.
    Retry {
        task: TaskId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        with: Option<Map<String, Value>>,
    },
    /// Moves a paused run to another text. The engine decides it with that text, and refuses it if
    /// the run has events after `seq`, the last one that the caller has seen.
    Move {
        run: RunId,
        to: TextHash,
        seq: u64,
    },
    Assign {
        task: TaskId,
        assignee: Option<String>,
    },
    /// An event outside that a step may wait for.
    Signal {
        run: RunId,
        name: String,
        payload: Value,
    },
}

impl EngineCommand {
    /// Returns the run it is about.
    #[must_use]
    pub fn run(&self) -> &RunId {
        match self {
            EngineCommand::Start(start) => &start.run,
            EngineCommand::Claim { task, .. }
            | EngineCommand::Heartbeat { task, .. }
            | EngineCommand::Report { task, .. }
            | EngineCommand::LeaseLost { task, .. }
            | EngineCommand::Answer { task, .. }
            | EngineCommand::ChildEnded { task, .. }
            | EngineCommand::Rerun { task }
            | EngineCommand::Retry { task, .. }
            | EngineCommand::Assign { task, .. } => &task.run,
            EngineCommand::Fire { run, .. }
            | EngineCommand::Cancel { run, .. }
            | EngineCommand::Signal { run, .. }
            | EngineCommand::Move { run, .. }
            | EngineCommand::Pause { run, .. }
            | EngineCommand::Resume { run } => run,
        }
    }
}

/// The parameters of a new run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunStart {
    pub run: RunId,
    pub input: Value,
    pub assignee: Option<String>,
    pub tags: Vec<String>,
    pub parent: Option<TaskId>,
    pub depth: u32,
    /// The name of the workflow: its title, or else the name of its file.
    #[serde(default)]
    pub name: Option<String>,
    /// From [`crate::PRIORITY_MIN`] to [`crate::PRIORITY_MAX`]: higher ones are claimed first.
    #[serde(default)]
    pub priority: i32,
}

impl RunStart {
    /// Creates the parameters of a top-level run with this input.
    #[must_use]
    pub fn new(run: impl Into<RunId>, input: Value) -> RunStart {
        RunStart {
            run: run.into(),
            input,
            assignee: None,
            tags: Vec::new(),
            parent: None,
            depth: 0,
            name: None,
            priority: 0,
        }
    }
}

impl From<String> for RunId {
    fn from(text: String) -> Self {
        RunId::new(text)
    }
}

/// A worker's report about the end of an attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttemptReport {
    pub outcome: AttemptOutcome,
    /// Tags to add to the task's.
    pub tags: Vec<String>,
    /// The spending of this attempt.
    pub spent: SpentAmount,
    /// Warnings of the worker that need no action: a `{{path}}` that leads nowhere, a value that
    /// was cut.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// The prompt and replies, if the attempt asked a model or a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Box<ModelCall>>,
}

impl AttemptReport {
    #[must_use]
    pub fn completed(output: Value) -> AttemptReport {
        AttemptReport::of(AttemptOutcome::Completed {
            output,
            partial: false,
        })
    }

    #[must_use]
    pub fn failed(failure: AttemptFailure) -> AttemptReport {
        AttemptReport::of(AttemptOutcome::Failed(failure))
    }

    #[must_use]
    pub fn of(outcome: AttemptOutcome) -> AttemptReport {
        AttemptReport {
            outcome,
            tags: Vec::new(),
            spent: SpentAmount::default(),
            warnings: Vec::new(),
            call: None,
        }
    }
}

/// The outcome of an attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum AttemptOutcome {
    Completed {
        output: Value,
        partial: bool,
    },
    Failed(AttemptFailure),
    /// BLOCKED, ESCALATE, HOLD.
    Asked {
        reason: String,
        output: Option<Value>,
    },
    /// The work is done, but a person should review it: `confidence` is under the step's threshold.
    Unsure {
        reason: String,
        output: Value,
    },
    /// CONTINUE: one more turn of the same step.
    Continue {
        note: String,
        output: Option<Value>,
    },
    /// The next call would exceed a budget.
    OverBudget {
        reason: String,
        /// The budget, if it is one of the engine's.
        #[serde(default)]
        budget: Option<BudgetScope>,
    },
    /// The worker had to stop early. The attempt does not count.
    GivenBack,
}

/// A person's answer to a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "answer")]
pub enum TaskAnswer {
    /// The output.
    Done { output: Value },
    /// The present result is good enough: the output of a task under review, or the results a join
    /// has so far.
    Accept,
    /// The task cannot be done.
    Failed { message: String },
    /// Something is missing: BLOCKED, ESCALATE or HOLD in a reply.
    Asked {
        reason: String,
        output: Option<Value>,
    },
}

/// The reason why a command changes nothing: a kind to branch on, and a sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct CommandRefusal {
    pub kind: RefusalKind,
    pub message: String,
}

/// The kind of a refusal, for callers that branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalKind {
    /// The run exists already.
    AlreadyStarted,
    NoSuchRun,
    NoSuchTask,
    NoSuchTimer,
    /// The fence is old: another worker has the task, or it was cancelled.
    StaleFence,
    /// The task's or run's status does not allow it.
    WrongStatus,
    /// The task is not ready yet.
    NotReady,
    /// The concurrency limit is reached.
    NoRoom,
    /// The tasks that the run has done do not fit the new text.
    Misfit,
    /// The input does not fit the workflow's `@input`.
    BadInput,
    /// The answer does not fit the step's `outputSchema`.
    BadOutput,
    /// The given workflow is not the run's, or lacks the step.
    WrongWorkflow,
    /// A limit, named in the message.
    Limit,
    /// The store's rows contradict each other. This should not happen.
    Broken,
}

impl CommandRefusal {
    pub(crate) fn new(kind: RefusalKind, message: impl Into<String>) -> CommandRefusal {
        CommandRefusal {
            kind,
            message: message.into(),
        }
    }
}
