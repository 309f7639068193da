//! Positions in an answer, and the faults found there.

use crate::{fence, text};

/// A fault in an answer's text and its position: both counted from 1, columns in characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SyntaxFault {
    pub line: usize,
    pub column: usize,
    pub detail: String,
}

impl SyntaxFault {
    pub(crate) fn at_offset(answer: &str, offset: usize, detail: impl Into<String>) -> Self {
        let (line, column) = position(answer, offset);
        let detail = detail.into();
        SyntaxFault {
            line,
            column,
            detail,
        }
    }

    /// Returns `line 2, column 7: Unexpected token, at "let = 1".`
    pub(crate) fn sentence(&self, answer: &str) -> String {
        let detail = text::shorten(self.detail.trim().trim_end_matches('.'));
        let line = answer.lines().nth(self.line.saturating_sub(1));
        let line = line.unwrap_or_default().trim();
        let place = format!("line {}, column {}", self.line, self.column);
        match line.is_empty() {
            true => format!("{place}: {detail}."),
            false => format!(
                "{place}: {detail}, in {}.",
                fence::span(&text::shorten(line))
            ),
        }
    }
}

/// Returns the line and the column of a byte, both from 1.
pub(crate) fn position(answer: &str, offset: usize) -> (usize, usize) {
    let mut at = offset.min(answer.len());
    while !answer.is_char_boundary(at) {
        at -= 1;
    }
    let before = &answer[..at];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.matches('\n').count() + 1;
    (line, before[line_start..].chars().count() + 1)
}
