//! Child processes with limits: time, output, environment, and nothing left behind.
//!
//! This is the one door to `std::process`. An [`Invocation`] describes a command completely before
//! it starts; [`run`] runs it and always returns: it kills a child that does not end, does not wait
//! for a grandchild that keeps a pipe open, and reads and drops output over the limit. A
//! [`CommandSession`] is a command that keeps running and talks line by line.
//!
//! Not here: the purpose of a command, the meaning of its output, questions to the user. Every
//! child has a session of its own, so it cannot reach the terminal.
#![expect(
    clippy::disallowed_methods,
    reason = "this crate is the door to std::process"
)]

mod environment;
mod error;
mod invocation;
mod outcome;

mod capture;
mod lookup;
mod run;
mod session;

pub mod sandbox;

pub use environment::{AGENT_VARIABLES, ChildEnvironment, InheritedVariables, SECRET_MARKS};
pub use error::{Error, ExecErrorKind};
pub use invocation::{
    AGENT_MARKERS, CommandCancel, Invocation, OUTPUT_BYTES_MAX, TIMEOUT_DEFAULT, shell,
};
pub use lookup::{home_of_user, which};
pub use outcome::{CommandOutcome, CommandStatus, OutputStream};
pub use run::{DRAIN_MAX, KILL_GRACE, LINE_BYTES_MAX, run, run_observed};
pub use session::{CommandSession, SessionEvent};
