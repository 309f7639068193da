//! The one loop between a model and its tools, the tools, and the tasks that use them.
//!
//! [`run`] goes on with a [`Conversation`] until the model answers without calling a tool.
//! Generation, repair and task handlers all use it; they differ only in the values handed in:
//!
//! ```text
//! Job { model, toolset, limits, clock, cancel, phase }   its dependencies
//! Conversation                                           the messages so far
//! Journal                                                stores turns              (a port)
//! Observer                                               watches the run           (a port)
//! ```
//!
//! # Turns
//!
//! A [`ConversationTurn`] is the question, the model's answer and the results of its tool calls. It is
//! committed to the [`TurnJournal`] as one record together with its usage, or not at all, and only then
//! becomes part of the conversation. [`Conversation::open`] makes a conversation of the committed
//! turns; running it again goes on after the last of them, and a conversation that had ended says
//! so without asking the model.
//!
//! A turn under way leaves [`TurnNote`]s: the reply (it is paid for), and the beginning and the end of
//! every tool call that changes something. After a crash the reply is not asked for again, calls
//! that ended keep their results and are not made again, and the model is told of the one call that
//! may or may not have happened. Calls that only read are made again.
//!
//! # What ends a run
//!
//! The model's answer, one of the [`Limits`], [`exec::CommandCancel`], a model that fails, refuses or has
//! nothing to say, a tool that cannot go on, or a journal that cannot record a turn. All but
//! the first are a [`StoppedRun`] with the totals so far. Anything the model can correct (an unknown
//! tool, malformed arguments, a denied path, a patch that does not match, a command that failed)
//! is sent back to it instead: [`ToolError`] has these two branches and no third.
//!
//! The crate reads no clock, no environment and no files: they are handed in.

mod error;
mod limits;

mod event;
mod journal;
mod spending;

mod schema;
mod tool;
mod toolset;
mod truncate;

pub mod mcp;
mod patch;
pub mod tools;

mod conversation;
mod dispatch;
mod model_call;
mod reply;
mod run;

pub mod handlers;
pub mod plan;
pub mod task;

pub use conversation::{Conversation, ConversationConfig};
pub use error::{AgentErrorKind, Error, StoppedRun};
pub use event::{AgentEvent, AgentObserver, NoAgentObserver};
pub use exec::CommandCancel;
pub use journal::{
    ConversationTurn, JournalFuture, MemoryJournal, TurnHistory, TurnJournal, TurnNote,
};
pub use limits::Limits;
pub use reply::ModelReply;
pub use run::{AgentClock, FinishedRun, LoopConfig, run};
pub use spending::{CallSpending, ConversationTotals};
pub use tool::{
    CallContext, CallEffect, FileChangeKind, LineSender, Tool, ToolAction, ToolError, ToolFuture,
    ToolOutput,
};
pub use toolset::AgentTools;
