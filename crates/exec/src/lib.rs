//! Child processes with limits: time, output, environment, and nothing left behind.
//!
//! This is the one door to `std::process`. An [`Invocation`] says everything
//! about a command before it starts; [`run`] carries it out and always returns:
//! a child that does not end is ended, a grandchild that keeps a pipe open is
//! not waited for, output over the limit is read and dropped. A [`Session`] is a
//! command that stays and is talked to line by line.
//!
//! What is not here: what a command is for, what its output means, asking the
//! user. Every child has a session of its own, so it cannot reach the terminal.
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

pub use environment::{AGENT_VARIABLES, Env, Inherit, SECRET_MARKS};
pub use error::{Error, ErrorKind};
pub use invocation::{
    AGENT_MARKERS, Cancel, Invocation, OUTPUT_BYTES_MAX, OUTPUT_BYTES_STOP, TIMEOUT_DEFAULT, shell,
};
pub use lookup::{home_of_user, which};
pub use outcome::{Outcome, Status, Stream};
pub use run::{DRAIN_MAX, KILL_GRACE, KILL_WAIT_MAX, LINE_BYTES_MAX, run, run_observed};
pub use session::{Heard, Session};
