//! Cleaned text → tokens. The rules and their order are Mermaid's: the first that matches wins.
//!
//! The meaning of a character depends on the state, a stack that brackets and quotes push and pop.
//! A run that several rules would scan again and again is measured once and remembered, so the time
//! is linear in the text.

use crate::chars::{is_space, stops_dot};
use crate::token::{DiagramToken, DiagramTokenKind};

mod rules;
mod states;

use rules::{
    OPENINGS, WORDS, blank, dotted, id_part, late_marks, marks, solid, starts_word, waves,
    word_and_space,
};
pub(crate) use rules::{entity, is_reserved};

/// The set of rules for the next characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LexerState {
    Initial,
    Direction,
    AccTitle,
    AccDescr,
    AccDescrBlock,
    ShapeData,
    ShapeString,
    CallbackName,
    CallbackArgs,
    Click,
    Markdown,
    Quoted,
    Edge,
    ThickEdge,
    DottedEdge,
    Text,
    Slanted,
    Ellipse,
}

/// The match of a rule: the number of bytes, and the token they are, if any.
type TokenMatch = Option<(usize, Option<DiagramTokenKind>)>;

pub(crate) struct DiagramLexer<'t> {
    text: &'t str,
    at: usize,
    states: Vec<LexerState>,
    headers: usize,
    done: bool,
    /// The next token begins a statement, as far as separators tell.
    fresh: bool,
    space: CharRun,
    unspaced: CharRun,
    /// The last `@` of the unspaced run that may end an edge's id.
    link_id_end: Option<usize>,
}

/// A run of characters of one class: valid for every place from `start` to `end`.
#[derive(Clone, Copy, Default)]
struct CharRun {
    start: usize,
    end: usize,
}

impl CharRun {
    fn covers(self, at: usize) -> bool {
        self.start <= at && at < self.end
    }
}

