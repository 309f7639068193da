//! Workflows: Mermaid diagrams that run.
//!
//! A workflow is a flowchart with a config block in its comments. [`parse`] reads it into a
//! [`Workflow`]: steps, edges, and the foreach steps around each step. [`engine::decide`] is a pure
//! function from the rows of a run and a command to the changes that follow; it never reads a clock,
//! a file or a socket, and a model's word never chooses a branch.
//!
//! ```text
//! text ─ parse ─► Workflow ─ check ─► problems
//!                    │
//!  Command ──► decide(workflow, rows, command, now) ──► Decision { actions, changes } | Refusal
//!                    ▲                                        │ one transaction
//!                    └──────────── rows by key ◄──────────────┘
//! ```
//!
//! # How a store uses it
//!
//! The port is [`WorkflowStore`]; [`MemoryRows`] is the smallest implementation of its rows.
//!
//! A store keeps the rows of [`engine`] (`RunRow`, `TaskRow`, `GroupRow`, `ItemRow`, `TimerRow`, the
//! input of a run, events, the outbox), each by its key, and does not interpret them. For every
//! command, in one transaction in which no other command of the same run is decided (SQLite: the one
//! writer; PostgreSQL: the run's row `FOR UPDATE`):
//!
//! 1. get the workflow the run is pinned to (`RunRow::workflow`; texts never change, so parsed ones
//!    can be kept);
//! 2. make an [`engine::RowCache`], or continue with the one of this transaction, and call
//!    [`engine::decide`] with it. `Err(DecisionStop::Rows(lookup))` names a missing row: read it,
//!    [`engine::RowCache::learn`] it, decide again. [`engine::likely`] names most rows beforehand. (A
//!    store whose lookups are synchronous can implement [`engine::RowSource`] itself.)
//! 3. `Err(DecisionStop::Refused(…))` is the answer, and nothing was changed;
//! 4. `Ok(decision)`: [`engine::RowCache::commit`] it. After the last command of the group, write
//!    [`engine::RowCache::changes`]: upsert each row, delete timers that are `None`, append events
//!    (unique on run and seq) and notices. Commit, and then answer.
//!
//! New tasks are new rows; the unique key on [`TaskId`] makes routing exactly-once
//! even if two writers were to decide at the same time.
//!
//! A store also finds three things by index, and hands each back as a command:
//!
//! | Found | Command |
//! |---|---|
//! | tasks that are `pending`, `execution = automated`, `ready_ms <= now`, of a run that is `running`: oldest first | [`engine::EngineCommand::Claim`] |
//! | tasks that are `in_progress` with a lease that has ended | [`engine::EngineCommand::LeaseLost`] |
//! | timers with `at_ms <= now` | [`engine::EngineCommand::Fire`], see below |
//!
//! # How a worker uses it
//!
//! Claim, then fill in the prompt: [`engine::view`] returns the values that its expressions read,
//! [`expression::fill`] fills them in. During the work, send [`engine::EngineCommand::Heartbeat`]; a refusal
//! with [`engine::RefusalKind::StaleFence`] means stop, because the task was cancelled or belongs to
//! another worker now. At the end send [`engine::EngineCommand::Report`] with the fence of the claim.
//!
//! A worker also handles due timers. For [`engine::TimerPurpose::StartChild`], it finds the subflow's text,
//! sends [`engine::EngineCommand::Start`] for the child run with the parent and depth given (an
//! [`engine::RefusalKind::AlreadyStarted`] is fine: another worker was faster), then
//! [`engine::EngineCommand::Fire`] for the timer. If there is no such workflow, it sends
//! [`engine::EngineCommand::ChildEnded`] with a failure, which removes the timer. It fires all other timers
//! as they are.

mod error;
mod id;

// Text → workflow.
mod block;
mod branch_map;
mod branches;
mod config;
mod config_source;
mod edges;
mod input;
mod limits;
mod line_span;
mod log;
mod overrides;
mod reads;
mod scopes;
mod step;
mod triggers;
mod workflow;

// Workflow → problems, files.
mod check;
mod commands;
mod drawing;
pub mod export;
mod fields;
mod idle;
mod patching;
mod references;
mod settings;

// Expressions, and the prompts of steps.
pub mod context;
pub mod expression;
pub mod layers;
mod markdown;
pub mod response;

// Runs.
pub mod engine;
mod memory;
mod moving;
mod replay;
mod store;

pub use check::{CheckSurroundings, check, is_fine};
pub use config::{
    DecisionBranch, ExecutionMode, JoinPolicy, OnTimeout, RetryClass, RetryOn, RetryPolicy,
    StepBudget, StepConfig, StepHandler, StepType, TimeSpan,
};
pub use drawing::{DrawingEdit, DrawnKind, RedrawnText, drawn_kind, redraw, settings_of};
pub use error::{Error, PROBLEMS_MAX, ProblemSeverity, WorkflowProblem, WorkflowProblemCode};
pub use expr::NameReference;
pub use fields::{SETTING_FIELDS, SettingField, SettingKind};
pub use id::{ForeachItem, ItemPath, NoTaskId, RunId, StepId, TaskId, TextHash};
pub use limits::{
    ConcurrencyLimit, KEY_BYTES_MAX, OnLimit, PRIORITY_MAX, PRIORITY_MIN, RATE_MAX, RateLimit,
    RateScope,
};
pub use line_span::LineSpan;
pub use log::{LOG_BYTES_MAX, LOG_LINE_BYTES_MAX, LogLine, LogStream};
pub use memory::MemoryRows;
pub use moving::{MovePlan, plan_move};
pub use replay::{ForeachCounts, ReplayError, RunSkeleton, replay};

pub use store::{
    ClaimRequest, ClaimedTask, ExecuteResult, FinishedTask, PruneProgress, RunDeletion, StoreError,
    StoreErrorKind, StoreFuture, TaskSelection, WorkflowStore,
};
pub use triggers::{ClockCause, RunEnd, TriggerCause, WorkflowTrigger};
pub use workflow::{
    DEPTH_DEFAULT, DEPTH_MAX, EdgeCondition, ITEMS_MAX, STEPS_MAX, Workflow, WorkflowEdge,
    WorkflowStep, parse,
};
