//! Questions, their answers, and the checks that answers have to pass.
//!
//! A [`Questionnaire`] holds the questions of a run. [`document`] turns it into text for a person
//! or a model, [`Answers`] reads the answers from a file, [`reply`] finds them in a model's prose,
//! and [`check_all`] checks them.
//!
//! Not here: transports that bring the answers, the location of files, and the rendering of
//! templates. This crate does no input or output of any kind.

pub mod answers;
pub mod check;
pub mod document;
mod error;
mod fence;
pub mod guardrails;
mod kinds;
pub mod limits;
mod problem;
pub mod questionnaire;
pub mod reply;
mod schema;
mod strict_json;
mod text;

pub use answers::{Answers, REQUEST_KEY};
pub use check::{TypedAnswers, check, check_all, stale, unknown_keys};
pub use document::{DOCUMENT_TEMPLATE, DocumentInput};
pub use error::Error;
pub use guardrails::{GuardedSyntax, Guardrails};
pub use problem::{AnswerProblem, AnswerRule};
pub use questionnaire::{
    AnswerKind, ItemCount, Question, QuestionSource, Questionnaire, RequestId,
};