impl<'t> DiagramLexer<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        DiagramLexer {
            text,
            at: 0,
            states: Vec::new(),
            headers: 0,
            done: false,
            fresh: true,
            space: CharRun::default(),
            unspaced: CharRun::default(),
            link_id_end: None,
        }
    }

    /// Goes on at a place as if a statement began there.
    pub(crate) fn resume(&mut self, at: usize) {
        self.at = at.min(self.text.len());
        self.states.clear();
        self.headers = self.headers.max(1);
        self.done = false;
        self.fresh = true;
    }

    pub(crate) fn next(&mut self) -> DiagramToken {
        loop {
            if self.done {
                return self.token(DiagramTokenKind::End, 0);
            }
            let at_end = self.at >= self.text.len();
            self.done = at_end;
            let Some((bytes, kind)) = self.step() else {
                let kind = if at_end {
                    DiagramTokenKind::End
                } else {
                    DiagramTokenKind::Unknown
                };
                return self.token(kind, 0);
            };
            if let Some(kind) = kind {
                self.fresh = match kind {
                    DiagramTokenKind::Newline
                    | DiagramTokenKind::Semi
                    | DiagramTokenKind::NoDir
                    | DiagramTokenKind::EndWord => true,
                    DiagramTokenKind::Direction
                    | DiagramTokenKind::AccTitleValue
                    | DiagramTokenKind::AccDescrValue => true,
                    DiagramTokenKind::AccDescrBlock => true,
                    DiagramTokenKind::Space => self.fresh,
                    _ => false,
                };
                return self.token(kind, bytes);
            }
            self.at += bytes;
        }
    }

    fn token(&mut self, kind: DiagramTokenKind, bytes: usize) -> DiagramToken {
        let start = self.at;
        self.at += bytes;
        DiagramToken {
            kind,
            start,
            end: self.at,
        }
    }

    fn state(&self) -> LexerState {
        self.states.last().copied().unwrap_or(LexerState::Initial)
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn step(&mut self) -> TokenMatch {
        match self.state() {
            LexerState::Initial => self.initial(),
            LexerState::Direction => self.direction(),
            LexerState::AccTitle => self.line_value(DiagramTokenKind::AccTitleValue),
            LexerState::AccDescr => self.line_value(DiagramTokenKind::AccDescrValue),
            LexerState::AccDescrBlock => self.until('}', DiagramTokenKind::AccDescrBlock),
            LexerState::ShapeData => self.shape_data(),
            LexerState::ShapeString => self.shape_string(),
            LexerState::CallbackName => self.callback_name(),
            LexerState::CallbackArgs => self.until(')', DiagramTokenKind::CallbackArgs),
            LexerState::Click => self.click(),
            LexerState::Markdown => self.markdown(),
            LexerState::Quoted => self.quoted(),
            LexerState::Edge | LexerState::ThickEdge | LexerState::DottedEdge => self.edge(),
            LexerState::Text => self.bracketed(),
            LexerState::Slanted => self.slanted(),
            LexerState::Ellipse => self.ellipse(),
        }
    }

    fn push(
        &mut self,
        state: LexerState,
        bytes: usize,
        kind: Option<DiagramTokenKind>,
    ) -> TokenMatch {
        self.states.push(state);
        Some((bytes, kind))
    }

    fn pop(&mut self, bytes: usize, kind: Option<DiagramTokenKind>) -> TokenMatch {
        self.states.pop();
        Some((bytes, kind))
    }

    // ---- runs measured once ----

    /// Returns the number of bytes of white space here.
    fn spaces(&mut self) -> usize {
        if !self.space.covers(self.at) {
            let rest = self.rest();
            let bytes = rest.find(|c| !is_space(c)).unwrap_or(rest.len());
            self.space = CharRun {
                start: self.at,
                end: self.at + bytes,
            };
        }
        self.space.end.max(self.at) - self.at
    }

    /// Returns the length of `…@` that may be the id of the link after it.
    fn link_id(&mut self) -> Option<usize> {
        if !self.unspaced.covers(self.at) {
            let rest = self.rest();
            let stops =
                |c: char| is_space(c) || matches!(c, '"' | '[' | ']' | '(' | ')' | '{' | '}' | '|');
            let bytes = rest.find(stops).unwrap_or(rest.len());
            self.unspaced = CharRun {
                start: self.at,
                end: self.at + bytes,
            };
            let ends = |at: &(usize, &str)| {
                let next = rest[at.0 + 1..].chars().next();
                next.is_some_and(|c| c != '{' && c != '"')
            };
            let mut found = rest[..bytes].rmatch_indices('@');
            self.link_id_end = found.find(ends).map(|(at, _)| self.at + at);
        }
        let end = self.link_id_end?;
        (end > self.at).then(|| end + 1 - self.at)
    }

    // ---- the rules of each state ----

    fn initial(&mut self) -> TokenMatch {
        let rest = self.rest();
        self.words(rest)
            .or_else(|| self.direction_statement(rest))
            .or_else(|| {
                self.link_id()
                    .map(|bytes| (bytes, Some(DiagramTokenKind::LinkId)))
            })
            .or_else(|| marks(rest))
            .or_else(|| self.links(rest))
            .or_else(|| self.openings(rest))
            .or_else(|| late_marks(rest))
            .or_else(|| id_part(rest))
            .or_else(|| self.late_openings(rest))
            .or_else(|| blank(rest))
    }

    /// Statements and reserved words.
    fn words(&mut self, rest: &str) -> TokenMatch {
        if let Some(found) = self.accessibility(rest) {
            return Some(found);
        }
        if rest.starts_with("@{") {
            return self.push(LexerState::ShapeData, 2, Some(DiagramTokenKind::DataOpen));
        }
        if let Some(bytes) = word_and_space(rest, "call") {
            return self.push(LexerState::CallbackName, bytes, None);
        }
        if rest.starts_with('"') {
            return self.quote(rest);
        }
        if rest.starts_with("href") && rest[4..].starts_with(is_space) {
            let space = rest[4..].chars().next().map_or(0, char::len_utf8);
            return Some((4 + space, Some(DiagramTokenKind::Href)));
        }
        if let Some(bytes) = word_and_space(rest, "click") {
            return self.push(LexerState::Click, bytes, None);
        }
        let (word, kind) = WORDS.iter().find(|(word, _)| starts_word(rest, word))?;
        if *kind == DiagramTokenKind::Graph {
            self.headers += 1;
            if self.headers == 1 {
                self.states.push(LexerState::Direction);
            }
        }
        let mut bytes = word.len();
        if *kind == DiagramTokenKind::EndWord {
            let after = &rest[bytes..];
            bytes += after.find(|c| !is_space(c)).unwrap_or(after.len());
        }
        Some((bytes, Some(*kind)))
    }

    fn accessibility(&mut self, rest: &str) -> TokenMatch {
        let (state, kind, after) = if let Some(after) = rest.strip_prefix("accTitle") {
            (LexerState::AccTitle, DiagramTokenKind::AccTitle, after)
        } else {
            (
                LexerState::AccDescr,
                DiagramTokenKind::AccDescr,
                rest.strip_prefix("accDescr")?,
            )
        };
        let mark = after.trim_start_matches(is_space);
        let value = |mark: &str| rest.len() - mark[1..].trim_start_matches(is_space).len();
        if mark.starts_with(':') {
            return self.push(state, value(mark), Some(kind));
        }
        if mark.starts_with('{') && state == LexerState::AccDescr {
            return self.push(LexerState::AccDescrBlock, value(mark), None);
        }
        None
    }

    /// Matches `direction LR` where a statement may begin. Mermaid takes any line with these words
    /// for one, labels included, and drops the rest of it.
    fn direction_statement(&self, rest: &str) -> TokenMatch {
        if !self.fresh {
            return None;
        }
        let start = rest.trim_start_matches(|c| is_space(c) && !stops_dot(c));
        let after = start.strip_prefix("direction")?;
        let word = after.trim_start_matches(is_space);
        let known = ["TB", "BT", "RL", "LR", "TD"];
        if word.len() == after.len() || !known.iter().any(|known| word.starts_with(known)) {
            return None;
        }
        let line = &word[..word.find(['\n', ';']).unwrap_or(word.len())];
        Some((
            rest.len() - word.len() + line.len(),
            Some(DiagramTokenKind::Direction),
        ))
    }

    /// Links, in any state that reads them.
    fn links(&mut self, rest: &str) -> TokenMatch {
        let space = self.spaces();
        let after = &rest[space..];
        let head = after.strip_prefix(['x', 'o', '<']).unwrap_or(after);
        let found = match head.as_bytes().first() {
            Some(b'-' | b'=' | b'.') => self.link(head),
            Some(b'~') if head.len() == after.len() => {
                waves(head).map(|bytes| (bytes, DiagramTokenKind::Link))
            }
            _ => None,
        };
        let (bytes, kind) = found?;
        let tail = &head[bytes..];
        let trailing = tail.find(|c| !is_space(c)).unwrap_or(tail.len());
        Some((rest.len() - tail.len() + trailing, Some(kind)))
    }

    /// Matches a whole link, or the first half of one with text in its middle.
    fn link(&mut self, head: &str) -> Option<(usize, DiagramTokenKind)> {
        let lines = [
            ("--", '-', LexerState::Edge),
            ("==", '=', LexerState::ThickEdge),
        ];
        for (start, line, state) in lines {
            if let Some(bytes) = solid(head, line) {
                return Some((bytes, DiagramTokenKind::Link));
            }
            if head.starts_with(start) {
                self.states.push(state);
                return Some((2, DiagramTokenKind::StartLink));
            }
        }
        if let Some(bytes) = dotted(head) {
            return Some((bytes, DiagramTokenKind::Link));
        }
        if head.starts_with("-.") {
            self.states.push(LexerState::DottedEdge);
            return Some((2, DiagramTokenKind::StartLink));
        }
        None
    }

    /// Brackets that are read before single marks.
    fn openings(&mut self, rest: &str) -> TokenMatch {
        for (mark, kind, state) in OPENINGS {
            if rest.starts_with(mark) {
                return match state {
                    Some(state) => self.push(state, mark.len(), Some(kind)),
                    None => Some((mark.len(), Some(kind))),
                };
            }
        }
        None
    }

    fn late_openings(&mut self, rest: &str) -> TokenMatch {
        let kind = match rest.as_bytes().first()? {
            b'|' => DiagramTokenKind::Pipe,
            b'(' => DiagramTokenKind::ParenOpen,
            b'[' => DiagramTokenKind::SquareOpen,
            b'{' => DiagramTokenKind::BraceOpen,
            _ => return None,
        };
        self.push(LexerState::Text, 1, Some(kind))
    }

    /// Any bracket, in a state that is not the outermost one.
    fn nested(&mut self, rest: &str) -> TokenMatch {
        let nestable = OPENINGS.iter().find(|(mark, kind, _)| {
            rest.starts_with(mark)
                && !matches!(
                    kind,
                    DiagramTokenKind::PropertyOpen | DiagramTokenKind::TagEnd
                )
        });
        if let Some((mark, kind, Some(state))) = nestable {
            return self.push(*state, mark.len(), Some(*kind));
        }
        self.late_openings(rest)
    }

    fn quote(&mut self, rest: &str) -> TokenMatch {
        if rest.starts_with("\"`") {
            return self.push(LexerState::Markdown, 2, None);
        }
        self.push(LexerState::Quoted, 1, None)
    }
}
