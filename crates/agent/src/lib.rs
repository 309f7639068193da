//! The one loop between a model and its tools, the tools, and the tasks that use them.
//!
//! [`run`] goes on with a [`Conversation`] until the model answers without calling a tool.
//! Generation, repair and task handlers all use it; they differ only in the values handed in:
//!
//! ```text
//! Job { model, toolset, limits, clock, cancel, phase }   what it works with
//! Conversation                                           what was said so far
//! Journal                                                where turns are kept      (a port)
//! Observer                                               who watches               (a port)
//! ```
//!
//! # Turns
//!
//! A [`Turn`] is what was asked, what the model answered and what its tool calls gave. It is
//! committed to the [`Journal`] as one record together with its usage, or not at all, and only
//! then becomes part of the conversation. [`Conversation::open`] makes a conversation of the
//! committed turns; running it again goes on after the last of them, and a conversation that had
//! ended says so without asking the model.
//!
//! A turn under way leaves [`Note`]s: the reply (it is paid for), the begin and the end of every
//! tool call that changes something. After a crash the reply is not asked for again, calls that
//! ended keep their results and are not made again, and the model is told of the one call that
//! may or may not have happened. Calls that only read are made again.
//!
//! # What ends a run
//!
//! The model's answer, one of the [`Limits`], [`Cancel`], a model that fails, refuses or has
//! nothing to say, a tool that cannot go on, or a journal that cannot keep what was done. All but
//! the first are a [`Stopped`] with the totals so far. Whatever the model can mend (an unknown
//! tool, malformed arguments, a denied path, a patch that does not match, a command that failed)
//! is told to it instead: [`Fault`] has these two branches and no third.
//!
//! The crate reads no clock, no environment and no files: they are handed in.

mod error;
mod limits;

mod event;
mod journal;
mod spending;

mod bound;
mod schema;
mod tool;
mod toolset;

pub mod mcp;
mod patch;
pub mod tools;

mod ask;
mod conversation;
mod dispatch;
mod reply;
mod run;

pub mod handlers;
pub mod plan;
pub mod task;

pub use conversation::{Conversation, Setting};
pub use error::{Error, Kind, Stopped};
pub use event::{Event, Nobody, Observer};
pub use exec::Cancel;
pub use journal::{History, Journal, Memory, Note, Stored, Turn};
pub use limits::Limits;
pub use reply::Reply;
pub use run::{Clock, Finished, Job, run};
pub use spending::{Spending, Totals};
pub use tool::{Called, Deed, Effect, Fault, FileChange, Given, Lines, Output, Tool};
pub use toolset::Toolset;
