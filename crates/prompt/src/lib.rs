//! Questions put to whoever answers, the answers, and whether they fit.
//!
//! A [`Questionnaire`] is what a run wants to know. [`document`] turns it into something a person
//! or a model can read, [`Answers`] is what comes back in a file, [`reply`] finds the same in a
//! model's prose, and [`check_all`] decides whether the answers are what was asked for.
//!
//! Not here: who answers (transports), where files live, and how templates are rendered. This
//! crate does no input or output of any kind.

pub mod answers;
pub mod check;
pub mod document;
mod error;
mod fence;
pub mod guardrails;
mod kinds;
pub mod limits;
mod nearest;
mod problem;
pub mod questionnaire;
pub mod reply;
mod schema;
mod strict;
mod text;

pub use answers::{Answers, REQUEST_KEY};
pub use check::{TypedAnswers, check, check_all, stale, unknown_keys};
pub use document::{DOCUMENT_TEMPLATE, DocumentInput};
pub use error::Error;
pub use guardrails::{Guardrails, Syntax};
pub use nearest::{nearest, suggestion};
pub use problem::{Problem, Rule};
pub use questionnaire::{AnswerKind, ItemCount, Question, Questionnaire, RequestId, Source};
