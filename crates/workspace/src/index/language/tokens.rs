//! Cuts source text of the C family into tokens, in one pass, without recursion and without copying.
//!
//! The index asks little of a language: which names a file offers and which files it needs. Both are
//! decided by words and brackets, so a grammar is not needed; what is needed is never to mistake the
//! inside of a string or a comment for code. Brackets are paired here, which makes skipping a body
//! one step, and no depth of nesting can overflow anything.

mod lexer;

use std::ops::Range;

/// Where the lexical rules of the family differ.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
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
pub(super) enum Kind {
    /// An identifier or a keyword.
    Word,
    /// One byte of punctuation.
    Mark,
    /// A string, with its quotes.
    Text,
    /// A number, a character or a lifetime: nobody asks.
    Value,
}

#[derive(Clone, Copy)]
pub(super) struct Token {
    pub(super) start: u32,
    pub(super) end: u32,
    /// The token that closes what this one opens; `OPEN` where there is none.
    pair: u32,
    pub(super) kind: Kind,
}

/// The pair of a bracket that has none.
const OPEN: u32 = u32::MAX;

/// The tokens of one text.
pub(super) struct Tokens<'a> {
    pub(super) text: &'a str,
    list: Vec<Token>,
    /// The lines of the preprocessor, continued lines included. They stand anywhere in the code and
    /// are no part of it, so they are kept apart.
    directives: Vec<Range<usize>>,
}

impl<'a> Tokens<'a> {
    /// Cuts the text.
    pub(super) fn read(text: &'a str, dialect: Dialect) -> Self {
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

    pub(super) fn get(&self, at: usize) -> Option<Token> {
        self.list.get(at).copied()
    }

    /// The kind of a token; nothing past the end.
    pub(super) fn kind(&self, at: usize) -> Option<Kind> {
        self.list.get(at).map(|token| token.kind)
    }

    /// The word here, or nothing: `""` is no word.
    pub(super) fn word(&self, at: usize) -> &'a str {
        match self.list.get(at) {
            Some(token) if token.kind == Kind::Word => self.slice(*token),
            _ => "",
        }
    }

    /// The punctuation here, or 0.
    pub(super) fn mark(&self, at: usize) -> u8 {
        match self.list.get(at) {
            Some(token) if token.kind == Kind::Mark => self.text.as_bytes()[token.start as usize],
            _ => 0,
        }
    }

    /// What stands between the quotes of a plain string here.
    pub(super) fn string(&self, at: usize) -> Option<&'a str> {
        let token = self.list.get(at).filter(|token| token.kind == Kind::Text)?;
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

    /// Whether `::` stands here.
    pub(super) fn colons(&self, at: usize) -> bool {
        self.mark(at) == b':' && self.mark(at + 1) == b':' && self.touching(at)
    }

    /// Whether nothing stands between this token and the next one.
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

    /// The place after the token here, or after the whole bracket if it opens one.
    ///
    /// A bracket that is never closed ends where something begins in the first column again, so that
    /// a file in the middle of an edit keeps the names below the slip.
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

    /// Whether a word or an attribute stands here in the first column.
    fn begins_line(&self, at: usize) -> bool {
        let Some(token) = self.list.get(at) else {
            return false;
        };
        let starts = token.kind == Kind::Word || matches!(self.mark(at), b'#' | b'@');
        let start = token.start as usize;
        starts && (start == 0 || self.text.as_bytes()[start - 1] == b'\n')
    }

    fn slice(&self, token: Token) -> &'a str {
        self.text
            .get(token.start as usize..token.end as usize)
            .unwrap_or("")
    }
}

/// Whether a byte may stand in a name. Letters beyond ASCII count without being looked at.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}
