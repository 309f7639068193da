//! What can happen to a run, and why it may be refused.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::engine::call::ModelCall;
use crate::engine::rows::{ChildEnd, Failure, Spent};
use crate::id::{RunId, TaskId};

/// Something that happened, or that somebody wants. Every command is about one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "command")]
pub enum Command {
    Start(Start),
    /// A worker takes a pending automated task, until its lease ends.
    Claim {
        task: TaskId,
        worker: String,
        lease_ms: u64,
    },
    /// The worker is still there. Refused when the task is not its any more: it should stop.
    Heartbeat {
        task: TaskId,
        fence: u64,
        lease_ms: u64,
    },
    /// The worker says how the attempt ended.
    Report {
        task: TaskId,
        fence: u64,
        report: Report,
    },
    /// The lease ended and no word came. Refused when there was one meanwhile.
    LeaseLost {
        task: TaskId,
        fence: u64,
    },
    /// A person does a manual task, or decides about one on hold.
    Answer {
        task: TaskId,
        by: String,
        answer: Answer,
    },
    /// A timer of the run is due. It is disarmed with whatever it does.
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
    /// Goes on, and tries again what is on hold because its attempts failed.
    Resume {
        run: RunId,
    },
    /// Runs a task's step once more, and everything after it; what it gave before is kept.
    Rerun {
        task: TaskId,
    },
    /// Tries a task on hold again, with all its attempts.
    Retry {
        task: TaskId,
    },
    Assign {
        task: TaskId,
        assignee: Option<String>,
    },
    /// Something a step waits for has happened outside.
    Signal {
        run: RunId,
        name: String,
        payload: Value,
    },
}

impl Command {
    /// The run it is about.
    #[must_use]
    pub fn run(&self) -> &RunId {
        match self {
            Command::Start(start) => &start.run,
            Command::Claim { task, .. }
            | Command::Heartbeat { task, .. }
            | Command::Report { task, .. }
            | Command::LeaseLost { task, .. }
            | Command::Answer { task, .. }
            | Command::ChildEnded { task, .. }
            | Command::Rerun { task }
            | Command::Retry { task }
            | Command::Assign { task, .. } => &task.run,
            Command::Fire { run, .. }
            | Command::Cancel { run, .. }
            | Command::Signal { run, .. }
            | Command::Pause { run, .. }
            | Command::Resume { run } => run,
        }
    }
}

/// A run to begin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Start {
    pub run: RunId,
    pub input: Value,
    pub assignee: Option<String>,
    pub tags: Vec<String>,
    pub parent: Option<TaskId>,
    pub depth: u32,
    /// What the workflow is called: its title, or else the name of its file.
    #[serde(default)]
    pub name: Option<String>,
}

impl Start {
    /// A run of its own with this input.
    #[must_use]
    pub fn new(run: impl Into<RunId>, input: Value) -> Start {
        Start {
            run: run.into(),
            input,
            assignee: None,
            tags: Vec::new(),
            parent: None,
            depth: 0,
            name: None,
        }
    }
}

impl From<String> for RunId {
    fn from(text: String) -> Self {
        RunId::new(text)
    }
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub outcome: Outcome,
    /// Added to the task's.
    pub tags: Vec<String>,
    /// In this attempt.
    pub spent: Spent,
    /// What the worker noticed and nobody has to act on: a `{{path}}` that leads nowhere, a value
    /// that was cut.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// What was said, where somebody was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Box<ModelCall>>,
}

impl Report {
    #[must_use]
    pub fn completed(output: Value) -> Report {
        Report::of(Outcome::Completed {
            output,
            partial: false,
        })
    }

    #[must_use]
    pub fn failed(failure: Failure) -> Report {
        Report::of(Outcome::Failed(failure))
    }

    #[must_use]
    pub fn of(outcome: Outcome) -> Report {
        Report {
            outcome,
            tags: Vec::new(),
            spent: Spent::default(),
            warnings: Vec::new(),
            call: None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum Outcome {
    Completed {
        output: Value,
        partial: bool,
    },
    Failed(Failure),
    /// BLOCKED, ESCALATE, HOLD.
    Asked {
        reason: String,
        output: Option<Value>,
    },
    /// The work is done, but a person should look: `confidence` is under the step's threshold.
    Unsure {
        reason: String,
        output: Value,
    },
    /// CONTINUE: one more turn of the same step.
    Continue {
        note: String,
        output: Option<Value>,
    },
    /// A budget would be exceeded by the next call.
    OverBudget {
        reason: String,
    },
    /// The worker was asked to stop before it was done. The attempt does not count.
    GivenBack,
}

/// What a person says to a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "answer")]
pub enum Answer {
    /// The output.
    Done { output: Value },
    /// What is there already is good enough: the output of a task under review, or the results a
    /// join has so far.
    Accept,
    /// It cannot be done.
    Failed { message: String },
    /// Something is missing: BLOCKED, ESCALATE or HOLD in a reply.
    Asked {
        reason: String,
        output: Option<Value>,
    },
}

/// Why a command changes nothing. A kind to branch on, and a sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    pub kind: RefusalKind,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalKind {
    /// The run exists already.
    AlreadyStarted,
    NoSuchRun,
    NoSuchTask,
    NoSuchTimer,
    /// The fence is an old one: somebody else has the task, or it was cancelled.
    StaleFence,
    /// The task's or run's status does not allow it.
    WrongStatus,
    /// The task is not ready yet.
    NotReady,
    /// The input is not what the workflow's `@input` wants.
    BadInput,
    /// The answer is not what the step's `outputSchema` wants.
    BadOutput,
    /// The workflow handed in is not the run's, or lacks the step.
    WrongWorkflow,
    /// A limit, named in the message.
    Limit,
    /// The store's rows do not fit together. It should not happen.
    Broken,
}

impl Refusal {
    pub(crate) fn new(kind: RefusalKind, message: impl Into<String>) -> Refusal {
        Refusal {
            kind,
            message: message.into(),
        }
    }
}
