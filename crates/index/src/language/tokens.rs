//! Cuts source text of the C family into tokens, in one pass, without recursion and without copying.
//!
//! The index needs little of a language: the exports and imports of a file. Words and brackets
//! decide both, so no grammar is needed, but the inside of a string or a comment must never be
//! mistaken for code. Brackets are paired here, which makes skipping a body one step, and no depth
//! of nesting can overflow anything.

mod lexer;

use std::ops::Range;

/// The languages whose lexical rules differ.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LexerDialect {
    /// C and C++: directives, raw strings with a delimiter, digit separators.
    C,
    /// Go: raw strings in backquotes.
    Go,
    /// Java and its kin: text blocks of three quotes.
    Java,
    /// Rust: comments nest, strings span lines, a quote may begin a lifetime.
    Rust,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SourceTokenKind {
    /// An identifier or a keyword.
    Word,
    /// One byte of punctuation.
    Mark,
    /// A string, with its quotes.
    Text,
    /// A number, a character or a lifetime: never needed.
    Value,
}

#[derive(Clone, Copy)]
pub(super) struct SourceToken {
    pub(super) start: u32,
    pub(super) end: u32,
    /// The token that closes the bracket opened here; `OPEN` if it has none.
    pair: u32,
    pub(super) kind: SourceTokenKind,
}

/// The pair of a bracket that is never closed.
const OPEN: u32 = u32::MAX;

/// The tokens of one text.
pub(super) struct SourceTokens<'a> {
    pub(super) text: &'a str,
    list: Vec<SourceToken>,
    /// The lines of the preprocessor, continued lines included. They can be anywhere in the code
    /// and are no part of it, so they are stored apart.
    directives: Vec<Range<usize>>,
}

impl<'a> SourceTokens<'a> {
    /// Cuts the text.
    pub(super) fn read(text: &'a str, dialect: LexerDialect) -> Self {
        let lexed = lexer::lex(text.as_bytes(), dialect);
        Self {
            text,
            list: lexed.list,
            directives: lexed.directives,
        }
    }

    /// The lines of the preprocessor and the bytes they begin at.
    pub(super) fn directives(&self) -> impl Iterator<Item = (usize, &'a str)> {
        self.directives
            .iter()
            .filter_map(|range| Some((range.start, self.text.get(range.clone())?)))
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn get(&self, at: usize) -> Option<SourceToken> {
        self.list.get(at).copied()
    }

    /// Returns the kind of a token; `None` past the end.
    pub(super) fn kind(&self, at: usize) -> Option<SourceTokenKind> {
        self.list.get(at).map(|token| token.kind)
    }

    /// Returns the word here; `""` if the token is not a word.
    pub(super) fn word(&self, at: usize) -> &'a str {
        match self.list.get(at) {
            Some(token) if token.kind == SourceTokenKind::Word => self.slice(*token),
            _ => "",
        }
    }

    /// The punctuation here, or 0.
    pub(super) fn mark(&self, at: usize) -> u8 {
        match self.list.get(at) {
            Some(token) if token.kind == SourceTokenKind::Mark => {
                self.text.as_bytes()[token.start as usize]
            }
            _ => 0,
        }
    }

    /// Returns the text between the quotes of a plain string here.
    pub(super) fn string(&self, at: usize) -> Option<&'a str> {
        let token = self
            .list
            .get(at)
            .filter(|token| token.kind == SourceTokenKind::Text)?;
        let text = self.slice(*token);
        let from = text.find(['"', '`'])?;
        let quote = text[from..].chars().next()?;
        let to = text.rfind(quote).filter(|to| *to > from)?;
        Some(&text[from + 1..to])
    }

    /// The text of any token; empty past the end.
    pub(super) fn source(&self, at: usize) -> &'a str {
        self.list.get(at).map_or("", |token| self.slice(*token))
    }

    /// Returns true if `::` is here.
    pub(super) fn colons(&self, at: usize) -> bool {
        self.mark(at) == b':' && self.mark(at + 1) == b':' && self.touching(at)
    }

    /// Returns true if this token and the next one touch.
    pub(super) fn touching(&self, at: usize) -> bool {
        match (self.list.get(at), self.list.get(at + 1)) {
            (Some(token), Some(next)) => token.end == next.start,
            _ => false,
        }
    }

    /// The token that closes the bracket here.
    pub(super) fn close(&self, at: usize) -> Option<usize> {
        let pair = self.list.get(at)?.pair;
        (pair != OPEN).then_some(pair as usize)
    }

    /// Returns the place after the token here, or after the whole bracket if it opens one.
    ///
    /// A bracket that is never closed ends at the next token in the first column, so that a file in
    /// the middle of an edit keeps the names below the error.
    pub(super) fn after(&self, at: usize) -> usize {
        if !matches!(self.mark(at), b'(' | b'[' | b'{') {
            return at + 1;
        }
        if let Some(close) = self.close(at) {
            return close + 1;
        }
        (at + 1..self.list.len())
            .find(|next| self.begins_line(*next))
            .unwrap_or(self.list.len())
    }

    /// Returns true if a word or an attribute is here in the first column.
    fn begins_line(&self, at: usize) -> bool {
        let Some(token) = self.list.get(at) else {
            return false;
        };
        let starts = token.kind == SourceTokenKind::Word || matches!(self.mark(at), b'#' | b'@');
        let start = token.start as usize;
        starts && (start == 0 || self.text.as_bytes()[start - 1] == b'\n')
    }

    fn slice(&self, token: SourceToken) -> &'a str {
        self.text
            .get(token.start as usize..token.end as usize)
            .unwrap_or("")
    }
}

/// Returns true if a byte may be part of a name. All bytes beyond ASCII count.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}
