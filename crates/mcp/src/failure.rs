//! Failures of a tool as the model reads them: one sentence, and what to do next.

use app::{AppErrorCode, Error};
use rmcp::model::{CallToolResult, ContentBlock};
use store::AuditOutcome;

/// Why a call did nothing, in words for the model.
#[derive(Debug)]
pub(crate) struct ToolFailure {
    message: String,
    hint: Option<String>,
    is_refusal: bool,
}

impl ToolFailure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: None,
            is_refusal: false,
        }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Marks a call that the caller may not make, for the audit log.
    pub(crate) fn refused(mut self) -> Self {
        self.is_refusal = true;
        self
    }

    /// Returns the outcome for the audit log.
    pub(crate) fn outcome(&self) -> AuditOutcome {
        if self.is_refusal {
            AuditOutcome::Refused
        } else {
            AuditOutcome::Failed
        }
    }

    /// The result that carries it. It has no structured content: there is no result to describe.
    pub(crate) fn into_result(self) -> CallToolResult {
        let text = match self.hint {
            Some(hint) => format!("{}. Next: {hint}", self.message.trim_end_matches('.')),
            None => self.message,
        };
        CallToolResult::error(vec![ContentBlock::text(text)])
    }
}

impl From<Error> for ToolFailure {
    fn from(error: Error) -> Self {
        let mut failure = ToolFailure::new(error.to_string());
        if let Error::Own(fault) = &error {
            failure.hint.clone_from(&fault.hint);
            failure.is_refusal = fault.code == AppErrorCode::Forbidden;
        }
        failure
    }
}
