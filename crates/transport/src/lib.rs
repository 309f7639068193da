//! Gets questionnaires answered, or defers them: one transport per AI mode.
//!
//! [`choose`] decides from the settings who answers, [`open`] prepares that transport, and
//! [`Transport::resolve`] gets a questionnaire answered. All returned answers have passed
//! [`prompt::check_all`]; they are returned unconverted, so that the caller makes typed values of
//! them exactly once.
//!
//! ```text
//! Setup ─ choose ─ Chosen ─ open ─ resolve ─┬─ api      one call, one correction
//!                                           ├─ command  a program for each request or question
//!                                           ├─ stdio    a program that stays, JSON lines
//!                                           ├─ off      the person at the terminal
//!                                           └─ stdout   deferred: answered elsewhere
//! ```
//!
//! The crate reads no environment and no files and prints nothing: the caller passes variables,
//! tapes, the person and the day's spending.

mod error;
mod mode;
mod observe;
mod settings;

mod selection;
mod tape;
mod transport;

mod api;
mod command;
mod person;
mod stdio;

mod assemble;
mod question;
mod schema;

pub use assemble::{ProviderOffers, model, models};
pub use command::{ARGUMENT_BYTES_MAX, CommandPlan, CommandWords};
pub use error::{Error, Result, TAIL_BYTES_MAX};
pub use llm::AiErrorCode;
pub use mode::{CommandMode, TransportMode, provider};
pub use observe::{AskEvent, AskObserver, SilentObserver};
pub use person::{Person, PersonQuestion, RefusedAnswer, TRIES_MAX};
pub use selection::{ApiPlan, ChosenTransport, ModelEndpoint, ResolvedMode, choose};
pub use settings::{AiSettings, ModelPurpose, PurposeModels, TIMEOUT_DEFAULT};
pub use stdio::{NOISE_LINES_MAX, PROTOCOL, StdioPlan};
pub use tape::RecordMode;
pub use transport::{
    AnswerRequest, AskResolution, AskSpending, DeferReason, OpenTransport, Transport,
    TransportContext, open,
};
