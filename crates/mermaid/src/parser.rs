//! Tokens → statements. It never recurses, and goes on after an error at the next line.

use std::ops::Range;

use crate::clean::Clean;
use crate::diagram::EDGES_MAX;
use crate::direction::Direction;
use crate::error::{Fault, PROBLEMS_MAX, ProblemKind};
use crate::hint;
use crate::lexer::Lexer;
use crate::span::Span;
use crate::syntax::{Name, Statement, StatementKind, SubgraphStart, Text, TextKind};
use crate::token::{Kind, Token};

/// How deep subgraphs may nest.
pub const SUBGRAPH_DEPTH_MAX: usize = 200;

/// How many statements a text may have.
pub const STATEMENTS_MAX: usize = 100_000;

/// What was read, and what was wrong with it.
#[derive(Default)]
pub(crate) struct Parsed {
    pub(crate) keyword: Span,
    pub(crate) direction: Direction,
    pub(crate) direction_span: Option<Span>,
    pub(crate) statements: Vec<Statement>,
    pub(crate) faults: Vec<Fault>,
}

pub(crate) fn parse(clean: &Clean) -> Parsed {
    let mut lexer = Lexer::new(&clean.text);
    let token = lexer.next();
    let mut parser = Parser {
        clean,
        lexer,
        token,
        open: Vec::new(),
        links: 0,
        parsed: Parsed::default(),
    };
    match parser.header() {
        Ok(()) => parser.document(),
        Err(fault) => parser.parsed.faults.push(fault),
    }
    parser.parsed
}

pub(crate) struct Parser<'t> {
    clean: &'t Clean,
    lexer: Lexer<'t>,
    pub(crate) token: Token,
    /// Where the subgraphs begin that are not closed yet.
    open: Vec<Span>,
    /// How many links were read so far.
    links: usize,
    parsed: Parsed,
}

pub(crate) type Read<T> = Result<T, Fault>;

