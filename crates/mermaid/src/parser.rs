//! Tokens → statements. It never recurses, and goes on after an error at the next line.

use std::ops::Range;

use crate::clean::CleanText;
use crate::diagram::EDGES_MAX;
use crate::direction::FlowDirection;
use crate::error::{PROBLEMS_MAX, ProblemKind, SpanProblem};
use crate::hint;
use crate::lexer::DiagramLexer;
use crate::span::Span;
use crate::syntax::{
    DiagramStatement, LabelText, SpannedName, StatementKind, SubgraphStart, TextKind,
};
use crate::token::{DiagramToken, DiagramTokenKind};

/// Depth to which subgraphs may nest.
pub const SUBGRAPH_DEPTH_MAX: usize = 200;

/// Number of statements a text may have.
pub const STATEMENTS_MAX: usize = 100_000;

/// The statements, and the faults met on the way.
#[derive(Default)]
pub(crate) struct ParsedDiagram {
    pub(crate) keyword: Span,
    pub(crate) direction: FlowDirection,
    pub(crate) direction_span: Option<Span>,
    pub(crate) statements: Vec<DiagramStatement>,
    pub(crate) faults: Vec<SpanProblem>,
}

pub(crate) fn parse(clean: &CleanText) -> ParsedDiagram {
    let mut lexer = DiagramLexer::new(&clean.text);
    let token = lexer.next();
    let mut parser = DiagramParser {
        clean,
        lexer,
        token,
        open: Vec::new(),
        links: 0,
        parsed: ParsedDiagram::default(),
    };
    match parser.header() {
        Ok(()) => parser.document(),
        Err(fault) => parser.parsed.faults.push(fault),
    }
    parser.parsed
}

pub(crate) struct DiagramParser<'t> {
    clean: &'t CleanText,
    lexer: DiagramLexer<'t>,
    pub(crate) token: DiagramToken,
    /// Starts of the subgraphs that are not closed yet.
    open: Vec<Span>,
    /// Number of links read so far.
    links: usize,
    parsed: ParsedDiagram,
}

pub(crate) type ParseResult<T> = Result<T, SpanProblem>;

