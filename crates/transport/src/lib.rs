//! Questionnaires to answers, or handed on: one transport per AI mode.
//!
//! [`choose`] decides from the settings who answers, [`open`] gets hold of them, and
//! [`Transport::resolve`] puts a questionnaire to them. Whoever answers, the answers that come back
//! have passed [`prompt::check_all`]; they are returned as they were given, so that the caller makes
//! typed values of them exactly once.
//!
//! ```text
//! Setup ─ choose ─ Chosen ─ open ─ resolve ─┬─ api      one call, one correction
//!                                           ├─ command  a program for each request or question
//!                                           ├─ stdio    a program that stays, JSON lines
//!                                           ├─ off      the person at the terminal
//!                                           └─ stdout   deferred: somebody else answers
//! ```
//!
//! The crate reads no environment and no files and prints nothing: variables, tapes, the person
//! and what the day has spent are handed in.

mod error;
mod mode;
mod observe;
mod setup;

mod choose;
mod tape;
mod transport;

mod api;
mod command;
mod person;
mod stdio;

mod assemble;
mod question;
mod schema;

pub use assemble::{Offered, model, models};
pub use choose::{Chosen, Plan, Served, Way, choose};
pub use command::{ARGUMENT_BYTES_MAX, CommandPlan, Words};
pub use error::{Error, Result, TAIL_BYTES_MAX};
pub use llm::Code;
pub use mode::{CommandMode, Mode, provider};
pub use observe::{Event, Observer, Silent};
pub use person::{Asked, Person, Refused, TRIES_MAX};
pub use question::CORRECTIONS_DEFAULT;
pub use setup::{Models, OUTPUT_BYTES_MAX_DEFAULT, Purpose, Setup, TIMEOUT_DEFAULT};
pub use stdio::{CORRECTIONS_MAX, NOISE_LINES_MAX, PROTOCOL, StdioPlan};
pub use tape::Taping;
pub use transport::{Opened, Reason, Request, Resolution, Spending, Surroundings, Transport, open};
