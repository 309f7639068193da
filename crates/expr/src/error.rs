//! The one error of the expression language: a code to branch on, a sentence, and a place.

use std::fmt;

/// Category of an error, named as the Edge family of engines names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExprErrorCode {
    /// The text is not a JavaScript expression.
    Parser,
    /// The text is JavaScript, but of a kind templates do not allow.
    UnallowedExpression,
    /// Evaluation failed.
    Runtime,
    /// A limit of [`crate::Limits`] was reached.
    Limit,
}

impl ExprErrorCode {
    /// Returns the code as users see it.
    pub fn as_str(self) -> &'static str {
        match self {
            ExprErrorCode::Parser => "E_PARSER_ERROR",
            ExprErrorCode::UnallowedExpression => "E_UNALLOWED_EXPRESSION",
            ExprErrorCode::Runtime => "E_RUNTIME_EXCEPTION",
            ExprErrorCode::Limit => "E_LIMIT_EXCEEDED",
        }
    }
}

/// An error with the byte offset in the expression's text where it arose, when one is known.
///
/// Boxed: every evaluation returns a `Result`, and a small one is moved faster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<ExprErrorDetail>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct ExprErrorDetail {
    code: ExprErrorCode,
    message: String,
    offset: Option<u32>,
    /// Set when the error comes from another place than the expression at hand (a slot, a partial):
    /// the host that knows the place has attached it already and no one else may move it.
    placed: Option<ExprPosition>,
}

/// A place in a file, attached by the host that knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExprPosition {
    pub file: String,
    pub line: u32,
    pub column: u32,
}

impl Error {
    pub fn new(code: ExprErrorCode, message: impl Into<String>) -> Self {
        Self(Box::new(ExprErrorDetail {
            code,
            message: message.into(),
            offset: None,
            placed: None,
        }))
    }

    pub fn runtime(message: impl Into<String>) -> Self {
        Self::new(ExprErrorCode::Runtime, message)
    }

    pub fn limit(message: impl Into<String>) -> Self {
        Self::new(ExprErrorCode::Limit, message)
    }

    /// Adds the offset, unless an inner one is known already.
    #[must_use]
    pub fn at(mut self, offset: u32) -> Self {
        self.0.offset.get_or_insert(offset);
        self
    }

    /// Attaches a file position, unless one is attached already.
    #[must_use]
    pub fn placed(mut self, file: &str, line: u32, column: u32) -> Self {
        self.0.placed.get_or_insert_with(|| ExprPosition {
            file: file.to_owned(),
            line,
            column,
        });
        self
    }

    /// Moves the offset into a surrounding text that starts `by` bytes earlier.
    #[must_use]
    pub fn shifted(mut self, by: u32) -> Self {
        self.0.offset = Some(self.0.offset.unwrap_or(0).saturating_add(by));
        self
    }

    /// Moves the offset out of a text that was wrapped with `by` bytes in front.
    #[must_use]
    pub(crate) fn unshifted(mut self, by: u32) -> Self {
        self.0.offset = self.0.offset.map(|offset| offset.saturating_sub(by));
        self
    }

    pub fn code(&self) -> ExprErrorCode {
        self.0.code
    }

    pub fn message(&self) -> &str {
        &self.0.message
    }

    pub fn offset(&self) -> Option<u32> {
        self.0.offset
    }

    pub fn place(&self) -> Option<&ExprPosition> {
        self.0.placed.as_ref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.code.as_str(), self.0.message)
    }
}

impl std::error::Error for Error {}