impl DiagramParser<'_> {
    fn header(&mut self) -> ParseResult<()> {
        while matches!(
            self.token.kind,
            DiagramTokenKind::Space | DiagramTokenKind::Newline
        ) {
            self.bump();
        }
        let keyword = self.token;
        // Empty quotes make no token, but even they may not come before the header.
        let first = self.text(0..keyword.start).trim().is_empty();
        let other = self.text(keyword.range()) == "swimlane-beta";
        if keyword.kind != DiagramTokenKind::Graph || other || !first {
            return Err(hint::no_header(
                &self.clean.text,
                self.span(keyword.range()),
            ));
        }
        self.bump();
        self.parsed.keyword = self.span(keyword.range());
        if self.token.kind == DiagramTokenKind::NoDir {
            self.bump();
            return Ok(());
        }
        let word = self.token;
        if word.kind != DiagramTokenKind::Dir {
            let span = self.span(word.start..word.end);
            return Err(hint::no_direction(&self.clean.text[word.start..], span));
        }
        self.parsed.direction =
            FlowDirection::parse(self.text(word.range()).trim()).unwrap_or_default();
        let trimmed = self.text(word.range()).trim_start().len();
        self.parsed.direction_span = Some(self.span(word.end - trimmed..word.end));
        self.bump();
        let spaced = self.token.kind == DiagramTokenKind::Space;
        while self.token.kind == DiagramTokenKind::Space {
            self.bump();
        }
        match self.token.kind {
            DiagramTokenKind::Semi if !spaced => self.bump(),
            DiagramTokenKind::Newline => self.bump(),
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
        while self.token.kind != DiagramTokenKind::End && self.parsed.faults.len() < PROBLEMS_MAX {
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
            let fault = SpanProblem::new(
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

    fn line(&mut self) -> ParseResult<()> {
        let start = self.statement_start();
        if self.parsed.statements.len() >= STATEMENTS_MAX {
            return Err(self.too_many(&format!(
                "statements than STATEMENTS_MAX = {STATEMENTS_MAX}"
            )));
        }
        let kind = match self.token.kind {
            DiagramTokenKind::Semi
            | DiagramTokenKind::Newline
            | DiagramTokenKind::Space
            | DiagramTokenKind::Eof => {
                self.bump();
                return Ok(());
            }
            // An unclosed block ends with the text, and is reported twice.
            DiagramTokenKind::AccDescrBlock if self.token.range().is_empty() => {
                self.bump();
                return Ok(());
            }
            DiagramTokenKind::Subgraph => return self.subgraph(),
            DiagramTokenKind::EndWord => return self.subgraph_end(),
            DiagramTokenKind::Direction => self.direction(),
            DiagramTokenKind::AccTitle => self.accessibility(DiagramTokenKind::AccTitleValue)?,
            DiagramTokenKind::AccDescr => self.accessibility(DiagramTokenKind::AccDescrValue)?,
            DiagramTokenKind::AccDescrBlock => {
                self.bump();
                StatementKind::AccDescr
            }
            DiagramTokenKind::Style => self.style()?,
            DiagramTokenKind::ClassDef => self.class_def()?,
            DiagramTokenKind::Class => self.class()?,
            DiagramTokenKind::LinkStyle => self.link_style()?,
            DiagramTokenKind::Click => self.click()?,
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
    pub(crate) fn count_link(&mut self) -> ParseResult<()> {
        self.links += 1;
        if self.links > EDGES_MAX {
            return Err(self.too_many(&format!("edges than EDGES_MAX = {EDGES_MAX}")));
        }
        Ok(())
    }

    fn too_many(&self, what: &str) -> SpanProblem {
        let span = self.span(self.visible(self.token));
        SpanProblem::new(
            ProblemKind::Limit,
            format!("The diagram has more {what}."),
            span,
        )
    }

    /// Returns the start of a statement: `click` and `accDescr {` are words without a token.
    fn statement_start(&self) -> usize {
        let start = self.token.start;
        let word = match self.token.kind {
            DiagramTokenKind::Click => "click",
            DiagramTokenKind::AccDescrBlock => "accDescr",
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
        self.parsed.statements.push(DiagramStatement {
            span: self.span(start..end.max(start)),
            depth: self.open.len(),
            kind,
        });
    }

    pub(crate) fn separator(&mut self) -> ParseResult<()> {
        if !self.token.kind.ends_statement() {
            return Err(self.unexpected("a link, `&`, `;` or the end of the line"));
        }
        self.bump();
        Ok(())
    }

    fn subgraph(&mut self) -> ParseResult<()> {
        let start = self.bump();
        if self.token.kind != DiagramTokenKind::Space {
            let fault = self.unexpected("a space and the subgraph's id or title");
            return Err(fault.hint("give the subgraph an id: `subgraph one [Title]`"));
        }
        self.bump();
        let name = self.subgraph_name()?;
        let mut title = None;
        if self.token.kind == DiagramTokenKind::SquareOpen {
            let open = self.bump();
            title = Some(self.bracket_text(open, &[DiagramTokenKind::SquareClose])?.0);
        }
        let end = self.token.start;
        self.separator()?;
        if self.open.len() == SUBGRAPH_DEPTH_MAX {
            let message =
                format!("Subgraphs nest deeper than SUBGRAPH_DEPTH_MAX = {SUBGRAPH_DEPTH_MAX}.");
            let span = self.span(start.range());
            return Err(SpanProblem::new(ProblemKind::Limit, message, span));
        }
        let kind = StatementKind::SubgraphStart(SubgraphStart { name, title });
        self.push(start.start..end, kind);
        self.open.push(self.span(start.start..end));
        Ok(())
    }

    fn subgraph_name(&mut self) -> ParseResult<LabelText> {
        let start = self.token.start;
        let kind = match self.token.kind {
            DiagramTokenKind::MdStr => TextKind::Markdown,
            DiagramTokenKind::Str => TextKind::Text,
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
        Ok(LabelText {
            raw,
            kind,
            span: self.span(start..self.token.start),
        })
    }

    fn subgraph_end(&mut self) -> ParseResult<()> {
        if self.open.pop().is_none() {
            let span = self.span(self.token.range());
            let message = "This `end` closes nothing.";
            let fault = SpanProblem::new(ProblemKind::Syntax, message, span);
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
        StatementKind::Direction(word.and_then(FlowDirection::parse).unwrap_or_default())
    }

    fn accessibility(&mut self, value: DiagramTokenKind) -> ParseResult<StatementKind> {
        self.bump();
        self.expect(value, "a text")?;
        Ok(match value {
            DiagramTokenKind::AccTitleValue => StatementKind::AccTitle,
            _ => StatementKind::AccDescr,
        })
    }

    // ---- what the statements share ----

    /// Parses the text between two brackets or pipes, and returns which of the closing ones it was.
    pub(crate) fn bracket_text(
        &mut self,
        open: DiagramToken,
        closing: &[DiagramTokenKind],
    ) -> ParseResult<(LabelText, DiagramToken)> {
        let kind = match self.token.kind {
            DiagramTokenKind::Str => TextKind::String,
            DiagramTokenKind::MdStr => TextKind::Markdown,
            _ => TextKind::Text,
        };
        let mut raw = String::new();
        let mut parts = 0;
        while self.token.kind == DiagramTokenKind::Text || (parts == 0 && kind != TextKind::Text) {
            raw.push_str(self.text(self.token.range()));
            parts += 1;
            self.bump();
        }
        let close = self.token;
        if parts == 0 || !closing.contains(&close.kind) {
            return Err(self.bad_text(open, parts == 0));
        }
        self.bump();
        let text = LabelText {
            raw,
            kind,
            span: self.span(open.end..close.start),
        };
        Ok((text, close))
    }

    fn bad_text(&self, open: DiagramToken, empty: bool) -> SpanProblem {
        let text = &self.clean.text;
        let opening = self.span(open.range());
        let found = self.token;
        let far = text[open.end..found.start].contains('\n');
        if matches!(found.kind, DiagramTokenKind::End | DiagramTokenKind::Eof)
            || (far && found.kind == DiagramTokenKind::Unknown)
        {
            let mark = self.text(open.range()).trim();
            let message = format!("This `{mark}` is never closed.");
            return SpanProblem::new(ProblemKind::Unclosed, message, opening);
        }
        hint::bad_text(&text[open.start..], found, self.span(found.range()), empty)
    }

    /// Parses a run of tokens that make one name.
    pub(crate) fn name(
        &mut self,
        part: fn(DiagramTokenKind) -> bool,
        what: &str,
    ) -> ParseResult<SpannedName> {
        let start = self.token.start;
        while part(self.token.kind) {
            self.bump();
        }
        let range = start..self.token.start;
        if range.is_empty() {
            return Err(self.unexpected(what));
        }
        Ok(SpannedName {
            text: self.text(range.clone()).to_owned(),
            span: self.span(range),
        })
    }

    pub(crate) fn expect(
        &mut self,
        kind: DiagramTokenKind,
        what: &str,
    ) -> ParseResult<DiagramToken> {
        if self.token.kind == kind {
            return Ok(self.bump());
        }
        Err(self.unexpected(what))
    }

    pub(crate) fn unexpected(&self, what: &str) -> SpanProblem {
        let token = self.token;
        let span = self.span(self.visible(token));
        let fault = SpanProblem::new(
            ProblemKind::Syntax,
            hint::expected(what, token, self.clean),
            span,
        );
        match hint::for_token(&self.clean.text, token) {
            Some(hint) => fault.hint(hint),
            None => fault,
        }
    }

    /// Returns the part of a token a caret should point at: not the white space around a link.
    fn visible(&self, token: DiagramToken) -> Range<usize> {
        let text = self.text(token.range());
        if text.trim().is_empty() {
            return token.range();
        }
        let start = token.start + text.len() - text.trim_start().len();
        start..token.start + text.trim_end().len()
    }

    pub(crate) fn bump(&mut self) -> DiagramToken {
        std::mem::replace(&mut self.token, self.lexer.next())
    }

    pub(crate) fn text(&self, range: Range<usize>) -> &str {
        self.clean.text.get(range).unwrap_or("")
    }

    pub(crate) fn span(&self, range: Range<usize>) -> Span {
        self.clean.span(range)
    }
}
