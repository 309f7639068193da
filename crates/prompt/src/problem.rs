//! One wrong answer, as data and as a sentence.

use crate::questionnaire::QuestionSource;
use serde::Serialize;
use serde_json::Value;
use std::fmt;

/// The rule an answer broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum AnswerRule {
    /// A required question has no answer, or the answer `null`.
    Missing,
    /// The answer still is what the document's skeleton shows in its place.
    Placeholder,
    /// Larger than `ANSWER_BYTES_MAX`.
    TooLarge,
    /// Nested deeper than `ANSWER_DEPTH_MAX`.
    TooDeep,
    Text,
    Code,
    Json,
    Boolean,
    Select,
    Pick,
    Order,
    Number,
    List,
    /// The answer violates the question's own schema.
    Schema,
    /// The question's schema cannot be used: the template is wrong, not the answer.
    BrokenSchema,
    /// Shorter or longer than the question's guardrails say.
    Length,
    /// Not correct in the language the question's guardrails name.
    Syntax,
    /// It imports what the question's guardrails do not let it import.
    Imports,
    /// No question has this key.
    UnknownKey,
    /// The answers carry the id of another request.
    StaleRequest,
}

/// A wrong answer: which, why, what was found, and where it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AnswerProblem {
    pub key: String,
    pub rule: AnswerRule,
    /// The problem, worded to follow "Answer `key`".
    pub message: String,
    /// The value as it was found, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<Box<Value>>,
    /// The place of the question, absent when there is no such question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<QuestionSource>,
}

impl fmt::Display for AnswerProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Answer `{}`", crate::text::shorten(&self.key))?;
        if let Some(place) = &self.place {
            write!(f, " (asked at {place})")?;
        }
        write!(f, " {}", self.message)
    }
}