impl Parser<'_> {
    fn header(&mut self) -> Read<()> {
        while matches!(self.token.kind, Kind::Space | Kind::Newline) {
            self.bump();
        }
        let keyword = self.token;
        // Empty quotes are no token, but nothing may stand before the header.
        let first = self.text(0..keyword.start).trim().is_empty();
        let other = self.text(keyword.range()) == "swimlane-beta";
        if keyword.kind != Kind::Graph || other || !first {
            return Err(hint::no_header(
                &self.clean.text,
                self.span(keyword.range()),
            ));
        }
        self.bump();
        self.parsed.keyword = self.span(keyword.range());
        if self.token.kind == Kind::NoDir {
            self.bump();
            return Ok(());
        }
        let word = self.token;
        if word.kind != Kind::Dir {
            let span = self.span(word.start..word.end);
            return Err(hint::no_direction(&self.clean.text[word.start..], span));
        }
        self.parsed.direction =
            Direction::parse(self.text(word.range()).trim()).unwrap_or_default();
        let trimmed = self.text(word.range()).trim_start().len();
        self.parsed.direction_span = Some(self.span(word.end - trimmed..word.end));
        self.bump();
        let spaced = self.token.kind == Kind::Space;
        while self.token.kind == Kind::Space {
            self.bump();
        }
        match self.token.kind {
            Kind::Semi if !spaced => self.bump(),
            Kind::Newline => self.bump(),
            // A link takes the line break before it.
            _ if self
                .text(word.end..self.visible(self.token).start)
                .contains('\n') =>
            {
                return Err(self.unexpected("a node"));
            }
            _ => {
                let fault = self.unexpected("a line break after the header");
                return Err(fault.hint("put the first statement on a line of its own"));
            }
        };
        Ok(())
    }

    fn document(&mut self) {
        while self.token.kind != Kind::End && self.parsed.faults.len() < PROBLEMS_MAX {
            let start = self.token.start;
            if let Err(fault) = self.line() {
                if fault.kind == ProblemKind::Limit {
                    self.parsed.faults.push(fault);
                    return;
                }
                let last = self.parsed.faults.last().map(|fault| fault.span.start);
                if last.is_none_or(|last| last < fault.span.start) {
                    self.parsed.faults.push(fault);
                }
                self.recover(start);
            }
        }
        if let (Some(open), true) = (self.open.last(), self.parsed.faults.is_empty()) {
            let fault = Fault::new(
                ProblemKind::Unclosed,
                "This subgraph is never closed.",
                *open,
            );
            let fault = fault.hint("write `end` on a line of its own after its last statement");
            self.parsed.faults.push(fault);
        }
    }

    /// Goes on after the line a broken statement began on.
    fn recover(&mut self, start: usize) {
        let text = &self.clean.text;
        let rest = &text[start..];
        let inked = start + (rest.len() - rest.trim_start().len());
        let next = text[inked..].find('\n').map_or(text.len(), |at| inked + at);
        self.lexer.resume(next);
        self.token = self.lexer.next();
    }

    fn line(&mut self) -> Read<()> {
        let start = self.statement_start();
        if self.parsed.statements.len() >= STATEMENTS_MAX {
            return Err(self.too_many(&format!(
                "statements than STATEMENTS_MAX = {STATEMENTS_MAX}"
            )));
        }
        let kind = match self.token.kind {
            Kind::Semi | Kind::Newline | Kind::Space | Kind::Eof => {
                self.bump();
                return Ok(());
            }
            // An unclosed block ends with the text, and is told twice.
            Kind::AccDescrBlock if self.token.range().is_empty() => {
                self.bump();
                return Ok(());
            }
            Kind::Subgraph => return self.subgraph(),
            Kind::EndWord => return self.subgraph_end(),
            Kind::Direction => self.direction(),
            Kind::AccTitle => self.accessibility(Kind::AccTitleValue)?,
            Kind::AccDescr => self.accessibility(Kind::AccDescrValue)?,
            Kind::AccDescrBlock => {
                self.bump();
                StatementKind::AccDescr
            }
            Kind::Style => self.style()?,
            Kind::ClassDef => self.class_def()?,
            Kind::Class => self.class()?,
            Kind::LinkStyle => self.link_style()?,
            Kind::Click => self.click()?,
            _ => StatementKind::Chain(self.chain()?),
        };
        let free = matches!(
            kind,
            StatementKind::Direction(_) | StatementKind::AccTitle | StatementKind::AccDescr
        );
        let block =
            kind == StatementKind::AccDescr && self.text(start..self.token.start).contains('{');
        let end = match self.text(start..self.token.start).rfind('}') {
            Some(close) if block => start + close + 1,
            _ => self.token.start,
        };
        if !free {
            self.separator()?;
        }
        self.push(start..end, kind);
        Ok(())
    }

    /// Counts a link, up to the limit.
    pub(crate) fn count_link(&mut self) -> Read<()> {
        self.links += 1;
        if self.links > EDGES_MAX {
            return Err(self.too_many(&format!("edges than EDGES_MAX = {EDGES_MAX}")));
        }
        Ok(())
    }

    fn too_many(&self, what: &str) -> Fault {
        let span = self.span(self.visible(self.token));
        Fault::new(
            ProblemKind::Limit,
            format!("The diagram has more {what}."),
            span,
        )
    }

    /// Where a statement begins: `click` and `accDescr {` are words without a token.
    fn statement_start(&self) -> usize {
        let start = self.token.start;
        let word = match self.token.kind {
            Kind::Click => "click",
            Kind::AccDescrBlock => "accDescr",
            _ => return start,
        };
        self.clean.text[..start].rfind(word).unwrap_or(start)
    }

    fn push(&mut self, range: Range<usize>, kind: StatementKind) {
        let text = &self.clean.text[range.clone()];
        let start = range.start + text.len() - text.trim_start().len();
        // In a style, a space at the end is a part of it.
        let end = match kind {
            StatementKind::Style { .. }
            | StatementKind::ClassDef { .. }
            | StatementKind::LinkStyle { .. } => range.end,
            _ => range.start + text.trim_end().len(),
        };
        self.parsed.statements.push(Statement {
            span: self.span(start..end.max(start)),
            depth: self.open.len(),
            kind,
        });
    }

    pub(crate) fn separator(&mut self) -> Read<()> {
        if !self.token.kind.ends_statement() {
            return Err(self.unexpected("a link, `&`, `;` or the end of the line"));
        }
        self.bump();
        Ok(())
    }

    fn subgraph(&mut self) -> Read<()> {
        let start = self.bump();
        if self.token.kind != Kind::Space {
            let fault = self.unexpected("a space and the subgraph's id or title");
            return Err(fault.hint("give the subgraph an id: `subgraph one [Title]`"));
        }
        self.bump();
        let name = self.subgraph_name()?;
        let mut title = None;
        if self.token.kind == Kind::SquareOpen {
            let open = self.bump();
            title = Some(self.bracket_text(open, &[Kind::SquareClose])?.0);
        }
        let end = self.token.start;
        self.separator()?;
        if self.open.len() == SUBGRAPH_DEPTH_MAX {
            let message =
                format!("Subgraphs nest deeper than SUBGRAPH_DEPTH_MAX = {SUBGRAPH_DEPTH_MAX}.");
            let span = self.span(start.range());
            return Err(Fault::new(ProblemKind::Limit, message, span));
        }
        let kind = StatementKind::SubgraphStart(SubgraphStart { name, title });
        self.push(start.start..end, kind);
        self.open.push(self.span(start.start..end));
        Ok(())
    }

    fn subgraph_name(&mut self) -> Read<Text> {
        let start = self.token.start;
        let kind = match self.token.kind {
            Kind::MdStr => TextKind::Markdown,
            Kind::Str => TextKind::Text,
            kind if kind.is_title() => TextKind::Text,
            _ => {
                let fault = self.unexpected("the subgraph's id or title");
                return Err(fault.hint("give the subgraph an id: `subgraph one [Title]`"));
            }
        };
        let mut raw = self.text(self.token.range()).to_owned();
        self.bump();
        while self.token.kind.is_title() {
            raw.push_str(self.text(self.token.range()));
            self.bump();
        }
        Ok(Text {
            raw,
            kind,
            span: self.span(start..self.token.start),
        })
    }

    fn subgraph_end(&mut self) -> Read<()> {
        if self.open.pop().is_none() {
            let span = self.span(self.token.range());
            let message = "This `end` closes nothing.";
            let fault = Fault::new(ProblemKind::Syntax, message, span);
            return Err(fault.hint("`end` is reserved for subgraphs: as an id, write `End`"));
        }
        let token = self.bump();
        self.push(token.range(), StatementKind::SubgraphEnd);
        Ok(())
    }

    fn direction(&mut self) -> StatementKind {
        let token = self.bump();
        let text = self.text(token.range()).trim_start();
        let word = text.trim_start_matches("direction").trim_start().get(..2);
        StatementKind::Direction(word.and_then(Direction::parse).unwrap_or_default())
    }

    fn accessibility(&mut self, value: Kind) -> Read<StatementKind> {
        self.bump();
        self.expect(value, "a text")?;
        Ok(match value {
            Kind::AccTitleValue => StatementKind::AccTitle,
            _ => StatementKind::AccDescr,
        })
    }

    // ---- what the statements share ----

    /// The text between two brackets or pipes, and which of the closing ones it was.
    pub(crate) fn bracket_text(&mut self, open: Token, closing: &[Kind]) -> Read<(Text, Token)> {
        let kind = match self.token.kind {
            Kind::Str => TextKind::String,
            Kind::MdStr => TextKind::Markdown,
            _ => TextKind::Text,
        };
        let mut raw = String::new();
        let mut parts = 0;
        while self.token.kind == Kind::Text || (parts == 0 && kind != TextKind::Text) {
            raw.push_str(self.text(self.token.range()));
            parts += 1;
            self.bump();
        }
        let close = self.token;
        if parts == 0 || !closing.contains(&close.kind) {
            return Err(self.bad_text(open, parts == 0));
        }
        self.bump();
        let text = Text {
            raw,
            kind,
            span: self.span(open.end..close.start),
        };
        Ok((text, close))
    }

    fn bad_text(&self, open: Token, empty: bool) -> Fault {
        let text = &self.clean.text;
        let opening = self.span(open.range());
        let found = self.token;
        let far = text[open.end..found.start].contains('\n');
        if matches!(found.kind, Kind::End | Kind::Eof) || (far && found.kind == Kind::Unknown) {
            let mark = self.text(open.range()).trim();
            let message = format!("This `{mark}` is never closed.");
            return Fault::new(ProblemKind::Unclosed, message, opening);
        }
        hint::bad_text(&text[open.start..], found, self.span(found.range()), empty)
    }

    /// A run of tokens that make one name.
    pub(crate) fn name(&mut self, part: fn(Kind) -> bool, what: &str) -> Read<Name> {
        let start = self.token.start;
        while part(self.token.kind) {
            self.bump();
        }
        let range = start..self.token.start;
        if range.is_empty() {
            return Err(self.unexpected(what));
        }
        Ok(Name {
            text: self.text(range.clone()).to_owned(),
            span: self.span(range),
        })
    }

    pub(crate) fn expect(&mut self, kind: Kind, what: &str) -> Read<Token> {
        if self.token.kind == kind {
            return Ok(self.bump());
        }
        Err(self.unexpected(what))
    }

    pub(crate) fn unexpected(&self, what: &str) -> Fault {
        let token = self.token;
        let span = self.span(self.visible(token));
        let fault = Fault::new(
            ProblemKind::Syntax,
            hint::expected(what, token, self.clean),
            span,
        );
        match hint::for_token(&self.clean.text, token) {
            Some(hint) => fault.hint(hint),
            None => fault,
        }
    }

    /// The part of a token a caret should point at: not the white space around a link.
    fn visible(&self, token: Token) -> Range<usize> {
        let text = self.text(token.range());
        if text.trim().is_empty() {
            return token.range();
        }
        let start = token.start + text.len() - text.trim_start().len();
        start..token.start + text.trim_end().len()
    }

    pub(crate) fn bump(&mut self) -> Token {
        std::mem::replace(&mut self.token, self.lexer.next())
    }

    pub(crate) fn text(&self, range: Range<usize>) -> &str {
        self.clean.text.get(range).unwrap_or("")
    }

    pub(crate) fn span(&self, range: Range<usize>) -> Span {
        self.clean.span(range)
    }
}
