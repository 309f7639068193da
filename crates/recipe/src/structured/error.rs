//! The error about a text or the changes to it, and its position.

use std::fmt;

/// Reason why a text was not read or not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub message: String,
    /// Counted from one; `None` if the changes are wrong and not the text.
    pub line: Option<u32>,
    /// In characters, counted from one.
    pub column: Option<u32>,
    pub hint: Option<String>,
}

impl Error {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            line: None,
            column: None,
            hint: None,
        }
    }

    #[must_use]
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub(super) fn maybe_hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint.or(self.hint);
        self
    }

    #[must_use]
    pub(super) fn at(mut self, line: u32, column: u32) -> Self {
        self.line = Some(line);
        self.column = Some(column);
        self
    }

    /// Points at a byte of the text.
    #[must_use]
    pub(super) fn at_byte(self, text: &str, byte: usize) -> Self {
        let byte = (0..=byte.min(text.len()))
            .rev()
            .find(|at| text.is_char_boundary(*at));
        let before = &text[..byte.unwrap_or(0)];
        let line = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let column = before[start..].chars().count() + 1;
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        self.at(number(line), number(column))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Some(line), Some(column)) = (self.line, self.column) {
            write!(f, "{line}:{column}: ")?;
        }
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}
