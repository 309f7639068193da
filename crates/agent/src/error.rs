//! The one error: a kind to branch on and a sentence that says what to do next.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::spending::ConversationTotals;

/// The kind of an error, for callers that branch on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentErrorKind {
    /// One of [`crate::Limits`] was hit; the message names it.
    Limit,
    /// A budget of `ai.budget` was hit; the message names it.
    Budget,
    /// The provider failed, or the request could not be made.
    Model,
    /// The model refused, or its provider's filter did.
    Refused,
    /// The model had nothing to say, twice.
    EmptyReply,
    /// A tool cannot go on.
    Tool,
    /// A turn could not be stored or read back.
    Journal,
    /// The caller cancelled the run.
    Cancelled,
    /// The values handed in do not fit together, such as two tools of one name.
    Setup,
    /// An MCP server did not start or did not answer.
    Mcp,
}

/// Something that cannot be told to the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: AgentErrorKind,
    message: String,
    code: Option<llm::AiErrorCode>,
}

impl Error {
    /// Makes an error of this kind; the message is a sentence or two.
    pub fn new(kind: AgentErrorKind, message: impl Into<String>) -> Error {
        Error {
            kind,
            message: message.into(),
            code: None,
        }
    }

    /// Returns the kind to branch on.
    pub fn kind(&self) -> AgentErrorKind {
        self.kind
    }

    /// Returns the provider's failure, when it was one.
    pub fn code(&self) -> Option<llm::AiErrorCode> {
        self.code
    }

    /// Makes the error of a limit that was hit: its name in the configuration, its value, and what
    /// reached it.
    pub(crate) fn limit(name: &str, value: impl fmt::Display, reached: &str) -> Error {
        Error::new(
            AgentErrorKind::Limit,
            format!(
                "the run was stopped by {name} = {value}: {reached}. Finished work is kept; raise \
                 the limit and resume to go on."
            ),
        )
    }
}

impl From<llm::Error> for Error {
    fn from(error: llm::Error) -> Error {
        let kind = match error.code {
            llm::AiErrorCode::BudgetExceeded => AgentErrorKind::Budget,
            _ => AgentErrorKind::Model,
        };
        Error {
            kind,
            message: error.to_string(),
            code: Some(error.code),
        }
    }
}

/// A run that ended before the model was done. Committed turns are kept.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{error}")]
pub struct StoppedRun {
    /// Why.
    pub error: Error,
    /// Usage of the conversation so far, failed calls included.
    pub totals: Box<ConversationTotals>,
}

impl StoppedRun {
    /// Returns the kind to branch on.
    pub fn kind(&self) -> AgentErrorKind {
        self.error.kind()
    }
}
