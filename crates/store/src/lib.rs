//! What agents do, kept in a database: runs, their conversations turn by turn, results and costs.
//!
//! This crate is the door to SQL. [`Store`] is the database of a project, `.drawloom/drawloom.db`;
//! a [`Run`] is one `task run` or `plan run` in it, held by one process at a time, and gives out
//! a [`Conversation`], which is an [`agent::Journal`], for everything that talks to a model.
//!
//! [`Store`] is [`builder::Jobs`] as well: a build job is a document whose every change names what
//! it was before, and has a run for its conversations and its lock.
//!
//! What returned `Ok` survives `kill -9` and the loss of power: every commit is flushed to the
//! disk. Several processes may use one database; writers wait for each other, and whoever holds a
//! run holds a lock that the system takes back when they die. The file is for its owner's eyes
//! only, and known keys are taken out of everything before it is kept.
//!
//! Workflows are kept behind [`flow::Store`], in the same file ([`Store::workflows`]) or, for workers
//! on several machines, in PostgreSQL ([`Postgres`]). What decides, and how orders are grouped into
//! transactions, is the same for both; an engine only finds and writes rows.
//!
//! Users, schedules, saved views and tokens have a port each ([`People`], [`Schedules`], [`Views`],
//! [`Tokens`], [`Outbox`]), which both engines implement. The [`attempts`] of a task are told from the events of
//! its run: they are written nowhere a second time.
//!
//! [`Queries`] is what people ask about runs and tasks; the engine's own questions are in [`flow::Store`].
//!
//! Each engine has a folder of its own with the same file names in it.

mod attempts;
mod error;
mod lock;
mod outbox;
mod people;
mod queries;
mod record;
mod schedules;
mod tokens;
mod views;
mod workflows;

mod postgres;
mod sqlite;

pub use attempts::{Attempt, AttemptEnd, attempts};
pub use error::{Error, Kind, Result};
pub use outbox::{KeptNotice, Outbox};
pub use people::{AGENT_PROMPT_BYTES_MAX, DISPLAY_NAME_CHARS_MAX, EMAIL_CHARS_MAX, SLUG_CHARS_MAX};
pub use people::{Nature, People, Role, Slug, User, Who};
pub use postgres::{Hints, Postgres, PostgresOptions};
pub use queries::{PendingWork, Queries, RunCursor, RunFilter, TaskFilter};
pub use record::{Kept, NewRun, RunId, RunKind, RunRecord, RunState, Spent};
pub use schedules::{Firing, Schedule, Schedules};
pub use sqlite::{Conversation, Options, Run, Scrub, Store};
pub use tokens::{Admission, Bearer, NewToken, Token, TokenId, TokenSecret, Tokens};
pub use tokens::{TOKEN_NAME_CHARS_MAX, TOKEN_PREFIX, TOKEN_USE_MS_STEP};
pub use views::{List, NewView, View, ViewId, Views};
pub use views::{VIEW_FILTER_BYTES_MAX, VIEW_NAME_CHARS_MAX};
