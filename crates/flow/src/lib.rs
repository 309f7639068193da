//! Workflows: Mermaid diagrams that run.
//!
//! A workflow is a flowchart with a config block in its comments. [`parse`] reads it into a
//! [`Workflow`]: steps, edges, and which foreach each step stands in. [`engine::decide`] is a pure
//! function from what is known of a run and what happened to it to what changes; it never reads a
//! clock, a file or a socket, and a model's word never chooses a branch.
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
//! The port is [`Store`]; [`Memory`] shows the rows at work.
//!
//! A store keeps the rows of [`engine`] (`RunRow`, `TaskRow`, `GroupRow`, `ItemRow`, `TimerRow`, the
//! input of a run, events, the outbox), each by its key, and nothing of what they mean. For every
//! command, in one transaction in which no other command of the same run is decided (SQLite: the one
//! writer; PostgreSQL: the run's row `FOR UPDATE`):
//!
//! 1. get the workflow the run is pinned to (`RunRow::workflow`; texts never change, so parsed ones
//!    can be kept);
//! 2. make an [`engine::Batch`], or go on with the one of this transaction, and call
//!    [`engine::decide`] with it. `Err(Stop::Rows(lookup))` says which row is lacking: fetch it,
//!    [`engine::Batch::learn`] it, decide again. [`engine::likely`] says most of it
//!    beforehand. (A store whose lookups are synchronous can
//!    implement [`engine::Rows`] itself.)
//! 3. `Err(Stop::Refused(…))` is the answer, and nothing was changed;
//! 4. `Ok(decision)`: [`engine::Batch::commit`] it. After the last command of the group, write
//!    [`engine::Batch::changes`]: upsert each row, delete timers that are `None`, append events
//!    (unique on run and seq) and notices. Commit, and then answer.
//!
//! New tasks are rows that were not there; the unique key on [`TaskId`] makes routing exactly-once
//! even if two writers were to decide at the same time.
//!
//! Besides, a store finds three things by index, and hands each back as a command:
//!
//! | Found | Command |
//! |---|---|
//! | tasks that are `pending`, `execution = automated`, `ready_ms <= now`, of a run that is `running`: oldest first | [`engine::Command::Claim`] |
//! | tasks that are `in_progress` with a lease that has ended | [`engine::Command::LeaseLost`] |
//! | timers with `at_ms <= now` | [`engine::Command::Fire`], see below |
//!
//! # How a worker uses it
//!
//! Claim, then fill in the prompt: [`engine::view`] gives what its expressions read,
//! [`expression::fill`] fills them in. Work; send [`engine::Command::Heartbeat`]; a refusal with
//! [`engine::RefusalKind::StaleFence`] means stop, the task is somebody else's or cancelled. At the
//! end send [`engine::Command::Report`] with the fence of the claim.
//!
//! A due timer whose `due` is [`engine::Due::StartChild`] is for whoever knows the workflows: find
//! the subflow's text, send [`engine::Command::Start`] for the child run with the parent and depth
//! given (an [`engine::RefusalKind::AlreadyStarted`] is fine: somebody did), then
//! [`engine::Command::Fire`] for the timer. If there is no such workflow, send
//! [`engine::Command::ChildEnded`] with a failure, which takes the timer back. All other timers are
//! fired as they are.

mod error;
mod id;

// Text → workflow.
mod block;
mod branch_map;
mod branches;
mod config;
mod drawn;
mod input;
mod reads;
mod scopes;
mod spot;
mod step;
mod workflow;
mod written;

// Workflow → problems, files.
mod check;
mod commands;
pub mod export;
mod idle;
mod references;
mod settings;

// Expressions, and what is said to whoever does a step.
pub mod context;
pub mod expression;
pub mod layers;
mod markdown;
pub mod response;

// Runs.
pub mod engine;
mod memory;
mod replay;
mod store;

pub use check::{Surroundings, check, is_fine};
pub use config::{
    Branch, Budget, Config, DURATION_DAYS_MAX, Duration, Execution, Handler, OnTimeout, Policy,
    Retry, RetryClass, RetryOn, StepType,
};
pub use error::{Code, Error, Excerpt, PROBLEMS_MAX, Problem, Severity};
pub use expr::Reference;
pub use id::{Item, NoTaskId, Path, RunId, StepId, TaskId, TextHash};
pub use memory::Memory;
pub use replay::{Count, Skeleton, Unreplayable, replay};
pub use scopes::FOREACH_DEPTH_MAX;
pub use spot::Spot;
pub use store::{
    Claim, Claimed, Deletion, Done, Executed, Store, StoreError, StoreErrorKind, Stored, Thrown,
    Which,
};
pub use workflow::{
    CONCURRENCY_DEFAULT, DEPTH_DEFAULT, DEPTH_MAX, Edge, ITEMS_DEFAULT, ITEMS_MAX, STEPS_MAX, Step,
    VISITS_DEFAULT, When, Workflow, parse,
};
