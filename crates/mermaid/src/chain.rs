//! Nodes and links: the statement `A & B --> C[text]:::class -->|label| D`.

use crate::arrow::EdgeArrow;
use crate::error::{ProblemKind, SpanProblem};
use crate::parser::{DiagramParser, ParseResult};
use crate::syntax::{
    LabelForm, LabelText, LinkChain, NodeBody, NodeMention, SpannedName, SyntaxLink, TextKind,
};
use crate::token::{DiagramToken, DiagramTokenKind};

impl DiagramParser<'_> {
    pub(crate) fn chain(&mut self) -> ParseResult<LinkChain> {
        let mut chain = LinkChain::default();
        chain.groups.push(self.group()?);
        while matches!(
            self.token.kind,
            DiagramTokenKind::Link | DiagramTokenKind::StartLink | DiagramTokenKind::LinkId
        ) {
            self.count_link()?;
            chain.links.push(self.link()?);
            chain.groups.push(self.group()?);
        }
        Ok(chain)
    }

    /// Parses `A & B & C`.
    fn group(&mut self) -> ParseResult<Vec<NodeMention>> {
        let mut mentions = Vec::new();
        loop {
            mentions.push(self.mention()?);
            if self.token.kind != DiagramTokenKind::Space {
                return Ok(mentions);
            }
            while self.token.kind == DiagramTokenKind::Space {
                self.bump();
            }
            if self.token.kind != DiagramTokenKind::Amp {
                return Ok(mentions);
            }
            self.bump();
            self.expect(DiagramTokenKind::Space, "a space after `&`")?;
            while self.token.kind == DiagramTokenKind::Space {
                self.bump();
            }
        }
    }

    fn mention(&mut self) -> ParseResult<NodeMention> {
        let start = self.token.start;
        let id = self.name(DiagramTokenKind::is_id, "a node")?;
        let body = self.body()?;
        let mut class = None;
        if self.token.kind == DiagramTokenKind::ClassSeparator {
            self.bump();
            class = Some(self.name(DiagramTokenKind::is_id, "the name of a class")?);
        }
        let data = self.data()?;
        Ok(NodeMention {
            id,
            body,
            class,
            data,
            span: self.span(start..self.token.start),
        })
    }

    fn body(&mut self) -> ParseResult<Option<NodeBody>> {
        let open = self.token;
        let (shape, text, close) = match open.kind {
            DiagramTokenKind::SquareOpen => self.shaped("square", DiagramTokenKind::SquareClose)?,
            DiagramTokenKind::TripleOpen => {
                self.shaped("doublecircle", DiagramTokenKind::TripleClose)?
            }
            DiagramTokenKind::EllipseOpen => {
                self.shaped("ellipse", DiagramTokenKind::EllipseClose)?
            }
            DiagramTokenKind::StadiumOpen => {
                self.shaped("stadium", DiagramTokenKind::StadiumClose)?
            }
            DiagramTokenKind::SubroutineOpen => {
                self.shaped("subroutine", DiagramTokenKind::SubroutineClose)?
            }
            DiagramTokenKind::CylinderOpen => {
                self.shaped("cylinder", DiagramTokenKind::CylinderClose)?
            }
            DiagramTokenKind::TagEnd => self.shaped("odd", DiagramTokenKind::SquareClose)?,
            DiagramTokenKind::ParenOpen => {
                self.doubled(["round", "circle"], DiagramTokenKind::ParenClose)?
            }
            DiagramTokenKind::BraceOpen => {
                self.doubled(["diamond", "hexagon"], DiagramTokenKind::BraceClose)?
            }
            DiagramTokenKind::SlashOpen => self.slanted(["lean_right", "trapezoid"])?,
            DiagramTokenKind::BackslashOpen => self.slanted(["inv_trapezoid", "lean_left"])?,
            DiagramTokenKind::PropertyOpen => self.with_property()?,
            _ => return Ok(None),
        };
        Ok(Some(NodeBody {
            shape,
            text,
            span: self.span(open.start..close.end),
        }))
    }

    fn shaped(
        &mut self,
        shape: &'static str,
        close: DiagramTokenKind,
    ) -> ParseResult<(&'static str, LabelText, DiagramToken)> {
        let open = self.bump();
        let (text, close) = self.bracket_text(open, &[close])?;
        Ok((shape, text, close))
    }

    /// Parses one bracket, or the same bracket twice.
    fn doubled(
        &mut self,
        shapes: [&'static str; 2],
        close: DiagramTokenKind,
    ) -> ParseResult<(&'static str, LabelText, DiagramToken)> {
        let open = self.bump();
        if self.token.kind != open.kind {
            let (text, close) = self.bracket_text(open, &[close])?;
            return Ok((shapes[0], text, close));
        }
        let open = self.bump();
        let (text, _) = self.bracket_text(open, &[close])?;
        let close = self.expect(close, "the second closing bracket")?;
        Ok((shapes[1], text, close))
    }

    fn slanted(
        &mut self,
        shapes: [&'static str; 2],
    ) -> ParseResult<(&'static str, LabelText, DiagramToken)> {
        let open = self.bump();
        let closing = [
            DiagramTokenKind::SlashClose,
            DiagramTokenKind::BackslashClose,
        ];
        let (text, close) = self.bracket_text(open, &closing)?;
        let shape = if close.kind == DiagramTokenKind::SlashClose {
            shapes[0]
        } else {
            shapes[1]
        };
        Ok((shape, text, close))
    }

    /// Parses `[|borders:lt|text]`.
    fn with_property(&mut self) -> ParseResult<(&'static str, LabelText, DiagramToken)> {
        self.bump();
        self.expect(DiagramTokenKind::NodeString, "the name of a property")?;
        self.expect(DiagramTokenKind::Colon, "`:` after the property's name")?;
        self.expect(DiagramTokenKind::NodeString, "the value of the property")?;
        let open = self.expect(DiagramTokenKind::Pipe, "`|` after the property")?;
        let (text, close) = self.bracket_text(open, &[DiagramTokenKind::SquareClose])?;
        Ok(("rect", text, close))
    }

    /// Parses `@{ … }`; several in a row count as one.
    fn data(&mut self) -> ParseResult<Option<SpannedName>> {
        let open = self.token;
        if open.kind != DiagramTokenKind::DataOpen {
            return Ok(None);
        }
        let mut text = String::new();
        let mut end = open.start;
        while matches!(
            self.token.kind,
            DiagramTokenKind::DataOpen | DiagramTokenKind::ShapeData
        ) {
            let token = self.bump();
            end = token.end;
            if token.kind == DiagramTokenKind::ShapeData {
                text.push_str(self.text(token.range()));
            }
        }
        // The closing brace is no token: it is the character the data ends at.
        let close = self.text(end..self.token.start).find('}');
        if close.is_none() && self.token.kind == DiagramTokenKind::End {
            let message = "This `@{` is never closed.";
            let fault = SpanProblem::new(ProblemKind::Unclosed, message, self.span(open.range()));
            return Err(fault.hint("close it with `}`; a quote in it needs its second one"));
        }
        let end = close.map_or(end, |at| end + at + 1);
        Ok(Some(SpannedName {
            text,
            span: self.span(open.start..end),
        }))
    }

    fn link(&mut self) -> ParseResult<SyntaxLink> {
        let start = self.token.start;
        let mut id = None;
        if self.token.kind == DiagramTokenKind::LinkId {
            let token = self.bump();
            id = Some(SpannedName {
                text: self.text(token.range()).replacen('@', "", 1),
                span: self.span(token.range()),
            });
        }
        let first = self.token;
        let (arrow, label, form, end) = if first.kind == DiagramTokenKind::StartLink {
            self.bump();
            let (label, last) = self.middle(first)?;
            let arrow = self.halves(first, last)?;
            (arrow, Some(label), LabelForm::Middle, last.end)
        } else {
            let token = self.expect(DiagramTokenKind::Link, "a link after its id")?;
            let arrow = EdgeArrow::parse(self.text(token.range()));
            let (label, end) = self.piped(token)?;
            let form = match label {
                Some(_) => LabelForm::Pipes,
                None => LabelForm::None,
            };
            (arrow, label, form, end)
        };
        let trimmed = |range: std::ops::Range<usize>| {
            let text = self.text(range.clone());
            let start = range.start + text.len() - text.trim_start().len();
            self.span(start..(range.start + text.trim_end().len()).max(start))
        };
        Ok(SyntaxLink {
            id,
            arrow,
            label,
            form,
            span: trimmed(start..end),
            arrow_span: trimmed(first.range()),
        })
    }

    /// Parses `|text|` after a link.
    fn piped(&mut self, link: DiagramToken) -> ParseResult<(Option<LabelText>, usize)> {
        if self.token.kind != DiagramTokenKind::Pipe {
            return Ok((None, link.end));
        }
        let open = self.bump();
        let (text, close) = self.bracket_text(open, &[DiagramTokenKind::Pipe])?;
        if self.token.kind == DiagramTokenKind::Space {
            self.bump();
        }
        Ok((Some(text), close.end))
    }

    /// Parses the text in the middle of a link, and the link's second half.
    fn middle(&mut self, first: DiagramToken) -> ParseResult<(LabelText, DiagramToken)> {
        let start = self.token.start;
        let kind = match self.token.kind {
            DiagramTokenKind::Str => TextKind::String,
            DiagramTokenKind::MdStr => TextKind::Markdown,
            DiagramTokenKind::EdgeText => TextKind::Text,
            _ => return Err(self.half_link(first)),
        };
        let mut raw = self.text(self.token.range()).to_owned();
        self.bump();
        while self.token.kind == DiagramTokenKind::EdgeText {
            raw.push_str(self.text(self.token.range()));
            self.bump();
        }
        if self.token.kind != DiagramTokenKind::Link {
            return Err(self.half_link(first));
        }
        let last = self.bump();
        // The quotes around the text are no tokens; the first half ends before them.
        let text = LabelText {
            raw,
            kind,
            span: self.span(start.min(first.end)..last.start),
        };
        Ok((text, last))
    }

    fn half_link(&self, first: DiagramToken) -> SpanProblem {
        let text = self.text(first.range());
        let start = first.start + text.len() - text.trim_start().len();
        let mark = text.trim();
        let message = format!("This `{mark}` begins a link that never ends.");
        let end = match mark.chars().next_back() {
            Some('=') => "==>",
            Some('.') => ".->",
            _ => "-->",
        };
        SpanProblem::new(ProblemKind::Syntax, message, self.span(start..first.end)).hint(format!(
            "a link without a label is `{}`, one with a label `{mark} label {end}`",
            link_for(mark)
        ))
    }

    fn halves(&self, first: DiagramToken, last: DiagramToken) -> ParseResult<EdgeArrow> {
        let (start, end) = (self.text(first.range()), self.text(last.range()));
        EdgeArrow::parse_halves(start, end).ok_or_else(|| {
            let (start, end) = (start.trim(), end.trim());
            let message =
                format!("The two ends of this link do not fit together: `{start}` and `{end}`.");
            SpanProblem::new(
                ProblemKind::Arrow,
                message,
                self.span(first.start..last.end),
            )
            .hint("both ends need the same line, and a head at the start needs the same at the end")
        })
    }
}

fn link_for(mark: &str) -> &'static str {
    match mark.chars().next_back() {
        Some('=') => "==>",
        Some('.') => "-.->",
        _ => "-->",
    }
}
